"""``grader release``: what a student gets works by itself, gives nothing away, and is never written over."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.commands import ROOT, Done, grader
from support.small import RIGHT, WRONG, build, freeze_exercise, write_exercise

# Its tests together take long.
pytestmark = pytest.mark.slow

STATEMENT = """\
# Scaled rows

Each row of a product, scaled.

## product

The product of x and w, times factor.

```pattern
title: Rows by columns
rows: row
columns: column

  0 1
0 x x
1 x x
```
"""
NAMES = ["README.txt", "SHA256SUMS", "row_scale.ipynb", "row_scale.pack", "row_scale.py", "statement.html"]
HIDDEN_HINT = "A hint that no student may see."


def author(folder: Path) -> Path:
    """A root with the small exercise and its statement."""
    cases = write_exercise(folder)
    freeze_exercise(folder)
    (cases / "statement.md").write_text(STATEMENT)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return author(tmp_path_factory.mktemp("author"))


@pytest.fixture(scope="module")
def released(root: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-out, made once."""
    out = tmp_path_factory.mktemp("released") / "week1"
    done = grader("release", "row_scale", "--out", out, cwd=root, GRADER_CACHE=str(cache))
    assert done.status == 0, done.err
    return out


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The grader as it is installed on a student's machine: no cases, no reference, no packs."""
    folder = tmp_path_factory.mktemp("installed")
    ignored = shutil.ignore_patterns("__pycache__", "packs")
    shutil.copytree(ROOT / "grader", folder / "grader", ignore=ignored)
    return folder


@pytest.fixture
def alone(released: Path, tmp_path: Path) -> Path:
    """A copy of the hand-out where nothing else is."""
    folder = tmp_path / "at_home"
    shutil.copytree(released, folder)
    return folder


def student(package: Path, *arguments: str | Path, cwd: Path) -> Done:
    """A command of the student's."""
    return grader(*arguments, cwd=cwd, PYTHONPATH=str(package))


def python(package: Path, code: str, cwd: Path) -> str:
    """What Python prints in a folder with the installed grader."""
    environment = {"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def watched(package: Path, arguments: list[str], cwd: Path) -> str:
    """What a command that watches says first; it is then interrupted."""
    environment = {"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    command = [sys.executable, "-m", "grader", *arguments]
    said = ""
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if "Ctrl-C ends" in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, said
    return said


def with_solution(notebook: Path, source: str) -> None:
    """Write a solution in place of the starter's cell, as Jupyter saves it."""
    data = json.loads(notebook.read_text())
    (cell,) = [c for c in data["cells"] if "raise NotImplementedError" in "".join(c["source"])]
    cell["source"] = source.splitlines(keepends=True)
    notebook.write_text(json.dumps(data))


def cells(notebook: Path, kind: str) -> list[str]:
    return ["".join(c["source"]) for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == kind]


# --- What is written ------------------------------------------------------------------------------


def test_it_says_what_it_wrote(root: Path, tmp_path: Path) -> None:
    done = grader("release", "--out", tmp_path / "out", cwd=root)
    assert done.status == 0
    assert done.out.startswith("hand-out of row_scale: 5 checks; 4 checks kept back\n")
    assert all(name in done.out for name in NAMES)
    quiet = grader("release", "--out", tmp_path / "quiet", "-q", cwd=root)
    assert quiet == Done(0, "", "") and len(list((tmp_path / "quiet").iterdir())) == len(NAMES)


def test_it_holds_these_files_with_their_digests(released: Path) -> None:
    assert sorted(path.name for path in released.iterdir()) == NAMES
    sums = dict(reversed(line.split("  ")) for line in (released / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        name: hashlib.sha256((released / name).read_bytes()).hexdigest()
        for name in NAMES
        if name != "SHA256SUMS"
    }


def test_it_is_the_same_whenever_it_is_made(root: Path, released: Path, tmp_path: Path) -> None:
    assert grader("release", "--out", tmp_path / "again", cwd=root).status == 0
    for name in NAMES:
        assert (tmp_path / "again" / name).read_bytes() == (released / name).read_bytes()


def test_nothing_in_it_tells_of_hidden_cases(released: Path) -> None:
    everything = b"\0".join(path.read_bytes() for path in released.iterdir())
    for secret in ("x_matters", "drawn_01", HIDDEN_HINT, "Another x gives another row"):
        assert secret.encode() not in everything
    assert b"ones_row" in everything


def test_the_page_draws_the_pattern_and_links_to_the_files(released: Path) -> None:
    page = (released / "statement.html").read_text()
    assert 'aria-label="Rows by columns: 2 rows (row), 2 columns (column); yes: 4 of 4 cells"' in page
    assert 'href="row_scale.py"' in page and 'href="row_scale.ipynb"' in page
    assert "grader check row_scale.py" in page


def test_the_notebook_is_one(released: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(released / "row_scale.ipynb", as_version=4))
    texts = cells(released / "row_scale.ipynb", "markdown")
    assert texts[0].startswith("# Scaled rows") and texts[1].startswith("## product")
    assert "0 ■ ■" in texts[1]


def test_an_archive_holds_the_same_in_one_folder(root: Path, released: Path, tmp_path: Path) -> None:
    for _ in range(2):  # An archive is renewed.
        assert grader("release", "--out", tmp_path / "week1.zip", cwd=root).status == 0
    with zipfile.ZipFile(tmp_path / "week1.zip") as archive:
        assert sorted(archive.namelist()) == [f"row_scale/{name}" for name in NAMES]
        assert archive.read("row_scale/row_scale.pack") == (released / "row_scale.pack").read_bytes()


# --- The hand-out alone ---------------------------------------------------------------------------


def test_no_reference_can_be_reached_from_it(package: Path, alone: Path) -> None:
    code = "from grader.exercise.roots import find_root; print(find_root())"
    assert python(package, code, alone) == "None\n"


@pytest.mark.parametrize("name", ["row_scale.py", "row_scale.ipynb"])
def test_what_is_handed_out_gets_0_points(package: Path, alone: Path, name: str) -> None:
    done = student(package, "check", name, "--json", cwd=alone)
    (record,) = done.json
    assert done.status == 1
    assert (record["status"], record["score"], record["max_score"]) == ("failed", 0.0, 6.5)
    assert record["policy"]["status"] == "clean"
    assert {case["visibility"] for case in record["cases"]} == {"public"}


def test_a_right_solution_gets_full_marks_and_the_truth(package: Path, alone: Path) -> None:
    (alone / "row_scale.py").write_text(RIGHT)
    done = student(package, "check", "row_scale.py", cwd=alone)
    assert done.status == 0, done.out + done.err
    assert "6.5 of 6.5 points" in done.out
    assert "All visible checks passed; hidden checks were not run here." in " ".join(done.out.split())


def test_a_right_notebook_gets_full_marks_and_no_word_on_its_check_cell(package: Path, alone: Path) -> None:
    with_solution(alone / "row_scale.ipynb", RIGHT)
    (record,) = student(package, "check", "row_scale.ipynb", "--json", cwd=alone).json
    assert (record["status"], record["score"]) == ("passed", 6.5)
    assert not [note for note in record["notes"] if "raised" in note or "not run" in note]


@pytest.mark.parametrize(("source", "status"), [(RIGHT, "passed"), (WRONG, "failed"), (None, "failed")])
def test_the_check_cell_shows_the_report(package: Path, alone: Path, source: str | None, status: str) -> None:
    if source is not None:
        with_solution(alone / "row_scale.ipynb", source)
    code = "\n".join(
        [
            "def display(checked): print(checked.status, checked.score == checked.max_score)",
            "__name__ = '__main__'",
            *cells(alone / "row_scale.ipynb", "code"),
        ]
    )
    assert python(package, code, alone) == f"{status} {status == 'passed'}\n"


def test_the_readmes_commands_work(package: Path, alone: Path) -> None:
    lines = [line.strip() for line in (alone / "README.txt").read_text().splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("grader ")]
    (alone / "row_scale.py").write_text(RIGHT)
    with_solution(alone / "row_scale.ipynb", RIGHT)
    (watching,) = [command for command in commands if "--watch" in command]
    assert "6.5 of 6.5 points" in watched(package, watching, alone)
    commands.remove(watching)
    assert len(commands) == 4
    assert [student(package, *command, cwd=alone).status for command in commands] == [0] * 4


def test_the_pack_is_found_from_elsewhere_and_for_files_elsewhere(
    package: Path, alone: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(RIGHT)
    assert student(package, "check", tmp_path / "mine.py", cwd=alone).status == 0
    (alone / "row_scale.py").write_text(RIGHT)
    assert student(package, "check", "at_home/row_scale.py", cwd=tmp_path).status == 0
    assert "1.0" in python(
        package, "import grader; print(grader.check('at_home/row_scale.py').score / 6.5)", tmp_path
    )
    assert "True" in python(package, f"{RIGHT}\nimport grader; print(grader.check(row_scale).passed)", alone)


def test_what_a_report_names_is_explained_in_the_folder(package: Path, alone: Path) -> None:
    (alone / "row_scale.py").write_text(WRONG)
    report = student(package, "check", "row_scale.py", cwd=alone).out
    assert "large_rows" in report
    done = student(package, "explain", "large_rows", cwd=alone)
    assert done.status == 0 and "large_rows" in done.out, done.err
    # The command that it prints works there too.
    (line,) = [line for line in done.out.splitlines() if line.startswith("run it: ")]
    command = line.removeprefix("run it: grader ").replace("solution.py", "row_scale.py").split()
    assert student(package, *command, cwd=alone).status == 1


def test_checks_are_tests_of_pytest_in_the_folder(package: Path, alone: Path) -> None:
    (alone / "row_scale.py").write_text(RIGHT)
    for folder, name in ((alone, "row_scale.py"), (alone.parent, "at_home/row_scale.py")):
        arguments = ["-p", "grader.pytest_plugin", "--grader-exercise=row_scale", "-q", name]
        code = "import os, pytest; os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\n"
        code += f"assert not pytest.main({arguments})"
        # 5 checks, and whether it loads and keeps to the rules.
        assert "7 passed" in python(package, code, folder)


def test_a_class_is_never_graded_by_a_pack_that_lies_in_it(package: Path, alone: Path) -> None:
    done = student(package, "grade", "row_scale.py", "--out", "reports", cwd=alone)
    assert done.status == 2 and "no exercise was found" in done.err


# --- A folder that is there already ---------------------------------------------------------------


def release(root: Path, out: Path) -> Done:
    return grader("release", "--out", out, cwd=root)


def test_an_untouched_hand_out_is_renewed(tmp_path: Path) -> None:
    root, out = author(tmp_path / "root"), tmp_path / "out"
    assert release(root, out).status == 0
    before = (out / "row_scale.ipynb").read_bytes()
    statement = root / "cases" / "row_scale" / "statement.md"
    statement.write_text(STATEMENT.replace("Each row", "Every row"))
    assert release(root, out).status == 0
    assert "Every row" in (out / "statement.html").read_text()
    assert (out / "row_scale.ipynb").read_bytes() != before


@pytest.mark.parametrize("name", ["README.txt", "row_scale.py", "row_scale.ipynb"])
def test_a_file_that_was_edited_is_kept_and_named(root: Path, released: Path, alone: Path, name: str) -> None:
    with (alone / name).open("a") as file:
        file.write("\n# my work\n")
    before = {path.name: path.read_bytes() for path in alone.iterdir()}
    done = release(root, alone)
    assert done.status == 2
    assert f"{name} was edited since it was handed out, and is kept" in done.err
    assert {path.name: path.read_bytes() for path in alone.iterdir()} == before


def test_without_its_digests_an_edited_starter_is_kept_too(root: Path, alone: Path) -> None:
    (alone / "SHA256SUMS").unlink()
    assert release(root, alone).status == 0
    (alone / "SHA256SUMS").unlink()
    (alone / "row_scale.py").write_text(RIGHT)
    assert release(root, alone).status == 2
    assert (alone / "row_scale.py").read_text() == RIGHT


def test_a_folder_with_anything_else_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = release(root, tmp_path)
    assert done.status == 2 and "holds notes.txt, which is no part of a hand-out" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_empty_folder_is_taken(root: Path, tmp_path: Path) -> None:
    assert release(root, tmp_path).status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES


def test_a_link_in_place_of_a_file_is_not_followed(root: Path, alone: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.py"
    target.write_bytes((alone / "row_scale.py").read_bytes())
    (alone / "row_scale.py").unlink()
    (alone / "row_scale.py").symlink_to(target)
    done = release(root, alone)
    assert done.status == 2 and "row_scale.py is no plain file" in done.err


@pytest.mark.parametrize(("name", "said"), [("file", "is a file"), ("file/below", "Not a directory")])
def test_a_place_that_is_no_folder_is_told(root: Path, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    done = release(root, tmp_path / name)
    assert done.status == 2 and said in done.err


# --- Exercises at fault ---------------------------------------------------------------------------


def changed(folder: Path, statement: str | None) -> Path:
    root = author(folder)
    path = root / "cases" / "row_scale" / "statement.md"
    if statement is None:
        path.unlink()
    else:
        path.write_text(statement)
    return root


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (None, "row_scale has no statement; write cases/row_scale/statement.md"),
        (f"{STATEMENT}\n[x](#y)\n", "statement.md:19: links to #y"),
        (STATEMENT.replace("1 x x", "1 x"), "statement.md:16: the pattern block: the row '1' has 1 marks"),
        (f"{STATEMENT}\nAs in x_matters.\n", "statement.md:19: names the hidden case x_matters"),
        (f"{STATEMENT}\nSee drawn_02.\n", "statement.md:19: names the hidden case drawn_02"),
        (f"{STATEMENT}\n{HIDDEN_HINT}\n", "holds the hint of x_matters"),
    ],
)
def test_a_statement_at_fault_is_told_and_nothing_is_written(
    tmp_path: Path, statement: str | None, said: str
) -> None:
    root = changed(tmp_path / "root", statement)
    done = release(root, tmp_path / "out")
    assert done.status == 2 and said in done.err
    assert not (tmp_path / "out").exists()


def test_validate_tells_of_the_statement_too(tmp_path: Path) -> None:
    root = changed(tmp_path, f"{STATEMENT}\n[x](#y)\n")
    done = grader("validate", "--fast", "--json", cwd=root)
    assert [w for w in done.json["weaknesses"] if w["code"] == "statement"] == [
        {
            "code": "statement",
            "message": "links to #y, but no heading has that name; known here: scaled-rows, product",
            "file": "cases/row_scale/statement.md",
            "line": 19,
        }
    ]


def test_validate_tells_of_a_hidden_hint_in_the_statement(tmp_path: Path) -> None:
    root = changed(tmp_path, f"{STATEMENT}\n{HIDDEN_HINT}\n")
    done = grader("validate", "--fast", "--json", cwd=root)
    said = [w["message"] for w in done.json["weaknesses"] if w["code"] == "statement"]
    assert said == [
        "cases/row_scale/statement.md holds the hint of x_matters, which is hidden; word the hint otherwise"
    ]


def test_without_nbformat_the_extra_is_named(root: Path, tmp_path: Path) -> None:
    (tmp_path / "nbformat.py").write_text("raise ImportError('not installed')\n")
    done = grader("release", "--out", tmp_path / "out", cwd=root, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.status == 2 and 'pip install "mlm-grader[notebooks]"' in done.err
    assert not (tmp_path / "out").exists()


# --- The wheel ------------------------------------------------------------------------------------


def wheel(folder: Path, pack: bytes | None, name: str = "mlm_grader-0.1.0-py3-none-any.whl") -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("grader/cli.py", "")
        if pack is not None:
            archive.writestr("grader/packs/row_scale.pack", pack)
    return folder / name


def test_a_wheel_is_handed_out_and_its_install_told(root: Path, tmp_path: Path) -> None:
    path = wheel(tmp_path, build(root, student=True).data)
    out = tmp_path / "out"
    done = grader("release", "--out", out, "--wheel", path, cwd=root)
    assert done.status == 0, done.err
    assert (out / path.name).read_bytes() == path.read_bytes()
    assert f'pip install "./{path.name}"' in (out / "README.txt").read_text()
    # Renewed without it, none is left.
    assert release(root, out).status == 0
    assert sorted(p.name for p in out.iterdir()) == NAMES


def refused(case: str, root: Path, folder: Path) -> tuple[Path, str]:
    made: dict[str, Any] = {
        "whole": lambda: wheel(folder, build(root).data),
        "damaged": lambda: wheel(folder, b"no pack"),
        "other": lambda: wheel(folder, None, "other-1.0-py3-none-any.whl"),
        "gone": lambda: folder / "mlm_grader-0.1.0-py3-none-any.whl",
    }
    said = {
        "whole": "holds grader/packs/row_scale.pack, a pack with hidden cases; make the wheel with",
        "damaged": "is damaged: it carries a file that is no pack",
        "other": "is no wheel of the grader; expected a name such as",
        "gone": "can't be read: No such file",
    }
    return made[case](), said[case]


@pytest.mark.parametrize("case", ["whole", "damaged", "other", "gone"])
def test_a_file_that_is_no_wheel_for_students_is_refused(root: Path, tmp_path: Path, case: str) -> None:
    path, said = refused(case, root, tmp_path)
    done = grader("release", "--out", tmp_path / "out", "--wheel", path, cwd=root)
    assert done.status == 2 and said in done.err
    assert not (tmp_path / "out").exists()
