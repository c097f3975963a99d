"""Errors of a submission that passes though they are no rounding: a constant with a wrong last digit, say.

They are told by their direction. A small slip moves every answer along a line that can be foreseen (its first
order); rounding moves it anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import arrays_of
from grader.exercise.fingerprints import of_array
from grader.exercise.pack import Pack, PackCase
from grader.judge.answers import Refusal, read_answer
from grader.outcomes import StepOutcome
from grader.result import CaseResult

# Relative errors below the first are those of float64, above the second they are looked into.
EXACT = 1e-12
NOTICED = 1e-9
# By no more than this a constant is off that is rounded to float32, which is honest work.
CONSTANT = 2.0**-24
# How many cases have to be of either kind before anything is said.
ENOUGH = 2
# By how much of itself an error may lie off the foreseen line.
OFF_LINE = 0.1
# Errors of all cases of about the same relative size are looked into as well.
ALIKE = 4.0

Vector = NDArray[np.float64]


def looks_systematic(cases: Sequence[CaseResult], left_out: Collection[str]) -> bool:
    """Whether the errors of a passing submission are worth a closer look, by figures that are there.

    Args:
        cases: What was decided.
        left_out: Ids of cases whose errors are not looked at.
    """
    passed = [c for c in cases if c.verdict == "passed" and c.id not in left_out]
    errors = [c.error.max_rel for c in passed if c.error and c.error.max_rel is not None]
    noticed = [e for e in errors if e > NOTICED]
    exact = sum(e <= EXACT for e in errors)
    if len(noticed) < ENOUGH or max(noticed) < CONSTANT:
        return False
    return exact >= ENOUGH or max(noticed) < ALIKE * min(noticed)


def small_error_note(
    pack: Pack, cases: Sequence[CaseResult], outcomes: Mapping[str, Sequence[StepOutcome]]
) -> str:
    """What is said of errors that are no rounding; empty when they are, or can't be told."""
    if not looks_systematic(cases, _single(pack)) or not pack.known.small:
        return ""
    passed = {c.id for c in cases if c.verdict == "passed"}
    compared = [
        c for c in pack.cases if c.check == "compare" and c.id in passed and c.id not in _single(pack)
    ]
    errors, lines = [], []
    for case in compared:
        error = _error(pack, case, outcomes)
        if error is not None:
            errors.append(error)
            lines.append(pack.known.phases[case.visibility].small[:, case.steps[0]])
    if not errors:
        return ""
    found = np.array(errors)
    moved = np.stack(lines, axis=1).astype(np.float64)
    best, size = -1, np.inf
    for number in range(len(moved)):
        factor = _factor(found, moved[number])
        # Of several slips that move the answers alike, the one whose size needs the least stretching.
        if factor is not None and abs(np.log(abs(factor))) < size:
            best, size = number, abs(float(np.log(abs(factor))))
    if best < 0:
        return ""
    clause, words = pack.known.small[best]
    title = pack.exercise.clauses.get(clause, {}).get("title", clause)
    counted = {c.id for c in compared}
    largest = max(c.error.max_rel or 0.0 for c in cases if c.error and c.id in counted)
    like = f" They are like those of this slip: {words}." if words else ""
    return (
        f"Everything is within the tolerances, but some errors are no rounding. They appear where the clause "
        f"{title} is at work, up to {largest:.0e} of the answer, and nowhere else.{like} This costs nothing."
    )


def _single(pack: Pack) -> frozenset[str]:
    """Ids of cases with arrays of float32: what is computed from them may be so too."""
    key = ("single", "", 0)
    if key not in pack.texts:
        found = set()
        for case in pack.cases:
            placed = pack.plans[case.visibility][case.steps[0]]
            if any(array.dtype.endswith("f4") for array in arrays_of(placed)):
                found.add(case.id)
        pack.texts[key] = frozenset(found)
    names: frozenset[str] = pack.texts[key]
    return names


def _error(pack: Pack, case: PackCase, outcomes: Mapping[str, Sequence[StepOutcome]]) -> Vector | None:
    """By how much the projections of an answer are off, relative to its magnitude."""
    if case.visibility not in outcomes or case.visibility not in pack.known.phases:
        return None
    outcome = outcomes[case.visibility][case.steps[0]]
    if case.check != "compare" or not pack.call(case).is_array:
        return None
    answer = read_answer(outcome, case.shapes[0], pack.call(case).dtypes)
    if isinstance(answer, Refusal) or not answer.size:
        return None
    return of_array(answer.astype(np.float64) - pack.expected(case)).values / case.scale


def _factor(errors: Vector, moved: Vector) -> float | None:
    """How many times a slip these errors are; None where they are something else.

    Args:
        errors: (C, 8) by case.
        moved: (C, 8) what the slip does to the same cases.
    """
    strength = np.linalg.norm(moved, axis=1)
    size = np.linalg.norm(errors, axis=1)
    on = size > NOTICED
    if np.count_nonzero(on & (strength > 0)) < ENOUGH or (on & (strength == 0)).any():
        return None
    ratios = (errors[on] * moved[on]).sum(axis=1) / strength[on] ** 2
    factor = float(np.median(ratios))
    if factor == 0 or not np.isfinite(factor):
        return None
    off = np.linalg.norm(errors - factor * moved, axis=1)
    allowed = OFF_LINE * np.maximum(size, abs(factor) * strength) + NOTICED / 10
    return factor if bool((off <= allowed).all()) else None
