"""The outcomes of a submission held against the fingerprints of the known mistakes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.exercise.fingerprints import FLOATS, NOTHING, fingerprint, is_empty, is_finite
from grader.exercise.known import NONE, UNSTABLE, Known, PhasePrints
from grader.exercise.pack import PackCase
from grader.judge.failures import ended_in_arithmetic
from grader.outcomes import StepOutcome

if TYPE_CHECKING:
    from grader.exercise.forms import Form

Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]


class Fit(NamedTuple):
    """Known mistakes that explain what is wrong.

    Attributes:
        members: Numbers of one or two mistakes.
        fits: On how many cases the answer is theirs.
        of: How many cases there are on which they or the submission are not right, without those on which
            what they answer is not known.
        left: Ids of cases that are not right, and not as foreseen either: two mistakes may bring to light of
            each other what neither shows alone, and beside one mistake there may be something unknown.
    """

    members: tuple[int, ...]
    fits: int
    of: int
    left: frozenset[str] = frozenset()


# How many cases may differ from what a pair is foreseen to do there.
FEW = 2
# Or one in so many of those that are as foreseen.
RARE = 10
# A pair that explains less than this share of what another one explains is no alternative.
NEAR = 0.8
# A mistake beside something that nobody knows has to explain so many of the cases that are not right,
LEAST = 4
# and so large a share of them. Mistakes that are alike where N is 1 are alike on half of the cases.
MOSTLY = 0.75


class _Tally(NamedTuple):
    """Cases by pair.

    Attributes:
        fits: The answer is that of the pair.
        telling: One of the two shows, or the submission is not right.
        open: The answer is another one than foreseen, though only one of the two shows by itself.
        against: The same where nothing of the other one can come to light.
        alone: (2, P) the answer is once that of the one alone, and not right.
    """

    fits: Numbers
    telling: Numbers
    open: Numbers
    against: Numbers
    alone: Flags


@dataclass(frozen=True)
class _Phase:
    """One phase of a submission beside what is known. S steps, K mistakes.

    Attributes:
        run: (S,) the step was run.
        right: (S,) its answer is the right one.
        empty: (S,) the right answer has no elements.
        active, unstable, touched: (K, S) as in `PhasePrints`.
        match: (K, S) the answer is that of the mistake.
        same_kind: (K, S) the answer is of the same form as that of the mistake, or as the right one.
    """

    prints: PhasePrints
    kinds: Numbers
    values: NDArray[np.float64]
    run: Flags
    right: Flags
    empty: Flags
    active: Flags
    unstable: Flags
    match: Flags
    same_kind: Flags


def _hold(
    prints: PhasePrints,
    outcomes: Sequence[StepOutcome],
    refused: Collection[int],
    raising: Collection[str],
    forms: Sequence[Form | None],
    *,
    loose: bool,
) -> _Phase:
    numbers = {kind: n for n, kind in enumerate(prints.kinds)}
    found = [fingerprint(outcome, raising, form) for outcome, form in zip(outcomes, forms, strict=True)]
    kinds = np.array([numbers.get(f.kind, -1) for f in found], np.intp)
    values = np.array([f.values for f in found] or [NOTHING])
    lengths = np.diff(prints.starts)
    step = np.repeat(np.arange(len(lengths)), lengths)
    off = np.abs(prints.rows - values[step]).max(axis=1, initial=0.0)
    equal = (prints.row_kinds == kinds[step]) & (off <= prints.widths)
    arithmetic = np.array([ended_in_arithmetic(o) for o in outcomes], bool)
    if arithmetic.any():
        finite = np.array([is_finite(kind) for kind in prints.kinds])[prints.row_kinds]
        equal |= arithmetic[step] & ~finite
    unstable = prints.index == UNSTABLE
    index = np.where(unstable, 0, prints.index)
    kind_of = prints.row_kinds.astype(np.intp)
    # Of an answer that did not fit into what is sent back nothing is known.
    known = [o.state != "not_run" and not o.too_large for o in outcomes]
    run = np.array([ran and number not in refused for number, ran in enumerate(known)], bool)
    if loose:
        run &= ~arithmetic
    return _Phase(
        prints=prints,
        kinds=kinds,
        values=values,
        run=run,
        right=equal[prints.starts[:-1]],
        empty=np.array([is_empty(kind) for kind in prints.kinds] or [False])[kind_of[prints.starts[:-1]]],
        active=(index != 0),
        unstable=unstable,
        match=equal[prints.starts[:-1] + index],
        same_kind=(kind_of[prints.starts[:-1] + index] == kinds) | (kind_of[prints.starts[:-1]] == kinds),
    )


class Lineup:
    """What can be said of a submission by the known mistakes.

    Args:
        known: What the pack knows.
        cases: The cases that were judged.
        outcomes: The outcomes of each phase's steps.
        refused: Steps that say nothing: writing into a read-only argument ended them, or chance decides them.
        forms: For each phase's steps the form of the answer, where it lets several containers through.
        loose: A call that ended in arithmetic without an answer says nothing; else it is NaN or infinity.
    """

    def __init__(
        self,
        known: Known,
        cases: Sequence[PackCase],
        outcomes: Mapping[str, Sequence[StepOutcome]],
        refused: Mapping[str, Collection[int]],
        forms: Mapping[str, Sequence[Form | None]] | None = None,
        *,
        loose: bool = False,
    ) -> None:
        self.known = known
        given = forms or {}
        self._phases = {
            name: _hold(
                known.phases[name],
                steps,
                refused.get(name, ()),
                known.raising,
                given.get(name) or [None] * len(steps),
                loose=loose,
            )
            for name, steps in outcomes.items()
            if name in known.phases and len(known.phases[name].starts) == len(steps) + 1
        }
        self._drawn = {
            name: {s for case in cases if case.visibility == name and case.drawn for s in case.steps}
            for name in self._phases
        }
        self._cases = {
            name: [case.steps for case in cases if case.visibility == name] for name in self._phases
        }
        self._ids = {name: [case.id for case in cases if case.visibility == name] for name in self._phases}

    @property
    def anything_wrong(self) -> bool:
        """Whether some answer is another one than the right one."""
        return any(bool((p.run & ~p.right).any()) for p in self._phases.values())

    def single(self) -> list[Fit]:
        """The mistakes of which one alone explains everything."""
        count = len(self.known.mistakes)
        fits, of, shared = np.zeros(count, int), np.zeros(count, int), np.zeros(count, int)
        for name, phase in self._phases.items():
            off = phase.run & ~phase.right
            shows = self._any(name, (phase.active & ~phase.unstable) & phase.run)
            telling = shows | self._any(name, off)
            known = ~self._any(name, phase.unstable | ~phase.run)
            same = self._all(name, phase.match | ~phase.run)
            # Code for the case that there is nothing to answer often stands apart, and is right.
            apart = self._all(name, phase.right & phase.empty)
            telling &= known & ~apart
            of += telling.sum(axis=1)
            fits += (telling & same).sum(axis=1)
            shared += (telling & same & shows).sum(axis=1)
        chosen = np.flatnonzero((fits == of) & (shared > 0))
        return [Fit((int(n),), int(fits[n]), int(of[n])) for n in chosen]

    def nearly(self) -> list[Fit]:
        """The mistakes of which one explains most of what is wrong, with nothing that speaks against it.

        Wherever such a mistake shows, the submission is wrong too, in the hidden cases as well. Only the
        public ones are counted: what the others answer is nobody's to know.
        """
        count = len(self.known.mistakes)
        fits, of, left, sure = (np.zeros(count, int) for _ in range(4))
        possible, general = np.ones(count, bool), np.zeros(count, bool)
        for name, phase in self._phases.items():
            off = phase.run & ~phase.right
            shows = phase.active & ~phase.unstable & phase.run
            # Code for the case that there is nothing to answer often stands apart, and is right.
            possible &= ~(shows & phase.right & ~phase.empty).any(axis=1)
            known = ~self._any(name, phase.unstable | ~phase.run)
            telling = self._any(name, off) & known
            told = telling & self._all(name, phase.match | ~phase.run | (phase.right & phase.empty))
            left += (telling & ~told).sum(axis=1)
            # Of an exception, or of NaN, it can't be told where it comes from.
            numbers = told & self._any(name, off & phase.match & _by_numbers(phase))
            drawn = [bool(self._drawn[name].intersection(steps)) for steps in self._cases[name]]
            general |= (numbers & drawn).any(axis=1)
            if name == "public":
                sure += numbers.sum(axis=1)
                of += telling.sum(axis=1)
                fits += told.sum(axis=1)
        named = possible & general & (sure >= LEAST) & (sure >= MOSTLY * of) & (left > 0)
        if not named.any():
            return []
        best = np.flatnonzero(named & (left == left[named].min()))
        return [Fit((int(n),), int(fits[n]), int(of[n]), self._others(int(n))) for n in best]

    def _others(self, number: int) -> frozenset[str]:
        """Ids of the cases that are not right and not as a mistake answers them."""
        found: set[str] = set()
        for name, phase in self._phases.items():
            other = phase.run & ~phase.right & ~phase.match[number] & ~phase.unstable[number]
            off = self._any(name, other)
            found |= {self._ids[name][n] for n in np.flatnonzero(off)}
        return frozenset(found)

    def pairs(self) -> list[Fit]:
        """The pairs of mistakes that explain everything together, those that leave least open."""
        members = self.known.pairs.astype(np.intp)
        possible = np.ones(len(members), bool)
        stored = np.zeros(len(members), bool)
        general = np.zeros(len(members), bool)
        for name, phase in self._phases.items():
            kept, same = _kept_answers(phase)
            possible &= (same | ~kept).all(axis=1)
            stored |= (kept & same).any(axis=1)
            drawn = np.zeros(NONE + 1, bool)
            drawn[list(self._drawn[name])] = True
            general |= (kept & same & drawn[phase.prints.pair_steps]).any(axis=1)
        # Where no answer of the pair is kept, either mistake has to be seen by itself.
        seen = np.zeros(len(self.known.mistakes), bool)
        for phase in self._phases.values():
            seen |= (phase.active & phase.match & (phase.run & ~phase.right)).any(axis=1)
        possible &= stored | seen[members].all(axis=1)
        chosen = np.flatnonzero(possible)
        a, b = members[chosen, 0], members[chosen, 1]
        zeros = np.zeros(len(chosen), int)
        tally = _Tally(zeros, zeros, zeros, zeros, np.zeros((2, len(chosen)), bool))
        for name, phase in self._phases.items():
            tally = self._count(name, phase, chosen, a, b, tally)
        # Where nothing was switched off, the pair's own answer says so much that a case or two may differ by
        # what one of them brings to light of the other.
        sound = (tally.against == 0) | (general[chosen] & (tally.against <= FEW))
        proved = general[chosen] | (
            (stored[chosen] | tally.alone.all(axis=0)) & (2 * tally.fits >= tally.telling)
        )
        clear = general[chosen] | (tally.open <= np.maximum(FEW, tally.fits // RARE))
        named = np.flatnonzero(sound & proved & clear & (tally.fits > 0))
        if not len(named):
            return []
        best = named[tally.open[named] == tally.open[named].min()]
        # What explains far fewer answers than another pair does is no alternative to it.
        best = best[tally.fits[best] >= NEAR * tally.fits[best].max()]
        fits = [int(tally.fits[n]) for n in best]
        return [
            Fit((int(a[n]), int(b[n])), f, f, self._left(int(a[n]), int(b[n])))
            for n, f in zip(best, fits, strict=True)
        ]

    def _left(self, a: int, b: int) -> frozenset[str]:
        """Ids of the cases that are not right and that a pair leaves open."""
        left: set[str] = set()
        for name, phase in self._phases.items():
            first, second = phase.active[a], phase.active[b]
            same = np.where(first, phase.match[a], np.where(second, phase.match[b], phase.right))
            left_open = self._any(name, ~(first & second) & ~same & phase.run & ~phase.right)
            left |= {self._ids[name][n] for n in np.flatnonzero(left_open)}
        return frozenset(left)

    def _count(
        self, name: str, phase: _Phase, chosen: Numbers, a: Numbers, b: Numbers, tally: _Tally
    ) -> _Tally:
        first, second = phase.active[a], phase.active[b]
        quiet = ~first & ~second
        foreseen = ~(first & second) & phase.run
        same = np.where(first, phase.match[a], np.where(second, phase.match[b], phase.right[np.newaxis]))
        touched = phase.prints.touched
        # A mistake that changes something without showing may show beside the other one.
        hidden = (touched[a] & ~first) | (touched[b] & ~second)
        certain = foreseen & ~np.where(quiet, touched[a] & touched[b], hidden)
        certain &= ~(phase.unstable[a] | phase.unstable[b])
        # Another form of answer than that of either mistake or the right one is never brought to light.
        certain |= foreseen & ~(phase.same_kind[a] | phase.same_kind[b])
        off = phase.run & ~phase.right
        known = foreseen & same
        for steps in phase.prints.pair_steps[chosen].T:
            kept = np.flatnonzero(steps != NONE)
            known[kept, steps[kept]] = True
        telling = self._any(name, first | second | off)
        told = self._all(name, known | ~phase.run)
        return _Tally(
            fits=tally.fits + (telling & told).sum(axis=1),
            telling=tally.telling + telling.sum(axis=1),
            open=tally.open + (telling & self._any(name, foreseen & ~same)).sum(axis=1),
            against=tally.against + self._any(name, certain & ~same).sum(axis=1),
            alone=tally.alone
            | np.stack(
                [
                    (first & ~second & same & off).any(axis=1),
                    (second & ~first & same & off).any(axis=1),
                ]
            ),
        )

    def _any(self, name: str, steps: Flags) -> Flags:
        """By case: some step of it is marked."""
        return self._reduce(np.logical_or, name, steps)

    def _all(self, name: str, steps: Flags) -> Flags:
        """By case: every step of it is marked."""
        return self._reduce(np.logical_and, name, steps)

    def _reduce(self, how: np.ufunc, name: str, steps: Flags) -> Flags:
        cases = self._cases[name]
        columns = np.concatenate([np.asarray(c, np.intp) for c in cases])
        starts = np.cumsum([0, *[len(c) for c in cases]])[:-1]
        return np.asarray(how.reduceat(steps[..., columns], starts, axis=-1))


def _by_numbers(phase: _Phase) -> Flags:
    """(K, S): the answer of the mistake is an array of finite numbers that are not all 0."""
    prints = phase.prints
    rows = prints.starts[:-1] + np.where(phase.unstable, 0, prints.index)
    finite = np.array([is_finite(kind) for kind in prints.kinds] or [False])[prints.row_kinds]
    return np.asarray((finite & (prints.rows != 0).any(axis=1))[rows])


def _kept_answers(phase: _Phase) -> tuple[Flags, Flags]:
    """By pair and answer: it was kept for a step that was run, and it is the submission's."""
    prints = phase.prints
    kept = prints.pair_steps != NONE
    steps = np.where(kept, prints.pair_steps, 0).astype(np.intp)
    if not len(phase.run):
        return np.zeros_like(kept), np.ones_like(kept)
    off = np.abs(prints.pair_rows - phase.values[steps]).max(axis=2, initial=0.0)
    same = (prints.pair_kinds == phase.kinds[steps]) & (off <= prints.pair_widths)
    # Whole numbers and the like say too little: many mistakes agree in them.
    says = np.array([FLOATS in kind for kind in prints.kinds] or [False])[prints.pair_kinds]
    return kept & says & phase.run[steps], same | ~says
