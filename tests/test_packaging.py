"""What is shipped: the wheel holds the grader and student packs, and a student needs nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.commands import grader
from support.packs import new_cache

from grader.exercise import pack as packs
from grader.exercise.cached import cached_pack
from grader.exercise.pack import Pack

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "submissions" / "mlm_forward" / "right_einsum.py"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_cache(tmp_path_factory)


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch, _no_cache_of_the_user: None) -> None:
    """Packs take long to make, and all tests here look at the same ones."""
    monkeypatch.setenv("GRADER_CACHE", str(cache))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built as scripts/release.sh builds it, from a copy of the files under version control."""
    folder = tmp_path_factory.mktemp("release")
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    pack = cached_pack(ROOT, "mlm_forward", student=True)
    (tree / "grader" / "packs").mkdir()
    (tree / "grader" / "packs" / "mlm_forward.pack").write_bytes(pack.data)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(folder / "dist"),
            str(tree),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = (folder / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_no_reference_no_case_sources_and_no_hidden_case(wheel: Path) -> None:
    hidden = [c.id for c in cached_pack(ROOT, "mlm_forward").cases if c.visibility == "hidden"]
    assert hidden
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        contents = {name: archive.read(name) for name in names}
    outside = [n for n in names if not n.startswith(("grader/", "mlm_grader-"))]
    assert outside == []
    assert not [n for n in names if n.endswith((".yaml", "frozen.json")) or "reference/" in n]
    for name, content in contents.items():
        for case in hidden:
            assert case.encode() not in content, f"{case} in {name}"


def test_the_carried_pack_is_a_student_pack_of_the_public_cases(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        pack = packs.loads(archive.read("grader/packs/mlm_forward.pack"))
    assert pack.student
    assert {case.visibility for case in pack.cases} == {"public"}
    assert set(pack.blocks) == {"public"}


def test_a_student_checks_a_solution_with_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copyfile(SOLUTION, elsewhere / "solution.py")
    environment = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "PYTHONPATH")}
    environment |= {"PYTHONPATH": str(installed), "GRADER_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "grader", "check", "solution.py"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All visible checks passed; hidden checks were not run here." in " ".join(done.stdout.split())


def test_an_author_begins_a_new_exercise_with_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    home = tmp_path / "home"
    home.mkdir()
    installed = str(tmp_path / "installed")
    for words in (["new", "unit_rows"], ["validate", "unit_rows"]):
        done = grader(*words, cwd=home, PYTHONPATH=installed)
        assert done.status == 0, done.out + done.err
    assert (home / "cases" / "unit_rows" / "statement.md").is_file()


@pytest.fixture
def handed_out(wheel: Path, tmp_path: Path) -> Path:
    """The hand-out of mlm_forward with the wheel in it, where nothing else is; the wheel is installed."""
    root = tmp_path / "author"
    for name in ("cases", "reference"):
        shutil.copytree(ROOT / name / "mlm_forward", root / name / "mlm_forward")
    out = tmp_path / "at_home"
    done = grader("release", "mlm_forward", "--out", out, "--wheel", wheel, cwd=root)
    assert done.status == 0, done.err
    shutil.rmtree(root)
    with zipfile.ZipFile(next(out.glob("*.whl"))) as archive:
        archive.extractall(tmp_path / "installed")
    return out


def secrets_in(content: bytes, full: Pack) -> set[str]:
    """Hidden cases of which an id, a title, a hint or an expected answer stands in some bytes."""
    shown = "\n".join(f"{case.title}\n{case.hint}" for case in full.cases if case.visibility == "public")
    found = set()
    for case in full.cases:
        if case.visibility == "public":
            continue
        texts = [text for text in (case.title, case.hint) if text and text not in shown]
        # An id of one plain word may stand in a sentence by chance.
        for secret in (*texts, *([case.id] if "_" in case.id else [])):
            if re.search(rb"(?<!\w)" + re.escape(secret.encode()) + rb"(?!\w)", content):
                found.add(f"{case.id}: {secret}")
        if case.id in full.tensors:
            expected = full.expected(case)
            for data in (expected.tobytes(), expected.astype("float32").tobytes()):
                if len(set(data)) >= 8 and data in content:
                    found.add(f"{case.id}: its answer")
    return found


def test_no_file_of_the_hand_out_tells_of_a_hidden_case(handed_out: Path) -> None:
    full = cached_pack(ROOT, "mlm_forward")
    hidden = sum(case.visibility == "hidden" for case in full.cases)
    assert len(secrets_in(full.data, full)) >= hidden
    for path in handed_out.iterdir():
        content = path.read_bytes()
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                content = b"\0".join(archive.read(name) for name in archive.namelist())
        assert secrets_in(content, full) == set(), path.name


def test_the_hand_out_works_by_itself(handed_out: Path) -> None:
    def check(name: str) -> dict[str, Any]:
        installed = str(handed_out.parent / "installed")
        (record,) = grader("check", name, "--json", cwd=handed_out, PYTHONPATH=installed).json
        return dict(record)

    most = cached_pack(ROOT, "mlm_forward", student=True).max_score
    for name in ("mlm_forward.py", "mlm_forward.ipynb"):
        record = check(name)
        assert (record["status"], record["score"], record["max_score"]) == ("failed", 0.0, most)
        assert record["policy"]["status"] == "clean"
    (handed_out / "mlm_forward.py").write_text(SOLUTION.read_text())
    notebook = json.loads((handed_out / "mlm_forward.ipynb").read_text())
    (cell,) = [c for c in notebook["cells"] if "raise NotImplementedError" in "".join(c["source"])]
    cell["source"] = SOLUTION.read_text()
    (handed_out / "mlm_forward.ipynb").write_text(json.dumps(notebook))
    for name in ("mlm_forward.py", "mlm_forward.ipynb"):
        record = check(name)
        assert (record["status"], record["score"]) == ("passed", most)
        assert record["policy"]["status"] == "clean"
        assert record["message"] == "All visible checks passed; hidden checks were not run here."
