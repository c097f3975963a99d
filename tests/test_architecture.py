"""Imports run one way, and what runs beside student code loads nothing of the trusted side."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "grader"

# Every folder with the folders that it may import.
ALLOWED: dict[str, set[str]] = {
    "exercise": set(),
    "intake": set(),
    "policy": set(),
    "sandbox": {"exercise", "policy"},
    "judge": {"exercise"},
    "gradebook": set(),
    "report": {"gradebook"},
    "handout": {"report", "exercise"},
    "batch": {"report", "gradebook", "judge", "sandbox", "policy", "intake", "exercise"},
    "commands": {
        "authoring",
        "handout",
        "batch",
        "report",
        "gradebook",
        "judge",
        "sandbox",
        "policy",
        "intake",
        "exercise",
        "warm",
    },
    "authoring": {"handout", "batch", "judge", "sandbox", "policy", "intake", "exercise"},
}
SHARED = {
    "errors",
    "excerpt",
    "frames",
    "listing",
    "outcomes",
    "people",
    "positions",
    "result",
    "demonstration",
    "documents",
    "summary",
    "validation",
    "grader",
    "__version__",
}


def imported_modules(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module == "grader"}
    return {name for name in found if name == "grader" or name.startswith("grader.")}


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_a_folder_imports_only_what_stands_below_it(folder: str) -> None:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for name in imported_modules(path):
            room = name.split(".")[1] if "." in name else "grader"
            assert room in ALLOWED[folder] | SHARED | {folder}, f"{path.name} imports {name}"


def test_every_folder_of_the_package_is_in_the_table() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert folders == set(ALLOWED)


def test_what_runs_beside_student_code_loads_nothing_of_the_trusted_side() -> None:
    script = (
        "import sys, grader.sandbox.inside.server\n"
        "print(sorted(n for n in sys.modules if n.startswith('grader')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for name in ast.literal_eval(done.stdout):
        assert name.split(".")[:2] in (["grader"], ["grader", "policy"]) or name.startswith(
            "grader.sandbox"
        ), name
        assert name in ("grader.sandbox",) or not name.startswith("grader.sandbox.") or ".inside" in name, (
            name
        )


def test_a_check_with_a_cached_pack_loads_neither_yaml_nor_the_authoring_tools(root: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from grader.exercise.resolve import resolve_pack\n"
        "import grader.batch.runner, grader.intake.collect, grader.report.terminal.submission\n"
        "resolve_pack('row_scale', Path(sys.argv[1]))\n"
        "print(sorted(n for n in ('yaml', 'hypothesis', 'torch', 'jinja2', 'pytest') if n in sys.modules))"
    )
    environment = {
        "GRADER_CACHE": str(root / "cache"),
        "PYTHONPATH": str(PACKAGE.parent),
        "PATH": "/usr/bin:/bin",
    }
    for expected in ("['yaml']", "[]"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(root)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        assert done.stdout.strip() == expected
