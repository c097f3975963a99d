"""A student is found by whatever is known of them, and never taken for another."""

from __future__ import annotations

import pytest

from grader.batch.who import find
from grader.errors import GraderError
from grader.people import Person
from grader.result import SubmissionInfo


def info(name: str, id: str = "", *people: Person, members: tuple[str, ...] = ()) -> SubmissionInfo:
    return SubmissionInfo(id or name, name, members, f"{name}.py", "", people=people)


ANN = info("Ann Ek", "ann-ek", Person("Ann Ek", "007", "ann@example.org", "12"))
OTHER_ANN = info("Ann Ek", "ann-ek-0a1b2c", Person("Ann Ek", "008"))
TEAM = info(
    "Team 3", "team-3", Person("Bob Li", "12", "bob@example.org"), Person("Cem"), members=("Bob", "Zoe")
)
ID = info("Someone", "bob")
CLASS = [ANN, OTHER_ANN, TEAM, ID]


@pytest.mark.parametrize(
    ("who", "found"),
    [
        ("ann-ek", ANN),
        ("ANN-EK-0A1B2C", OTHER_ANN),
        ("007", ANN),
        ("Ann@Example.org", ANN),
        ("008", OTHER_ANN),
        ("team  3", TEAM),
        ("bob li", TEAM),
        ("cem", TEAM),
        ("zoe", TEAM),
        ("BOB@example.org", TEAM),
        # An id as it is written goes before everything else.
        ("bob", ID),
    ],
)
def test_id_name_member_number_and_address_find_a_submission(who: str, found: SubmissionInfo) -> None:
    assert find(who, CLASS) is found


def test_several_are_listed() -> None:
    with pytest.raises(GraderError) as caught:
        find("ann ek", CLASS)
    assert str(caught.value) == (
        "'ann ek' is not one submission but 2: ann-ek (Ann Ek), ann-ek-0a1b2c (Ann Ek); name one by its id"
    )
    with pytest.raises(GraderError, match=r"is not one submission but 2: ann-ek .*, team-3"):
        find("12", CLASS)
    many = [info("Ann", f"ann-{number}") for number in range(30)]
    with pytest.raises(GraderError, match=r"but 30: ann-0 \(Ann\), .* and 10 more; name one"):
        find("Ann", many)


def test_a_number_is_no_number_without_its_zeros() -> None:
    with pytest.raises(GraderError, match="no submission is of '7'"):
        find("7", CLASS)


def test_nobody_is_told_with_the_nearest_name() -> None:
    with pytest.raises(GraderError, match="no submission is of 'Team 4'; did you mean 'Team 3'"):
        find("Team 4", CLASS)
    with pytest.raises(GraderError, match="no submission is of 'xyzzy'; known here: Ann Ek, "):
        find("xyzzy", CLASS)
    many = [info(f"s{number:03d}") for number in range(30)]
    with pytest.raises(GraderError, match="no submission is of 'xyzzy'; grader intake PATH lists all"):
        find("xyzzy", many)
    for nobody in ([], [info("")]):
        with pytest.raises(GraderError, match="no submission is of"):
            find("ann", nobody)


def test_an_empty_word_finds_nobody() -> None:
    with pytest.raises(GraderError, match="no submission is of ''"):
        find("", [info("Ann", "ann", Person("Ann"))])
