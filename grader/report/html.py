"""The pages: a submission for its student, a submission for the teacher, and the class.

Each page is one file that asks for nothing: styles and scripts are inside, and its Content-Security-Policy
allows them by their hashes and nothing else. Every text of a record passes `clean` and is escaped by Jinja2,
whatever the template says: see `_shown`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from grader import __version__
from grader.report.class_view import class_view
from grader.report.figures import number, plural, points, short_digest
from grader.report.submission_view import TEACHER_FACTOR, CaseView, submission_view
from grader.report.texts import STATUS_WORDS, VERDICT_WORDS, clean, one_line
from grader.result import Result

TEMPLATES = Path(__file__).parent / "templates"
MAX_SHOWN = 1_000_000

SIGNS: Mapping[str, str] = {"passed": "✓", "skipped": "–", "grader_fault": "?"}
STATUS_SIGNS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "not_loadable": "!", "grader_fault": "?"}
TONES: Mapping[str, str] = {
    "passed": "good",
    "failed": "bad",
    "not_loadable": "warn",
    "grader_fault": "calm",
    "skipped": "calm",
    "holds": "good",
    "fails": "bad",
    "open": "calm",
    "fault": "calm",
    "clean": "good",
    "violated": "bad",
    "suspicious": "warn",
}


def student_page(result: Result) -> str:
    """The page of one submission for the one who wrote it.

    Args:
        result: Any view of the record; of hidden cases the page tells clause, verdict and points only.
    """
    # A record that calls itself a student's view is stripped all the same: that is cheap, and asks no trust.
    return _render("student.html", submission_view(result.for_student(), 1) | {"linked": False})


def teacher_page(result: Result, *, linked: bool = True) -> str:
    """The page of one submission for the teacher: hidden cases, suspicions and hidden output too.

    Args:
        result: The full record.
        linked: Whether the page lies in a class's folder, as ``teacher/ID.html``, and links to others.
    """
    return _render("teacher.html", submission_view(result, TEACHER_FACTOR) | {"linked": linked})


def class_page(results: Sequence[Result], *, title: str = "", version: str = "") -> str:
    """The page of a class, which links to ``students/ID.html`` and ``teacher/ID.html`` beside it.

    Args:
        results: The full records, in the order in which the table lists them.
        title: The heading; the exercise's title when empty.
        version: What graded them; this version when empty.
    """
    return _render("class.html", class_view(results, title, version))


# --- Rendering ------------------------------------------------------------------------------------


def _shown(value: Any) -> Any:
    # Jinja2 passes the value of every expression through here before it is escaped; no template can forget.
    if isinstance(value, Markup) or type(value) is int:
        return value
    return clean(value if isinstance(value, str) else str(value), MAX_SHOWN)


def _source(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8").strip())


def _hash(source: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() + "'"


@functools.cache
def _verdict_tag(verdict: str) -> str:
    tone, sign = TONES.get(verdict, "bad"), SIGNS.get(verdict, "✗")
    words = escape(VERDICT_WORDS.get(verdict, verdict))
    return f'<span class="tag {tone}"><span aria-hidden="true">{sign}</span> {words}</span>'


def _check_row(c: CaseView) -> Markup:
    """A row of the table of all checks; written here, as a template takes ten times as long for a hundred."""
    case = c.case
    name = escape(c.id)
    if case.verdict != "passed":
        name = Markup(f'<a href="#case-{c.number}">{name}</a>')
    error = case.error
    figures = (number(error.max_rel), number(error.tolerance)) if error else ("–", "–")
    cells = (points(case.points), points(case.max_points), *figures)
    return Markup(
        f'<tr><th scope="row">{name}</th><td>{escape(c.clause)}</td>'
        f"<td>{escape(one_line(case.visibility, 20))}</td><td>{_verdict_tag(case.verdict)}</td>"
        + "".join(f'<td class="n">{cell}</td>' for cell in cells)
        + "</tr>"
    )


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    style = _source("style.css")
    scripts = {"submission": _source("submission.js"), "class": _source("class.js")}
    policies = {
        name: "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}"
        for name, script in scripts.items()
    }
    environment.globals.update(
        style=style,
        scripts=scripts,
        policies=policies,
        verdict_words=VERDICT_WORDS,
        status_words=STATUS_WORDS,
        status_signs=STATUS_SIGNS,
        version=__version__,
    )
    environment.filters.update(
        line=one_line,
        number=number,
        points=points,
        check_row=_check_row,
        sign=lambda verdict: SIGNS.get(verdict, "✗"),
        tone=lambda word: TONES.get(word, "bad"),
        href=lambda text: quote(clean(text, 300), safe=""),
        short=short_digest,
        plural=plural,
    )
    return environment


@functools.cache
def _template(name: str) -> Any:
    return _environment().get_template(name)


def _render(name: str, context: Mapping[str, Any]) -> str:
    text: str = _template(name).render(context)
    return text


# --- Words and figures ----------------------------------------------------------------------------
