"""Errors within the tolerances are noted where they are no rounding, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known import row_scale

from grader.exercise.pack import Pack
from grader.judge.small_errors import _factor, looks_systematic
from grader.result import CaseError, CaseResult
from judge.answering import judged


def case(name: str, error: float | None, verdict: Any = "passed") -> CaseResult:
    return CaseResult(
        id=name,
        group="g",
        title="",
        clause="rows",
        visibility="public",
        verdict=verdict,
        points=1.0,
        max_points=1.0,
        error=CaseError(error, error, 1e-6) if error is not None else None,
    )


def cases(*errors: float | None) -> list[CaseResult]:
    return [case(f"c{number}", error) for number, error in enumerate(errors)]


# --- whether to look --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "looks"),
    [
        ((), False),
        ((1e-16, 0.0, 3e-15), False),  # rounding of float64
        ((1e-7, 1e-16, 1e-16), False),  # one is not enough
        ((1e-7, 3e-7, 1e-16, 1e-16), True),  # here exact and there not
        ((1e-7, 1e-8, 1e-16), False),
        ((1e-7, 5e-8, 2e-7), False),  # single precision
        ((1e-7, 2e-7, 1.5e-7), True),  # the same everywhere
        ((1e-10, 2e-10, 1e-16, 1e-16), False),  # in between
        ((5e-8, 5e-8, 1e-16, 1e-16), False),  # a constant of single precision
        ((7e-8, 5e-8, 1e-16, 1e-16), True),
        ((None, None, 1e-7, 1.1e-7), True),
    ],
)
def test_what_looks_systematic(errors: tuple[float | None, ...], looks: bool) -> None:
    assert looks_systematic(cases(*errors), ()) == looks


def test_cases_that_are_left_out_or_did_not_pass_are_not_looked_at() -> None:
    found = cases(1e-7, 1e-7, 1e-16, 1e-16)
    assert looks_systematic(found, ())
    assert not looks_systematic(found, {"c0"})
    assert not looks_systematic([case("c0", 1e-7, "skipped"), *found[1:]], ())


# --- the line ---------------------------------------------------------------------------------


@given(st.floats(0.01, 100), st.sampled_from([-1, 1]), st.integers(0, 2**32))
def test_errors_along_the_line_are_so_many_times_the_slip(size: float, sign: int, seed: int) -> None:
    moved = 1e-6 * np.random.default_rng(seed).normal(size=(5, 8))
    moved[0] = 0
    found = _factor(sign * size * moved, moved)
    assert found is not None and found == pytest.approx(sign * size)


@given(st.integers(0, 2**32))
def test_errors_in_other_directions_are_no_slip(seed: int) -> None:
    chance = np.random.default_rng(seed)
    moved = 1e-6 * chance.normal(size=(5, 8))
    assert _factor(1e-6 * chance.normal(size=(5, 8)), moved) is None


def test_an_error_where_the_slip_does_nothing_is_against_it() -> None:
    moved = 1e-6 * np.random.default_rng(1).normal(size=(5, 8))
    errors = moved.copy()
    moved[0] = 0
    assert _factor(errors, moved) is None


def test_no_error_where_the_slip_does_something_is_against_it() -> None:
    moved = 1e-6 * np.random.default_rng(1).normal(size=(5, 8))
    errors = moved.copy()
    errors[0] = 0
    assert _factor(errors, moved) is None


def test_one_case_is_not_enough() -> None:
    moved = np.zeros((3, 8))
    moved[0] = 1e-6
    assert _factor(moved, moved) is None


def test_cases_have_to_agree_on_how_many_times() -> None:
    moved = 1e-6 * np.random.default_rng(1).normal(size=(4, 8))
    errors = moved * np.array([1, 1, 1, 1.5])[:, np.newaxis]
    assert _factor(errors, moved) is None
    assert _factor(moved * np.array([1, 1, 1, 1.05])[:, np.newaxis], moved) is not None


# --- in a record ------------------------------------------------------------------------------


def notes(pack: Pack, function: Any) -> list[str]:
    result = judged(pack, function)
    assert (result.status, result.score) == ("passed", result.max_score), result.message
    assert (result.diagnoses, result.undiagnosed) == ((), "")
    return [note for note in result.notes if "no rounding" in note]


def test_a_known_slip_is_named_by_its_clause_and_words(stepped: Pack) -> None:
    (note,) = notes(stepped, lambda x, w, k: row_scale(x, w, k) * (1 + 2e-7))
    assert note == (
        "Everything is within the tolerances, but some errors are no rounding. They appear where the clause "
        "Scale is at work, up to 2e-07 of the answer, and nowhere else. "
        "They are like those of this slip: last_digits. This costs nothing."
    )


def test_another_step_that_is_off_is_named_by_its_clause(stepped: Pack) -> None:
    """The mean of squares a little too large: no slip that is known, but a step that a clause names."""
    (note,) = notes(
        stepped, lambda x, w, k: row_scale(x, w, k, lambda y: (y * y).mean(1, keepdims=True) * (1 + 1e-7))
    )
    assert "the clause Scale is at work" in note and "slip" not in note


@given(st.integers(0, 2**32), st.sampled_from([1e-16, 1e-12, 1e-9, 1e-8]))
def test_rounding_of_any_size_is_not_noted(stepped: Pack, seed: int, size: float) -> None:
    chance = np.random.default_rng(seed)

    def rounded(x: Any, w: Any, factor: Any) -> Any:
        answer = row_scale(x, w, factor)
        noise = size * chance.uniform(-1, 1, answer.shape)
        return answer + np.abs(answer).max(initial=0.0) * (noise if answer.size > 1 else 0)

    # The answers must repeat, as those of honest code do.
    made: dict[bytes, Any] = {}

    def repeated(x: Any, w: Any, factor: Any) -> Any:
        key = x.tobytes() + w.tobytes() + bytes([factor])
        if key not in made:
            made[key] = rounded(x, w, factor)
        return made[key].copy()

    assert notes(stepped, repeated) == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_right_submission_is_not_noted(stepped: Pack, dtype: Any) -> None:
    assert notes(stepped, row_scale) == []
    assert notes(stepped, lambda x, w, k: row_scale(x, w, k).astype(dtype)) == []


@pytest.mark.parametrize("error", [2.0**-25, -(2.0**-25), 1e-8])
def test_a_constant_rounded_to_single_precision_is_not_noted(stepped: Pack, error: float) -> None:
    assert notes(stepped, lambda x, w, k: row_scale(x, w, k) * (1 + error)) == []


def test_nothing_is_noted_where_nothing_is_known(pack: Pack) -> None:
    assert pack.known.small == ()
    assert notes(pack, lambda x, w, k: row_scale(x, w, k) * (1 + 2e-7)) == []


def test_a_submission_that_fails_gets_no_note(stepped: Pack) -> None:
    def wrong(x: Any, w: Any, factor: Any) -> Any:
        return row_scale(x, w, factor) * (1 + 2e-7) + (len(x) == 3)

    result = judged(stepped, wrong)
    assert result.status == "failed" and not any("no rounding" in note for note in result.notes)
