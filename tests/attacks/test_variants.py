"""The same attacks where rights and kernels differ: an ordinary user, a container, no Landlock, no layer.

Each variant grades in a process of its own that gives up rights before it starts its fork servers.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
import pytest
from corpus import IMPATIENT, PATIENT, Attack
from world import World, in_session, soon

from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.result import Result

# Its tests together take long.
pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOBODY = 65534
SWITCH = "GRADER_SANDBOX_WITHOUT"
PACKAGES = ("numpy", "safetensors")
# One of each kind, for the ordinary test run.
SOME = (
    "exit_os_exit_in_call",
    "forge_by_truncating_shared_memory",
    "read_proc",
    "read_descriptors",
    "write_temporary_folders",
    "write_truncate",
    "network_tcp",
    "network_unix",
    "process_fork_bomb",
    "process_kill_everyone",
    "process_limits_of_the_judge",
    "process_io_uring",
    "process_unshare",
    "process_threads",
    "loop_in_python",
    "bomb_shared_mappings",
    "raise_own_limits",
    "patch_grader",
)

ATTACKS = {attack.name: attack for attack in corpus.attacks()}


class Grading:
    """A grading process, and what it was started with."""

    def __init__(self, command: list[str], variant: str, level: str, has_torch: bool, **process: Any) -> None:
        self.variant = variant
        self.has_torch = has_torch
        self.level = level
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, **process
        )

    def grade(self, job: dict[str, Any]) -> tuple[Result, int]:
        """The record of a submission, and the process id of the fork server that ran it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            pytest.fail(f"the grading process ended: {self.errors.read()[-2000:]}")
        answer = json.loads(line)
        return Result.from_dict(answer["record"]), answer["server"]

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def open_to_all(path: Path) -> bool:
    """Whether every user may enter all folders above a file, and read it."""
    real = path.resolve()
    return all(folder.stat().st_mode & 0o001 for folder in real.parents) and bool(real.stat().st_mode & 0o004)


def python_for_others() -> str | None:
    """A Python of this version that an ordinary user can run, or None."""
    named = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, shutil.which(named, path="/usr/local/bin:/usr/bin")):
        if path and open_to_all(Path(path)):
            return path
    return None


def copied(folder: Path) -> list[str]:
    """Where every user can import the grader and what it needs; what is closed to others is copied."""
    shutil.copytree(ROOT / "grader", folder / "own" / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    paths = [str(folder / "own"), str(folder / "packages")]
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        if open_to_all(Path(spec.origin)):
            place = str(Path(spec.origin).parent.parent)
            paths += [place] if place not in paths else []
            continue
        source = Path(spec.origin).parent
        for found in (source, source.with_name(f"{name}.libs")):
            if found.is_dir():
                unused = shutil.ignore_patterns("__pycache__", "tests")
                shutil.copytree(found, folder / "packages" / found.name, ignore=unused)
    shutil.copy(HERE / "grading_process.py", folder / "grading_process.py")
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))
    return paths


def _options(packs: dict[str, Pack], folder: Path, paths: list[str], **more: Any) -> str:
    files = {}
    for name, pack in packs.items():
        path = folder / f"{name}.pack"
        path.write_bytes(pack.data)
        path.chmod(0o644)
        files[name] = str(path)
    limits = {"patient": PATIENT, "impatient": IMPATIENT}
    return json.dumps({"paths": paths, "packs": files, "limits": limits} | more)


VARIANTS = ("ordinary_user", "container", "ordinary_user_in_container", "no_landlock", "nothing")


@pytest.fixture(scope="module", params=VARIANTS)
def grading(request: pytest.FixtureRequest, world: World, packs: dict[str, Pack]) -> Iterator[Grading]:
    """A process that grades with other rights."""
    variant: str = request.param
    if sys.platform != "linux":
        pytest.skip("the layers are those of Linux")
    folder = Path(tempfile.mkdtemp(prefix="zq7-variant-"))
    folder.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k != SWITCH}
    python, paths, script = sys.executable, [str(ROOT)], HERE / "grading_process.py"
    process: dict[str, Any] = {}
    if "container" in variant and importlib.util.find_spec("pyseccomp") is None:
        pytest.skip("pyseccomp is not installed")
    if "ordinary_user" in variant:
        if os.geteuid() != 0:
            pytest.skip("the tests run as an ordinary user already")
        found = python_for_others()
        if found is None:
            pytest.skip("there is no Python of this version that an ordinary user can run")
        python, paths, script = found, copied(folder), folder / "grading_process.py"
        process = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    if variant == "ordinary_user_in_container":
        pyseccomp = importlib.util.find_spec("pyseccomp")
        assert pyseccomp is not None and pyseccomp.origin is not None
        (folder / "packages").mkdir(exist_ok=True)
        shutil.copy(pyseccomp.origin, folder / "packages" / "pyseccomp.py")
    if variant == "no_landlock":
        environment[SWITCH] = "landlock"
    if variant == "nothing":
        environment[SWITCH] = "landlock,seccomp,namespaces"
    options = _options(packs, folder, paths, docker="container" in variant)
    level = {"no_landlock": "partial", "nothing": "none"}.get(variant, "full")
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.origin is not None
    has_torch = "ordinary_user" not in variant or open_to_all(Path(torch.origin))
    made = Grading(
        [python, "-P", str(script), options], variant, level, has_torch, env=environment, **process
    )
    yield made
    made.close()
    shutil.rmtree(folder, ignore_errors=True)


def _refused(
    attack: Attack,
    grading: Grading,
    world: World,
    aims: dict[str, Any],
    honest: Submission,
) -> None:
    if not attack.runs_at(grading.level):
        pytest.skip(f"needs isolation level {attack.needs}")
    if attack.machine not in ("", platform.machine()):
        pytest.skip(f"for {attack.machine} only")
    if attack.solution == "right_torch" and not grading.has_torch:
        pytest.skip("an ordinary user can't read torch here")
    source = corpus.text(attack, aims)
    job = {"name": attack.name, "exercise": attack.exercise, "limits": attack.limits, "source": source}
    right = {"name": "honest", "exercise": "row_scale", "limits": "patient", "source": honest.source}
    assert grading.grade(right)[0].status == "passed"
    result, server = grading.grade(job)
    faults = corpus.faults(attack.at(grading.level), result, world.secrets, grading.level)
    if grading.level != "none" and not soon(lambda: len(in_session(server)) <= 1):
        faults.append("it left a process behind")
    if harm := world.harm():
        faults += harm
        world.repair()
    assert not faults, "\n".join(faults)
    after = grading.grade(right)[0]
    assert after.status == "passed" and after.isolation.level == grading.level


def test_the_variant_is_what_it_is_called(grading: Grading, honest: Submission) -> None:
    job = {"name": "honest", "exercise": "row_scale", "limits": "patient", "source": honest.source}
    result, server = grading.grade(job)
    assert result.status == "passed" and result.isolation.level == grading.level
    layers = {layer.partition(" ")[0] for layer in result.isolation.layers}
    about = dict(line.split(":\t", 1) for line in Path(f"/proc/{server}/status").read_text().splitlines())
    if "ordinary_user" in grading.variant:
        assert set(about["Uid"].split()) == {str(NOBODY)} and int(about["CapBnd"], 16) != 0
    if "container" in grading.variant:
        assert about["Seccomp"] == "2" and "namespaces" not in layers
    if grading.variant in ("no_landlock", "nothing"):
        assert "landlock" not in layers
    assert ("seccomp" in layers) == (grading.variant != "nothing")


@pytest.mark.parametrize("name", corpus.named(only=SOME))
def test_some_attacks_are_refused_with_other_rights(
    name: str,
    grading: Grading,
    world: World,
    aims: dict[str, Any],
    honest: Submission,
) -> None:
    _refused(ATTACKS[name], grading, world, aims, honest)


@pytest.mark.slow
@pytest.mark.parametrize("name", corpus.named(without=SOME))
def test_all_other_attacks_are_refused_with_other_rights(
    name: str,
    grading: Grading,
    world: World,
    aims: dict[str, Any],
    honest: Submission,
) -> None:
    _refused(ATTACKS[name], grading, world, aims, honest)
