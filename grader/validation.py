"""The Validation record: what was found about an exercise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = "grader.validation/1"


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
class KillMatrix:
    """Which case catches which worked wrong submission.

    Attributes:
        mistakes: Names of the wrong submissions, in order.
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


@dataclass(frozen=True)
class Validation:
    """What was found about an exercise; ``sound`` when there is no weakness."""

    exercise: str
    weaknesses: tuple[Weakness, ...]
    cases: Mapping[str, Any]
    matrix: KillMatrix
    fast: bool

    @property
    def sound(self) -> bool:
        """No weakness was found."""
        return not self.weaknesses

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "schema": SCHEMA,
            "exercise": self.exercise,
            "sound": self.sound,
            "fast": self.fast,
            "weaknesses": [asdict(w) for w in self.weaknesses],
            "cases": dict(self.cases),
            "kill_matrix": self.matrix.summary()
            | {"kills": {m: list(cases) for m, cases in self.matrix.killed.items()}},
        }
