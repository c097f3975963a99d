"""Nothing that is hidden is in any file that reaches students, and nothing in a record breaks a file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from people import handed_in
from samples import failing, grader_fault, hostile, not_loadable, passing, suspicious, violated

from grader.errors import GraderError
from grader.people import Person
from grader.report.exports import EXPORTS, ExportOptions, export, find
from grader.result import CaseError, Output, PolicyResult, Result, SubmissionInfo, Timing, Violation

STUDENT = sorted(name for name, one in EXPORTS.items() if one.student)
SECRET, FIGURE = "zq7secret", 0.86753091234


def planted(layout: str = "plain", feedback: str = SECRET) -> Result:
    """A record with a secret in every field that a student may not see."""
    one = failing()
    cases = tuple(
        replace(
            case,
            id=f"{SECRET}_{at}",
            group=SECRET,
            title=SECRET,
            message=SECRET,
            hint=SECRET,
            error=CaseError(FIGURE, FIGURE, FIGURE),
            details={
                "inputs": [{"name": SECRET, "value": SECRET}],
                "exception": SECRET,
                "traceback": [[31337, SECRET]],
                "worst": [{"index": [1], "obtained": FIGURE, "expected": SECRET}],
                "stdout": SECRET,
                "stderr": SECRET,
                "snippet": SECRET,
            },
        )
        if case.visibility == "hidden"
        else case
        for at, case in enumerate(one.cases)
    )
    suspicion = Violation(SECRET, SECRET, 31337, 1, "static", SECRET)
    info = SubmissionInfo(
        "s002",
        "Noether, Emmy",
        ("Noether, Emmy",),
        f"/{SECRET}/solution.py",
        "sha256:ab",
        people=(Person("Noether, Emmy", SECRET, f"{SECRET}@x", "41" if layout == "moodle" else SECRET),),
        layout=layout,
        feedback=feedback,
        alike=SECRET,
    )
    return replace(
        one,
        cases=cases,
        submission=info,
        hidden_output=Output(SECRET, SECRET),
        policy=PolicyResult("suspicious", (), (suspicion,)),
        timing=Timing(FIGURE, FIGURE, FIGURE, 0.01),
    )


def contents(paths: tuple[Path, ...]) -> Iterator[str]:
    """All texts in the files, also in those of archives."""
    for path in paths:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from (archive.read(name).decode() for name in archive.namelist())
        else:
            yield path.read_text("utf-8")


@pytest.mark.parametrize("name", STUDENT)
def test_no_secret_reaches_a_student(name: str, tmp_path: Path) -> None:
    layout = name.partition("-")[0] if name.endswith("-feedback") else "plain"
    feedback = {"moodle": "E_41_assignsubmission_file", "brightspace": "1-2 - E - Oct 5, 2026 1159 PM"}
    one = planted(layout, feedback.get(layout, SECRET))
    again = replace(one.submission, id="s003", feedback=f"{one.submission.feedback}_")
    other = replace(one, submission=again)
    for records in ([one], [one, other]):
        done = export(name, records, tmp_path)
        written = [*contents(done.paths), done.text, *done.warnings]
        # What is visible is there, so the files are not merely empty.
        assert any("Softmax" in text or "uniform_attention" in text for text in written)
        for text in written:
            for secret in (SECRET, "0.8675", "31337", "8675309"):
                assert secret not in text, text


def test_the_teacher_s_files_do_hold_it(tmp_path: Path) -> None:
    for name in ("csv", "jsonl"):
        assert SECRET in "".join(contents(export(name, [planted()], tmp_path / name).paths))


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_every_kind_of_record_can_be_exported(name: str, tmp_path: Path) -> None:
    kinds = [passing(), failing(), not_loadable(), violated(), grader_fault(), suspicious()]
    for at, record in enumerate([*kinds, hostile()]):
        # The samples' hostile id is no id; those of records are letters and digits.
        record = replace(record, submission=replace(record.submission, id=f"s{at}"))
        done = export(name, [record], tmp_path / str(at))
        assert done.paths and all(path.is_file() for path in done.paths)
        assert not [path for path in (tmp_path / str(at)).rglob("*") if path.name.endswith(".new")]


def test_records_may_come_one_by_one(tmp_path: Path) -> None:
    for name in EXPORTS:
        assert export(name, iter([passing(), failing()]), tmp_path / name).paths


def test_an_unknown_format_names_the_near_one_or_all() -> None:
    with pytest.raises(GraderError, match=r"no format 'moodel'; did you mean 'moodle'\?"):
        find("moodel")
    with pytest.raises(GraderError, match=r"no format 'x'; known here: 'gradescope', 'canvas'"):
        find("x")


def test_a_template_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"junit fills nothing in, .* for canvas, moodle, brightspace"):
        export("junit", [passing()], tmp_path, ExportOptions(template=tmp_path / "x.csv"))


def test_a_folder_that_cant_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in EXPORTS:
        with pytest.raises(GraderError, match="can't be written"):
            export(name, [passing()], tmp_path / "file" / "below")


# --- Gradescope -----------------------------------------------------------------------------------

VISIBILITIES = {"visible", "after_due_date", "after_published", "hidden"}


def results_of(record: Result, folder: Path, **options: str) -> dict:  # type: ignore[type-arg]
    (path,) = export("gradescope", [record], folder, ExportOptions(**options)).paths  # type: ignore[arg-type]
    assert path.name == "results.json" and path.parent == folder
    return json.loads(path.read_text("ascii"), parse_constant=lambda word: 1 / 0)


def test_gradescope_gets_the_score_and_every_check(tmp_path: Path) -> None:
    record = failing()
    found = results_of(record, tmp_path)
    assert found["score"] == record.score and found["stdout_visibility"] == "hidden"
    tests = found["tests"]
    assert len(tests) == len(record.cases) and [t["number"] for t in tests] == [
        str(n) for n in range(1, len(tests) + 1)
    ]
    assert sum(t["score"] for t in tests) == record.score
    assert sum(t["max_score"] for t in tests) == record.max_score
    for test, case in zip(tests, record.cases, strict=True):
        assert test["status"] == ("passed" if case.verdict == "passed" else "failed")
        assert test["visibility"] in VISIBILITIES and isinstance(test["output"], str)
        assert ("Hidden check" in test["name"]) == (case.visibility == "hidden")
    raised = next(t for t in tests if t["name"].startswith("nothing_selected"))
    assert "need at least one array" in raised["output"] and "line 41, in _pick_rows" in raised["output"]


@pytest.mark.parametrize("visibility", sorted(VISIBILITIES))
def test_hidden_checks_are_shown_when_it_is_asked(visibility: str, tmp_path: Path) -> None:
    found = results_of(failing(), tmp_path, hidden=visibility)
    for test in found["tests"]:
        assert test["visibility"] == (visibility if test["name"].startswith("Hidden") else "visible")


def test_partial_points_and_extra_credit(tmp_path: Path) -> None:
    record = failing()
    first, second, *rest = record.cases
    first = replace(first, verdict="wrong_value", points=0.4)
    second = replace(second, extra=True, points=1.0, max_points=1.0)
    found = results_of(replace(record, cases=(first, second, *rest)), tmp_path)
    assert found["tests"][0]["score"] == 0.4 and found["tests"][0]["max_score"] == 1.0
    assert found["tests"][1]["max_score"] == 0.0 and "extra credit" in found["tests"][1]["tags"]


def test_a_fault_of_the_grader_is_no_score_anywhere(tmp_path: Path) -> None:
    found = results_of(grader_fault(), tmp_path)
    # With tests the platform would add up their scores; with a score it would be a mark.
    assert "score" not in found and "tests" not in found and "leaderboard" not in found
    assert "not your fault" in found["output"]
    done = export("gradescope", [grader_fault(), passing()], tmp_path / "class")
    assert [path.parent.name for path in done.paths] == ["s005", "s001"]
    assert "s005" in done.warnings[0]


def test_a_file_that_cant_be_loaded_is_worth_nothing_and_says_why(tmp_path: Path) -> None:
    found = results_of(not_loadable(), tmp_path)
    assert found["score"] == 0.0 and found["tests"] == [] and "'(' was never closed" in found["output"]


def test_nothing_of_a_class_is_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match="no record"):
        export("gradescope", [], tmp_path)


def test_a_group_member_is_not_told_of_the_others(tmp_path: Path) -> None:
    group = handed_in("g", Person("Ada", "007", "ada@uni.example"), Person("Max", "008", "max@uni.example"))
    for name in STUDENT:
        for text in contents(export(name, [group], tmp_path / name).paths):
            assert "max@uni.example" not in text and "008" not in text
