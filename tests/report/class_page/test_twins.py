"""Submissions that are alike are named together, for the teacher."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from grader.report.class_page.twins import Twins, twins
from grader.result import SubmissionInfo


def info(name: str, digest: str, alike: str = "", task: str = "") -> SubmissionInfo:
    return SubmissionInfo(name, name.title(), (name.title(),), f"{name}.py", digest, alike=alike, task=task)


def told(groups: list[Twins]) -> list[tuple[bool, list[str]]]:
    return [(group.exact, [one.id for one in group.submissions]) for group in groups]


def test_the_same_files_and_the_same_texts_are_told_apart() -> None:
    found = twins(
        [
            info("zoe", "1", "a"),
            info("ann", "1", "a"),
            info("bob", "2", "a"),
            info("cem", "3", "b"),
            info("dan", "3", "b"),
            info("eve", "4", "c"),
            info("fay", "", ""),
            info("gil", "", ""),
        ]
    )
    assert told(found) == [(True, ["ann", "zoe"]), (True, ["cem", "dan"]), (False, ["ann", "bob", "zoe"])]
    assert found[1].to_dict() == {
        "exact": True,
        "submissions": [
            {"id": "cem", "name": "Cem", "members": ["Cem"]},
            {"id": "dan", "name": "Dan", "members": ["Dan"]},
        ],
    }


def test_samples_of_a_language_model_are_no_twins() -> None:
    assert twins([info("a", "1", "x", "task"), info("b", "1", "x", "task")]) == []


@given(st.lists(st.tuples(st.sampled_from("123"), st.sampled_from(["", "a", "b"])), max_size=8), st.randoms())
def test_the_order_of_the_class_is_nothing_to_them(
    made: list[tuple[str, str]], chance: random.Random
) -> None:
    class_ = [info(f"s{number}", *one) for number, one in enumerate(made)]
    expected = twins(class_)
    chance.shuffle(class_)
    assert twins(class_) == expected
    for group in expected:
        assert len(group.submissions) > 1
        digests = {one.digest for one in group.submissions}
        assert len(digests) == 1 if group.exact else len(digests) > 1
    # Nobody is in two groups of one kind.
    for exact in (True, False):
        ids = [one.id for group in expected if group.exact is exact for one in group.submissions]
        assert len(ids) == len(set(ids))
