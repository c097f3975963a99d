"""Faults that a user can mend, told without a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class GraderError(Exception):
    """The command, a path or an exercise is at fault; the message says what to do next.

    Commands end with status 2 on it.
    """


class ToolMissingError(GraderError):
    """A package that an author's command needs is not installed."""


class OwnFaultError(Exception):
    """The grader itself failed; commands end with status 3 on it."""


@dataclass(frozen=True, order=True)
class Problem:
    """One fault in an exercise's files.

    Attributes:
        file: Path of the file, as the user would write it.
        line: 1-based line, or 0 when the file as a whole is meant.
        key: Dotted path of the YAML key, such as ``[3].arrays.w_emb.scale``; empty for the whole file.
        message: What was found and what was expected.
    """

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


class ExerciseError(GraderError):
    """An exercise's files hold one or more faults.

    Args:
        problems: The faults.
        said: The message; made from the faults when empty.
    """

    def __init__(self, problems: Sequence[Problem], said: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(said or "\n".join(str(problem) for problem in self.problems))

    @classmethod
    def at(cls, file: str, line: int, said: str) -> ExerciseError:
        """One fault, told by a message that names the place itself."""
        return cls([Problem(file, line, "", said)], said)
