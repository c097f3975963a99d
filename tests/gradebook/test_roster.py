"""Who of a class list has handed in nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.gradebook.roster import not_submitted
from grader.people import Person
from grader.result import SubmissionInfo


def handed_in(*people: Person, names: tuple[str, ...] = ()) -> SubmissionInfo:
    members = names or tuple(p.name for p in people)
    return SubmissionInfo("x", "x", members, "x.py", "", people=people)


ANN, OTHER_ANN = Person("Ann Ek", "007"), Person("Ann Ek", "008")
BOB = Person("Bob", "", "Bob@example.org")
CEM = Person("Cem", platform_id="77")
ROSTER = [ANN, OTHER_ANN, BOB, CEM]


def test_without_submissions_it_is_everybody_in_the_order_of_the_list() -> None:
    assert not_submitted(ROSTER, []) == ROSTER


def test_number_address_and_platform_id_each_tell_a_student() -> None:
    submissions = [
        handed_in(Person("A. Ek", "007")),
        handed_in(Person("Robert", email="bob@EXAMPLE.org"), Person("C", platform_id="77")),
    ]
    assert not_submitted(ROSTER, submissions) == [OTHER_ANN]


def test_a_name_tells_a_student_only_where_it_is_one_students_alone() -> None:
    assert not_submitted(ROSTER, [handed_in(names=("ann  EK", "bob"))]) == [ANN, OTHER_ANN, CEM]


def test_a_name_beside_another_number_tells_nobody() -> None:
    roster = [Person("Ann Ek", "007")]
    assert not_submitted(roster, [handed_in(Person("Ann Ek", "999"))]) == roster
    assert not_submitted(roster, [handed_in(Person("Ann Ek"))]) == []


def test_a_number_keeps_its_leading_zeros() -> None:
    assert not_submitted([ANN], [handed_in(Person("", "7"))]) == [ANN]


def test_what_is_empty_tells_nobody() -> None:
    roster = [Person("Dan"), Person("Eve", "1")]
    assert not_submitted(roster, [handed_in(Person(""))]) == roster


@given(st.lists(st.sampled_from(ROSTER), unique=True))
def test_those_who_handed_in_and_those_who_did_not_are_the_roster(those: list[Person]) -> None:
    missing = not_submitted(ROSTER, [handed_in(person) for person in those])
    assert [person for person in ROSTER if person not in those] == missing
