"""Which mistake a submission has: its answers are held against those of every known one, and of every pair.

A single mistake is named where it explains everything that is wrong; two together may leave a few cases open,
which are then explained by their verdicts (`grader.judge.lineup`). Where neither is found, a mistake that
explains most of what is wrong, and that nothing speaks against, is named as one beside something unknown.
What is no matter of values (an argument that is overwritten, an answer that shares memory, chance, half
precision) is told from what the calls left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.exercise.calls import arrays_of
from grader.exercise.fingerprints import is_half
from grader.exercise.known import KnownMistake
from grader.exercise.pack import Pack
from grader.judge.failures import ended_in_arithmetic, says_all
from grader.judge.lineup import Fit, Lineup
from grader.judge.raising import as_asked
from grader.outcomes import StepOutcome

Outcomes = Mapping[str, Sequence[StepOutcome]]

# More mistakes than this that fit equally well name nothing.
MOST = 4

# The verdicts that need no further explanation, by what a mistake was told by.
EXPLAINED: Mapping[str, frozenset[str]] = {
    "values": frozenset(
        {"raised", "wrong_type", "wrong_shape", "not_repeatable", "crashed", "timed_out", "out_of_memory"}
    ),
    "overwritten": frozenset({"input_mutated", "raised"}),
    "aliased": frozenset({"output_aliases_input"}),
    "unrepeatable": frozenset({"not_repeatable"}),
    "half": frozenset(),
    "checks": frozenset(
        {"raised", "wrong_type", "wrong_shape", "not_repeatable", "crashed", "timed_out", "out_of_memory"}
    ),
}

NOTHING_FITS = "No known mistake, nor two together, was found to explain all of these answers."


@dataclass(frozen=True)
class Finding:
    """A mistake, or two together, that a submission has.

    Attributes:
        mistakes: One or two.
        fits: On how many cases the answer is theirs.
        of: On how many cases it could be told; of one beside something unknown both count public cases alone.
        told_by: ``values``, or what the calls left behind: ``overwritten``, ``aliased``, ``unrepeatable``,
            ``half``; or ``checks``, where it is told by which of them fail.
        left: Ids of failing cases that two mistakes together, or one beside something unknown, leave open.
    """

    mistakes: tuple[KnownMistake, ...]
    fits: int = 0
    of: int = 0
    told_by: str = "values"
    left: frozenset[str] = frozenset()

    @property
    def partly(self) -> bool:
        """Whether it is one mistake beside something unknown."""
        return len(self.mistakes) == 1 and bool(self.left)


def diagnose(pack: Pack, outcomes: Outcomes, failed: Collection[str] = ()) -> list[Finding]:
    """The mistakes that a failing submission has; several that can't be told apart are all named.

    Args:
        pack: The pack.
        outcomes: The outcomes of each phase's steps.
        failed: Ids of the cases that fail.
    """
    known = pack.known
    overwritten = _overwritten(pack, outcomes)
    refused: Mapping[str, Collection[int]] = _silent(pack)
    if overwritten:
        read_only = _refused(pack, outcomes)
        refused = {n: {*refused.get(n, ()), *read_only.get(n, ())} for n in {*refused, *read_only}}
    effects = _effects(pack, outcomes, overwritten)
    if not known.mistakes:
        return []
    # Chance and coarse numbers explain what no mistake of values does.
    blurred = [e for e in effects if e.told_by in ("unrepeatable", "half")]
    findings = []
    # Of what is not written yet, or misspelled, the answers of the other calls say too little.
    if not any(says_all(outcome) for outcome in _unasked(pack, outcomes)):
        fits = _best(pack, outcomes, refused, overwritten, partly=not blurred)
        findings = [_finding(pack, fit) for fit in fits]
    named = {one.id for finding in findings for one in finding.mistakes}
    if findings:
        effects = [e for e in effects if e not in blurred]
    elif not effects and not _lacking(pack, outcomes, failed):
        findings = _by_checks(pack, failed)
    return findings + [e for e in effects if named.isdisjoint(one.id for one in e.mistakes)]


def _by_checks(pack: Pack, failed: Collection[str]) -> list[Finding]:
    """The mistakes with which just these cases fail; none where they are too many to say anything."""
    wanted = set(failed)
    alike = [m for m in pack.known.mistakes if set(pack.known.patterns.get(m.id, ())) == wanted]
    if len(alike) > MOST:
        return []
    return [Finding((one,), len(wanted), len(wanted), told_by="checks") for one in alike]


def _lacking(pack: Pack, outcomes: Outcomes, failed: Collection[str]) -> bool:
    """Whether a case fails by the message of the right exception alone, which few that fail it do."""
    return any(
        as_asked(case, outcomes[case.visibility][step])
        for case in pack.cases
        if case.id in failed and case.visibility in outcomes
        for step in case.steps
    )


def _unasked(pack: Pack, outcomes: Outcomes) -> Iterator[StepOutcome]:
    """The outcomes without those exceptions that a case asks for."""
    for case in pack.cases:
        for outcome in (outcomes[case.visibility][s] for s in case.steps if case.visibility in outcomes):
            if not as_asked(case, outcome):
                yield outcome


def _silent(pack: Pack) -> dict[str, set[int]]:
    """Calls whose answers hang on chance: a right one need not be that of the reference."""
    silent: dict[str, set[int]] = {}
    for case in pack.cases:
        if case.chance:
            silent.setdefault(case.visibility, set()).update(case.steps)
    return silent


def _best(
    pack: Pack,
    outcomes: Outcomes,
    refused: Mapping[str, Collection[int]],
    overwritten: Collection[str],
    *,
    partly: bool,
) -> list[Fit]:
    """What explains all values: one mistake if there is one, else two; else, if ``partly``, most of them."""
    lineups = [Lineup(pack.known, pack.cases, outcomes, refused, pack.lenient_forms)]
    if any(ended_in_arithmetic(outcome) for steps in outcomes.values() for outcome in steps):
        lineups.append(Lineup(pack.known, pack.cases, outcomes, refused, pack.lenient_forms, loose=True))
    lineups = [lineup for lineup in lineups if lineup.anything_wrong]
    for lineup in lineups:
        fits = [fit for fit in lineup.single() if _possible(pack, fit, overwritten)]
        if fits:
            return fits if len(fits) <= MOST else []
    for lineup in lineups:
        fits = lineup.pairs()
        if fits:
            return fits if len(fits) <= MOST else []
    for lineup in lineups if partly else []:
        fits = [fit for fit in lineup.nearly() if _possible(pack, fit, overwritten)]
        if fits:
            return fits if len(fits) <= MOST else []
    return []


def _finding(pack: Pack, fit: Fit) -> Finding:
    return Finding(tuple(pack.known.mistakes[n] for n in fit.members), fit.fits, fit.of, left=fit.left)


def _possible(pack: Pack, fit: Fit, overwritten: Collection[str]) -> bool:
    """Whether the submission changes every argument that the mistake changes."""
    return set(pack.known.mistakes[fit.members[0]].overwritten) <= set(overwritten)


def _overwritten(pack: Pack, outcomes: Outcomes) -> list[str]:
    """Names of the arguments that some call changed, in their order."""
    changed: set[str] = set()
    for phase, steps in outcomes.items():
        for placed, outcome in zip(pack.plans[phase], steps, strict=False):
            numbers = outcome.overwritten | outcome.reshaped
            if numbers and not isinstance(placed, int):
                names = pack.exercise.calls[placed.call].parameters
                changed |= {names[n] for n in numbers if n < len(names)}
    order = dict.fromkeys(name for call in pack.exercise.calls.values() for name in call.parameters)
    return [name for name in order if name in changed]


def _refused(pack: Pack, outcomes: Outcomes) -> dict[str, set[int]]:
    """Calls that raised though they could not but do so: they write into arguments, which were read-only."""
    refused: dict[str, set[int]] = {}
    for name, steps in outcomes.items():
        plan = pack.plans[name]
        for number, outcome in enumerate(steps):
            placed = plan[number]
            if outcome.state != "raised" or isinstance(placed, int):
                continue
            if any(array.read_only for array in arrays_of(placed)):
                refused.setdefault(name, set()).add(number)
    return refused


def _effects(pack: Pack, outcomes: Outcomes, overwritten: Sequence[str]) -> list[Finding]:
    found: list[Finding] = []
    mistakes = pack.known.mistakes
    for name in overwritten:
        found += [Finding((m,), told_by="overwritten") for m in mistakes if m.overwritten == (name,)]
    every = [outcome for steps in outcomes.values() for outcome in steps]
    if any(outcome.aliased for outcome in every):
        found += [Finding((m,), told_by="aliased") for m in mistakes if m.aliased]
    if _unrepeatable(pack, outcomes):
        found += [Finding((m,), told_by="unrepeatable") for m in mistakes if m.unrepeatable]
    if any(m.half for m in mistakes) and is_half(every):
        found += [Finding((m,), told_by="half") for m in mistakes if m.half]
    return found


def _unrepeatable(pack: Pack, outcomes: Outcomes) -> bool:
    """Whether a call that was made twice in a row gave two answers of the same form."""
    for case in pack.cases:
        if case.check != "same_on_repeat" or len(case.steps) != 2 or case.visibility not in outcomes:
            continue
        first, second = (outcomes[case.visibility][step] for step in case.steps)
        if first.state == second.state == "returned" and first.value != second.value:
            return getattr(first.value, "shape", None) == getattr(second.value, "shape", ())
    return False


def as_record(finding: Finding, alternatives: int) -> dict[str, Any]:
    """A finding as the Result record holds it.

    Args:
        finding: What was found.
        alternatives: How many findings there are between which the cases can't decide.
    """
    mistakes = finding.mistakes
    return {
        "ids": [one.id for one in mistakes],
        "title": "; and: ".join(one.title for one in mistakes),
        "clause": mistakes[0].clause,
        "fits": finding.fits,
        "of": finding.of,
        "told_by": finding.told_by,
        "message": _message(finding, alternatives),
        "pages": [
            {"id": one.id, "title": one.title, "clause": one.clause, **vars(one.page)} for one in mistakes
        ],
    }


def _message(finding: Finding, alternatives: int) -> str:
    if finding.told_by == "overwritten":
        return f"{', '.join(finding.mistakes[0].overwritten)} is changed by a call."
    if finding.told_by == "aliased":
        return "An answer shares memory with an argument."
    if finding.told_by == "unrepeatable":
        return "Two equal calls in a row give different answers."
    if finding.told_by == "half":
        return "Every answer consists of numbers that float16 or bfloat16 can hold: two or three digits."
    if finding.told_by == "checks":
        said = "With this mistake just these checks fail"
        if alternatives > 1:
            said += f", and with {_others(alternatives)} below or above too"
        return f"{said}; something that nobody knows yet may do the same."
    cases = "case" if finding.of == 1 else "cases"
    said = f"This explains the answers of {finding.fits} of {finding.of} {cases}"
    if finding.partly:
        # On some hidden case alone it may be otherwise, of which there is no count.
        said = f"This explains {finding.fits} of {finding.of} wrong answers to visible checks"
        said += "; something else is wrong too"
    elif len(finding.mistakes) > 1:
        said = f"These two together explain {finding.fits} of {finding.of} answers that can tell them"
    if alternatives > 1:
        said += f"; the cases can't tell it from {_others(alternatives)} below or above"
    return said + "."


def _others(alternatives: int) -> str:
    return "the other one" if alternatives == 2 else f"the {alternatives - 1} others"
