"""The Validation record: what was found about an exercise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from grader import documents

Fate = Literal["killed", "equivalent", "inside_rounding", "open_hole"]


@dataclass(frozen=True, order=True)
class Weakness:
    """Something that an author should mend, with the place to mend it."""

    file: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.code}: {self.message}"
            if self.line
            else f"{self.file}: {self.message}"
        )


@dataclass(frozen=True)
class CaseInfo:
    """What a case is: the case file that it stands in is its ``group``, ``visibility`` public or hidden."""

    id: str
    title: str
    clause: str
    group: str
    visibility: str
    points: float


@dataclass(frozen=True)
class MistakeInfo:
    """What a mistake of the kill matrix is.

    Attributes:
        name: Its name there.
        kind: ``misconception``, a known mistake, or ``worked``, a worked wrong submission.
        title: One line for people; may be empty.
        clause: The clause that it breaks; empty for a worked submission.
        file, line: Where it stands.
    """

    name: str
    kind: Literal["misconception", "worked"]
    title: str
    clause: str
    file: str
    line: int


@dataclass(frozen=True)
class KillMatrix:
    """Which case kills which mistake: the known ones, and the worked wrong submissions.

    Attributes:
        mistakes: Names of the mistakes, in order.
        cases: Ids of the cases, in order.
        killed: For each mistake the ids of the cases that it fails.
        with_margin: The same, only where the error is at least ten times the tolerance, or the verdict is
            not about values.
    """

    mistakes: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    killed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_margin: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Counts, survivors and cases that kill nothing."""
        kills = {case for cases in self.killed.values() for case in cases}
        return {
            "mistakes": len(self.mistakes),
            "killed": sum(bool(self.killed[m]) for m in self.mistakes),
            "killed_with_margin": sum(bool(self.with_margin[m]) for m in self.mistakes),
            "survivors": [m for m in self.mistakes if not self.killed[m]],
            "cases_that_kill_nothing": [c for c in self.cases if c not in kills] if self.mistakes else [],
        }

    def restricted(self, cases: tuple[str, ...]) -> KillMatrix:
        """The matrix of some of the cases."""
        kept = set(cases)

        def rows(kills: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
            return {m: tuple(c for c in kills[m] if c in kept) for m in self.mistakes}

        return KillMatrix(self.mistakes, cases, rows(self.killed), rows(self.with_margin))


@dataclass(frozen=True)
class Survivor:
    """A mistake or mutant that no case kills.

    Attributes:
        name: Its name.
        kind: ``misconception`` or ``mutant``.
        fate: ``equivalent``: it agrees with the reference on every generated input. ``inside_rounding``: it
            is off by less than honest float32 work may be, on the cases and on the generated inputs.
            ``open_hole``: neither; a case is missing.
        change: What is changed, in words.
        figures: What the fate rests on.
        file, line: Where it stands.
    """

    name: str
    kind: Literal["misconception", "mutant"]
    fate: Fate
    change: str
    figures: str
    file: str
    line: int


@dataclass(frozen=True)
class MutantTally:
    """What became of the mutants.

    Attributes:
        fates: For each operator how many of its mutants met each fate.
        killed_with_margin: Of all operators.
        timed_out: How many of those killed did not end.
        with_margin: For each operator how many of its mutants were killed with margin.
    """

    fates: Mapping[str, Mapping[Fate, int]] = field(default_factory=dict)
    killed_with_margin: int = 0
    timed_out: int = 0
    with_margin: Mapping[str, int] = field(default_factory=dict)

    def count(self, fate: Fate | None = None) -> int:
        """How many met a fate; how many there are when left out."""
        total: Counter[str] = Counter()
        for fates in self.fates.values():
            total.update(fates)
        return total.total() if fate is None else total[fate]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "total": self.count(),
            "killed": self.count("killed"),
            "killed_with_margin": self.killed_with_margin,
            "timed_out": self.timed_out,
            "equivalent": self.count("equivalent"),
            "inside_rounding": self.count("inside_rounding"),
            "open_holes": self.count("open_hole"),
            "by_operator": {name: dict(fates) for name, fates in sorted(self.fates.items())},
            "with_margin_by_operator": dict(sorted(self.with_margin.items())),
        }


@dataclass(frozen=True)
class CaseSet:
    """A small set of cases that kills everything that any case kills, and how it was found."""

    cases: tuple[str, ...] = ()
    method: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"method": self.method, "cases": list(self.cases)}


@dataclass(frozen=True)
class PublicShare:
    """What the public cases kill alone.

    Attributes:
        matrix: The kill matrix of the public cases.
        mutants: How many mutants they should kill: all that a case kills, and open holes.
        mutants_killed: How many they do.
        mutant_survivors: Ids of the others.
        smallest_set: As for all cases.
    """

    matrix: KillMatrix = field(default_factory=KillMatrix)
    mutants: int = 0
    mutants_killed: int = 0
    mutant_survivors: tuple[str, ...] = ()
    smallest_set: CaseSet = field(default_factory=CaseSet)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        summary = self.matrix.summary()
        return {
            "mistakes": summary["mistakes"],
            "killed": summary["killed"],
            "killed_with_margin": summary["killed_with_margin"],
            "survivors": summary["survivors"],
            "cases_that_kill_nothing": summary["cases_that_kill_nothing"],
            "mutants": self.mutants,
            "mutants_killed": self.mutants_killed,
            "mutant_survivors": list(self.mutant_survivors),
            "smallest_set": self.smallest_set.to_dict(),
        }


@dataclass(frozen=True)
class CaseMargin:
    """How far a case's tolerance lies from what it must let pass and from what it must not.

    All figures are relative to the largest magnitude of the expected answer.

    Attributes:
        noise: Largest error of honest runs.
        tolerance: What is accepted.
        nearest: The known mistake of the case's clause with the smallest error that fails it; may be empty.
        error: That error; None where there is no such mistake, or its answer is not finite.
        advice: What would help; empty where the margins are wide.
    """

    case: str
    clause: str
    noise: float
    tolerance: float
    nearest: str = ""
    error: float | None = None
    advice: str = ""


@dataclass(frozen=True)
class StatisticalTest:
    """A test of random behaviour: its size, its level and its power.

    Attributes:
        case: The case's id.
        test: ``binomial`` or ``multinomial``.
        trials: How many trials the reference's answers gave.
        level: The chance that a right submission fails it.
        power: The chance that it rejects what the author says it has to tell.
        least_trials: With fewer a submission fails; 0 where there can't be fewer, or any number will do.
    """

    case: str
    test: str
    trials: int
    level: float
    power: float
    least_trials: int = 0


@dataclass(frozen=True)
class TimeLimit:
    """A time limit in an exercise whose limits follow the reference; processor time on this machine.

    Attributes:
        case: The case whose calls have it; empty for all calls together.
        workloads: The reference's time as it is frozen, in workloads, with what the first call in a process
            takes longer.
        needed_s: The same as measured now.
        allowed_s: What a submission may take.
        times: So many times the frozen figure; 0 where the stated seconds are more.
    """

    case: str
    workloads: float
    needed_s: float
    allowed_s: float
    times: float


@dataclass(frozen=True)
class TimeLimits:
    """What a workload takes on this machine, the longest call's limit, and that of all calls together."""

    workload_s: float
    call: TimeLimit
    in_all: TimeLimit


@dataclass(frozen=True)
class Validation:
    """What was found about an exercise; ``sound`` when there is no weakness.

    Attributes:
        exercise: Its name.
        weaknesses: What should be mended.
        cases: How many cases and points there are.
        matrix: Kills of the known mistakes and the worked wrong submissions.
        fast: Mutants and worked submissions were left out.
        library: How many known mistakes there are; of these ``small`` are meant to stay inside rounding.
        mutants, survivors, public, smallest_set, margins, statistics: See their classes.
        indistinguishable: Groups of mistakes that no case tells apart.
        title: The exercise's.
        clauses: Title of each clause, in the statement's order.
        suite: What each case is, in the pack's order.
        mistakes: What each mistake of the matrix is, in the matrix's order.
        time_limits: None where no limit follows the reference.
    """

    exercise: str
    weaknesses: tuple[Weakness, ...]
    cases: Mapping[str, Any]
    matrix: KillMatrix
    fast: bool
    library: int = 0
    small: int = 0
    mutants: MutantTally = field(default_factory=MutantTally)
    survivors: tuple[Survivor, ...] = ()
    public: PublicShare = field(default_factory=PublicShare)
    smallest_set: CaseSet = field(default_factory=CaseSet)
    indistinguishable: tuple[tuple[str, ...], ...] = ()
    margins: tuple[CaseMargin, ...] = ()
    statistics: tuple[StatisticalTest, ...] = ()
    title: str = ""
    clauses: Mapping[str, str] = field(default_factory=dict)
    suite: tuple[CaseInfo, ...] = ()
    mistakes: tuple[MistakeInfo, ...] = ()
    time_limits: TimeLimits | None = None

    @property
    def sound(self) -> bool:
        """No weakness was found."""
        return not self.weaknesses

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "schema": documents.VALIDATION,
            "exercise": self.exercise,
            "title": self.title,
            "sound": self.sound,
            "fast": self.fast,
            "weaknesses": [asdict(w) for w in self.weaknesses],
            "cases": dict(self.cases),
            "misconceptions": {"total": self.library, "small": self.small},
            "kill_matrix": self.matrix.summary()
            | {
                "kills": {m: list(cases) for m, cases in self.matrix.killed.items()},
                "kills_with_margin": {m: list(cases) for m, cases in self.matrix.with_margin.items()},
            },
            "mutants": self.mutants.to_dict(),
            "survivors": [asdict(s) for s in self.survivors],
            "public": self.public.to_dict(),
            "smallest_set": self.smallest_set.to_dict(),
            "indistinguishable": [list(group) for group in self.indistinguishable],
            "margins": [asdict(m) for m in self.margins],
            "statistics": [asdict(s) for s in self.statistics],
            "clauses": dict(self.clauses),
            "suite": [asdict(c) for c in self.suite],
            "mistakes": [asdict(m) for m in self.mistakes],
            "time_limits": asdict(self.time_limits) if self.time_limits is not None else None,
        }
