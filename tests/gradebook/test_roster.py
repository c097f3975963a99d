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


def test_a_name_beside_another_number_is_in_doubt() -> None:
    roster = [Person("Ann Ek", "007"), Person("Bob Ash", "008")]
    assert not_submitted(roster, [handed_in(Person("Ann Ek", "999"))]) == roster[1:]
    assert not_submitted(roster, [handed_in(Person("Ann Ek"))]) == roster[1:]
    assert not_submitted(roster, [handed_in(Person("Ek, Ann"))]) == roster[1:]


def test_who_may_be_somebody_unknown_who_handed_in_is_in_doubt() -> None:
    roster = [
        Person("Ann Smith", "1"),
        Person("Bob Jones", "2"),
        Person("Cy Jones", "3"),
        Person("Di Ek", "4"),
    ]
    unknown = [handed_in(Person("Smith")), handed_in(Person("hw1/jones", platform_id="9"))]
    assert not_submitted(roster, unknown) == roster[3:]
    # Whoever is known by a number is nobody else.
    assert not_submitted(roster, [handed_in(Person("Bob Jones", "2"))]) == [roster[0], *roster[2:]]


def test_a_number_keeps_its_leading_zeros() -> None:
    assert not_submitted([ANN], [handed_in(Person("", "7"))]) == [ANN]


def test_what_is_empty_tells_nobody() -> None:
    roster = [Person("Dan"), Person("Eve", "1")]
    assert not_submitted(roster, [handed_in(Person(""))]) == roster


@given(st.lists(st.sampled_from(ROSTER), unique=True))
def test_those_who_handed_in_and_those_who_did_not_are_the_roster(those: list[Person]) -> None:
    missing = not_submitted(ROSTER, [handed_in(person) for person in those])
    assert [person for person in ROSTER if person not in those] == missing
