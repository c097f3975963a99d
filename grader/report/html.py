"""The pages: a submission for its student, for the teacher, the class, an exercise, its statement and demo.

Each page is one file that asks for nothing: styles and scripts are inside, and its Content-Security-Policy
allows them by their hashes and nothing else. Every text of a record is cleaned and escaped, whatever the
templates and `grader.report.submission_page.pieces` say: see `grader.report.markup.safe`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from grader import __version__
from grader.demonstration import Demonstration
from grader.people import Person
from grader.report.class_page.view import ClassRow, class_rows, class_view
from grader.report.demo_page.view import demonstration_view
from grader.report.exercise_page.view import breakable, percent, place, validation_view
from grader.report.figures import number, plural, points, short_digest
from grader.report.markup import parts
from grader.report.markup.safe import broken, safe
from grader.report.submission_page import pieces
from grader.report.submission_page.view import TEACHER_FACTOR, Memo, submission_view
from grader.report.texts import STATUS_SIGNS, STATUS_WORDS, VERDICT_WORDS, clean, one_line
from grader.result import Result
from grader.validation import Validation

if TYPE_CHECKING:
    from grader.report.downloads import Format

TEMPLATES = Path(__file__).parent / "templates"
NOTHING = "'none'"


def student_page(result: Result, memo: Memo | None = None) -> str:
    """The page of one submission for the one who wrote it.

    Args:
        result: Any view of the record; of hidden cases the page tells clause, verdict and points only.
        memo: What this page and the teacher's share, empty for the first of them.
    """
    # A record that calls itself a student's view is stripped all the same: that is cheap, and asks no trust.
    return _render("student.html", submission_view(result.for_student(), 1, memo))


def teacher_page(result: Result, memo: Memo | None = None, *, linked: bool = True) -> str:
    """The page of one submission for the teacher: hidden cases, suspicions and hidden output too.

    Args:
        result: The full record.
        memo: As for the student's page.
        linked: Whether the page lies in a class's folder, as ``teacher/ID.html``, and links to others.
    """
    return _render("teacher.html", submission_view(result, TEACHER_FACTOR, memo) | {"linked": linked})


def class_page(results: Iterable[Result], *, title: str = "", version: str = "") -> str:
    """The page of a class, which links to ``students/ID.html`` and ``teacher/ID.html`` beside it.

    Args:
        results: The full records, in the order in which the table lists them.
        title: The heading; the exercise's title when empty.
        version: What graded them; this version when empty.
    """
    return page_of_rows(class_rows(results), title=title, version=version)


def page_of_rows(
    rows: Sequence[ClassRow],
    *,
    title: str = "",
    version: str = "",
    missing: Iterable[Person] = (),
    changes: Mapping[str, Any] | None = None,
    pending: int = 0,
    formats: Sequence[Format] = (),
) -> str:
    """The same from the short form of the records.

    Args:
        rows: The submissions.
        title: As for `class_page`.
        version: As for `class_page`.
        missing: Those of the roster who handed in nothing.
        changes: What another pack has changed, as `grader.gradebook.changes.Changes.to_dict` gives it.
        pending: How many handed in and have no result yet.
        formats: Of exports, with what lies in the folder.
    """
    view = class_view(rows, title, version, missing, changes)
    return _render("class.html", view | {"pending": pending, "downloads": downloads_section(formats)})


# What stands around the list of downloads, so that it can be written anew on its own.
DOWNLOADS, END_OF_DOWNLOADS = "<!-- downloads -->", "<!-- end of downloads -->"


def downloads_section(formats: Sequence[Format]) -> Markup:
    """The part of a class page that lists its downloads, between two marks; empty without formats."""
    if not formats:
        return Markup()
    # No text can hold a mark, since all texts are escaped.
    section = _render("downloads.html", {"formats": formats})
    return Markup(f"{DOWNLOADS}\n{section}\n{END_OF_DOWNLOADS}")


def validation_page(validation: Validation) -> str:
    """The page of an exercise for its author: what its cases catch, by which margin, and what is weak."""
    return _render("validation.html", validation_view(validation))


def statement_page(view: Mapping[str, Any]) -> str:
    """The page of a statement, from what `grader.handout.page` has made ready."""
    return _render("statement.html", view)


def demonstration_page(demonstration: Demonstration) -> str:
    """The page of a demonstration: an exercise's reference at work."""
    return _render("demonstration.html", demonstration_view(demonstration))


# --- Rendering ------------------------------------------------------------------------------------


def _joined_sources(*names: str) -> Markup:
    """Styles or scripts, one after another."""
    return Markup("\n".join([(TEMPLATES / name).read_text(encoding="utf-8").strip() for name in names]))


def _hash(source: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() + "'"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        # Jinja2 passes the value of every expression through here; no template can forget.
        finalize=safe,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        # Without end, a dict keeps the few templates there are; with one, each look takes a lock.
        cache_size=-1,
    )
    scripts = {
        "submission": _joined_sources("common.js", "submission.js"),
        "class": _joined_sources("common.js", "class.js", "heat_map.js"),
        "validation": _joined_sources("common.js", "validation.js"),
        "demonstration": _joined_sources("demonstration.js"),
        # A statement does nothing but stand there.
        "statement": Markup(),
    }
    styles = {
        "submission": _joined_sources("style.css"),
        **{
            kind: _joined_sources("style.css", f"{kind}.css")
            for kind in ("class", "validation", "statement", "demonstration")
        },
    }
    policies = {
        kind: "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(styles[kind])}; script-src {_hash(scripts[kind]) if scripts[kind] else NOTHING}"
        for kind in scripts
    }
    environment.globals.update(
        styles=styles,
        scripts=scripts,
        policies=policies,
        verdict_words=VERDICT_WORDS,
        status_words=STATUS_WORDS,
        status_signs=STATUS_SIGNS,
        place=place,
        version=__version__,
    )
    environment.filters.update(
        line=one_line,
        number=number,
        points=points,
        articles=pieces.articles,
        broken=broken,
        breakable=breakable,
        check_rows=pieces.check_rows,
        clause_rows=pieces.clause_rows,
        exception=pieces.exception,
        hidden_rows=pieces.hidden_rows,
        listing=parts.listing,
        skipped_rows=pieces.skipped_rows,
        tone=lambda word: pieces.TONES.get(word, "bad"),
        href=lambda text: quote(clean(text, 300), safe=""),
        short=short_digest,
        plural=plural,
        percent=percent,
    )
    return environment


@functools.cache
def _template(name: str) -> Any:
    return _environment().get_template(name)


def _render(name: str, context: Mapping[str, Any]) -> str:
    text: str = _template(name).render(context)
    return text
