"""A page of every kind that there is, made from the records that the tests of the pages use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import demonstrations
import pytest
import statements
import validations
from samples import HOSTILE, changed_result, class_of, every_kind, failing, hostile, info, twins_of_three

from grader.authoring.demo import demonstration_of
from grader.exercise.source import load
from grader.handout.page import Requirement, page_of
from grader.handout.statement import load_statement, read_statement
from grader.people import Person
from grader.positions import Part
from grader.report.class_page.view import class_rows
from grader.report.html import (
    class_page,
    demonstration_page,
    page_of_rows,
    student_page,
    teacher_page,
    validation_page,
)
from grader.result import Output, Result

ROOT = Path(__file__).resolve().parents[2]

Maker = Callable[[], str]


def notebook() -> Result:
    """Of a notebook with a helper module, late, by two students."""
    submission = replace(
        info("Nora & Max Note", "s020"),
        members=("Nora Note", "Max Note"),
        file="week3/notebook.ipynb",
        rule="the only notebook",
        parts=(
            Part("cell", "cell 3", 1, 9),
            Part("module", "tools/heads.py", 10, 40, "tools.heads"),
        ),
        submitted_at="2026-10-01T12:00:00+02:00",
        late=True,
        attempts=3,
    )
    return replace(failing(), submission=submission)


def printing() -> Result:
    """Of a submission that prints long lines and many of them."""
    lines = "".join(f"{at} " + "0.123456789 " * 40 + "\n" for at in range(60))
    output = Output(lines, "RuntimeWarning: overflow encountered in exp\n" * 40, True)
    return replace(failing(), output=output, hidden_output=output, submission=info("Prin Ting", "s021"))


RECORDS: dict[str, Result] = every_kind() | {"notebook": notebook(), "printing": printing()}


def large_class() -> str:
    """A class with faults, suspicions, and all that else can be on its page."""
    results = class_of(60)
    results += [replace(r, submission=info(f"Student {k}", f"k{k}")) for k, r in RECORDS.items()]
    return page_of_rows(
        class_rows(results + twins_of_three()),
        missing=[Person("Nora Late", "0017"), Person("Max")],
        changes={"compared": 3, "changed": [changed_result()]},
        pending=2,
    )


def first_statement() -> str:
    """The statement that `grader release` writes for the students of mlm_forward."""
    source = load(ROOT / "cases" / "mlm_forward")
    clauses = source.exercise.clauses.items()
    requirements = [Requirement(name, clause.title, clause.text) for name, clause in clauses]
    return page_of(load_statement(source), requirements, statements.FACTS)


def _pages() -> dict[str, Maker]:
    made: dict[str, Maker] = {}
    for kind, record in RECORDS.items():
        made[f"student {kind}"] = lambda record=record: student_page(record)
    for kind in ("passing", "not_loadable", "violated", "grader_fault", "diagnosed", "printing", "hostile"):
        made[f"teacher {kind}"] = lambda record=RECORDS[kind]: teacher_page(record)
    made["teacher alone"] = lambda: teacher_page(RECORDS["suspicious"], linked=False)
    made["class large"] = large_class
    made["class small"] = lambda: class_page([RECORDS["passing"], RECORDS["failing"]])
    made["class of one"] = lambda: class_page([RECORDS["grader_fault"]])
    made["class empty"] = lambda: class_page([])
    made["class pending"] = lambda: page_of_rows(
        [], title="Week 3", missing=[Person("Nora <b>", "0017")], pending=3
    )
    made["class hostile"] = lambda: class_page([hostile()])
    for kind, validation in validations.RECORDS.items():
        made[f"author {kind}"] = lambda validation=validation: validation_page(validation)
    made["author hostile"] = lambda: validation_page(validations.hostile(HOSTILE))
    for kind, demonstration in demonstrations.RECORDS.items():
        made[f"demonstration {kind}"] = lambda demonstration=demonstration: demonstration_page(demonstration)
    made["demonstration hostile"] = lambda: demonstration_page(demonstrations.hostile(HOSTILE))
    made["demonstration mlm_forward"] = lambda: demonstration_page(
        demonstration_of(load(ROOT / "cases" / "mlm_forward"))
    )
    made["statement"] = lambda: statements.page(statements.TEXT)
    made["statement mlm_forward"] = first_statement
    return made


PAGES = _pages()


# Between them these have every part of every template; the others are looked at where there is time.
TELLING = (
    "student passing",
    "student not_loadable",
    "student violated",
    "student grader_fault",
    "student diagnosed",
    "student notebook",
    "student hostile",
    "teacher printing",
    "teacher hostile",
    "class large",
    "class pending",
    "class hostile",
    "author weak",
    "author nothing",
    "author hostile",
    "demonstration telling",
    "demonstration hostile",
    "demonstration mlm_forward",
    "statement",
    "statement mlm_forward",
)
# Tests that look at a page in several ways share it, hence the scope.
EVERY = pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in TELLING else pytest.mark.slow) for kind in PAGES],
    scope="module",
)


@cache
def source(kind: str) -> str:
    """The page of one kind; the names are those of `PAGES`."""
    return PAGES[kind]()


# What an exercise's file may say of a clause; a statement's page is by a teacher and is not cut.
MOST_SAID = 2_000


def _statement(text: str) -> str:
    """A statement's page with the text in every place that is no Markdown, and in code."""
    code = "".join(f"    {line}\n" for line in text[:MOST_SAID].splitlines()) or "    x\n"
    body = f"# Means\n\nIntro.\n\n{statements.PATTERN}\n## Code\n\n{code}".encode("utf-8", "replace")
    required = [Requirement(name, text[:MOST_SAID], text[:MOST_SAID]) for name in ("mean", "rows")]
    facts = statements.FACTS | {"files": [f"{text[:80]}.py"], "commands": [text[:MOST_SAID]]}
    return page_of(read_statement(body, "s.md"), required, facts)


# The makers of pages, each from one text that stands wherever a text can be.
MAKERS: dict[str, Callable[[str], str]] = {
    "student": lambda text: student_page(hostile(text)),
    "teacher": lambda text: teacher_page(hostile(text)),
    "class": lambda text: class_page([hostile(text)]),
    "author": lambda text: validation_page(validations.hostile(text)),
    "demonstration": lambda text: demonstration_page(demonstrations.hostile(text)),
    "statement": _statement,
}
