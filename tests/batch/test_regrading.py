"""What is run again, what is judged again from what running it gave, and what is left alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from classes import SOURCES, by_id, submissions_in, write_class
from hypothesis import given
from hypothesis import strategies as st
from support.small import RIGHT, WRONG, small_pack

import grader
from grader.batch import grading
from grader.batch.grading import Run, grade_class
from grader.batch.ids import keep_ids
from grader.batch.jobs import Graded, Job
from grader.batch.made import made_of, need
from grader.batch.pool import grade_all
from grader.batch.runner import Runner
from grader.batch.worker import pages_of
from grader.errors import GraderError
from grader.exercise.pack import Pack
from grader.gradebook.changes import changes
from grader.gradebook.journal import Gradebook, Known, Made
from grader.gradebook.lock import hold
from grader.intake.submission import Submission
from grader.people import Person
from grader.positions import Part
from grader.result import Adjustment
from grader.summary import Record

# Its tests together take long.
pytestmark = pytest.mark.slow

LIMITS = {"seconds_per_call": 0.25, "seconds": 20, "memory": "256 MiB", "output": "4 KiB"}


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The pack with another hint and other points, which run nothing else."""
    change = {"ones_row": {"points": 3, "hint": "Look at the mean."}}
    return small_pack(tmp_path_factory.mktemp("corrected"), exercise={"limits": LIMITS}, change=change)


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The pack with more time, so that everything may come out differently."""
    limits = LIMITS | {"seconds": 21}
    return small_pack(tmp_path_factory.mktemp("longer"), exercise={"limits": limits})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_class(tmp_path / "class")
    return tmp_path / "class"


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def run(self: Runner, program: Any) -> None:
        raise AssertionError(f"{program.filename} was run")

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_execute", run)
        yield


def run(pack: Pack, folder: Path, out: Path, **options: Any) -> Run:
    return grade_class(pack, submissions_in(folder), out, **{"workers": 1} | options)


def counts(run: Run) -> tuple[int, int, int]:
    return run.ran, run.rejudged, run.kept


def look(out: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db, db:
        return db.execute(statement).fetchall()


def numbered(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]


# --- Run, judge, keep -----------------------------------------------------------------------------


def test_corrected_points_and_hints_run_nothing_and_end_as_a_fresh_run_would(
    pack: Pack, corrected: Pack, folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert pack.id != corrected.id and pack.execution_digest == corrected.execution_digest
    out = tmp_path / "out"
    assert counts(run(pack, folder, out)) == (8, 0, 0)
    fresh = run(corrected, folder, tmp_path / "fresh")
    request.getfixturevalue("nothing_runs")
    again = run(corrected, folder, out)
    assert counts(again) == (0, 8, 0) and again.graded == 8
    assert by_id(again.results) == by_id(fresh.results)
    assert {r.max_score for r in again.results} == {corrected.max_score}
    assert (out / "gradebook.csv").read_bytes() == (tmp_path / "fresh" / "gradebook.csv").read_bytes()
    assert "Look at the mean." in (out / "students" / "hal.html").read_text("utf-8")
    assert counts(run(corrected, folder, out)) == (0, 0, 8)
    # And back again.
    assert counts(run(pack, folder, out)) == (0, 8, 0)
    with Gradebook(out, None, reading=True) as book:
        found = changes(book)
        assert found.compared == 8 and {c.before.pack for c in found.changed} == {corrected.id}


def test_what_changes_running_runs_everything_again(
    pack: Pack, longer: Pack, folder: Path, tmp_path: Path
) -> None:
    run(pack, folder, tmp_path / "out")
    again = run(longer, folder, tmp_path / "out")
    assert counts(again) == (8, 0, 0)
    # The unreadable text is judged without running in any case; all others keep one execution.
    assert len(look(tmp_path / "out", "SELECT * FROM executions")) == len({*SOURCES.values()})
    assert counts(run(longer, folder, tmp_path / "out")) == (0, 0, 8)


@pytest.mark.usefixtures("nothing_runs")
def test_the_proof_that_nothing_runs_would_find_a_run(pack: Pack, folder: Path, tmp_path: Path) -> None:
    assert {r.status for r in run(pack, folder, tmp_path / "out").results} == {"grader_fault"}


def test_another_version_of_the_grader_judges_again(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(pack, folder, tmp_path / "out")
    monkeypatch.setattr(grader, "__version__", "99.0")
    assert counts(run(pack, folder, tmp_path / "out")) == (0, 8, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"late": True},
        {"submitted_at": "2026-03-01T10:00:00+01:00"},
        {"name": "Ann Ek"},
        {"people": (Person("Ann Ek", "007"),)},
        {"attempts": 2},
        {"notes": ("The file was read as Latin-1.",)},
    ],
)
def test_who_and_when_is_judged_again(
    pack: Pack, folder: Path, tmp_path: Path, change: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    out = tmp_path / "out"
    class_ = submissions_in(folder)
    grade_class(pack, class_, out, workers=1)
    request.getfixturevalue("nothing_runs")
    class_[0] = replace(class_[0], **change)
    again = grade_class(pack, class_, out, workers=1)
    assert counts(again) == (0, 1, 7)
    (ann,) = (r for r in again.results if r.submission.id == "ann")
    for key, value in change.items():
        assert getattr(ann if key == "notes" else ann.submission, key) == value
    assert counts(grade_class(pack, class_, out, workers=1)) == (0, 0, 8)


@pytest.mark.parametrize(
    "change", [{"file": "other.py"}, {"parts": (Part("cell", "cell 1", 1, 6),)}, {"source": WRONG}]
)
def test_what_the_text_is_and_how_it_is_called_is_run_again(
    pack: Pack, folder: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    class_ = submissions_in(folder)
    grade_class(pack, class_, tmp_path / "out", workers=1)
    class_[0] = replace(class_[0], **change)
    assert counts(grade_class(pack, class_, tmp_path / "out", workers=1)) == (1, 0, 7)


def test_a_stored_execution_that_is_damaged_is_run_again(
    pack: Pack, corrected: Pack, folder: Path, tmp_path: Path
) -> None:
    run(pack, folder, tmp_path / "out")
    look(tmp_path / "out", "UPDATE executions SET execution = x'00' WHERE rowid % 2")
    damaged = len(look(tmp_path / "out", "SELECT 1 FROM executions WHERE execution = x'00'"))
    again = run(corrected, folder, tmp_path / "out")
    assert again.ran == damaged > 0 and again.ran + again.rejudged == 8
    assert by_id(again.results) == by_id(run(corrected, folder, tmp_path / "fresh").results)
    assert counts(run(pack, folder, tmp_path / "out")) == (0, 8, 0)


def test_an_execution_that_is_gone_costs_nothing_until_it_is_needed(
    pack: Pack, corrected: Pack, folder: Path, tmp_path: Path
) -> None:
    run(pack, folder, tmp_path / "out")
    look(tmp_path / "out", "DELETE FROM executions")
    assert counts(run(pack, folder, tmp_path / "out")) == (0, 0, 8)
    assert counts(run(corrected, folder, tmp_path / "out")) == (8, 0, 0)


def test_a_gradebook_of_an_earlier_version_is_not_run_again(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = run(pack, folder, out)
    for table in ("executions", "packs", "adjustments", "roster"):
        look(out, f"DROP TABLE {table}")
    for column in ("text", "execution_digest", "inputs", "submitted", "judged_by", "checksum", "seal"):
        look(out, f"ALTER TABLE results DROP COLUMN {column}")
    look(out, "PRAGMA user_version = 0")
    look(out, "PRAGMA application_id = 0")
    again = run(pack, folder, out)
    assert counts(again) == (0, 0, 8) and again.results == first.results
    (folder / "ann.py").write_text(WRONG)
    assert counts(run(pack, folder, out)) == (1, 0, 7)


PLACES, TEXTS, DIGESTS, INPUTS = ("/a", "/b"), ("", "t", "u"), ("e", "f"), ("i", "j")
MADE = st.builds(
    Made,
    st.sampled_from(PLACES),
    st.sampled_from(TEXTS),
    st.sampled_from(DIGESTS),
    st.sampled_from(INPUTS),
)
STATUSES = st.sampled_from(["passed", "failed", "not_loadable", "grader_fault"])


@given(
    MADE,
    st.one_of(st.none(), st.tuples(MADE, STATUSES)),
    st.dictionaries(st.sampled_from(TEXTS[1:]), st.sampled_from(DIGESTS)),
    st.booleans(),
)
def test_need(now: Made, then: tuple[Made, str] | None, stored: dict[str, str], force: bool) -> None:
    one = Submission("ann", "Ann", "/a/ann.py", "sha256:1", RIGHT if now.text else None)
    before = None
    if then is not None:
        was, status = then
        before = Known("sha256:0", "p", status, was.place, was.text, was.execution_digest, was.inputs)
    found = need(one, now, before, stored, "p", force)
    same = before is not None and (now.text, now.execution_digest, now.inputs) == (
        before.text,
        before.execution_digest,
        before.inputs,
    )
    faulty = before is not None and before.status == "grader_fault"
    # Kept is what is the same in all by which it is run and judged, and no fault, unless it is forced.
    assert (found == "keep") == (same and not faulty and not force)
    # Judged without running is only what was run just so, or can't be run.
    if found == "judge":
        assert not now.text or stored[now.text] == now.execution_digest
    # Run is what must be: nothing that can be had otherwise.
    if found == "run" and not (force or faulty):
        assert now.text and stored.get(now.text) != now.execution_digest


@given(st.text(max_size=8), st.text(max_size=8), st.lists(st.floats(-2, 2), max_size=2))
def test_of_what_a_result_is_made_hangs_on_all_that_it_is_made_of(
    pack: Pack, source: str, name: str, points: list[float]
) -> None:
    given = tuple(Adjustment("why", p) for p in points)
    one = Submission("ann", name, "class/ann.py", "sha256:1", source)
    made = made_of(one, pack, given)
    assert made == made_of(Submission.from_dict(one.to_dict()), pack, given)
    assert made_of(replace(one, source=source + "\n"), pack, given).text != made.text
    other = made_of(replace(one, name=name + "x"), pack, given)
    assert other.text == made.text and other.inputs != made.inputs
    more = made_of(one, pack, (*given, Adjustment("why", 1.0)))
    assert more.text == made.text and more.inputs != made.inputs
    assert made_of(replace(one, source=None), pack, given).text == ""
    assert "source" not in json.loads(made.submitted)


# --- Twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_text_is_run_once_and_everyone_gets_a_row(
    pack: Pack, tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(6)]
    for name in names:
        (tmp_path / "class" / name).mkdir(parents=True)
        source = WRONG if name in ("s2", "s4") else RIGHT
        (tmp_path / "class" / name / "solution.py").write_text(source)
    jobs: list[Job] = []

    def grade(pack: Pack, asked: Sequence[Job], **options: Any) -> Generator[Graded]:
        jobs.extend(asked)
        return grade_all(pack, asked, **options)

    monkeypatch.setattr(grading, "grade_all", grade)
    first = run(pack, tmp_path / "class", tmp_path / "out", workers=workers)
    assert [[s.id for s in job.submissions] for job in jobs] == [["s0", "s1", "s3", "s5"], ["s2", "s4"]]
    assert counts(first) == (6, 0, 0)
    assert [r.submission.id for r in first.results] == names
    assert [r.submission.name for r in first.results] == names
    assert {r.submission.id for r in first.results if r.status == "failed"} == {"s2", "s4"}
    assert sorted(p.stem for p in (tmp_path / "out" / "students").iterdir()) == names
    assert len(look(tmp_path / "out", "SELECT * FROM executions")) == 2
    # A new one with a text that was run before is judged only.
    (tmp_path / "class" / "s9").mkdir()
    (tmp_path / "class" / "s9" / "solution.py").write_text(WRONG)
    again = run(pack, tmp_path / "class", tmp_path / "out", workers=workers)
    assert counts(again) == (0, 1, 6)
    results = {r.submission.id: r for r in again.results}
    assert results["s9"].cases == results["s2"].cases and results["s9"].score == results["s2"].score


def test_a_forced_run_of_one_of_two_leaves_the_other(pack: Pack, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "solution.py").write_text(RIGHT)
    run(pack, tmp_path / "class", tmp_path / "out")
    assert counts(run(pack, tmp_path / "class", tmp_path / "out", only=["b"], force=True)) == (1, 0, 0)
    assert counts(run(pack, tmp_path / "class", tmp_path / "out")) == (0, 0, 2)


# --- Choosing -------------------------------------------------------------------------------------


def test_only_some_are_graded(pack: Pack, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    seen: list[tuple[int, int]] = []
    first = run(pack, folder, out, only=["ann", "BOB"], progress=lambda *told: seen.append(told))
    assert counts(first) == (2, 0, 0) and seen == [(0, 2), (1, 2), (2, 2)]
    assert [r.submission.id for r in first.results] == ["ann", "bob"]
    assert counts(run(pack, folder, out, only=["ann"])) == (0, 0, 1)
    assert counts(run(pack, folder, out, only=["ann"], force=True)) == (1, 0, 0)
    with pytest.raises(GraderError, match="no submission is of 'anna'; did you mean 'ann'"):
        run(pack, folder, out, only=["anna"])
    assert counts(run(pack, folder, out)) == (6, 0, 2)
    assert counts(run(pack, folder, out, force=True)) == (8, 0, 0)
    assert look(out, "SELECT count(*) FROM results") == [(2 + 1 + 6 + 8,)]


def test_faults_alone_are_graded(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert counts(run(pack, folder, out, faults=True)) == (0, 0, 0)
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_execute", lambda self, program: 1 / 0)
        run(pack, folder, out, only=["ann", "bob"])
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_execute", lambda self, program: 1 / 0)
        assert counts(run(pack, folder, out, faults=True, only=["bob", "cem"])) == (1, 0, 0)
    assert counts(run(pack, folder, out, faults=True)) == (2, 0, 0)
    assert counts(run(pack, folder, out, faults=True)) == (0, 0, 0)
    assert counts(run(pack, folder, out)) == (6, 0, 2)


# --- The folder -----------------------------------------------------------------------------------


def test_without_pages_none_are_left_that_tell_of_an_earlier_result(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    (folder / "ann.py").write_text(WRONG)
    assert counts(run(pack, folder, out, reports=False)) == (1, 0, 7)
    assert not list(out.glob("*/ann.html")) and len(list(out.glob("*/bob.html"))) == 2
    assert counts(run(pack, folder, out, reports=False)) == (0, 0, 8)
    assert not list(out.glob("*/ann.html"))
    assert counts(run(pack, folder, out)) == (0, 0, 8)
    assert len(list(out.glob("*/ann.html"))) == 2


def test_pages_that_a_killed_run_had_not_finished_are_taken_away(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    (out / "teacher" / ".ann.html.new").write_text("half a pa")
    run(pack, folder, out)
    assert not list(out.glob("*/.*.new"))


@pytest.mark.parametrize("only", [[], ["bob"]])
def test_no_page_tells_of_a_result_that_an_interrupted_run_did_not_keep(
    pack: Pack,
    corrected: Pack,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    only: list[str],
) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    add = Gradebook.add
    count = 0

    def stopped(self: Gradebook, *given: Any) -> None:
        nonlocal count
        count += 1
        if count > 2:
            raise KeyboardInterrupt
        add(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "add", stopped)
        assert run(corrected, folder, out).interrupted

    def told(name: str) -> list[bool]:
        hint = f"of {corrected.max_score:g} points"
        return [hint in (out / side / f"{name}.html").read_text("utf-8") for side in ("students", "teacher")]

    scores = {r["submission"]["id"]: r["max_score"] for r in numbered(out)}
    assert [told(name) for name in ("ann", "bob", "cem", "dot")] == [[True] * 2] * 3 + [[False] * 2]
    assert scores["bob"] == corrected.max_score and scores["cem"] == pack.max_score
    if only:
        # What looks at a part settles nothing for the others.
        assert counts(run(pack, folder, out, only=only)) == (0, 1, 0)
    assert counts(run(pack, folder, out)) == (0, 2 - len(only), 6 + len(only))
    assert not any(any(told(name)) for name in SOURCES)
    pages = {page: page.stat().st_mtime_ns for page in out.glob("*/*.html")}
    assert counts(run(pack, folder, out)) == (0, 0, 8)
    assert {page: page.stat().st_mtime_ns for page in out.glob("*/*.html")} == pages


def test_a_second_run_on_a_folder_is_refused_and_changes_nothing(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    before = {p: p.read_bytes() for p in out.rglob("*.*") if p.is_file()}
    with hold(out, "grader grade"):
        for options in ({}, {"fresh": True}):
            with pytest.raises(GraderError, match="is being written by another run"):
                run(pack, folder, out, **options)
    assert {p: p.read_bytes() for p in before if p.name != ".gradebook.lock"} == {
        p: data for p, data in before.items() if p.name != ".gradebook.lock"
    }


def test_a_damaged_record_keeps_nobody_from_being_graded_and_can_be_mended(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = run(pack, folder, out, only=["ann", "bob"])
    look(out, "UPDATE results SET record = substr(record, 1, 90) WHERE submission = 'bob'")
    (out / "students" / "bob.html").unlink()
    with pytest.raises(GraderError, match=r"the record of bob is damaged .*--only bob --force"):
        run(pack, folder, out)
    assert look(out, "SELECT count(DISTINCT submission) FROM results") == [(8,)]
    again = run(pack, folder, out, only=["bob"], force=True)
    assert len(again.results) == 8
    assert by_id(again.results)["bob"] == by_id(run(pack, folder, tmp_path / "other").results)["bob"]
    assert len(first.summaries) == 2


def test_who_handed_in_nothing_gets_a_row_also_in_later_runs(
    pack: Pack, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    roster = [Person("ann"), Person("Zoe", "0042", "zoe@example.org")]
    for options in ({"roster": roster}, {}, {"only": ["bob"]}):
        run(pack, folder, out, **options)
        lines = (out / "gradebook.csv").read_text("utf-8-sig").splitlines()
        assert len(lines) == 1 + 8 + 1
        assert lines[-1].startswith(",Zoe,not_submitted,,") and "0042,zoe@example.org" in lines[-1]
        assert "Zoe" in (out / "index.html").read_text("utf-8")
    run(pack, folder, out, roster=[*roster, Person("In Doubt")], missing=roster[1:])
    text = (out / "gradebook.csv").read_text("utf-8")
    assert "Zoe" in text and "In Doubt" not in text
    run(pack, folder, out, roster=[])
    assert "Zoe" not in (out / "gradebook.csv").read_text("utf-8")


@pytest.mark.parametrize("told", [True, False])
def test_who_is_not_graded_yet_is_not_said_to_have_handed_in_nothing(
    pack: Pack, folder: Path, tmp_path: Path, told: bool
) -> None:
    out = tmp_path / "out"
    roster = [*map(Person, SOURCES), Person("Zoe", "0042")]
    absent: list[list[str]] = []

    def missing() -> list[str]:
        with Gradebook(out, None, reading=True) as book:
            graded = [summary.submission for summary, _ in book.summaries()]
            return [person.name for person in book.not_submitted(graded)]

    def stop(done: int, total: int) -> None:
        absent.append(missing())
        if done == 3:
            raise KeyboardInterrupt

    chosen = {"roster": roster, "missing": roster[-1:] if told else None}
    assert run(pack, folder, out, **chosen, progress=stop).interrupted
    assert absent == [["Zoe"]] * 4
    lines = (out / "gradebook.csv").read_text("utf-8-sig").splitlines()
    assert [line.startswith(",Zoe,not_submitted,") for line in lines] == [False] * 4 + [True]
    # Another hands in before the next run, and somebody's row is damaged.
    (folder / "Zoe.py").write_text(RIGHT)
    look(out, "UPDATE results SET record = substr(record, 1, 90) WHERE submission = 'ann'")
    run(pack, folder, out, **{**chosen, "missing": [] if told else None}, only=["ann"], force=True)
    assert missing() == []
    with Gradebook(out, None, reading=True) as book:
        assert {person.name for person in book.roster()} >= set(SOURCES) and "Zoe" in book.waiting()
    run(pack, folder, out, **{**chosen, "missing": [] if told else None})
    assert missing() == []
    with Gradebook(out, None, reading=True) as book:
        assert {person.name for person in book.roster()} >= set(SOURCES)


def test_a_fresh_start_tells_which_adjustments_it_forgets(pack: Pack, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(pack, folder, out)
    with Gradebook(out, None) as book:
        book.adjust("ann", -2.0, "copied", "kim")
        book.commit()
    again = run(pack, folder, out, fresh=True)
    assert "forgotten with --fresh: -2 points for ann (copied)" in again.warnings
    assert counts(again) == (8, 0, 0)


# --- Somebody else grades -------------------------------------------------------------------------


def on_cluster(*, twice: bool = False, fails_after: int = 99) -> Any:
    """What stands in for a cluster: results in another order, with their pages, perhaps twice."""

    def grade(pack: Pack, jobs: Sequence[Job], address: str, **options: Any) -> Generator[Graded]:
        assert address == "tcp://here:1" and options["weak_isolation"] is True
        with Runner(pack) as runner:
            for number in reversed(range(len(jobs))):
                if len(jobs) - number > fails_after:
                    raise GraderError("no worker is left")
                results, execution = runner.grade_job(jobs[number])
                for at, result in enumerate(results):
                    pages = pages_of(result) if options["reports"] else {}
                    stray = {"../../evil.html": b"x", "students/other.html": b"x"}
                    made = Graded(Record.of(result), None if at else execution, pages | stray)
                    yield made
                    if twice:
                        yield made

    return grade


@pytest.mark.parametrize("twice", [False, True])
def test_a_cluster_ends_in_the_same_gradebook(
    pack: Pack, folder: Path, tmp_path: Path, twice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = run(pack, folder, tmp_path / "here")
    monkeypatch.setattr("grader.batch.cluster.grade_on_cluster", on_cluster(twice=twice))
    there = run(pack, folder, tmp_path / "there", scheduler="tcp://here:1")
    assert counts(there) == counts(here) == (8, 0, 0)
    assert by_id(there.results) == by_id(here.results)
    assert look(tmp_path / "there", "SELECT count(*) FROM results") == [(8,)]
    files = [
        {p.relative_to(out) for p in out.rglob("*.html")} for out in (tmp_path / "here", tmp_path / "there")
    ]
    assert files[0] == files[1] and not list(tmp_path.rglob("evil.html"))
    assert counts(run(pack, folder, tmp_path / "there")) == (0, 0, 8)


def test_what_a_cluster_has_graded_until_it_failed_is_kept_and_told(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("grader.batch.cluster.grade_on_cluster", on_cluster(fails_after=3))
    with pytest.raises(GraderError, match="no worker is left"):
        run(pack, folder, out, scheduler="tcp://here:1")
    assert len(numbered(out)) == 3 and (out / "index.html").is_file()
    assert counts(run(pack, folder, out)) == (5, 0, 3)


def test_a_full_disk_in_the_middle_keeps_what_was_graded(
    pack: Pack, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    add = Gradebook.add
    count = 0

    def full(self: Gradebook, *given: Any) -> None:
        nonlocal count
        count += 1
        if count == 5:
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            self._db.execute(f"PRAGMA max_page_count = {pages}")
            self._every = 0.0
        add(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Gradebook, "add", full)
        with pytest.raises(GraderError, match="the disk is full; what was graded before is kept"):
            run(pack, folder, out)
    (stored,) = look(out, "SELECT count(*) FROM results")[0]
    assert stored < 8
    again = run(pack, folder, out)
    assert counts(again) == (8 - stored, 0, stored)
    other = run(pack, folder, tmp_path / "other")
    # What is known of the layers hangs on whether anything was run before.
    records = [by_id(one.results) for one in (again, other)]
    for record in (*records[0].values(), *records[1].values()):
        del record["isolation"]["layers"]
    assert records[0] == records[1]


# --- Identity -------------------------------------------------------------------------------------


def known(place: str) -> Known:
    return Known("sha256:1", "sha256:p", "passed", place, "t", "e", "i")


def keyed(name: str, key: str, path: str) -> Submission:
    return Submission(name, name.title(), path, "sha256:1", RIGHT, key=key)


def test_a_student_whom_the_platform_knows_keeps_the_id_wherever_the_download_lies() -> None:
    before = {"ann": known("canvas:1"), "ann-0a1b2c": known("canvas:2")}
    class_ = [keyed("ann", "canvas:2", "/new/ann_2.py"), keyed("ann-2", "canvas:1", "/new/ann_1.py")]
    kept, warnings = keep_ids(class_, before)
    assert [s.id for s in kept] == ["ann-0a1b2c", "ann"] and warnings == []


def test_nobody_gets_the_id_of_another_whom_the_platform_tells_apart() -> None:
    kept, warnings = keep_ids([keyed("ann", "canvas:2", "/new/ann.py")], {"ann": known("canvas:1")})
    assert kept[0].id.startswith("ann-") and len(kept[0].id) == 10
    assert warnings[0] == f"/new/ann.py is called {kept[0].id}, as ann is another file's"
    assert keep_ids(kept, {"ann": known("canvas:1"), kept[0].id: known("canvas:2")})[0] == kept


def test_a_gradebook_from_before_there_were_keys_knows_a_student_by_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "ann.py")
    kept, warnings = keep_ids([keyed("ann-1", "canvas:1", path)], {"ann": known(path)})
    assert kept[0].id == "ann" and warnings == []


def test_a_file_without_a_key_may_take_over_a_row_of_its_name() -> None:
    kept, warnings = keep_ids([keyed("ann", "", "/new/ann.py")], {"ann": known("canvas:1")})
    assert kept[0].id == "ann" and warnings == ["ann is now /new/ann.py; before it was canvas:1"]
