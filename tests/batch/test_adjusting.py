"""Points by hand count at once, without running anything, and survive every later run."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from classes import submissions_in, write_class
from support.small import RIGHT, WRONG, small_pack

from grader.batch.adjusting import adjust, entries, remove
from grader.batch.grading import Run, grade_class
from grader.batch.runner import Runner
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.journal import Gradebook
from grader.gradebook.lock import hold
from grader.result import Adjustment

SOURCES = {"ann": RIGHT, "bob": WRONG, "dot": "def row_scale(x: \n"}


def grade(pack: Pack, top: Path, **options: Any) -> Run:
    return grade_class(pack, submissions_in(top / "class"), top / "out", **{"workers": 1} | options)


@pytest.fixture(scope="module")
def graded(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("graded")
    write_class(top / "class", SOURCES)
    grade(pack, top)
    return top


@pytest.fixture
def top(graded: Path, tmp_path: Path) -> Path:
    """A folder of the test's own with a class that was graded and has moved since."""
    shutil.copytree(graded, tmp_path / "top")
    return tmp_path / "top"


@pytest.fixture(autouse=True)
def _somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def no_run(self: Runner, program: Any) -> None:
    raise AssertionError(f"{program.filename} was run")


def scores(top: Path) -> dict[str, float | None]:
    with Gradebook(top / "out", None, reading=True) as book:
        return {r.submission.id: r.score for r in book.newest()}


def test_points_are_given_and_taken_at_once(pack: Pack, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = top / "out"
    full, less = scores(top)["ann"], scores(top)["bob"]
    assert full is not None and less is not None
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_execute", no_run)
        done = adjust(out, "ann", -1.5, "  copied\nfrom bob ", made_by="kim")
        assert (done.before.score, done.after.score) == (full, full - 1.5)
        adjust(out, "BOB", 0.25, "explained it well")
        adjust(out, "bob", 0.5, "and once more")
    assert scores(top) == {"ann": full - 1.5, "bob": less + 0.75, "dot": 0.0}
    with Gradebook(out, None, reading=True) as book:
        ann = book.result("ann")
    assert ann is not None and ann.adjustments == (Adjustment("copied from bob", -1.5),)
    for page in (out / "students" / "ann.html", out / "teacher" / "ann.html"):
        assert "copied from bob" in page.read_text("utf-8")
    row = next(r for r in (out / "gradebook.csv").read_text("utf-8-sig").splitlines() if r.startswith("ann,"))
    assert f",{full - 1.5}," in row
    first, *others = entries(out)
    assert (first.submission, first.points, first.reason, first.made_by) == (
        "ann",
        -1.5,
        "copied from bob",
        "kim",
    )
    assert len(others) == 2 and all(entry.made_by for entry in others)


def test_they_survive_what_comes_later(pack: Pack, top: Path, tmp_path: Path) -> None:
    grade(pack, top)
    full = scores(top)["ann"]
    assert full is not None
    adjust(top / "out", "ann", -1.5, "copied")
    # What an adjustment made is what a run would make.
    again = grade(pack, top)
    assert (again.ran, again.rejudged, again.kept) == (0, 0, 3)
    assert scores(top)["ann"] == full - 1.5
    grade(pack, top, force=True)
    assert scores(top)["ann"] == full - 1.5
    other = small_pack(tmp_path / "other", change={"ones_row": {"points": 3}})
    grade(other, top)
    assert scores(top)["ann"] == other.max_score - 1.5
    (top / "class" / "ann.py").write_text(WRONG)
    grade(other, top)
    with Gradebook(top / "out", None, reading=True) as book:
        ann = book.result("ann")
    assert ann is not None and ann.adjustments[-1] == Adjustment("copied", -1.5)


def test_what_is_removed_counts_no_more_and_stays_on_record(top: Path) -> None:
    out = top / "out"
    before = scores(top)
    adjust(out, "ann", -1.0, "first")
    adjust(out, "ann", -2.0, "second")
    done = remove(out, 1, made_by="lee")
    assert done.after.score == (before["ann"] or 0.0) - 2.0
    first, second = entries(out)
    assert (first.removed_by, second.removed_by) == ("lee", "")
    with pytest.raises(GraderError, match="adjustment 1 of ann was removed before"):
        remove(out, 1)
    with pytest.raises(GraderError, match="there is no adjustment 7; those that count: 2"):
        remove(out, 7)
    remove(out, 2)
    assert scores(top) == before and len(entries(out)) == 2


def test_no_score_falls_below_0_and_what_could_not_be_read_is_adjusted_too(top: Path) -> None:
    done = adjust(top / "out", "dot", 2.0, "it was a typing mistake")
    assert done.after.score == 2.0 and done.after.status == "not_loadable"
    done = adjust(top / "out", "ann", -1000.0, "copied")
    assert done.after.score == 0.0


def test_a_fault_of_the_grader_keeps_having_no_score_until_it_is_graded(
    pack: Pack, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_execute", no_run)
        grade(pack, top, only=["bob"], force=True)
    done = adjust(top / "out", "bob", -0.5, "late")
    assert done.after.score is None and done.after.status == "grader_fault"
    grade(pack, top)
    with Gradebook(top / "out", None, reading=True) as book:
        bob = book.result("bob")
    assert bob is not None and bob.adjustments == (Adjustment("late", -0.5),)


def test_what_says_nothing_is_refused_and_nothing_is_changed(top: Path) -> None:
    out = top / "out"
    before = scores(top)
    for points in (0.0, 1e-7, 1e7, float("nan"), float("inf")):
        with pytest.raises(GraderError, match="is no number of points to give or take; expected one such as"):
            adjust(out, "ann", points, "why")
    with pytest.raises(GraderError, match="needs a reason"):
        adjust(out, "ann", 1.0, " \n ")
    with pytest.raises(GraderError, match="has 301 characters; at most 300"):
        adjust(out, "ann", 1.0, "x" * 301)
    with pytest.raises(GraderError, match="no submission is of 'zoe'"):
        adjust(out, "zoe", 1.0, "why")
    with pytest.raises(GraderError, match=r"holds no gradebook\.sqlite"):
        adjust(top, "ann", 1.0, "why")
    with hold(out, "grader grade"), pytest.raises(GraderError, match="is being written by another run"):
        adjust(out, "ann", 1.0, "why")
    assert scores(top) == before and entries(out) == []


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM executions",
        "UPDATE executions SET execution = x'00'",
        "DELETE FROM packs",
        "UPDATE packs SET data = x'00'",
        "UPDATE packs SET data = data || x'00'",
        "UPDATE results SET submitted = NULL",
        "UPDATE results SET submitted = replace(submitted, 'ann', 'bnn')",
    ],
)
def test_what_can_not_be_judged_without_running_is_told(top: Path, damage: str) -> None:
    out = top / "out"
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db, db:
        db.execute(damage)
    before = scores(top)
    with pytest.raises(GraderError) as caught:
        adjust(out, "ann", -1.0, "copied")
    assert str(caught.value).startswith("ann can't be judged again without running it (")
    assert "nothing was changed: run grader grade once more, with --only ann --force" in str(caught.value)
    assert scores(top) == before and entries(out) == []


def test_without_pages_none_are_made(top: Path) -> None:
    for page in (top / "out").glob("*/ann.html"):
        page.unlink()
    adjust(top / "out", "ann", -1.0, "copied")
    assert not list((top / "out").glob("*/ann.html"))


def test_who_is_stopped_in_between_leaves_no_page_that_tells_of_other_points(
    pack: Pack, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = top / "out"
    grade(pack, top)
    full = scores(top)["ann"]
    assert full is not None

    def stopped(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    pages = [out / "students" / "ann.html", out / "teacher" / "ann.html"]
    with monkeypatch.context() as patch:
        patch.setattr("grader.report.files.write_pages", stopped)
        with pytest.raises(KeyboardInterrupt):
            adjust(out, "ann", -1.5, "copied from bob")
    assert scores(top)["ann"] == full - 1.5 and len(entries(out)) == 1
    assert not any(page.exists() for page in pages)
    # Before it is in the gradebook nothing tells of it, and nothing is lost.
    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "add", stopped)
        with pytest.raises(KeyboardInterrupt):
            adjust(out, "bob", -1.5, "copied from ann")
    again = grade(pack, top)
    assert again.ran == 0 and again.kept + again.rejudged == 3
    assert all("Copied from bob" in page.read_text("utf-8") for page in pages)
    noted = [entry.submission for entry in entries(out)]
    for name in ("students", "teacher"):
        told = "Copied from ann" in (out / name / "bob.html").read_text("utf-8")
        assert told == ("bob" in noted)


def test_a_page_that_can_not_be_taken_away_changes_nothing(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = scores(top)

    def refused(*given: Any) -> None:
        raise PermissionError(13, "Permission denied", str(top / "out" / "students" / "ann.html"))

    with monkeypatch.context() as patch:
        patch.setattr("grader.report.files.remove_pages", refused)
        with pytest.raises(GraderError, match=r"ann\.html can't be taken away .*nothing was changed"):
            adjust(top / "out", "ann", -1.0, "copied")
    assert scores(top) == before and entries(top / "out") == []


def test_what_is_damaged_is_taken_back_and_counts_from_the_next_run_on(pack: Pack, top: Path) -> None:
    out = top / "out"
    grade(pack, top)
    full = scores(top)["ann"]
    assert full is not None
    adjust(out, "ann", -2.0, "copied")
    adjust(out, "ann", -0.5, "late")
    adjust(out, "bob", 0.25, "drawing")
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db, db:
        db.execute("UPDATE adjustments SET points = -2.5 WHERE number = 1")
        db.execute("UPDATE adjustments SET submission = 'nobody' WHERE number = 3")
    for use in (lambda: grade(pack, top), lambda: adjust(out, "ann", 1.0, "why")):
        with pytest.raises(GraderError, match=r"adjustment 1, .* is damaged .*--remove 1"):
            use()
    done = remove(out, 1)
    assert done.before == done.after
    with pytest.raises(GraderError, match="adjustment 3 is taken back; nobody here is nobody"):
        remove(out, 3)
    again = grade(pack, top)
    assert (again.ran, again.rejudged, again.kept) == (0, 2, 1)
    assert scores(top)["ann"] == full - 0.5
