"""Marks for Brightspace, as ``Grades > Enter Grades > Import`` takes them.

What is relied on, read from D2L's help ("Importing grades", community.d2l.com/brightspace/kb/articles/3538)
and from exported files, since the program's source is not public:

- A student is named by ``OrgDefinedId``, ``Username`` or both; exports put a ``#`` before each, which keeps
  leading zeros.
- A numeric item's column is titled ``ITEM Points Grade``, in exports followed by
  ``<Numeric MaxPoints:20 Weight:…>``.
- The last column is ``End-of-Line Indicator`` with ``#`` in every row.
- Names, addresses and computed grades should not be imported, so the columns of a template that are neither
  of these are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.report.exports.base import Exported, ExportOptions, marks, members_of, save, suggestion
from grader.report.exports.filling import Filling, fill, no_zeros
from grader.report.exports.matching import Matcher, Row
from grader.report.exports.table_files import Table, read_table
from grader.report.texts import csv_cell, one_line
from grader.result import Result

FILE = "brightspace.csv"
WHAT = "Brightspace grades export"
KEYS = ("OrgDefinedId", "Username")
END, END_SIGN = "End-of-Line Indicator", "#"
_ITEM = re.compile(r"(.*) Points Grade(?: <(.*)>)?", re.DOTALL | re.IGNORECASE)


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``brightspace.csv``: the template's students with their marks, or a new one. Raises GraderError."""
    if options.template is None:
        return _new(list(results), folder, options)
    table = read_table(options.template, WHAT)
    keys = [c for c in map(table.column, KEYS) if c is not None]
    items = {at: m for at, title in enumerate(table.head) if (m := _ITEM.fullmatch(title.strip()))}
    if not keys or not items:
        raise GraderError(
            f"{options.template} is no {WHAT}: expected a column OrgDefinedId or Username and one that "
            f"ends in 'Points Grade', found {one_line(', '.join(table.head[:8]), 200)}; export with "
            "'Points grade' ticked"
        )
    column = _item(items, options)
    address, first, last = map(table.column, ("Email", "First Name", "Last Name"))
    rows = [
        Row(
            at,
            ids=frozenset(table.cell(row, c).removeprefix("#") for c in keys),
            emails=frozenset([table.cell(row, address)]),
            name=f"{table.cell(row, last)}, {table.cell(row, first)}",
        )
        for at, row in enumerate(table.rows)
        if at and any(row)
    ]
    worth = re.search(r"MaxPoints:([\d.,]+)", items[column].group(2) or "")
    filling = Filling(
        table,
        column,
        options.decimal or ".",
        worth=worth.group(1) if worth else "",
        of=f"Brightspace counts {one_line(items[column].group(1), 120)!r}",
    )
    warnings = fill(filling, rows, Matcher(rows, "brightspace"), results, options)
    chosen = [*keys, column]
    lines = [[*(table.cell(row, c) for c in chosen), END_SIGN] for row in table.rows if any(row)]
    lines[0][-1] = END
    written = Table(lines, table.delimiter, table.newline, table.mark)
    return Exported((save(folder / FILE, written.text()),), tuple(warnings))


def _item(items: dict[int, re.Match[str]], options: ExportOptions) -> int:
    titles: dict[int, str] = {at: found.group(1).strip() for at, found in items.items()}
    asked = options.assignment.strip()
    if not asked:
        if len(titles) == 1:
            return next(iter(titles))
        listed = ", ".join(map(repr, list(titles.values())[:12]))
        raise GraderError(
            f"{options.template} has {len(titles)} grade items; name one with --assignment: {listed}"
        )
    exact = [at for at, title in titles.items() if title == asked]
    folded = [at for at, title in titles.items() if title.casefold() == asked.casefold()]
    for found in (exact, folded):
        if len(found) == 1:
            return found[0]
        if found:
            raise GraderError(f"{options.template} has several grade items called {asked!r}; leave one in it")
    raise GraderError(
        f"{options.template} has no grade item {asked!r}{suggestion(asked, list(titles.values()))}"
    )


def _new(results: Sequence[Result], folder: Path, options: ExportOptions) -> Exported:
    titles = [str(r.exercise.get("title") or r.exercise.get("name", "")) for r in results]
    title = options.assignment or next(iter(titles), "") or "Assignment"
    decimal = options.decimal or "."
    table = Table([[*KEYS, csv_cell(f"{one_line(title, 200)} Points Grade"), END]])
    unknown = []
    told = [(m.person, marks(m.result.score, decimal)) for r in results for m in members_of(r)]
    lost = sum(not one_line(person.id, 100) for person, _ in told)
    told += [(person, "0" if options.zero_missing and not lost else "") for person in options.missing]
    for person, mark in told:
        known = one_line(person.id, 100)
        if not known:
            unknown.append(one_line(person.name, 80))
            continue
        numeric = known.isascii() and known.isdigit()
        keys = [f"#{known}", ""] if numeric else ["", f"#{known}"]
        table.rows.append([*keys, mark, END_SIGN])
    warnings = []
    if lost and options.zero_missing:
        warnings.append(no_zeros(lost))
    if unknown:
        shown = ", ".join(unknown[:20]) + (" …" if len(unknown) > 20 else "")
        warnings.append(
            f"neither number nor login is known of {shown}: give Brightspace's export with --template"
        )
    faults = sum(result.score is None for result in results)
    if faults:
        warnings.append(f"{faults} rows have no mark, since the grader failed there: grade with --faults")
    return Exported((save(folder / FILE, table.text()),), tuple(warnings))
