"""Marks for Moodle's assignment, as ``Upload grading worksheet`` takes them.

What is relied on, read from Moodle's own source (``mod/assign/feedback/offline/importgradeslib.php`` and
``locallib.php``, and ``mod/assign/lang/en/assign.php``):

- The columns ``Identifier``, ``Grade`` and ``Last modified (grade)`` must be there, in the site's language.
- The identifier is ``Participant 123``; the number is that in the names of the downloaded folders.
- A row without a grade is passed over; so is a grade beyond the maximum, and one that was changed in Moodle
  after ``Last modified (grade)``, unless the upload is told to ignore that.
- A feedback comment is HTML, and an empty one takes away what was there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import unescape
from pathlib import Path

from markupsafe import escape

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
from grader.report.exports.filling import Filling, fill, no_zeros, number
from grader.report.exports.matching import Matcher, Row
from grader.report.exports.saying import headline
from grader.report.exports.table_files import Table, read_table
from grader.report.texts import STATUS_WORDS, clean, csv_cell, one_line
from grader.result import Result

FILE = "moodle.csv"
WHAT = "Moodle grading worksheet"
HEAD = [
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum Grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
]
_TAG = re.compile(r"<[^>]*>")
# What Moodle makes of the tags of ours when it tidies them. Any other one, such as a picture, is a teacher's.
_BREAK = re.compile(r"</?(?:p|div|br)\b[^>]*>", re.IGNORECASE)
_IN_LINE = re.compile(r"</?span\b[^>]*>", re.IGNORECASE)
_POINTS = r"[−-]?\d+(?:\.\d+)?"
_FIRST = re.compile(rf"({'|'.join(map(re.escape, STATUS_WORDS.values()))}): {_POINTS} of {_POINTS} points")
_SENTENCE = r"(?:(?![.?!] ).)+[.?:]"
# What may follow as a second sentence: Python's advice and ours.
_ERROR = rf"{_SENTENCE}(?: (?:Perhaps|Maybe|Did you|Leave the arguments|Files can't be) {_SENTENCE})?"
# The forms of a verdict, those of earlier versions too.
_VERDICT = re.compile(
    rf"All (?:visible )?checks passed(?:, the hidden ones too|; hidden checks were not run here)?\."
    rf"(?: Points are taken: {_SENTENCE})?"
    rf"|Some checks were not run\."
    rf"|A banned helper is used{_SENTENCE}|(?:(?![.?!] ).)+; this costs points\."
    rf"|(?:Full marks, but )?\d+ of \d+ checks passed(?:[.;] [Tt]he mistake: {_SENTENCE}"
    rf"|; (?:what holds least|the first clause that does not hold): {_SENTENCE}(?: {_SENTENCE})?"
    rf"|; nearly every check fails(?:\. {_ERROR}|, {_SENTENCE}))"
)
_LOADING = re.compile(_ERROR)


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``moodle.csv``: the worksheet with the marks filled in, or a new one. Raises GraderError."""
    if options.template is None:
        return _new(list(results), folder, options)
    table = read_table(options.template, WHAT)
    numbers = {at: _number(table.cell(row, 0)) for at, row in enumerate(table.rows) if at and any(row)}
    title = options.assignment.strip() or "Grade"
    column = table.column(title)
    if not any(numbers.values()) or column is None or column == 0:
        found = one_line(", ".join(table.head[:12]), 300)
        what = (
            "a column of identifiers (Participant 123) first"
            if not any(numbers.values())
            else f"a column {title!r}{suggestion(title, table.head)}"
        )
        raise GraderError(
            f"{options.template} is no {WHAT} that can be filled in: expected {what}; found the columns "
            f"{found}. In another language, name the column of grades with --assignment"
        )
    named = [c for c in (table.column("ID number"), table.column("Username")) if c is not None]
    address, name = table.column("Email address"), table.column("Full name")
    rows = [
        Row(
            at,
            known,
            frozenset(table.cell(table.rows[at], c) for c in named),
            frozenset([table.cell(table.rows[at], address)]),
            table.cell(table.rows[at], name),
        )
        for at, known in numbers.items()
    ]
    maximum = table.column("Maximum Grade")
    if maximum is None and any(number(table.cell(row, column + 1)) is not None for row in table.rows[1:]):
        # In another language it is where Moodle puts it: beside the grade.
        maximum = column + 1
    worth = next((table.cell(row, maximum) for row in table.rows[1:] if table.cell(row, maximum)), "")
    feedback = table.column("Feedback comments")

    own: list[str] = []
    kept = list(results)
    verdicts = {_without_figures(line) for result in kept for line in headline(result)[1:]}

    def comment(row: list[str], result: Result) -> None:
        if feedback is None:
            return
        before = table.cell(row, feedback)
        if before and not _is_ours(before, verdicts):
            own.append(table.cell(row, 0))
        else:
            table.put(row, feedback, _comment(result))

    decimal = options.decimal or ("," if "," in worth else ".")
    filling = Filling(table, column, decimal, worth=worth, of="Moodle counts the assignment", also=comment)
    warnings = fill(filling, rows, Matcher(rows, "moodle"), kept, options)
    limit = number(worth)
    beyond = [r.submission.id for r in kept if limit is not None and r.score is not None and r.score > limit]
    if beyond:
        shown = one_line(", ".join(beyond[:10]), 300)
        warnings.append(f"Moodle passes over grades above its maximum of {marks(limit)}: {shown}")
    below = [r.submission.id for r in kept if r.score is not None and r.score < 0]
    if below:
        warnings.append(f"Moodle passes over grades below 0: {one_line(', '.join(below[:10]), 300)}")
    if own:
        shown = one_line(", ".join(own[:10]), 300) + (" …" if len(own) > 10 else "")
        warnings.append(f"a comment that is not the grader's stays as it is: {shown}")
    if feedback is None:
        warnings.append("there is no column 'Feedback comments', so only marks were filled in")
    return Exported((save(folder / FILE, table.text()),), tuple(warnings))


def _number(identifier: str) -> str:
    """The number at an identifier's end, or nothing."""
    found = re.fullmatch(r"\D*?(\d+)", identifier)
    return found.group(1) if found else ""


def _comment(result: Result) -> str:
    """The headline as HTML, as Moodle takes comments; nothing in it can act."""
    return "<p>" + "<br>".join(str(escape(clean(line, 1_000))) for line in headline(result)) + "</p>"


def _is_ours(comment: str, verdicts: Collection[str]) -> bool:
    """Whether a comment is one of an earlier export as a whole, and nobody has written a word into it.

    Args:
        comment: As Moodle gives it.
        verdicts: The messages of now, of anyone, as `_without_figures` writes them.
    """
    if any(not _BREAK.fullmatch(tag) and not _IN_LINE.fullmatch(tag) for tag in _TAG.findall(comment)):
        return False
    lines = _BREAK.split(comment) if "<" in comment else comment.split("\n")
    first, *more = [line for line in map(_words, lines) if line] or [""]
    status = _FIRST.fullmatch(first)
    if status is None or len(more) > 1:
        return False
    form = _LOADING if status[1] == STATUS_WORDS["not_loadable"] else _VERDICT
    return all(form.fullmatch(said) or _without_figures(said) in verdicts for said in more)


def _words(line: str) -> str:
    return " ".join(unescape(_TAG.sub("", line)).split())


def _without_figures(message: str) -> str:
    return re.sub(r"\d+", "0", " ".join(message.split()))


def _new(results: Sequence[Result], folder: Path, options: ExportOptions) -> Exported:
    """A worksheet made anew, for those whose number is known."""
    decimal = options.decimal or "."
    table = Table([list(HEAD)])
    unknown = []
    for member in (member for result in results for member in members_of(result)):
        if member.result.submission.layout != "moodle" or not member.person.platform_id.isdigit():
            unknown.append(one_line(f"{member.person.name} ({member.result.submission.id})", 120))
            continue
        table.rows.append(_row(member, decimal))
    for person in options.missing:
        if person.platform_id.isdigit():
            told = [csv_cell(one_line(text, 200)) for text in (person.name, person.email)]
            mark = "0" if options.zero_missing and not unknown else ""
            row = [f"Participant {person.platform_id}", *told, "No submission", mark, "", "Yes", "-", "-", ""]
            table.rows.append(row)
    warning = (
        "without --template Moodle can't tell whether a grade was changed there meanwhile: tick 'Allow "
        "updating records that have been modified more recently' when students were graded before"
    )
    warnings = [warning]
    if unknown and options.zero_missing:
        warnings.append(no_zeros(len(unknown)))
    if unknown:
        shown = ", ".join(unknown[:20]) + (" …" if len(unknown) > 20 else "")
        warnings.append(f"no participant's number is known of {shown}: give the worksheet with --template")
    return Exported((save(folder / FILE, table.text()),), tuple(warnings))


def _row(member: Member, decimal: str) -> list[str]:
    person, result = member
    told = [csv_cell(one_line(text, 200)) for text in (person.name, person.email)]
    return [
        f"Participant {person.platform_id}",
        *told,
        "Submitted for grading",
        marks(result.score, decimal),
        marks(result.max_score, decimal),
        "Yes",
        csv_cell(one_line(result.submission.submitted_at, 40)) or "-",
        "-",
        "" if result.score is None else _comment(result),
    ]
