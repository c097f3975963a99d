"""The bundle for Gradescope, unpacked into a made-up /autograder and run as the platform runs it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.small import RIGHT, WRONG, small_pack

from grader.errors import GraderError
from grader.report.exports import bundle

TOP = ("setup.sh", "run_autograder", "requirements.txt", "settings.json", "exercise.pack")


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    out = folder / "autograder.zip"
    done = bundle.write_bundle(out, small_pack(folder).data, ["numpy"], hidden="after_published")
    assert done.paths == (out,) and done.warnings == ()
    return out


class Platform:
    """What the platform makes of a bundle: its folders, and its harness's way to call it."""

    def __init__(self, root: Path, zipped: Path) -> None:
        self.root = root
        source = root / "source"
        source.mkdir(parents=True)
        with zipfile.ZipFile(zipped) as archive:
            for info in archive.infolist():
                path = Path(archive.extract(info, source))
                path.chmod(info.external_attr >> 16 & 0o777)
        shutil.copy(source / "run_autograder", root / "run_autograder")
        (root / "submission").mkdir()

    def put(self, **files: str) -> None:
        """Hand in files; ``__`` in a name is a dot."""
        for name, text in files.items():
            (self.root / "submission" / name.replace("__", ".")).write_text(text)

    def set(self, **settings: Any) -> None:
        """Change the bundle's settings."""
        path = self.root / "source" / "settings.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))

    def run(self, **environment: str) -> tuple[dict[str, Any], int, str]:
        """The results, the status and what was printed."""
        shutil.rmtree(self.root / "results", ignore_errors=True)
        (self.root / "results").mkdir()
        env = {
            "PATH": os.environ["PATH"],
            "AUTOGRADER_ROOT": str(self.root),
            "AUTOGRADER_PYTHON": sys.executable,
        }
        done = subprocess.run(
            ["./run_autograder"],
            cwd=self.root,
            env=env | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        text = (self.root / "results" / "results.json").read_text("utf-8")
        return json.loads(text), done.returncode, done.stdout.decode()


@pytest.fixture
def platform(bundled: Path, tmp_path: Path) -> Platform:
    return Platform(tmp_path / "autograder", bundled)


def assert_no_mark(results: dict[str, Any], status: int) -> None:
    """A fault of the grader: nothing that the platform could take for a mark."""
    assert "score" not in results and "tests" not in results and "leaderboard" not in results
    assert "not your fault" in results["output"] and status != 0
    assert results["stdout_visibility"] == "hidden"


def test_it_holds_what_the_platform_asks_for_and_no_more(bundled: Path) -> None:
    with zipfile.ZipFile(bundled) as archive:
        names = archive.namelist()
        assert {*TOP, "grader/cli.py"} <= set(names)
        assert len(set(names)) == len(names)
        for name in names:
            assert name.split("/")[0] in {*TOP, "grader"}
            assert "__pycache__" not in name and not name.startswith("grader/packs/")
        for name in ("setup.sh", "run_autograder"):
            mode = archive.getinfo(name).external_attr >> 16
            assert mode & stat.S_IXUSR and archive.read(name).startswith(b"#!/usr/bin/env bash\n")
        needed = archive.read("requirements.txt").decode().split()
    assert all("==" in line and "+" not in line for line in needed if not line.startswith("nbformat"))
    assert {line.split("==")[0].lower() for line in needed} >= {"numpy", "pyyaml", "pydantic", "rich"}
    assert not any(line.startswith(("psutil", "torch", "hypothesis")) for line in needed)


def test_the_same_pack_makes_the_same_bundle(tmp_path: Path) -> None:
    for name in ("x.zip", "y.zip"):
        bundle.write_bundle(tmp_path / name, b"pack")
    assert (tmp_path / "x.zip").read_bytes() == (tmp_path / "y.zip").read_bytes()


def test_scripts_are_valid() -> None:
    for name in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", str(bundle.SCRIPTS / name)], check=True)


def test_torch_and_weak_isolation_are_told(tmp_path: Path) -> None:
    done = bundle.write_bundle(tmp_path / "a.zip", b"", ["torch"], allow_weak_isolation=True)
    assert "makes a large image" in done.warnings[0] and "its own results" in done.warnings[1]
    (tmp_path / "file").write_text("")
    with pytest.raises(GraderError, match="can't be written"):
        bundle.write_bundle(tmp_path / "file" / "a.zip", b"")


def test_a_right_submission_has_full_marks(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    results, status, printed = platform.run()
    assert status == 0, printed
    assert results["score"] == results["extra_data"]["grader"]["max_score"], printed
    assert {test["status"] for test in results["tests"]} == {"passed"}
    assert "passed: score" in printed and "Isolation: " in results["output"]


def test_a_wrong_one_loses_points_and_hidden_checks_wait(platform: Platform) -> None:
    # Neither the file's name decides what counts nor what lies beside it.
    platform.put(
        my_work__py=WRONG, grader__py="raise SystemExit(3)\n", sitecustomize__py="raise SystemExit(4)\n"
    )
    results, status, printed = platform.run()
    assert status == 0, printed
    assert 0 < results["score"] < results["extra_data"]["grader"]["max_score"]
    hidden = [test for test in results["tests"] if test["visibility"] == "after_published"]
    assert all(test["name"].startswith("Hidden check: ") for test in hidden)


def test_the_bundle_s_own_grader_is_what_runs(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    cli = platform.root / "source" / "grader" / "cli.py"
    cli.write_text('raise RuntimeError("the copy in the bundle")\n')
    results, status, printed = platform.run()
    assert_no_mark(results, status)
    assert "the copy in the bundle" in printed and "the copy" not in json.dumps(results)


def test_nothing_to_grade_is_worth_nothing_and_says_so(platform: Platform) -> None:
    platform.put(notes__txt="forgot the file")
    results, status, _ = platform.run()
    assert results["score"] == 0.0 and status == 0 and "No Python file" in results["output"]


def test_a_file_that_does_not_load_is_graded(platform: Platform) -> None:
    platform.put(solution__py="def row_scale(:\n")
    results, status, printed = platform.run()
    assert results["score"] == 0.0 and status == 0, printed
    assert results["extra_data"]["grader"]["status"] == "not_loadable"


def test_where_nothing_confines_it_is_not_run(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    weak = {"GRADER_SANDBOX_WITHOUT": "landlock,seccomp,namespaces"}
    results, status, printed = platform.run(**weak)
    assert_no_mark(results, status)
    assert "the isolation level is none, partial is asked for" in printed
    platform.set(isolation="none")
    results, status, printed = platform.run(**weak)
    assert "score" in results and "Isolation: none" in results["output"], printed


def test_a_damaged_pack_is_a_fault_of_ours(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    (platform.root / "source" / "exercise.pack").write_bytes(b"nonsense")
    assert_no_mark(*platform.run()[:2])


def test_a_run_that_takes_too_long_is_ended_before_the_platform_does(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    platform.set(seconds=0.01)
    results, status, printed = platform.run()
    assert_no_mark(results, status)
    assert "took longer than 0.01 s" in printed


@pytest.mark.parametrize(
    "broken", ["settings.json", "grader/result.py", "grader/report/exports/autograde.py"]
)
def test_whatever_is_broken_there_are_results_without_a_score(platform: Platform, broken: str) -> None:
    platform.put(solution__py=RIGHT)
    (platform.root / "source" / broken).write_text("{{{")
    assert_no_mark(*platform.run()[:2])


def test_without_python_there_are_results_without_a_score(platform: Platform) -> None:
    platform.put(solution__py=RIGHT)
    results, status, printed = platform.run(AUTOGRADER_PYTHON="/nowhere/python")
    assert_no_mark(results, status)
    assert "left no results" in printed


@pytest.mark.slow
def test_setup_makes_an_environment_of_its_own(platform: Platform) -> None:
    # Without packages, as those come from the network.
    (platform.root / "source" / "requirements.txt").write_text("")
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AUTOGRADER_ROOT": str(platform.root),
    }
    done = subprocess.run(
        ["bash", "setup.sh"], cwd=platform.root / "source", env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (platform.root / "venv" / "bin" / "python").exists()
    assert list((platform.root / "source" / "grader" / "__pycache__").glob("cli.*.pyc"))
