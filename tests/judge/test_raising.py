"""Cases that ask for an exception: its class, one that it derives from, and what its message mentions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.cases import judge_case
from grader.judge.raising import as_asked, mentions
from grader.judge.relations import Judgement
from grader.outcomes import Failure, StepOutcome
from judge.made_up import case, pack_of, returned


def asking(*raises: str, mentions: tuple[str, ...] = ()) -> Any:
    options = {"raises": list(raises), "mentions": list(mentions)}
    return case("raises", options=options, shapes=((),), tolerance=None)


def judged(outcome: StepOutcome, *raises: str, mentions: tuple[str, ...] = ()) -> Judgement:
    one = asking(*raises, mentions=mentions)
    return judge_case(pack_of(one), one, [outcome], {})


def raised(name: str, message: str = "no", *bases: str, frames: Any = ((3, "row_scale"),)) -> StepOutcome:
    return StepOutcome("raised", failure=Failure(name, message, bases, frames))


def test_the_exception_that_is_asked_for_passes() -> None:
    assert judged(raised("ValueError"), "ValueError") == Judgement("passed")


def test_a_class_that_derives_from_it_passes_too() -> None:
    assert judged(raised("KeyError", "no", "LookupError", "Exception"), "LookupError").verdict == "passed"
    assert judged(raised("BadRate", "no", "ValueError"), "ValueError").verdict == "passed"


def test_a_class_that_it_derives_from_does_not_do() -> None:
    judgement = judged(raised("LookupError", "no", "Exception"), "KeyError")
    assert judgement.verdict == "raised"
    assert judgement.message == "It raised LookupError in line 3: no. Expected the exception KeyError."


def test_of_several_any_will_do() -> None:
    for name in ("ValueError", "TypeError"):
        assert judged(raised(name), "ValueError", "TypeError").verdict == "passed"
    said = judged(raised("KeyError"), "ValueError", "TypeError").message
    assert said.endswith("Expected the exception ValueError or TypeError.")


def test_an_answer_is_told_for_what_it_is() -> None:
    judgement = judged(returned([1.0, 2.0]), "ValueError")
    assert judgement.verdict == "wrong_type"
    assert judgement.message == (
        "It returned an array of dtype float64 and shape (2,); expected the exception ValueError."
    )
    assert judged(StepOutcome("returned"), "ValueError").message.startswith("It returned nothing; ")


@pytest.mark.parametrize("state", ["crashed", "timed_out", "not_run", "out_of_memory"])
def test_what_is_no_exception_of_the_submission_is_told_as_ever(state: Any) -> None:
    outcome = StepOutcome(state, detail="the process ended", failure=Failure("MemoryError", "no"))
    judgement = judged(outcome, "MemoryError")
    assert judgement.verdict not in ("passed", "wrong_type") and judgement.message


def test_what_its_message_has_to_mention_is_told() -> None:
    asked = ("rate", "1.5")
    assert judged(raised("ValueError", "The Rate is 1.5."), "ValueError", mentions=asked).verdict == "passed"
    judgement = judged(raised("ValueError", "rate is bad"), "ValueError", mentions=asked)
    assert judgement.verdict == "raised"
    assert judgement.message == (
        "ValueError is raised in line 3, but its message does not mention '1.5': 'rate is bad'."
    )
    both = judged(raised("ValueError", "x" * 400, frames=()), "ValueError", mentions=asked).message
    assert both.startswith("ValueError is raised, but its message does not mention 'rate' and '1.5': 'xxx")
    assert both.endswith("x…'.") and len(both) < 300


@pytest.mark.parametrize(
    ("message", "text", "found"),
    [
        ("rate must be below 1", "1", True),
        ("rate must be below 10", "1", False),
        ("rate is 1.5", "1", False),
        ("rate is 1.5", "5", False),
        ("rate is 1.5", "1.5", True),
        ("rate is 11.5", "1.5", False),
        ("ends in 1.", "1", True),
        ("RATE", "rate", True),
        ("rates", "rate", False),
        ("the (rate)", "(rate)", True),
        ("a.b", "a+b", False),
        ("shape (2, 3)", "(2, 3)", True),
        ("", "x", False),
        ("item_1", "1", False),
    ],
)
def test_a_text_is_mentioned_when_it_is_a_word_or_number_of_its_own(
    message: str, text: str, found: bool
) -> None:
    assert mentions(message, text) is found


@given(st.text(max_size=10), st.text("ab1.(_ ", min_size=1, max_size=4), st.text(max_size=10))
def test_a_text_between_spaces_is_always_mentioned(before: str, text: str, after: str) -> None:
    assert mentions(f"{before} {text} {after}", text)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_is_mentioned_just_where_it_is_that_number(number: int, other: int) -> None:
    assert mentions(f"expected {number} rows", str(other)) is (number == other)


def test_an_outcome_is_as_asked_whatever_its_message() -> None:
    one = asking("ValueError", mentions=("rate",))
    assert as_asked(one, raised("ValueError", "else"))
    assert not as_asked(one, raised("KeyError"))
    assert not as_asked(one, returned([1.0]))
    assert not as_asked(case(), raised("ValueError"))


@pytest.mark.parametrize("call", ["", "draw"])
def test_the_call_that_raised_is_the_one_that_is_told(call: str) -> None:
    one = case("raises", options={"raises": ["ValueError"], "mentions": []}, shapes=((),), call=call)
    failure = Failure("RecursionError", "maximum recursion depth exceeded", (), ((3, "f"),))
    judgement = judge_case(pack_of(one), one, [StepOutcome("raised", failure=failure)], {})
    assert judgement.verdict == "raised" and judgement.message.endswith("Expected the exception ValueError.")
