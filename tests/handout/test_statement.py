"""A statement is read with its headings and patterns, and whatever would not work is told by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import load_source, write_exercise

from grader.errors import ExerciseError, GraderError
from grader.handout.statement import Statement, load_statement, pieces, read_statement

PATTERN = "```pattern\ntitle: T\nrows: r\ncolumns: c\n\n  0 1\n0 x .\n```\n"


def told(text: str) -> list[str]:
    """The problems of a statement, as they are shown."""
    return [str(problem) for problem in read_statement(text.encode(), "s.md").problems]


def anchors(statement: Statement) -> list[str]:
    return [heading.anchor for heading in statement.headings]


def test_headings_have_the_anchors_that_github_gives_them() -> None:
    text = "# The title\n## `layer_norm`, first\n## What's *new*?\n### Twice\n### Twice\n## Größe\n## Main\n"
    statement = read_statement(text.encode(), "s.md")
    assert statement.problems == () and statement.title == "The title"
    assert anchors(statement) == [
        "the-title", "layer_norm-first", "whats-new", "twice", "twice-1", "größe", "main-1",
    ]  # fmt: skip


NOWHERE = "which a student does not get; link to a heading (#name) or to https://…"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("Words first.\n", 1, "expected a title first: a line that begins with '# '"),
        ("\n## Second\n", 2, "expected a title first: a line that begins with '# '"),
        ("# T\n\n# U\n", 3, "'U' is a second title; begin it with '## '"),
        ("# T\n\n### Deep\n", 3, "'Deep' has 3 signs # below a heading with 1; expected 2 at most"),
        (
            "# T\n\na\n[b](#there) c\n\n## Three\n",
            4,
            "links to #there, but no heading has that name; did you mean 'three'?",
        ),
        ("# T\n\n| a |\n|---|\n| [b](notes.md) |\n", 5, f"links to 'notes.md', {NOWHERE}"),
        ("# T\n\n[a](/etc/passwd)\n", 3, f"links to '/etc/passwd', {NOWHERE}"),
        ("# T\n\n![a](b.png)\n", 3, "holds a picture; draw with a pattern block, or say it in words"),
        (
            "# T\n\n" + PATTERN.replace("x .", "x"),
            9,
            "the pattern block: the row '0' has 1 marks; expected 2, as many as there are labels above",
        ),
        (
            "# T\n\n" + PATTERN.replace("title", "tilte"),
            4,
            "the pattern block: unknown key 'tilte'; did you mean 'title'?",
        ),
        (
            "# T\n\n> " + PATTERN.replace("\n", "\n> "),
            3,
            "the pattern block stands within a list or a quotation; take it out",
        ),
    ],
)
def test_what_would_not_work_is_told_by_line(text: str, line: int, said: str) -> None:
    assert told(text) == [f"s.md:{line}: {said}"]


def test_links_to_headings_and_to_the_web_are_sound() -> None:
    links = "[a](#größe) [b](https://example.org) <https://example.org> [c](mailto:a@b.org)"
    assert told(f"# T\n\n{links}\n\n## Größe\n") == []


def test_all_problems_are_told_at_once_in_order() -> None:
    assert [line.partition(": ")[0] for line in told("# T\n\n[a](#x)\n\n#### D\n\n![a](b)\n")] == [
        "s.md:3",
        "s.md:5",
        "s.md:7",
    ]


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read_statement(text.encode("utf-8", "replace"), "s.md")


@given(st.text(st.sampled_from("#`-* |\n[](){}!<>:x.0pattern=\t")))
def test_any_markdown_is_read_and_cut(text: str) -> None:
    statement = read_statement(b"# T\n\n" + text.encode(), "s.md")
    assert "".join("".join(pieces(statement)).split()) == "".join(statement.text.split()) or any(
        token.meta.get("pattern") for token in statement.tokens
    )


def test_a_notebook_gets_the_parts_with_patterns_as_text() -> None:
    other = PATTERN.replace("title: T", "title: U")
    code = "## Two\n\n```\n## no heading\n```"
    text = f"# T\n\nIntro.\n\n## One\n\n{PATTERN}\n{other}\nAfter.\n\n{code}\n"
    first, one, two = pieces(read_statement(text.encode(), "s.md"))
    assert first == "# T\n\nIntro." and two == code
    assert "```pattern" not in one and one.count("```") == 2
    assert "0 ■ ·" in one and one.endswith("After.")
    # Side by side.
    assert one.splitlines()[3].split() == ["T", "U"]


def test_a_missing_statement_is_told_with_what_to_write(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    with pytest.raises(GraderError, match=r"row_scale has no statement; write .*statement\.md, which begins"):
        load_statement(load_source(tmp_path))


def test_a_statement_at_fault_is_no_statement(tmp_path: Path) -> None:
    (write_exercise(tmp_path) / "statement.md").write_text("# T\n\n[a](#b)\n")
    with pytest.raises(ExerciseError, match=r"statement\.md:3: links to #b"):
        load_statement(load_source(tmp_path))


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"# T\n\n\xff", "s.md:3: is no UTF-8 text"), (b"#" * (1 << 20) + b"#", "at most 1,048,576 are read")],
)
def test_what_is_no_text_is_told(raw: bytes, said: str) -> None:
    with pytest.raises(GraderError, match=said):
        read_statement(raw, "s.md")
