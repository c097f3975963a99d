"""Minimal counterexamples, searched for when an exercise is frozen: the smallest inputs that tell a mistake.

For each known mistake small inputs are gone through by size, a few draws for each size, until one tells it
clearly. Where draws tell it only faintly, one of them is changed until it does so clearly; where none tells
it, the exercise's cases are asked. What was found is then made smaller (`grader.authoring.shrinking`).

A mistake's search depends on nothing but the mistake, the reference and the exercise: draws come from seeds,
and runs are counted, not seconds. So what was frozen can stay as long as it tells its mistake.

Beside these there is a ladder: inputs of growing size that together tell as many mistakes as possible.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.authoring.calibrate import HonestRuns
from grader.authoring.inputs import MOST_NUMBERS, Domain, Input
from grader.authoring.shrinking import climb, shrink
from grader.authoring.telling import CLEAR, LEAST, VALUE, Reference, Rival, Tell, Trial, quiet
from grader.exercise.assemble import Call
from grader.exercise.counterexamples import Counterexample
from grader.exercise.frozen import Frozen
from grader.exercise.misconceptions import Misconception, StepModel
from grader.exercise.models import Exercise

# To be raised when a change of the search finds other inputs: frozen ones are then searched for anew.
VERSION = 1

# Draws for each size; the first few decide whether the others are looked at.
DRAWS = 20
PROBES = 3
# A difference that is there, whatever its size: far beyond rounding in float64.
VISIBLE = 1e-9
# How many of the draws that tell a mistake are made smaller, and at how many sizes those that hardly tell it
# are climbed from, to a margin of which some can be lost on the way down to simple numbers.
STARTS = 4
CLIMBS = 6
AMPLE = 10 * CLEAR
# How many more numbers an input may hold that tells by its values where a smaller one breaks the mistake.
WORTH = 40

CLEARLY = Tell(False, VALUE, CLEAR)

# The ladder: how many rungs, and which draws are tried at each size.
RUNGS = 12
LADDER_DRAWS = (1, 3, 9, 11)


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        search: What it was made with; see `search_key`.
        counterexamples: The smallest input by the mistake's id; nothing where no input tells it.
        ladder: Inputs of growing size.
    """

    search: str
    counterexamples: dict[str, Counterexample]
    ladder: list[Counterexample]


def search_key(exercise: Exercise) -> str:
    """What inputs depend on beside the reference and its mistakes: the search, and what inputs may be."""
    told = {"dims", "constraints", "parameters", "returns", "calls"}
    parts = exercise.model_dump(mode="json", include=told, exclude_defaults=True)
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return f"{VERSION}:{digest[:16]}"


def search_all(
    exercise: Exercise,
    entries: Mapping[str, Callable[..., Any]],
    model: StepModel | None,
    misconceptions: Iterable[Misconception],
    calls: Iterable[tuple[str, dict[str, int], Call]],
    runs: Mapping[str, HonestRuns],
    known: Frozen | None,
    progress: Callable[[str], None] = lambda what: None,
) -> Found:
    """The search through all calls of an exercise: of a mistake the first call that tells it is taken.

    Calls with a random generator are left out: what they answer is no matter of right or wrong alone.

    Args:
        exercise: The exercise.
        entries: The reference's functions by the calls' names.
        model: The reference as steps.
        misconceptions: The known mistakes.
        calls: Name of the call, dims and arguments of the cases' calls.
        runs: Honest runs by the calls' names.
        known: What was frozen before; None to search anew.
        progress: Told what is searched for.
    """
    key = search_key(exercise)
    if known is not None and known.search != key:
        known = None
    found: dict[str, Counterexample] = {}
    ladder: list[Counterexample] = []
    left = list(misconceptions)
    made = [(name, dims, arguments) for name, dims, arguments in calls]
    for name in exercise.call_names:
        view = exercise.view(name)
        if any(p.generator is not None for p in view.slots.values()):
            continue
        own = [(dims, arguments) for call, dims, arguments in made if call == name]
        entry = entries[name]
        search = Search(view, entry, model, left, own, runs.get(name), name)
        part = search.run(known, progress)
        found |= part.counterexamples
        ladder += part.ladder
        left = [one for one in left if one.id not in found]
    return Found(key, found, ladder)


class Search:
    """The search for one call.

    Args:
        exercise: What inputs may be: the exercise with that call alone.
        right: The reference's entry point.
        model: The reference built from steps; None where it is not, and then there are no mistakes.
        misconceptions: Known mistakes. Those that one call can't tell, or that stay inside tolerances, are
            left out.
        calls: Dims and arguments of the cases' calls.
        runs: The reference's honest runs; inputs on which they agree are preferred.
        call: The call's name; empty where the exercise has only one.
    """

    def __init__(
        self,
        exercise: Exercise,
        right: Callable[..., Any],
        model: StepModel | None,
        misconceptions: Iterable[Misconception],
        calls: Iterable[tuple[dict[str, int], Call]] = (),
        runs: HonestRuns | None = None,
        call: str = "",
    ) -> None:
        domain = Domain(exercise)
        inputs = (domain.of_call(dims, arguments) for dims, arguments in calls)
        self.call = call
        self.key = search_key(exercise)
        self.pool = Pool(domain, (given for given in inputs if given is not None))
        form = exercise.form
        self.reference = Reference(right, right, form, runs)
        self.trials: dict[str, Trial] = {}
        if model is not None:
            double, single = (model.function(call, {}, dtype) for dtype in ("float64", "float32"))
            self.reference = Reference(double, single, form, runs)
            for one in misconceptions:
                if not one.small and not one.stateful:
                    double, single = (
                        model.function(call, one.make(), dtype) for dtype in ("float64", "float32")
                    )
                    rival = Rival(one.id, double, single)
                    self.trials[one.id] = Trial(self.reference, rival)

    def run(self, known: Frozen | None, progress: Callable[[str], None] = lambda what: None) -> Found:
        """Counterexamples and the ladder.

        Args:
            known: What was frozen before; inputs that this very search found and that still tell their
                mistakes stay. None to search anew.
            progress: Told what is searched for.
        """
        found: dict[str, Counterexample] = {}
        with quiet():
            for name, trial in self.trials.items():
                old = known.counterexamples.get(name) if known is not None else None
                if old is not None and old.call_name == self.call and self._tells(trial, old):
                    found[name] = old
                    continue
                progress(f"a counterexample to {name}")
                smallest = find(self.pool, trial)
                if smallest is not None:
                    found[name] = smallest.written(name, self.call)
            kept = [rung for rung in known.ladder if rung.call_name == self.call] if known is not None else []
            told = known.counterexamples.items() if known is not None else ()
            same = found.keys() == {name for name, one in told if one.call_name == self.call}
            if kept and same:
                ladder = kept
            else:
                progress("a ladder of inputs")
                ladder = [rung.written("", self.call) for rung in self._ladder(found)]
        return Found(self.key, found, ladder)

    def _ladder(self, found: Mapping[str, Counterexample]) -> list[Input]:
        dims = [dict(example.dims) for example in found.values()]
        return find_ladder(self.pool, self.reference, self.trials, dims)

    def _tells(self, trial: Trial, old: Counterexample) -> bool:
        given = Input.of(old)
        tell = trial.look(given)
        return tell is not None and tell.margin >= LEAST and trial.holds(given, tell) is not None


class Pool:
    """The inputs that a search begins with.

    Args:
        domain: What inputs may be.
        cases: Inputs of the exercise's cases.
    """

    def __init__(self, domain: Domain, cases: Iterable[Input] = ()) -> None:
        self.domain = domain
        self.cases = sorted(cases, key=lambda given: domain.size(given.dims))
        self._drawn: dict[tuple[int, ...], list[Input]] = {}

    @cached_property
    def dims(self) -> list[dict[str, int]]:
        """The dims of small inputs, the smallest first."""
        return self.domain.small_dims()

    def draws(self, dims: dict[str, int]) -> list[Input]:
        """The inputs drawn for such dims."""
        key = tuple(dims.values())
        if key not in self._drawn:
            self._drawn[key] = [self.domain.draw(dims, number) for number in range(DRAWS)]
        return self._drawn[key]


def find(pool: Pool, trial: Trial) -> Input | None:
    """The smallest input that tells a mistake; None where nothing does."""
    domain = pool.domain
    starts, goal = _begin(pool, trial)
    best: tuple[Any, Input] | None = None
    for start in starts:
        found = shrink(domain, trial, start, goal)
        order = (not trial.reference.settled(found), domain.size(found.dims), domain.weight(found))
        if best is not None and order == best[0]:
            break
        if best is None or order < best[0]:
            best = (order, found)
    return best[1] if best else None


def _begin(pool: Pool, trial: Trial) -> tuple[list[Input], Tell]:
    """Inputs to begin with, and what each of them reaches; the earlier of equal worth is the smaller one."""
    drawn = _Drawn(pool, trial)
    for dims in pool.dims:
        if pool.domain.size(dims)[0] <= drawn.limit and (starts := drawn.look(dims)):
            return starts, CLEARLY
    for given in pool.cases:
        if trial.holds(given, CLEARLY):
            return [given], CLEARLY
    if drawn.second is not None:
        given, tell = drawn.second
        return [given], tell
    best = drawn.best
    for given in pool.cases:
        seen = trial.look(given)
        if seen is not None and (best is None or seen.better(best[1])) and trial.holds(given, seen):
            best = (given, seen)
    if best is None or best[1].margin < LEAST:
        return [], CLEARLY
    return [best[0]], best[1]._replace(margin=max(LEAST, min(CLEAR, best[1].margin / 2)))


class _Drawn:
    """What the draws of one size after the other show of a mistake.

    Attributes:
        second: An input that tells by breaking the mistake, or with an empty answer, and what it reaches.
        limit: No sizes of more numbers are looked at.
        best: The input that tells by its values with the largest margin.
    """

    def __init__(self, pool: Pool, trial: Trial) -> None:
        self.pool = pool
        self.trial = trial
        self.second: tuple[Input, Tell] | None = None
        self.limit = float("inf")
        self.best: tuple[Input, Tell] | None = None
        self._climbs = 0

    def look(self, dims: dict[str, int]) -> list[Input]:
        """Inputs of these dims that tell the mistake clearly."""
        trial, draws = self.trial, self.pool.draws(dims)
        if not any(trial.look(given) for given in draws[:PROBES]):
            return []
        seen = [(given, tell) for given in draws if (tell := trial.look(given)) is not None]
        starts = [given for given, _ in seen if trial.holds(given, CLEARLY)]
        if starts:
            return starts[:STARTS]
        for given, tell in seen:
            other = tell._replace(margin=CLEAR)
            if (self.second is None or other < self.second[1]) and trial.holds(given, other):
                self.second = (given, other)
                self.limit = self.pool.domain.size(dims)[0] + WORTH
        faint = [(g, t) for g, t in seen if (t.empty, t.kind) == CLEARLY[:2] and t.margin >= VISIBLE]
        faint = [(g, t) for g, t in faint if trial.holds(g, t)]
        return self._climb(*max(faint, key=lambda each: each[1].margin)) if faint else []

    def _climb(self, given: Input, tell: Tell) -> list[Input]:
        """Inputs that tell clearly, reached from one that hardly does."""
        if self._climbs == CLIMBS:
            return []
        self._climbs += 1
        # From few numbers it is further up, but what is found there has few numbers.
        few = shrink(self.pool.domain, self.trial, given, tell._replace(margin=VISIBLE))
        begin = [(few, self.trial.look(few) or tell), (given, tell)]
        climbed = [climb(self.pool.domain, self.trial, *each, AMPLE) for each in begin]
        self.best = max([*climbed, *([self.best] if self.best else [])], key=lambda each: each[1].margin)
        return [given for given, tell in climbed if tell.reaches(CLEARLY)]


def find_ladder(
    pool: Pool, reference: Reference, trials: Mapping[str, Trial], telling: Iterable[dict[str, int]] = ()
) -> list[Input]:
    """Inputs of growing size, so chosen that many mistakes are told by one of them, and by a small one.

    Args:
        pool: Gives the inputs.
        reference: Only inputs whose right answer has numbers, on which honest runs agree, are taken.
        trials: The mistakes.
        telling: Dims at which mistakes are told; others are tried beside them.
    """
    domain = pool.domain
    small = [dims for dims in telling if domain.size(dims)[0] <= MOST_NUMBERS]
    by_size = {domain.size(dims): dims for dims in [*_spread(pool, reference), *small]}
    candidates: list[tuple[Input, set[str]]] = []
    for size in sorted(by_size):
        for number in LADDER_DRAWS:
            given = domain.draw(by_size[size], number)
            right = reference.right(given)
            if right is not None and right.array.size and reference.settled(given):
                told = {name for name, trial in trials.items() if trial.holds(given, CLEARLY)}
                candidates.append((given, told))
    worth = dict.fromkeys(trials, 0.0)

    def gain(candidate: tuple[Input, set[str]]) -> float:
        value = _worth(domain, candidate[0])
        return sum(max(0.0, value - worth[name]) for name in candidate[1])

    rungs: list[Input] = []
    while candidates and len(rungs) < RUNGS:
        # The first rung is the smallest input there is; of equal gains the smaller input counts.
        given, told = max(candidates, key=gain) if rungs else candidates[0]
        rungs.append(given)
        worth.update({name: max(worth[name], _worth(domain, given)) for name in told})
        candidates = [each for each in candidates if each[0].dims != given.dims]
    return sorted(rungs, key=lambda given: domain.size(given.dims))


def _worth(domain: Domain, given: Input) -> float:
    """What it is worth that an input tells a mistake: 1 less for each doubling of its numbers."""
    return math.log2(4 * MOST_NUMBERS / max(domain.size(given.dims)[0], 1))


def _spread(pool: Pool, reference: Reference) -> list[dict[str, int]]:
    """Dims from the smallest to the largest that give answers with numbers, in steps of about equal ratio."""

    def answered(dims: dict[str, int]) -> bool:
        draws = (reference.right(pool.domain.draw(dims, number)) for number in LADDER_DRAWS)
        return any(right is not None and right.array.size for right in draws)

    left = [dims for dims in sorted(pool.dims, key=pool.domain.size) if answered(dims)]
    numbers = {id(dims): max(pool.domain.size(dims)[0], 1) for dims in left}
    chosen: list[dict[str, int]] = []
    if left:
        smallest, largest = numbers[id(left[0])], numbers[id(left[-1])]
        for level in range(min(RUNGS, len(left))):
            wanted = smallest * (largest / smallest) ** (level / (RUNGS - 1))
            nearest = min(left, key=lambda dims: abs(numbers[id(dims)] - wanted))
            chosen.append(nearest)
            left = [dims for dims in left if dims is not nearest]
    return chosen
