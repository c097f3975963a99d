"""What is shipped: the wheel holds the grader and student packs, and a student needs nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.exercise import pack as packs
from grader.exercise.cached import cached_pack

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "submissions" / "mlm_forward" / "right_einsum.py"

pytestmark = pytest.mark.slow


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
