"""What a worker is asked and what it answers comes through as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.batch.jobs import Graded, Job, answer_from_bytes, answer_to_bytes, join, split
from grader.intake.submission import Submission
from grader.people import Person
from grader.positions import Part
from grader.result import Adjustment, Isolation, Result, SubmissionInfo
from grader.summary import Record

# Names of files may hold bytes that are no UTF-8.
texts = st.text(max_size=20) | st.sampled_from(["\udcff odd", "a\nb", '"quoted"', "\x00"])
people = st.builds(Person, texts, id=texts, email=texts)
parts = st.builds(Part, st.sampled_from(["main", "cell", "module"]), texts, st.just(1), st.integers(1, 99))
submissions = st.builds(
    Submission,
    id=texts,
    name=texts,
    path=texts,
    digest=texts,
    source=st.none() | texts,
    members=st.lists(texts, max_size=2).map(tuple),
    people=st.lists(people, max_size=2).map(tuple),
    parts=st.lists(parts, max_size=2).map(tuple),
    late=st.none() | st.booleans(),
)
adjustments = st.builds(Adjustment, texts, st.floats(-100, 100))


@given(
    st.builds(
        Job,
        st.lists(submissions, min_size=1, max_size=3).map(tuple),
        st.dictionaries(texts, st.lists(adjustments, max_size=2).map(tuple), max_size=2),
        st.none() | st.binary(max_size=40),
        st.booleans(),
    )
)
def test_a_job_comes_through(job: Job) -> None:
    assert Job.from_bytes(job.to_bytes()) == job


def record(name: str, message: str) -> Record:
    info = SubmissionInfo(name, name, (name,), f"{name}.py", "sha256:1")
    result = Result({"name": "e", "pack": "p"}, info, "failed", 1.0, 2.0, message, Isolation("full", ()))
    return Record.of(result)


GRADED = Graded(record("ann", "All well."), b"ran", {"students/ann.html": b"<p>", "b": b""}, "no room")


def test_an_answer_comes_through() -> None:
    given = [
        GRADED,
        replace(GRADED, record=record("bob", ', "summary": '), execution=None, pages={}, warning=""),
        replace(GRADED, execution=b""),
    ]
    assert answer_from_bytes(answer_to_bytes(given)) == given
    assert answer_from_bytes(answer_to_bytes([])) == []


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_messages_that_were_joined_come_apart_again(messages: list[bytes]) -> None:
    assert split(join(messages)) == messages


@given(st.data())
def test_a_message_that_is_cut_is_noticed(data: st.DataObject) -> None:
    whole = join([b"one", b"", b"three"])
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ValueError):
        split(whole[:cut])
    with pytest.raises(ValueError, match="cut short"):
        split(whole + b"more")


@pytest.mark.parametrize("sizes", [b"1", b'{"a": 1}', b"[-3, 3]", b"[true]", b"[0.5]", b'["3"]', b"nothing"])
def test_sizes_that_are_none_are_refused(sizes: bytes) -> None:
    with pytest.raises(ValueError):
        split(len(sizes).to_bytes(4, "little") + sizes)
