"""Code that was typed into a text field."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake.layouts.online import MAX_BYTES, code_of

CODE = "def f(x):\n    if x < 1 and 'a' > \"b\":\n        return x & 1\n\n    return f(x - 1)\n\n\ny = f(2)\n"


def lines_as(code: str, form: str) -> str:
    lines = [html.escape(line) for line in code.rstrip("\n").split("\n")]
    hard = [line.replace("  ", "&nbsp; ") for line in lines]
    if form == "pre":
        return "<pre>" + "\n".join(lines) + "\n</pre>"
    if form == "paragraphs":
        return "".join(f"<p>{line or '&nbsp;'}</p>\n" for line in hard)
    return "<p>" + "<br />".join(hard) + "</p>"


@pytest.mark.parametrize("form", ["pre", "paragraphs", "breaks"])
def test_the_lines_are_those_that_a_browser_shows(form: str) -> None:
    page = f"<html><head><style>p {{}}</style></head><body>\n{lines_as(CODE, form)}\n</body></html>"
    assert code_of(page) == CODE


def test_only_what_is_set_as_code_is_taken_where_there_is_some() -> None:
    page = f"<p>Hello, def f(x): is</p>{lines_as(CODE, 'pre')}<p>Thanks</p><!-- <pre>def g(): 0</pre> -->"
    assert code_of(page) == CODE


def test_plain_text_stays_as_it_is() -> None:
    assert code_of("\r\n" + CODE.replace("\n", "\r\n") + "\r\n") == CODE


def test_the_heading_of_a_page_is_no_code() -> None:
    assert code_of(f"<h1>def: Jane</h1>{lines_as(CODE, 'paragraphs')}<h1>x</h1>").startswith("def f(x):")


@pytest.mark.parametrize(
    "page",
    [
        "",
        "See my mail.",
        "<p>I import this</p>",
        "<script>def f(x): pass</script><p>x</p>",
        "<p>x</p><!-- <p>def f(x): pass</p> -->",
        "<p>x = 3</p>",
    ],
)
def test_what_defines_nothing_is_no_code(page: str) -> None:
    assert code_of(page) == ""


@pytest.mark.parametrize(
    "unit", ["<!--", "<", "<a ", "<!", "</", "<p>", "<pre>", "<script>", "&", "&#", "<br>", "def "]
)
def test_a_page_that_never_ends_is_read_in_time_linear_in_its_length(unit: str) -> None:
    # A parser that is quadratic takes minutes for this.
    code_of("<p>x</p>" + (unit * MAX_BYTES)[: MAX_BYTES - 8])


@given(st.text(max_size=100) | st.text("<>/!-&;#=\"' pre brdef():\n", max_size=100))
def test_no_page_makes_reading_fail(page: str) -> None:
    code_of(page)
    code_of(f"<pre>{page}</pre>")
