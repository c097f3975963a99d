"""Marks for Canvas' gradebook, as ``Gradebook > Import`` takes them.

What is relied on, read from Canvas' own source (``lib/gradebook_importer.rb`` and
``lib/gradebook_exporter.rb`` of instructure/canvas-lms):

- The head begins with ``Student,ID``, or with ``LastName,FirstName,ID``; then follow ``SIS User ID``,
  ``SIS Login ID``, perhaps ``Integration ID`` and ``Root Account``, then ``Section``; then columns of the
  teacher's own, then assignments as ``Title (NUMBER)``, then totals.
- A row with ``Points Possible`` in its first cell says what an assignment is worth and, as ``(read only)``,
  which columns are ignored; a row of ``Manual Posting`` may stand above it.
- A student is looked for by ``ID``, then ``SIS User ID``, then ``SIS Login ID``, then by name.
- An empty cell takes a mark away that is there. ``EX`` is excused, ``N/A`` not assigned.
- Semicolons instead of commas, and decimal commas, are understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.report.exports.base import (
    Exported,
    ExportOptions,
    Member,
    marks,
    members_of,
    save,
    suggestion,
)
from grader.report.exports.filling import Filling, fill, no_zeros
from grader.report.exports.matching import Matcher, Row, is_anonymous
from grader.report.exports.table_files import Table, read_table
from grader.report.texts import csv_cell, one_line
from grader.result import Result

FILE = "canvas.csv"
WHAT = "Canvas gradebook"
HEAD = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
POINTS_POSSIBLE = "    Points Possible"
_NUMBERED = re.compile(r"(.*) \((\d+)\)", re.DOTALL)
_TOTALS = re.compile(
    "(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)|Unposted", re.IGNORECASE
)


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``canvas.csv``: the template with the marks filled in, or a new one. Raises GraderError."""
    if options.template is None:
        return _new(list(results), folder, options)
    table = read_table(options.template, WHAT)
    section = table.column("Section")
    names = [table.column("Student"), table.column("FirstName"), table.column("LastName")]
    known_id = table.column("ID")
    if section is None or known_id is None or names == [None, None, None]:
        raise GraderError(
            f"{options.template} is no {WHAT}: expected columns Student, ID and Section in its first line, "
            f"found {one_line(', '.join(table.head[:8]), 200)}; take the file of Gradebook > Export"
        )
    worth = next((row for row in table.rows[1:] if "Points Possible" in table.cell(row, 0)), [])
    column = _assignment(table, section, worth, options)
    first_row = 1
    while first_row < len(table.rows) and _is_no_student(table.rows[first_row]):
        first_row += 1

    def name(row: list[str]) -> str:
        if names[0] is not None:
            return table.cell(row, names[0])
        return f"{table.cell(row, names[2])}, {table.cell(row, names[1])}"

    ids = [c for c in (table.column("SIS User ID"), table.column("SIS Login ID")) if c is not None]
    rows = [
        Row(
            at,
            table.cell(row, known_id),
            frozenset(table.cell(row, c) for c in ids),
            name=name(row),
        )
        for at, row in enumerate(table.rows)
        if at >= first_row and any(row)
    ]
    title = one_line(table.head[column], 200)
    filling = Filling(
        table,
        column,
        options.decimal or _decimal(table, worth, column),
        worth=table.cell(worth, column),
        of=f"Canvas counts {title!r}",
        kept=("EX", "N/A"),
    )
    warnings = fill(filling, rows, Matcher(rows, "canvas"), results, options)
    return Exported((save(folder / FILE, table.text()),), tuple(warnings))


def _is_no_student(row: Sequence[str]) -> bool:
    if row and "Points Possible" in row[0]:
        return True
    return all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE) for cell in row)


def _assignment(table: Table, section: int, worth: Sequence[str], options: ExportOptions) -> int:
    """The column of the assignment. Raises GraderError."""
    columns = {}
    for at, title in enumerate(table.head):
        read_only = at < len(worth) and "read only" in worth[at]
        numbered = _NUMBERED.fullmatch(title.strip())
        if at > section and not read_only and title.strip() and (numbered or not _TOTALS.search(title)):
            columns[at] = (title.strip(), *(numbered.groups() if numbered else (title.strip(), "")))
    if any(number for _, _, number in columns.values()):
        # What has no number is a column of the teacher's own.
        columns = {at: told for at, told in columns.items() if told[2]}
    asked = options.assignment.strip()
    titles = [title for title, _, _ in columns.values()]
    if not asked:
        if len(columns) == 1:
            return next(iter(columns))
        listed = ", ".join(map(repr, titles[:12])) or "none"
        raise GraderError(
            f"{options.template} has {len(columns)} columns that may be the assignment; name one with "
            f"--assignment TITLE or NUMBER: {listed}"
        )
    for same in (
        lambda full, title, number: asked in (number, full),
        lambda full, title, number: asked == title,
        lambda full, title, number: asked.casefold() in (title.casefold(), full.casefold()),
    ):
        found = [at for at, parts in columns.items() if same(*parts)]
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(repr(columns[at][0]) for at in found)
            raise GraderError(f"several assignments are called {asked!r}: name one by its number: {listed}")
    raise GraderError(f"{options.template} has no assignment {asked!r}{suggestion(asked, titles)}")


def _decimal(table: Table, worth: Sequence[str], column: int) -> str:
    """The decimal mark that the gradebook is written with."""
    cells = [*worth, *(table.cell(row, column) for row in table.rows[1:])]
    numbers = [cell for cell in cells if re.fullmatch(r"-?\d+[.,]\d{1,2}", cell.strip())]
    return "," if any("," in n for n in numbers) and not any("." in n for n in numbers) else "."


def _new(results: Sequence[Result], folder: Path, options: ExportOptions) -> Exported:
    """A gradebook with nothing but this assignment."""
    largest = max((result.max_score for result in results), default=0.0)
    titles = [str(r.exercise.get("title") or r.exercise.get("name", "")) for r in results]
    title = options.assignment or next(iter(titles), "") or "Assignment"
    decimal = options.decimal or "."
    table = Table(
        [[*HEAD, csv_cell(one_line(title, 200))], [POINTS_POSSIBLE, "", "", "", "", marks(largest, decimal)]],
        delimiter=";" if decimal == "," else ",",
    )
    members = [member for result in results for member in members_of(result)]
    nameless = sum(is_anonymous(m.person, m.result.submission.layout) for m in members)
    zero = options.zero_missing and not nameless
    faults = 0
    for member in sorted(members, key=lambda m: m.person.name.casefold()):
        faults += member.result.score is None
        table.rows.append([*_told(member), marks(member.result.score, decimal)])
    for person in sorted(options.missing, key=lambda p: p.name.casefold()):
        cells = [person.name, person.platform_id, person.id, "", ""]
        table.rows.append([csv_cell(one_line(c, 200)) for c in cells] + ["0" if zero else ""])
    warning = (
        "without --template a row says only what the download told of its student: export the course's "
        "gradebook and name it, to be sure of every row"
    )
    warnings = [warning]
    if nameless:
        warnings.append(f"{nameless} rows are of an anonymous assignment, and tell no student")
    if nameless and options.zero_missing:
        warnings.append(no_zeros(nameless))
    if faults:
        warnings.append(_faults(faults))
    return Exported((save(folder / FILE, table.text()),), tuple(warnings))


def _told(member: Member) -> list[str]:
    person, layout = member.person, member.result.submission.layout
    # Another platform's number would be somebody else's here, and so would the code of somebody anonymous.
    own = layout in ("canvas", "plain") and not is_anonymous(person, layout)
    number = person.platform_id if own else ""
    return [csv_cell(one_line(cell, 200)) for cell in (person.name, number, person.id, person.email, "")]


def _faults(count: int) -> str:
    return f"{count} rows have no mark, since the grader failed there: grade with --faults and export again"
