"""What GitHub reads is what was meant, whatever the texts hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.jobs import Annotation, annotations

from grader.errors import Problem
from grader.report.github.validation_job import problem_commands, problem_summary, weakness_commands
from grader.report.github.workflow import (
    MAX_ANNOTATIONS,
    SUMMARY_BYTES,
    as_many_as_shown,
    code,
    command,
    cut,
    repository_path,
)
from grader.report.texts import clean, one_line
from grader.validation import Weakness

ANY = st.text(st.characters(exclude_categories=()), max_size=60)
SIGNS = st.text("%:,=;#[]\r\n AD25\t\x1b\u2028\x85error", max_size=40)
TEXTS = st.one_of(ANY, SIGNS)
HOSTILE = "a%0A::error::x\r\n::stop-commands::t\n##[error]y,line=3:"


@given(TEXTS, TEXTS, TEXTS, st.integers(1, 9999))
@example(HOSTILE, HOSTILE, HOSTILE, 3)
@example("%25", "%3A%2C", "%0D", 1)
def test_a_command_reads_back_as_what_was_said(message: str, title: str, file: str, line: int) -> None:
    written = command("error", message, {"file": file, "line": line, "title": title})
    assert len(written.splitlines()) == 1
    (found,) = annotations(written)
    expected = Annotation(
        "error",
        clean(message, 4_000),
        file=clean(one_line(file, 400), 4_000),
        line=line,
        title=clean(one_line(title, 400), 4_000),
    )
    assert found == expected


@given(st.lists(st.tuples(TEXTS, st.integers(0, 99), TEXTS), max_size=15))
def test_each_weakness_is_one_annotation_at_its_line(rows: list[tuple[str, int, str]]) -> None:
    weaknesses = [Weakness(file, line, "mistake_survives", message) for file, line, message in rows]
    log = "\n".join(weakness_commands(weaknesses, lambda file: file))
    found = annotations(log)
    assert [one.message for one in found] == [clean(message, 4_000) for _, _, message in rows]
    # Without a file there is no line either; a file as a whole is told at its first line.
    assert [one.line for one in found] == [(line or 1) if file else 0 for file, line, _ in rows]
    assert {one.title for one in found} <= {"Mistake survives"}


@given(st.lists(st.tuples(TEXTS, st.integers(0, 99), TEXTS, TEXTS), max_size=4), TEXTS)
def test_a_summary_of_faults_is_a_table_that_no_text_breaks(
    rows: list[tuple[str, int, str, str]], name: str
) -> None:
    problems = [Problem(*row) for row in rows]
    annotations("\n".join(problem_commands(problems, lambda file: file)))
    lines = problem_summary(name, problems, lambda file: file).splitlines()
    assert len(lines) == 4 + len(problems)
    assert all(line.count("|") == 3 for line in lines[4:])
    assert not any(sign in line for line in lines for sign in ("::", "@", "](", "<script"))


@given(st.integers(0, 30))
def test_no_more_annotations_than_are_shown(count: int) -> None:
    found = annotations("\n".join(as_many_as_shown(command("error", f"m{n}", {}) for n in range(count))))
    assert len(found) == min(count, MAX_ANNOTATIONS)
    if count > MAX_ANNOTATIONS:
        assert found[-1].message == f"{count - MAX_ANNOTATIONS + 1} more problems are in the summary"


@given(st.text("aé\n", max_size=50), st.integers(-3, 60))
def test_a_cut_text_ends_with_a_line(text: str, limit: int) -> None:
    kept = cut(text, limit)
    assert text.startswith(kept) and len(kept.encode()) <= max(limit, 0)
    assert kept == text or kept == "" or kept.endswith("\n")
    assert SUMMARY_BYTES < 1 << 20


@given(TEXTS)
def test_code_is_one_element_without_signs(text: str) -> None:
    shown = code(text)
    inside = shown.removeprefix("<code>").removesuffix("</code>")
    assert shown == f"<code>{inside}</code>" and not set(inside) & set("<>|`[]@!*_~\n")


# --- Paths ----------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work" / "course" / "cases").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "course")
    return tmp_path / "work"


def test_a_path_is_told_from_the_workspace(here: Path) -> None:
    assert repository_path("cases/a.yaml", str(here)) == "course/cases/a.yaml"
    assert repository_path(str(here / "b.yaml"), str(here)) == "b.yaml"
    assert repository_path("../b.yaml", str(here)) == "b.yaml"
    assert repository_path("", str(here)) == ""


def test_a_path_is_told_from_the_checkout_when_it_is_not_the_workspace(here: Path) -> None:
    (here / "course" / ".git").mkdir()
    assert repository_path("cases/a.yaml", str(here)) == "cases/a.yaml"
    assert repository_path("cases/a.yaml") == "cases/a.yaml"


def test_a_path_is_told_from_the_current_folder_where_there_is_nothing_else(here: Path) -> None:
    assert repository_path("cases/a.yaml") == "cases/a.yaml"
    assert repository_path("/elsewhere/a.yaml", str(here)) == "/elsewhere/a.yaml"


def test_a_workspace_that_is_reached_by_a_link_is_the_workspace(here: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(here)
    assert repository_path("cases/a.yaml", str(tmp_path / "link")) == "course/cases/a.yaml"
