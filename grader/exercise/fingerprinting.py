"""Running the known mistakes of an exercise and keeping the fingerprints of what they answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import Step, arrays_of, calls_of, read_plan, value_of
from grader.exercise.fingerprints import PROJECTIONS, Fingerprint, fingerprint, is_half
from grader.exercise.forms import Form
from grader.exercise.known import NONE, NOTHING_KNOWN, UNSTABLE, Known, KnownMistake, PhasePrints
from grader.exercise.memory import limited_memory
from grader.exercise.misconceptions import Misconception, Misconceptions, StepModel, compose
from grader.exercise.rehearsal import Functions, call, function_for, prepare, rehearse
from grader.outcomes import StepOutcome

# Bytes of memory where an exercise states none.
MEMORY = 1 << 30
# Answers that differ by less than this share of what rounding may do are the same.
SAME = 0.05
# What single precision may do to a mistake's answer, times this, is how far a student's may lie off.
WIDENING = 10.0
# Where single precision does more than this to a mistake's answer, the answer tells nothing.
CHAOTIC = 1e-2
# In how many calls of a phase an answer is looked for that tells a pair from either of its mistakes.
TRIES = 3
# How many answers are kept of a pair: one that tells it from its mistakes, and those to the smallest calls.
KEPT = 3
# A step's output that changes by less than this share of its magnitude looks as before.
UNNOTICED = 1e-6
# The relative change by which the output of a step is varied to see where it matters.
NUDGE = 1e-6

Plan = Sequence[Step]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class PhaseCalls:
    """A phase to be run.

    Attributes:
        block: Its block.
        tolerances: For each step, the error that rounding may make, relative to the answer's magnitude;
            infinite where values say nothing.
        whole: Steps that are all of a case whose values are compared.
        drawn: Those of them that belong to drawn cases.
        silent: Steps whose answers hang on chance: mistakes are not run on them.
    """

    block: bytes
    tolerances: Sequence[float]
    whole: Collection[int]
    drawn: Collection[int]
    silent: Collection[int] = ()


class _Row(NamedTuple):
    kind: int
    values: NDArray[np.float32]
    width: float


class _Phase:
    """The phase while its table grows."""

    def __init__(
        self,
        calls: PhaseCalls,
        model: StepModel,
        mistakes: int,
        raising: Collection[str],
        forms: Mapping[str, Form],
    ) -> None:
        self.raising = raising
        self.block = calls.block
        self.plan: Plan = read_plan(calls.block)
        self.forms = [forms.get(name) for name in calls_of(self.plan)]
        self.tolerances = calls.tolerances
        self.whole = calls.whole
        self.drawn = calls.drawn
        self.silent = list(calls.silent)
        self.kinds: dict[str, int] = {}
        self.right = rehearse(model.entry({}), self.block, self.plan)
        self.right_prints = [self.print(step, outcome) for step, outcome in enumerate(self.right)]
        self.rows: list[list[_Row]] = []
        self.seen: list[dict[bytes, int]] = []
        # How much wider than by the case's own tolerance a mistake's answer may lie off.
        self.widening = np.ones((mistakes, len(self.plan)))
        self.index = np.zeros((mistakes, len(self.plan)), np.uint16)
        # Whether a mistake changes anything at all while the right model runs, and by more than rounding.
        self.touched = np.zeros((mistakes, len(self.plan)), bool)
        self.noticed = np.zeros((mistakes, len(self.plan)), bool)
        self._prepared: dict[int, list[Any]] = {}
        for step, print_ in enumerate(self.right_prints):
            self.rows.append([])
            self.seen.append({})
            self._put(step, print_, 1.0)

    def print(self, step: int, outcome: StepOutcome) -> Fingerprint:
        """The fingerprint of an outcome of a step."""
        return fingerprint(outcome, self.raising, self.forms[step])

    def kind(self, name: str) -> int:
        return self.kinds.setdefault(name, len(self.kinds))

    def row(self, step: int, print_: Fingerprint, widening: float) -> _Row:
        tolerance = self.tolerances[step]
        scale = max(print_.scale, self.right_prints[step].scale) or 1.0
        width = tolerance * widening * scale
        # The projections are kept in single precision.
        width = max(width, 2.0**-22 * scale)
        return _Row(self.kind(print_.kind), print_.values.astype(np.float32), width)

    def _put(self, step: int, print_: Fingerprint, widening: float) -> int:
        row = self.row(step, print_, widening)
        key = np.array([row.kind, row.width]).tobytes() + row.values.tobytes()
        number = self.seen[step].setdefault(key, len(self.rows[step]))
        if number == len(self.rows[step]):
            self.rows[step].append(row)
        return number

    def outcomes(self, entry: Functions, number: int) -> list[StepOutcome]:
        """The outcomes of a mistake: right ones where it touches nothing."""
        steps = set(np.flatnonzero(self.touched[number]).tolist())
        ran = rehearse(entry, self.block, self.plan, steps)
        return [
            one if step in steps else right
            for step, (one, right) in enumerate(zip(ran, self.right, strict=True))
        ]

    def answer(self, entry: Functions, step: int, *, writes: bool) -> StepOutcome:
        """The outcome of one call by itself; ``writes`` says that the arguments may be changed."""
        if writes:
            return rehearse(entry, self.block, self.plan[step : step + 1])[0]
        if step not in self._prepared:
            self._prepared[step] = prepare(self.plan[step], self.block)
        placed = self.plan[step]
        name = "" if isinstance(placed, int) else placed.call
        return call(function_for(entry, name), self._prepared[step])

    def pair_row(self, entry: Functions, step: int, a: int, b: int, *, writes: bool) -> _Row:
        """The answer of two mistakes together to one call."""
        outcome = self.answer(entry, step, writes=writes)
        widening = max(self.widening[a, step], self.widening[b, step])
        return self.row(step, self.print(step, outcome), widening)

    @cached_property
    def smallest(self) -> list[int]:
        """Calls of compared cases, the smallest first."""

        def size(step: int) -> int:
            return sum(array.length for array in arrays_of(self.plan[step]))

        return sorted(self.whole, key=lambda s: (size(s), s))

    def is_right(self, step: int, outcome: StepOutcome, print_: Fingerprint) -> bool:
        """Whether an outcome is the right one as far as rounding lets one tell."""
        right = self.right[step]
        if outcome.state == right.state == "returned" and outcome.value == right.value:
            return True
        return same(print_, self.right_prints[step], SAME * self.tolerances[step])

    def add(
        self,
        number: int,
        one: Misconception,
        model: StepModel,
        outcomes: list[StepOutcome],
        *,
        writes: bool,
    ) -> None:
        """Fill in the row of a mistake; ``writes`` says that it changes its arguments."""
        prints = [self.print(step, outcome) for step, outcome in enumerate(outcomes)]
        shown = {s for s, p in enumerate(prints) if not self.is_right(s, outcomes[s], p)}
        single: list[StepOutcome] = []
        if not one.stateful and shown:
            single = rehearse(model.entry(one.make(), "float32"), self.block, self.plan, shown)
        for step in sorted(shown):
            print_, tolerance = prints[step], self.tolerances[step]
            scale = max(print_.scale, self.right_prints[step].scale) or 1.0
            # Writing through the flag of a read-only array is what torch does and numpy refuses.
            refused = writes and outcomes[step].state == "raised" and self.read_only(step)
            widening = 1.0
            moved = False
            if single and not refused:
                other = self.print(step, single[step])
                error = float(np.max(np.abs(other.values - print_.values))) / scale
                moved = other.kind != print_.kind or error > CHAOTIC
                if np.isfinite(tolerance):
                    widening = max(1.0, WIDENING * error / tolerance)
            if refused or moved:
                self.index[number, step] = UNSTABLE
                continue
            self.widening[number, step] = widening
            self.index[number, step] = self._put(step, print_, widening)

    def read_only(self, step: int) -> bool:
        """Whether a call gets read-only arrays."""
        placed = self.plan[step]
        return any(array.read_only for array in arrays_of(placed))

    def finish(self, pairs: _Pairs, small: NDArray[np.float32]) -> PhasePrints:
        rows = [row for rows in self.rows for row in rows]
        lengths = [len(rows) for rows in self.rows]
        return PhasePrints(
            kinds=tuple(self.kinds),
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            rows=np.array([row.values for row in rows], np.float32).reshape(-1, PROJECTIONS),
            row_kinds=np.array([row.kind for row in rows], np.uint16),
            widths=np.array([row.width for row in rows], np.float32),
            index=self.index,
            touched=self.noticed,
            pair_steps=pairs.steps,
            pair_rows=pairs.rows,
            pair_kinds=pairs.kinds,
            pair_widths=pairs.widths,
            small=small,
        )


@dataclass
class _Pairs:
    steps: NDArray[np.uint16]
    rows: NDArray[np.float32]
    kinds: NDArray[np.uint16]
    widths: NDArray[np.float32]


def same(one: Fingerprint, other: Fingerprint, tolerance: float) -> bool:
    """Whether two fingerprints are of answers that agree, relative to the larger one's magnitude."""
    scale = max(one.scale, other.scale) or 1.0
    return one.kind == other.kind and bool(np.max(np.abs(one.values - other.values)) <= tolerance * scale)


def fingerprint_known(
    model: StepModel | None,
    misconceptions: Misconceptions,
    phases: Mapping[str, PhaseCalls],
    parameters: Mapping[str, Sequence[str]],
    raising: Collection[str] = (),
    memory: int = MEMORY,
    forms: Mapping[str, Form] | None = None,
) -> Known:
    """Run every known mistake, and every two of them, on the calls of a pack.

    Args:
        model: The reference as steps; None where it is not built from steps.
        misconceptions: The known mistakes.
        phases: The phases in the order in which a submission meets them.
        parameters: Names of the arguments of each call.
        raising: Names of exceptions that cases ask for.
        memory: How many bytes they may take, as a submission may.
        forms: What calls return whose forms let several containers through, by the calls' names.
    """
    with limited_memory(memory):
        return _known(model, misconceptions, phases, parameters, raising, forms or {})


def _known(
    model: StepModel | None,
    misconceptions: Misconceptions,
    phases: Mapping[str, PhaseCalls],
    parameters: Mapping[str, Sequence[str]],
    raising: Collection[str],
    forms: Mapping[str, Form],
) -> Known:
    mistakes = [one for one in misconceptions if not one.small]
    if model is None or not len(misconceptions):
        return NOTHING_KNOWN
    tables = {name: _Phase(calls, model, len(mistakes), raising, forms) for name, calls in phases.items()}
    known: list[KnownMistake] = []
    for table in tables.values():
        _mark_touched(table, model, mistakes)
    for number, one in enumerate(mistakes):
        entry = model.entry(one.make())
        outcomes = {name: table.outcomes(entry, number) for name, table in tables.items()}
        known.append(_describe(one, outcomes, tables, parameters))
        for name, table in tables.items():
            table.add(number, one, model, outcomes[name], writes=bool(known[number].overwritten))
    members, pairs = _pairs(model, mistakes, known, tables)
    words, small = _small_errors(model, misconceptions, tables)
    return Known(
        mistakes=tuple(known),
        pairs=members,
        small=words,
        phases={name: table.finish(pairs[name], small[name]) for name, table in tables.items()},
        raising=tuple(raising),
        slips=tuple(KnownMistake(m.id, m.title, m.clause, m.page) for m in misconceptions if m.small),
    )


def _describe(
    one: Misconception,
    outcomes: Mapping[str, list[StepOutcome]],
    tables: Mapping[str, _Phase],
    parameters: Mapping[str, Sequence[str]],
) -> KnownMistake:
    every = [outcome for phase in outcomes.values() for outcome in phase]
    written = {
        parameters[placed.call][number]
        for name, phase in outcomes.items()
        for placed, outcome in zip(tables[name].plan, phase, strict=True)
        if not isinstance(placed, int)
        for number in outcome.overwritten
    }
    order = list(dict.fromkeys(name for names in parameters.values() for name in names))
    return KnownMistake(
        id=one.id,
        title=one.title,
        clause=one.clause,
        page=one.page,
        overwritten=tuple(name for name in order if name in written),
        aliased=any(outcome.aliased for outcome in every),
        unrepeatable=one.stateful and _at_random(one, outcomes, tables),
        half=is_half(every),
    )


def _at_random(
    one: Misconception, outcomes: Mapping[str, list[StepOutcome]], tables: Mapping[str, _Phase]
) -> bool:
    """Whether two equal calls right after each other give it different answers."""
    for name, table in tables.items():
        repeated = [s for s in range(1, len(table.plan)) if _same_call(table, s - 1, s)]
        if any(outcomes[name][s - 1].value != outcomes[name][s].value for s in repeated):
            first = [table.print(s, outcomes[name][s]).kind for s in repeated]
            return first == [table.print(s, outcomes[name][s - 1]).kind for s in repeated]
    return False


def _same_call(table: _Phase, one: int, other: int) -> bool:
    first, second = table.plan[one], table.plan[other]
    if isinstance(first, int) or isinstance(second, int):
        return False
    read = [[_as_bytes(value_of(a, table.block)) for a in call] for call in (first, second)]
    return first.call == second.call and read[0] == read[1]


def _as_bytes(value: Any) -> Any:
    """An argument's value as something that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return {key: _as_bytes(item) for key, item in value.items()} if isinstance(value, dict) else value


def _mark_touched(table: _Phase, model: StepModel, mistakes: Sequence[Misconception]) -> None:
    """Where a mistake changes what a step of the right model gives, seen in the answer or not."""
    by_step: dict[str, list[tuple[int, Callable[..., Any]]]] = {}
    for number, one in enumerate(mistakes):
        # An equal answer may still be another object, an argument's memory for instance.
        table.touched[number] = one.stateful or model.names[-1] in one.steps
        table.noticed[number] = one.stateful
        if not one.stateful:
            for step, function in one.make().items():
                by_step.setdefault(step, []).append((number, function))
    current = [0]

    def watched(step: str, right: Callable[..., Any]) -> Callable[..., Any]:
        others = by_step.get(step, [])

        def run(*arguments: Any, **named: Any) -> Any:
            # As they were before the right step, which may change what it is given to work on.
            given = [_own(argument) for argument in (*arguments, *named.values())]
            first = len(arguments)
            answer, refused = None, None
            try:
                answer = right(*arguments, **named)
            except Exception as error:
                # What is to be raised; a mistake may go on here, or raise something else.
                refused = error
            for number, function in others:
                at = number, current[0]
                if table.touched[at] and table.noticed[at]:
                    continue
                own = [_own(argument) for argument in given]
                try:
                    other = function(*own[:first], **dict(zip(named, own[first:], strict=True)))
                except Exception as error:
                    if _words_of(error) != _words_of(refused):
                        table.touched[at] = table.noticed[at] = True
                    continue
                if refused is not None or not all(map(_kept, own, given)):
                    table.touched[at] = table.noticed[at] = True
                table.touched[at] |= not _equal(other, answer, 0.0)
                table.noticed[at] |= not _equal(other, answer, UNNOTICED)
            if refused is not None:
                raise refused
            return answer

        return run

    entry = model.entry({step: watched(step, getattr(model.steps, step)) for step in by_step})
    silent = set(table.silent)
    for number, placed in enumerate(table.plan):
        if not isinstance(placed, int) and number not in silent:
            current[0] = number
            # These can't be written to: a mistake that tries to touches something.
            outcome = call(function_for(entry, placed.call), prepare(placed, table.block))
            if outcome.state != table.right[number].state:
                # It ended before all steps were seen: any mistake may touch something here.
                table.touched[:, number] = table.noticed[:, number] = True
    for number, placed in enumerate(table.plan):
        if isinstance(placed, int):
            table.touched[:, number] = table.touched[:, placed]
            table.noticed[:, number] = table.noticed[:, placed]
    table.touched[:, table.silent] = False
    table.noticed[:, table.silent] = False


def _words_of(error: Exception | None) -> tuple[str, ...]:
    """What can be told of an exception from outside: the names of its classes, and its message."""
    return (*(base.__name__ for base in type(error).__mro__), str(error))


def _own(argument: Any) -> Any:
    """Lists and dictionaries of its own, so that what a mistake does to them is no matter to others.

    Arrays stay the same ones: those of a call can't be written to.
    """
    if type(argument) is list:
        return [_own(item) for item in argument]
    if type(argument) is dict:
        return {key: _own(item) for key, item in argument.items()}
    return argument


def _kept(one: Any, other: Any) -> bool:
    """Whether lists and dictionaries hold what their copies hold."""
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(_kept, one, other))
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(_kept(one[key], other[key]) for key in one)
    return one is other or (type(one) is type(other) and isinstance(one, int | float | str) and one == other)


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two outputs of a step agree, but for a share of the larger one's magnitude."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k], tolerance) for k in one)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        if type(one) is not type(other) or one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.kind != "f":
            return bool(np.array_equal(one, other))
        scale = float(np.max(np.abs(other), initial=0.0))
        return np.allclose(one, other, rtol=0, atol=tolerance * scale, equal_nan=True)
    return bool(one == other)


def _pairs(
    model: StepModel,
    mistakes: Sequence[Misconception],
    known: Sequence[KnownMistake],
    tables: Mapping[str, _Phase],
) -> tuple[NDArray[np.uint16], dict[str, _Pairs]]:
    """The pairs that go together and show beside each other, with an answer of each."""
    kept: list[tuple[int, int]] = []
    stored: dict[str, list[list[tuple[int, _Row]]]] = {name: [] for name in tables}
    alone = {name: _shown(table) for name, table in tables.items()}
    order = {name: _busiest(table, alone[name]) for name, table in tables.items()}
    for a, b in itertools.combinations(range(len(mistakes)), 2):
        if any(mistakes[m].stateful or known[m].half for m in (a, b)):
            continue
        changes = compose((mistakes[a], mistakes[b]))
        if changes is None:
            continue
        entry = model.entry(changes)
        writes = bool(known[a].overwritten or known[b].overwritten)
        found: dict[str, list[tuple[int, _Row]]] = {}
        solo = [False, False]
        for name, table in tables.items():
            shown = alone[name]
            both = shown[a] & shown[b]
            solo[0] |= bool((shown[a] & ~both).any())
            solo[1] |= bool((shown[b] & ~both).any())
            steps = [s for s in order[name] if both[s]][:TRIES]
            # An answer in an earlier phase is enough.
            needed = not any(found.values())
            found[name] = []
            if needed and (told := _telling(table, entry, steps, a, b, writes=writes)):
                # Few mistakes go wrong in the same way on small inputs as well.
                small = [s for s in table.smallest if both[s] and s != told[0]][: KEPT - 1]
                rows = [(s, table.pair_row(entry, s, a, b, writes=writes)) for s in small]
                found[name] = [told, *rows]
        # Where no answer tells the two together from one of them alone, each must show by itself elsewhere.
        if any(found.values()) or all(solo):
            kept.append((a, b))
            for name in tables:
                stored[name].append(found[name])
    members = np.array(kept, np.uint16).reshape(-1, 2)
    return members, {name: _as_arrays(rows) for name, rows in stored.items()}


def _shown(table: _Phase) -> Flags:
    return np.asarray((table.index != 0) & (table.index != UNSTABLE))


def _busiest(table: _Phase, shown: Flags) -> list[int]:
    """Calls of compared cases, those first on which most mistakes show; drawn cases before chosen ones.

    Nobody switched anything off in a drawn case: what two mistakes do there, hardly any others do.
    """
    counts = shown.sum(axis=0)
    return sorted(table.whole, key=lambda s: (s not in table.drawn, -int(counts[s]), s))


def _telling(
    table: _Phase, entry: Functions, steps: Sequence[int], a: int, b: int, *, writes: bool
) -> tuple[int, _Row] | None:
    """A step whose answer is another one than that of either mistake alone, and that answer."""
    for step in steps:
        row = table.pair_row(entry, step, a, b, writes=writes)
        if not any(_close(row, table.rows[step][table.index[m, step]]) for m in (a, b)):
            return step, row
    return None


def _close(one: _Row, other: _Row) -> bool:
    width = max(one.width, other.width)
    return one.kind == other.kind and bool(np.max(np.abs(one.values - other.values)) <= width)


def _as_arrays(pairs: Sequence[Sequence[tuple[int, _Row]]]) -> _Pairs:
    count = len(pairs), KEPT
    made = _Pairs(
        np.full(count, NONE, np.uint16),
        np.zeros((*count, PROJECTIONS), np.float32),
        np.zeros(count, np.uint16),
        np.zeros(count, np.float32),
    )
    for number, rows in enumerate(pairs):
        for place, (step, row) in enumerate(rows):
            made.steps[number, place] = step
            made.rows[number, place] = row.values
            made.kinds[number, place] = row.kind
            made.widths[number, place] = row.width
    return made


def _small_errors(
    model: StepModel, misconceptions: Misconceptions, tables: Mapping[str, _Phase]
) -> tuple[tuple[tuple[str, str], ...], dict[str, NDArray[np.float32]]]:
    """Clause and words of each small error, and by how much it moves the projections of every answer."""
    clauses: dict[str, str] = {}
    for one in misconceptions:
        for step in one.steps:
            if len(one.steps) == 1:
                clauses.setdefault(step, one.clause)
    entries = [((one.clause, one.title), model.entry(one.make())) for one in misconceptions if one.small]
    entries += [
        ((clause, ""), model.entry({step: _nudged(getattr(model.steps, step))}))
        for step, clause in clauses.items()
    ]
    moved: dict[str, NDArray[np.float32]] = {}
    for name, table in tables.items():
        rows = np.zeros((len(entries), len(table.plan), PROJECTIONS), np.float32)
        # Of an answer that hangs on chance no error is told; where models are trained, this spares much.
        told = set(range(len(table.plan))).difference(table.silent)
        for number, (_, entry) in enumerate(entries):
            for place, outcome in enumerate(rehearse(entry, table.block, table.plan, told)):
                right, got = table.right_prints[place], table.print(place, outcome)
                if got.kind == right.kind and right.scale:
                    rows[number, place] = (got.values - right.values) / right.scale
        moved[name] = rows
    return tuple(words for words, _ in entries), moved


def _nudged(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step with its output slightly too large, where it gives floats."""

    def run(*arguments: Any, **named: Any) -> Any:
        answer = step(*arguments, **named)
        if isinstance(answer, np.ndarray) and answer.dtype.kind == "f":
            return answer * answer.dtype.type(1 + NUDGE)
        return answer

    return run
