"""``--quiet``: what is left of what a command prints. And files that are left out, in short."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Done, grader
from support.small import RIGHT, WRONG


def test_check_is_a_line_a_submission_with_the_same_status(home: Path) -> None:
    files = ("class/right.py", "class/wrong.py", "class/syntax.py")
    for flag in ("-q", "--quiet"):
        done = grader("check", *files, flag, cwd=home)
        lines = [line.split("  ") for line in done.out.splitlines()]
        assert [line[:2] for line in lines] == [
            ["right", "✓ passed"],
            ["syntax", "! not loadable"],
            ["wrong", "✗ failed"],
        ]
        assert all(" of " in line[2] and line[2].endswith(" points") for line in lines)
        assert (done.status, done.err) == (1, "")
    alone = grader("check", "class/right.py", "-q", cwd=home)
    assert alone.status == 0 and alone.out.count("\n") == 1


def test_check_still_tells_what_could_not_be_checked(home: Path) -> None:
    done = grader("check", "class/right.py", "class/nowhere.py", "-q", cwd=home)
    assert done.status == 2 and "nowhere.py does not exist" in done.err and done.out.count("\n") == 1


def test_grade_prints_nothing_but_warnings(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(RIGHT)
    (folder / "notes.txt").write_text("nothing")
    rest = ("--out", tmp_path / "out", "--exercise", "row_scale.pack", "-q")
    assert grader("grade", folder, *rest, cwd=home) == Done(0, "", "")
    bad = grader("grade", folder, tmp_path / "nowhere", *rest, cwd=home)
    assert bad.status == 2 and bad.out == "" and "nowhere does not exist" in bad.err
    assert "left out" not in bad.err


@pytest.fixture(scope="module")
def out(home: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graded class of two."""
    place = tmp_path_factory.mktemp("quiet")
    (place / "class").mkdir()
    (place / "class" / "ann.py").write_text(RIGHT)
    (place / "class" / "bob.py").write_text(WRONG)
    command = ["grade", place / "class", "--out", place / "out", "--exercise", "row_scale.pack", "-q"]
    assert grader(*command, cwd=home, GRADER_CACHE=str(cache)).status == 0
    return place / "out"


def test_commands_on_a_graded_folder_print_nothing(home: Path, out: Path) -> None:
    for command in (
        ("report", out),
        ("adjust", out, "ann", "--points", "1", "--reason", "fine"),
        ("export", out, "--format", "csv"),
    ):
        done = grader(*command, "-q", cwd=home)
        assert (done.status, done.out, done.err) == (0, "", ""), command
        assert grader(*command, cwd=home).out
    # What is asked for is printed all the same.
    assert "fine" in grader("adjust", out, "-q", cwd=home).out


def test_pack_and_bundle_print_nothing(home: Path, tmp_path: Path) -> None:
    assert grader("pack", "row_scale", "--out", tmp_path / "a.pack", "-q", cwd=home) == Done(0, "", "")
    done = grader("gradescope-bundle", "--out", tmp_path / "a.zip", "-q", cwd=home)
    assert (done.status, done.out) == (0, "") and (tmp_path / "a.zip").is_file()


def test_validate_prints_a_line_for_each_weakness(root: Path) -> None:
    whole = grader("validate", "--fast", cwd=root)
    quiet = grader("validate", "--fast", "-q", cwd=root)
    assert quiet.status == whole.status and quiet.err == ""
    assert all(line in whole.out.splitlines() for line in quiet.out.splitlines())
    assert ("✓ sound" in whole.out) == (quiet.out == "")
    checks = root / "cases" / "row_scale" / "checks.yaml"
    # A clause without a public case.
    checks.write_text(checks.read_text().replace("clause: scale", "clause: product"))
    weak = grader("validate", "--fast", "-q", cwd=root)
    assert weak.status == 1 and "scale" in weak.out and "cases (" not in weak.out


# --- what is left out -----------------------------------------------------------------------------


def test_few_files_that_are_left_out_are_named_and_many_are_counted_by_reason(
    home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "ann.py").write_text(RIGHT)
    (folder / "notes.txt").write_text("nothing")
    command = ("grade", folder, "--out", tmp_path / "out", "--exercise", "row_scale.pack")
    few = grader(*command, cwd=home)
    assert few.err.startswith(f"grader: left out {folder / 'notes.txt'}: ") and few.err.count("\n") == 1
    for number in range(30):
        (folder / f"notes{number}.txt").write_text("nothing")
    many = grader(*command[:2], folder / "ann.py", *command[2:], cwd=home)
    counted, named = many.err.splitlines()
    assert counted.startswith("grader: left out 31 files: 31 × is no .py or .ipynb file")
    assert counted.endswith("; grader intake names them")
    assert named == f"grader: left out {folder / 'ann.py'}: named twice"
    listed = grader("intake", folder, "--exercise", "row_scale.pack", cwd=home).out
    assert all(f"notes{number}.txt" in listed for number in range(30))
