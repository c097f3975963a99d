"""What a worker makes of a job: its results, and beside them its pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from classes import told, whole
from support.small import RIGHT, WRONG

from grader.batch.jobs import Graded, Job
from grader.batch.runner import Runner
from grader.batch.worker import Settings, faults, grade, pages_of
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.report import files
from grader.result import Adjustment, Result

NO_PAGES = Settings()
RETURNED = Settings(pages="return")


def submission(source: str | None, name: str = "ann", problem: str = "") -> Submission:
    return Submission(name, name, "class/solution.py", "sha256:1", source, problem, (name,))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A run's folder."""
    files.prepare_folder(tmp_path / "out", fresh=False)
    return tmp_path / "out"


def pages_in(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*.html"))}


def test_twins_are_run_once_and_each_is_judged(shared_runner: Runner) -> None:
    ann, bob = submission(WRONG, "ann"), submission(WRONG, "bob")
    job = Job((ann, replace(bob, late=True)), {"bob": (Adjustment("a typo", 1.0),)})
    first, second = grade(shared_runner, job, NO_PAGES)
    assert first.execution and second.execution is None
    assert told(whole(first)) == told(shared_runner.grade(ann))
    alone = shared_runner.grade(replace(bob, late=True), [Adjustment("a typo", 1.0)])
    assert told(whole(second)) == told(alone)
    assert whole(second).timing == whole(first).timing
    assert second.record.score == (first.record.score or 0.0) + 1


def test_pages_are_written_returned_or_left_out(shared_runner: Runner, out: Path) -> None:
    job = Job((submission(RIGHT, "ann"), submission(RIGHT, "bob")))
    names = {f"{folder}/{name}.html" for folder in ("students", "teacher") for name in ("ann", "bob")}
    for graded in grade(shared_runner, job, Settings.to_folder(out)):
        assert not graded.pages and not graded.warning
    assert set(pages_in(out)) == names
    returned = grade(shared_runner, job, RETURNED)
    assert [set(one.pages) for one in returned] == [
        {n for n in names if n.endswith(f"/{name}.html")} for name in ("ann", "bob")
    ]
    for one in returned:
        assert dict(one.pages) == pages_of(whole(one))
    assert not any(one.pages for one in grade(shared_runner, job, NO_PAGES))
    assert not any(one.pages for one in grade(shared_runner, replace(job, reports=False), RETURNED))


def test_pages_are_the_same_wherever_they_are_written(shared_runner: Runner, out: Path) -> None:
    result = shared_runner.grade(submission(WRONG))
    files.write_pages(out, result)
    assert pages_in(out) == pages_of(result)


@pytest.mark.parametrize("pages", ["write", "return"])
def test_pages_that_cannot_be_made_are_a_warning(
    shared_runner: Runner, out: Path, monkeypatch: pytest.MonkeyPatch, pages: str
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    if pages == "return":
        monkeypatch.setattr("grader.batch.worker.student_page", fail)
        settings = RETURNED
    else:
        (out / "students" / "ann.html").mkdir()
        settings = Settings.to_folder(out)
    (graded,) = grade(shared_runner, Job((submission(RIGHT),)), settings)
    assert (graded.record.status, graded.record.score) == ("passed", shared_runner.pack.max_score)
    assert graded.warning.startswith("the pages of ann can't be written: ") and graded.execution


def test_what_fails_in_the_grader_is_a_fault_of_each_submission(
    shared_runner: Runner, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(Runner, "grade_job", fail)
    job = Job((submission(RIGHT, "ann"), submission(RIGHT, "bob")))
    graded = grade(shared_runner, job, Settings.to_folder(out))
    assert_faults(graded, "ZeroDivisionError: a mistake of ours")
    assert len(pages_in(out)) == 4


def test_faults_have_pages_too(pack: Pack, out: Path) -> None:
    job = Job((submission(RIGHT, "ann"), submission(RIGHT, "bob")))
    assert_faults(faults(pack, job, "its worker ended", Settings.to_folder(out)), "its worker ended")
    assert len(pages_in(out)) == 4
    assert [len(one.pages) for one in faults(pack, job, "its worker ended", RETURNED)] == [2, 2]


def assert_faults(graded: list[Graded], message: str) -> None:
    results: list[Result] = [whole(one) for one in graded]
    assert [r.submission.id for r in results] == ["ann", "bob"]
    assert {(r.status, r.score) for r in results} == {("grader_fault", None)}
    assert all(message in r.message for r in results)
    assert not any(one.execution or one.warning for one in graded)


def test_a_folder_makes_the_pages_written(tmp_path: Path) -> None:
    assert Settings.to_folder(None) == NO_PAGES
    assert Settings.to_folder(tmp_path) == Settings(str(tmp_path), "write", True)
