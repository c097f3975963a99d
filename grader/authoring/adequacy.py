"""How well the cases tell wrong functions from the right one.

A wrong function is run over the pack's calls in this process, and the judge decides as it does for a
submission. A case *kills* a function that fails it; one that is not counted, as another case that it requires
failed, kills nothing. It kills *with margin* when the error is at least ten times its tolerance, or when the
verdict is not about values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.authoring.budget import SECONDS, EndlessError, NotTriedError, limited, limited_all
from grader.authoring.calibrate import FACTOR
from grader.authoring.mutants import Mutant, Mutants
from grader.authoring.samples import Agreement, Samples
from grader.exercise.memory import limited_memory
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import NOT_RUN, Functions, function_for, rehearse
from grader.judge.submission import Context, judge
from grader.outcomes import ArrayValue, Execution, LoadOutcome, StepOutcome
from grader.result import CaseResult, Isolation, Result, SubmissionInfo
from grader.validation import CaseSet, Fate, MutantTally, Survivor

Array = NDArray[Any]
Function = Callable[..., Any]

# A changed reference may be so many times slower than the right one.
TIMES = 5.0
# A case is costly where its calls take this share of what all take, and at least so many seconds.
COSTLY_SHARE = 0.05
COSTLY_SECONDS = 0.2
GREEDY = "greedy set cover, then without what it can do without"


@dataclass(frozen=True)
class Trial:
    """What the cases say of one wrong function.

    Attributes:
        name: Its name.
        verdicts: The verdict on every case, in the pack's order.
        killed: Ids of the cases that it fails.
        with_margin: The same, only the clear ones.
        errors: Relative error by case, where values were compared; None where it is not finite.
        score: What a submission gets that is this function, after gates and rounding.
        ratio: Largest error over tolerance among the cases that it passes, and ``closest``, that case.
        timed_out: A call did not end.
        broken: What it raises before it can be called; then no case runs.
        answers: What it gave to each step, by phase; empty unless it was asked for.
    """

    name: str
    verdicts: tuple[str, ...] = ()
    killed: tuple[str, ...] = ()
    with_margin: tuple[str, ...] = ()
    errors: Mapping[str, float | None] = field(default_factory=dict)
    score: float = 0.0
    ratio: float = 0.0
    closest: str = ""
    timed_out: bool = False
    broken: str = ""
    answers: Mapping[str, Sequence[StepOutcome]] = field(default_factory=dict, repr=False)

    @property
    def caught(self) -> bool:
        """Whether it gets less than full marks."""
        return bool(self.killed) or bool(self.broken)


def with_margin(case: CaseResult) -> bool:
    """Whether a case fails clearly: by ten times its tolerance, or by a verdict that is not about values."""
    if not case.failed:
        return False
    error = case.error
    return error is None or error.max_rel is None or error.max_rel >= FACTOR * error.tolerance


class Suite:
    """A pack's cases, to try functions on.

    Args:
        pack: The pack.
        seconds: Processor time that a call may take.
    """

    def __init__(self, pack: Pack, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.memory = int(pack.exercise.limits["memory"])
        # By phase the numbers of the steps that take long; see `spare`.
        self.costly: dict[str, frozenset[int]] = {}
        # Naming the mistake behind an answer takes time, and nobody reads it here.
        self.pack = replace(pack, known_data={})

    def give(self, seconds: float) -> None:
        """Let calls take several times what the reference's longest case takes, where that is more."""
        self.seconds = max(self.seconds, TIMES * seconds)

    def spare(self, seconds: Mapping[str, float]) -> None:
        """Let `verdict_on` look at costly cases last.

        Args:
            seconds: What the reference takes for each case.
        """
        least = max(COSTLY_SECONDS, COSTLY_SHARE * sum(seconds.values()))
        steps: dict[str, set[int]] = {name: set() for name in self.pack.blocks}
        for case in self.pack.cases:
            if seconds.get(case.id, 0.0) >= least:
                steps[case.visibility].update(case.steps)
        self.costly = {name: frozenset(numbers) for name, numbers in steps.items() if numbers}

    def outcomes(
        self, entry: Functions, without: Mapping[str, Collection[int]] | None = None
    ) -> dict[str, list[StepOutcome]]:
        """What a submission would leave that is this function; a call that does not end is timed out.

        Args:
            entry: The function.
            without: By phase the numbers of steps that are not run.
        """
        watched = limited_all(entry, self.seconds)
        with limited_memory(self.memory):
            steps = {
                name: rehearse(watched, block, self.pack.plans[name], self._only(name, without or {}))
                for name, block in self.pack.blocks.items()
            }
        return {name: _timed(outcomes) for name, outcomes in steps.items()}

    def _only(self, phase: str, without: Mapping[str, Collection[int]]) -> Collection[int] | None:
        if phase not in without:
            return None
        return set(range(len(self.pack.plans[phase]))).difference(without[phase])

    def judged(self, outcomes: Mapping[str, list[StepOutcome]], name: str = "model") -> Result:
        """The judge's Result for these outcomes."""
        info = SubmissionInfo(name, name, (), f"{name}.py", "")
        loaded = LoadOutcome("returned", found=True, callable=True, type="function")
        execution = Execution(report={}, load=loaded, steps=outcomes)
        return judge(Context(self.pack, info, Isolation("none", ())), execution)

    def verdict_on(self, name: str, entry: Functions) -> Trial:
        """Whether the cases kill a function, without the costly ones where the others answer that.

        They do where a public case kills it with margin. What the costly ones say is not known then: they
        count as skipped. Otherwise this is the trial of all cases.

        Args:
            name: Its name.
            entry: The function, or those by the calls' names; cheap calls are made twice where costly ones
                are needed.
        """
        if self.costly:
            trial = self._tried(name, self.outcomes(entry, self.costly))
            public = {case.id for case in self.pack.cases if case.visibility == "public"}
            if public.intersection(trial.with_margin):
                return trial
        return self.trial(name, entry)

    def trial(self, name: str, entry: Functions, *, keep: bool = False) -> Trial:
        """Run a function over all cases; ``keep`` its answers."""
        return self._tried(name, self.outcomes(entry), keep=keep)

    def _tried(self, name: str, outcomes: dict[str, list[StepOutcome]], *, keep: bool = False) -> Trial:
        result = self.judged(outcomes, name)
        cases = result.cases
        errors = {c.id: c.error.max_rel for c in cases if c.error is not None}
        ratio, closest = 0.0, ""
        for case in cases:
            if case.verdict == "passed" and case.error is not None and case.error.max_rel is not None:
                share = case.error.max_rel / case.error.tolerance
                if share > ratio:
                    ratio, closest = share, case.id
        return Trial(
            name=name,
            verdicts=tuple(c.verdict for c in cases),
            killed=tuple(c.id for c in cases if c.failed),
            with_margin=tuple(c.id for c in cases if with_margin(c)),
            errors=errors,
            score=result.score or 0.0,
            ratio=ratio,
            closest=closest,
            timed_out=any(o.state == "timed_out" for steps in outcomes.values() for o in steps),
            answers=outcomes if keep else {},
        )


def _timed(outcomes: list[StepOutcome]) -> list[StepOutcome]:
    """The call that did not end as the sandbox would tell it; those after it did not run."""
    told: list[StepOutcome] = []
    for outcome in outcomes:
        failure = outcome.failure
        if failure is not None and failure.type == EndlessError.__name__:
            told.append(StepOutcome("timed_out", detail=failure.message))
        elif failure is not None and failure.type == NotTriedError.__name__:
            told.append(NOT_RUN)
        else:
            told.append(outcome)
    return told


# --- sets of kills ------------------------------------------------------------------------------


def smallest_set(killed: Mapping[str, Sequence[str]], order: Sequence[str]) -> CaseSet:
    """A small set of cases that kills every mistake that any case kills.

    Args:
        killed: For each mistake the cases that kill it.
        order: All cases; of equally good ones the first is taken.
    """
    kills: dict[str, set[str]] = {case: set() for case in order}
    for name, cases in killed.items():
        for case in cases:
            kills[case].add(name)
    left = {name for name, cases in killed.items() if cases}
    chosen: list[str] = []
    while left:
        best = max(order, key=lambda case: len(kills[case] & left))
        chosen.append(best)
        left -= kills[best]
    for case in reversed(list(chosen)):
        others: set[str] = set().union(*(kills[c] for c in chosen if c != case))
        if kills[case] <= others:
            chosen.remove(case)
    return CaseSet(tuple(c for c in order if c in chosen), GREEDY)


def indistinguishable(pack: Pack, trials: Iterable[Trial]) -> tuple[tuple[str, ...], ...]:
    """Groups of functions that no case tells apart: the same verdicts, and answers equal within tolerance.

    Args:
        pack: The pack.
        trials: Trials that kept their answers.
    """
    alike: dict[tuple[str, ...], list[list[Trial]]] = defaultdict(list)
    for trial in trials:
        groups = alike[trial.verdicts]
        for group in groups:
            if all(_same_answers(pack, trial, other) for other in group):
                group.append(trial)
                break
        else:
            groups.append([trial])
    return tuple(
        tuple(t.name for t in group) for groups in alike.values() for group in groups if len(group) > 1
    )


def _same_answers(pack: Pack, one: Trial, other: Trial) -> bool:
    for case in pack.cases:
        if case.tolerance is None:
            continue
        for step in case.steps:
            a, b = (t.answers[case.visibility][step] for t in (one, other))
            if not pack.call(case).is_array or case.chance:
                if a.value != b.value or a.state != b.state:
                    return False
            elif not _same(a, b, case.tolerance, case.scale):
                return False
    return True


def _same(a: StepOutcome, b: StepOutcome, tolerance: float, scale: float) -> bool:
    if isinstance(a.value, ArrayValue) and isinstance(b.value, ArrayValue):
        if a.value.shape != b.value.shape or a.value.data is None or b.value.data is None:
            return False
        with np.errstate(all="ignore"):
            x, y = a.value.array(), b.value.array()
            if x.dtype.kind != y.dtype.kind or x.dtype.kind not in "fiub":
                return a.value == b.value
            x, y = x.astype(np.float64), y.astype(np.float64)
            equal = (x == y) | (np.abs(x - y) <= tolerance * scale) | (np.isnan(x) & np.isnan(y))
        return bool(equal.all())
    if a.failure is not None and b.failure is not None:
        return a.state == b.state and a.failure.type == b.failure.type
    return a.state == b.state and a.value == b.value


# --- survivors ----------------------------------------------------------------------------------


def fate_of(trial: Trial, agreement: Agreement) -> tuple[Fate, str]:
    """What a function is that no case kills, and the figures that say so."""
    if agreement.same and agreement.ratio <= 1:
        how = f"to {agreement.error:.1g}" if agreement.error else "exactly"
        return "equivalent", f"agrees on {agreement.inputs:,} generated inputs {how}"
    if agreement.refused:
        return "open_hole", f"{agreement.refused.removesuffix('.')} on {agreement.where}"
    on_cases = f"{trial.ratio:.2g} × the tolerance" + (f" on {trial.closest}" if trial.closest else "")
    if agreement.ratio > 1:
        figures = f"off by {agreement.ratio:.2g} × the tolerance on {agreement.where}, at most {on_cases}"
        return "open_hole", figures
    figures = f"at most {on_cases} and {agreement.ratio:.2g} × it on {agreement.inputs:,} generated inputs"
    return "inside_rounding", figures


@dataclass(frozen=True)
class MutantTrial:
    """A mutant, what the cases say of it, and its fate; ``figures`` where it survives."""

    mutant: Mutant
    trial: Trial
    fate: Fate
    figures: str = ""


def agreement_of(entry: Functions, samples: Mapping[str, Samples], seconds: float = SECONDS) -> Agreement:
    """How a function agrees with the reference on generated inputs, of all calls together."""
    found = [each.agreement(limited(function_for(entry, name), seconds)) for name, each in samples.items()]
    # An answer that can't be compared is worse than any that can.
    worst = max(found, key=lambda one: (bool(one.refused), one.ratio, one.error))
    inputs = sum(one.inputs for one in found)
    return replace(
        worst, inputs=inputs, same=all(one.same for one in found), error=max(o.error for o in found)
    )


def try_mutants(
    suite: Suite, mutants: Mutants, samples: Mapping[str, Samples], progress: Callable[[str], None]
) -> list[MutantTrial]:
    """Every mutant tried on the cases, and the survivors on the samples.

    Raises:
        Exception: Whatever the unchanged reference raises when it is loaded as mutants are.
    """
    tried: list[MutantTrial] = []
    with limited_memory(suite.memory):
        # Where not even the unchanged reference can be loaded so, every mutant would count as killed.
        with mutants.loaded(None):
            pass
        for number, mutant in enumerate(mutants, start=1):
            progress(f"mutant {number} of {len(mutants)}, {mutant}")
            with ExitStack() as stack:
                try:
                    entry = limited(stack.enter_context, suite.seconds)(mutants.loaded(mutant))
                except Exception as error:
                    # Nothing of it can be called: a submission like that could not be loaded.
                    trial = Trial(mutant.id, broken=f"{type(error).__name__}: {error}")
                    tried.append(MutantTrial(mutant, trial, "killed"))
                    continue
                trial = suite.verdict_on(mutant.id, entry)
                if trial.caught:
                    tried.append(MutantTrial(mutant, trial, "killed"))
                else:
                    fate, figures = fate_of(trial, agreement_of(entry, samples, suite.seconds))
                    tried.append(MutantTrial(mutant, trial, fate, figures))
    return tried


def tally(tried: Sequence[MutantTrial]) -> MutantTally:
    """Counts of mutants by operator and fate."""
    fates: dict[str, Counter[Fate]] = defaultdict(Counter)
    for one in tried:
        fates[one.mutant.operator][one.fate] += 1
    return MutantTally(
        fates={name: dict(counts) for name, counts in sorted(fates.items())},
        killed_with_margin=sum(bool(one.trial.with_margin or one.trial.broken) for one in tried),
        timed_out=sum(one.trial.timed_out for one in tried),
        with_margin=Counter(
            one.mutant.operator for one in tried if one.trial.with_margin or one.trial.broken
        ),
    )


def mutant_survivor(one: MutantTrial, file: str) -> Survivor:
    """The record of a mutant that no case kills; ``file`` as shown to people."""
    mutant = one.mutant
    return Survivor(
        name=mutant.id,
        kind="mutant",
        fate=one.fate,
        change=mutant.change,
        figures=one.figures,
        file=file,
        line=mutant.line,
    )
