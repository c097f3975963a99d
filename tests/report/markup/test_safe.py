"""No pattern can forget to clean and escape, and what is kept of a text stays a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from grader.report.markup.safe import fill, joined, safe, safe_line, safe_text
from grader.report.texts import clean, one_line

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
HOSTILE = '<b onclick="x">\x1b[31m&amp;\x00\u202e\ud800</b>'


@given(
    ANY_TEXT | st.builds("{0}{1}".format, st.sampled_from(["<i>", "&lt;", '"']), ANY_TEXT), st.integers(1, 80)
)
def test_a_text_is_cleaned_and_escaped_however_often_it_comes(text: str, limit: int) -> None:
    for _ in range(2):
        assert safe_text(text, limit) == escape(clean(text, limit))
        assert safe_line(text, limit) == escape(one_line(text, limit))
        assert safe(text) == escape(clean(text, 1_000_000))


@given(ANY_TEXT)
def test_what_calls_itself_safe_is_a_text_where_a_text_is_asked_for(text: str) -> None:
    """Equal texts of both kinds must not be mixed up by what is kept of them."""
    planted = f"<u>{text}"
    for one in (Markup(planted), planted, Markup(planted)):
        assert safe_text(one, 200) == escape(clean(planted, 200))
        assert safe_line(one, 200) == escape(one_line(planted, 200))
    assert safe(planted) == escape(clean(planted, 1_000_000))
    assert safe(Markup("<u>")) == "<u>"


@given(ANY_TEXT)
def test_every_value_of_a_pattern_is_made_safe(text: str) -> None:
    planted = f"<script>{text}%s"
    made = fill("<p class='%s'>%s</p>", planted, planted)
    assert made == f"<p class='{safe(planted)}'>{safe(planted)}</p>"
    assert fill("<p>%s</p>", made) == f"<p>{made}</p>"
    assert "<script>" not in made
    assert type(made) is Markup and type(joined([made, made])) is Markup


class Posing(str):
    """A text that says it is HTML."""

    def __html__(self) -> str:
        return str(self)


@pytest.mark.parametrize("value", [HOSTILE, Posing(HOSTILE)])
def test_nothing_but_markup_itself_passes_unescaped(value: str) -> None:
    expected = "&lt;b onclick=&#34;x&#34;&gt;&amp;amp;␀\\u202e\\ud800&lt;/b&gt;"
    assert fill("%s", value) == safe(value) == safe_text(value, 500) == expected


def test_long_texts_are_cut_and_escaped_like_short_ones() -> None:
    text = HOSTILE * 1_000
    assert safe_text(text, 5_000) == escape(clean(text, 5_000))
    assert safe(3) == "3" and fill("%s", 2.5) == "2.5" and safe(None) == "None"
