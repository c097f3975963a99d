"""What every export has: its options, what it gives back, and how it writes."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from grader.errors import GraderError
from grader.people import Person
from grader.report.tables import members
from grader.result import Result

Visibility = Literal["visible", "after_due_date", "after_published", "hidden"]


@dataclass(frozen=True)
class ExportOptions:
    """What a user may ask of an export; each export reads what concerns it.

    Attributes:
        template: The platform's own file to be filled in: Canvas' gradebook, Moodle's grading worksheet,
            Brightspace's grades, or the ``index.html`` of Brightspace's download.
        assignment: The title or number of the assignment; of a Moodle worksheet in another language the
            title of its column of grades.
        missing: Who handed in nothing, where a roster tells.
        zero_missing: They get a 0; else their cell is left as it is.
        hidden: Gradescope: when students see the lines of hidden checks, of which only clause and verdict
            are told in any case.
        decimal: The decimal mark of grades, ``.`` or ``,``; that of the template when empty.
        base: GitHub: the folder in the repository in which the file lies; empty for the top.
        flat: JSON Lines: one row a case instead of one record a submission.
        ks: pass@k: for which k.
    """

    template: Path | None = None
    assignment: str = ""
    missing: tuple[Person, ...] = ()
    zero_missing: bool = False
    hidden: Visibility = "visible"
    decimal: Literal["", ".", ","] = ""
    base: str = ""
    flat: bool = False
    ks: tuple[int, ...] = (1, 5, 10)


@dataclass(frozen=True)
class Exported:
    """What an export left.

    Attributes:
        paths: The files that were written.
        warnings: What a user has to know: who could not be matched, what was left out.
        text: What is meant for standard output; empty for most.
    """

    paths: tuple[Path, ...]
    warnings: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Export:
    """A format.

    Attributes:
        name: As in ``--format``.
        title: For people.
        write: Writes records into a folder, which is made when it is missing. Raises GraderError when the
            folder can't be written, an option is at fault, or a package is missing.
        extra: The extra of this package that it needs; empty for most.
        template: What ``--template`` names; empty where there is nothing to fill in.
        student: What it writes reaches students, so it tells what `Result.for_student` tells and no more.
    """

    name: str
    title: str
    write: Callable[[Iterable[Result], Path, ExportOptions], Exported]
    extra: str = ""
    template: str = ""
    student: bool = False


class Member(NamedTuple):
    """One person's share in a record: everyone of a group gets the same mark."""

    person: Person
    result: Result


def members_of(result: Result) -> Iterator[Member]:
    """Everyone who gets a row for a record, with all that is known of each."""
    for person in members(result.submission):
        yield Member(person, result)


def marks(value: float | None, decimal: str = ".") -> str:
    """A mark as platforms read it: at most four decimals, no exponent; empty for None.

    Example:
        >>> marks(17.5), marks(20.0), marks(1 / 3, ","), marks(None)
        ('17.5', '20', '0,3333', '')
    """
    if value is None:
        return ""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace(".", decimal)


def suggestion(word: str, known: Sequence[str]) -> str:
    """``; did you mean 'Homework 3'?`` when a known word is near, else the list of them."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"; did you mean {folded[near[0]]!r}?"
    shown = ", ".join(map(repr, known[:12])) + (" …" if len(known) > 12 else "")
    return f"; known here: {shown or 'none'}"


def save(path: Path, parts: str | bytes | Iterable[str]) -> Path:
    """Write a file so that no reader sees half of it, with its folder. Raises GraderError."""
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(parts, bytes):
            new.write_bytes(parts)
        else:
            with new.open("w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines([parts] if isinstance(parts, str) else parts)
        os.replace(new, path)  # noqa: PTH105
    except OSError as error:
        raise unwritable(path, error) from None
    return path


def unwritable(path: Path, error: OSError) -> GraderError:
    """The error for a file that can't be written."""
    return GraderError(f"{path} can't be written: {error.strerror or error}; name another folder for --out")
