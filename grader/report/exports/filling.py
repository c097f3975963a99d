"""Marks put into the column of a platform's own table, and nothing else touched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grader.report.exports.base import ExportOptions, marks, members_of
from grader.report.exports.matching import Matcher, Row
from grader.report.exports.table_files import Table
from grader.result import Result


@dataclass(frozen=True)
class Filling:
    """Where the marks go.

    Attributes:
        table: Changed in place.
        column: The column's number.
        decimal: The decimal mark.
        worth: What the platform says the assignment is worth, as text; empty when it says nothing.
        of: Who counts what out of that, for the warning: ``Canvas counts 'Homework 3'``.
        kept: What a teacher has put into a cell on purpose, so that it stays.
        also: Puts more of a record into its row.
    """

    table: Table
    column: int
    decimal: str
    worth: str = ""
    of: str = ""
    kept: Sequence[str] = ()
    also: Callable[[list[str], Result], None] | None = None


def fill(
    filling: Filling,
    rows: Sequence[Row],
    matcher: Matcher,
    results: Iterable[Result],
    options: ExportOptions,
) -> list[str]:
    """Fill the marks in; what has to be told of it.

    A cell of which nothing is known stays as it is: where the grader failed, and where nothing was handed in
    and no 0 is asked for. A mark that is there is never replaced by the 0 of a missing one.
    """
    kept = list(results)
    matched = matcher.match(
        (member for result in kept for member in members_of(result)), tuple(options.missing)
    )
    table, column = filling.table, filling.column
    warnings = []
    faults = []
    left = []
    for at, result in sorted(matched.results.items()):
        row = table.rows[at]
        before = table.cell(row, column)
        if result.score is None:
            faults.append((at, before))
        elif before.upper() in filling.kept:
            left.append(f"row {at + 1} ({before})")
        else:
            table.put(row, column, marks(result.score, filling.decimal))
            if filling.also is not None:
                filling.also(row, result)
    if left:
        warnings.append(f"kept as they are: {', '.join(left[:20])}{' …' if len(left) > 20 else ''}")
    if faults:
        old = sum(bool(before) for _, before in faults)
        more = f"; {old} of them keep the mark that was there" if old else ""
        warnings.append(
            f"{len(faults)} rows get no mark, since the grader failed there{more}: grade with --faults and "
            "export again"
        )
    warnings += matched.warnings
    if options.zero_missing:
        warnings += _zeros(filling, rows, matched.missing, set(matched.results), matched.lost, options)
    return warnings + _worth(filling, kept)


def _zeros(
    filling: Filling,
    rows: Sequence[Row],
    missing: set[int],
    found: set[int],
    lost: int,
    options: ExportOptions,
) -> list[str]:
    table, column = filling.table, filling.column
    if lost:
        return [no_zeros(lost)]
    # A table may name more than the roster: who left the course, or a teacher's test student.
    chosen = missing if options.missing else {row.at for row in rows} - found
    for at in sorted(chosen):
        if not table.cell(table.rows[at], column):
            table.put(table.rows[at], column, "0")
    return []


def no_zeros(lost: int) -> str:
    """Why nobody gets a 0 for handing in nothing: whose work ``lost`` submissions are is not certain."""
    return (
        f"no row got a 0: {lost} who handed in have no certain row, so an empty row may be theirs; where "
        "they are none of the class, take them out of what is graded, or fill in the zeros by hand"
    )


def _worth(filling: Filling, results: Sequence[Result]) -> list[str]:
    """A warning where the platform and the records count out of different totals."""
    worth = number(filling.worth)
    totals = sorted({result.max_score for result in results})
    if worth is None or not totals or totals == [worth]:
        return []
    totals_said = ", ".join(marks(total) for total in totals)
    warning = (
        f"{filling.of} out of {marks(worth)} points, the records out of {totals_said}: the points are "
        "exported as they are, and nothing is scaled"
    )
    return [warning]


def number(text: str) -> float | None:
    """A number with either decimal mark; None for anything else."""
    text = text.strip()
    return float(text.replace(",", ".")) if re.fullmatch(r"-?\d+(?:[.,]\d*)?", text) else None
