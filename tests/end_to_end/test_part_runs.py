"""``--case`` and ``--clause``: a part is run, and all that it prints is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from handed_in import HIDDEN_ID, HIDDEN_TITLE, HIDDEN_VALUE
from support.commands import grader
from support.small import RIGHT, WRONG

PRINTING = 'print("loaded", __name__)\n' + RIGHT.replace(
    "    return", '    print("x is", x.tolist(), "of", x.shape)\n    print(*range(40), sep="\\n")\n    return'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "ann.py"
    path.write_text(PRINTING)
    return path


def public(home: Path, file: Path, *part: str) -> list[dict[str, object]]:
    (record,) = grader("check", file, *part, "--exercise", "row_scale.pack", "--json", cwd=home).json
    return [case for case in record["cases"] if case["visibility"] == "public"]


def test_prints_of_a_check_that_passes_are_shown_whole(home: Path, file: Path) -> None:
    ids = [case["id"] for case in public(home, file)]
    for name in ids:
        done = grader("check", file, "--case", str(name), "--exercise", "row_scale.pack", cwd=home)
        assert done.status == 0 and "✓ passed" in done.out and f"✓ {name}  " in done.out
        assert "printed while the file was loaded:\n  loaded ann\n" in done.out
        assert "This is a part of the checks: 1 of " in done.out
        assert done.out.count("\n  39\n") == done.out.count("x is") >= 1


def test_a_call_is_one_that_was_made(home: Path, file: Path) -> None:
    for case in public(home, file, "--clause", "product", "--clause", "rows", "--clause", "inputs"):
        calls = case["details"]["printed"]  # type: ignore[index]
        assert [call["call"] for call in calls] == list(range(1, len(calls) + 1))
        assert {call["of"] for call in calls} == {len(calls)}


def test_prints_of_hidden_checks_are_never_shown(home: Path, file: Path) -> None:
    for options in (("--json",), ()):
        part = ("--clause", "scale", "--case", HIDDEN_ID, "--exercise", "row_scale.pack")
        done = grader("check", file, *part, *options, cwd=home)
        assert done.status == 0 and "x is" in done.out
        assert str(HIDDEN_VALUE) not in done.out and HIDDEN_ID not in done.out


def test_a_whole_run_keeps_no_prints_of_checks_that_pass(home: Path, file: Path) -> None:
    assert all(not case["details"] for case in public(home, file))
    assert "x is" not in grader("check", file, "--exercise", "row_scale.pack", cwd=home).out


def test_unknown_names_are_answered_with_what_was_meant(home: Path, file: Path) -> None:
    for option, name, meant in (("--clause", "prodct", "product"), ("--clause", "Separate row", "rows")):
        done = grader("check", file, option, name, "--exercise", "row_scale.pack", cwd=home)
        assert done.status == 2 and f"did you mean {meant!r}" in done.err
    known = public(home, file)[0]
    first = str(known["id"])
    for name in (first[:-1], f"{first[:4]}*", str(known["title"]).upper()):
        done = grader("check", file, "--case", name, "--exercise", "row_scale.pack", cwd=home)
        assert done.status == 2 and f"did you mean {first!r}" in done.err
    for name in ("*", f"{HIDDEN_ID[:3]}*", HIDDEN_TITLE):
        done = grader("check", file, "--case", name, "--exercise", "row_scale.pack", cwd=home)
        assert done.status == 2 and HIDDEN_ID not in done.err


def test_with_a_students_pack_it_is_said_that_hidden_checks_were_not_run(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    for text, said in (
        (RIGHT, "All visible checks passed; hidden checks were not run here."),
        (WRONG, "Hidden checks were not run here."),
    ):
        file.write_text(text)
        page = tmp_path / "page.html"
        done = grader("check", file, "--exercise", "student.pack", "--html", page, cwd=home)
        assert said in done.out.splitlines()
        assert "Hidden checks were not run here: only those that you see count" in page.read_text("utf-8")
        (record,) = grader("check", file, "--exercise", "student.pack", "--json", cwd=home).json
        assert record["exercise"]["visible_only"] is True
        (record,) = grader("check", file, "--exercise", "row_scale.pack", "--json", cwd=home).json
        assert "visible_only" not in record["exercise"]
