"""Texts that were defused stay readable and can't act."""

from __future__ import annotations

import doctest
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.report import figures, texts
from grader.report.texts import STATUS_WORDS, VERDICT_WORDS, clean, csv_cell, one_line
from grader.result import HIDDEN_MESSAGES

ANY = st.text(st.characters(exclude_categories=()))
NASTY = st.text(
    st.sampled_from("\x1b[]0;31mK\\\x07\x9b\x9c\r\n\t \u202e\u2066\ud800\u0301a<=+-@'\"\x00\x7f😀\u200d")
)
LIMITS = st.integers(1, 200)


@given(ANY | NASTY, LIMITS)
@example("\x1b" + "\x1b[0m" + "[31m", 80)
@example("\r\r\n", 80)
def test_a_cleaned_text_holds_nothing_that_acts(text: str, limit: int) -> None:
    kept = clean(text, limit)
    kept.encode()
    assert len(kept) <= limit
    for sign in kept:
        assert sign in "\n\t" or unicodedata.category(sign) != "Cc"
        assert unicodedata.bidirectional(sign) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    assert not re.search("[\u0300-\u036f]{5}", kept)


@given(ANY | NASTY, LIMITS)
def test_a_cleaned_text_stays_as_it_is(text: str, limit: int) -> None:
    assert clean(clean(text, limit), limit) == clean(text, limit)


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=80))
def test_ordinary_texts_are_left_alone(text: str) -> None:
    # Letters that look like nothing, and a row of such as join with the one before them.
    if not re.search("[\u115f\u1160\u3164\uffa0]", text) and not texts._CHAIN.search(text):
        assert clean(text, 80) == text


MARKS = st.characters(categories=["Mn", "Mc", "Me"])


@given(
    st.lists(ANY | st.text(MARKS | st.sampled_from("a\u200d\u200c😀\U0001f3fd"), max_size=30)).map("".join)
)
def test_no_sign_carries_more_than_four_marks(text: str) -> None:
    kept = clean(text, 500)
    # A sign that no clean text holds stands for a mark.
    assert "\0" not in kept
    marked = "".join("\0" if unicodedata.category(s)[0] == "M" else s for s in kept)
    assert not re.search("\0[\0\u200c\u200d]*" * 5, marked)
    assert not re.search("(?:[^\0]\0*\u200d\0*){12}", marked.replace("\u200c", ""))


@pytest.mark.parametrize(
    "name",
    [
        unicodedata.normalize("NFD", "한국어를 가르치는 선생님"),  # as macOS writes the names of files
        unicodedata.normalize("NFD", "Nguyễn Thị Hằng, Zoë Ångström"),
        "หนึ่งน้ำที่ปู่ซื้อให้",
        "क्षत्रिय स्त्री",
        "བསྒྲུབས",
        "שָׁלוֹם",
        "مُحَمَّد بن مُوسَى",
        "👩‍👩‍👧‍👦 👩🏽‍❤️‍💋‍👨🏿 🏳️‍🌈",
        "می‌خواهم",
    ],
)
def test_names_of_all_scripts_stay_as_they_are(name: str) -> None:
    assert clean(name, 200) == one_line(name, 200) == name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1b", "␛"),
        ("a\x00b\x7f", "a␀b␡"),
        ("one\r\ntwo\rthree", "one\ntwo␍three"),
        ("\u202eexe.png", "\\u202eexe.png"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\ud83d", "\\ud83d"),
        ("\U000e0041", "\\U000e0041"),
        ("\x85", "\\x85"),
        ("👩‍🔬 Zoë 李 שלום", "👩‍🔬 Zoë 李 שלום"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_is_removed_and_what_is_shown(text: str, shown: str) -> None:
    assert clean(text, 200) == shown


def test_a_cut_text_says_so() -> None:
    assert clean("a" * 500, 100).endswith("… [cut: 500 characters in all]")
    assert len(clean("a" * 500, 100)) == 100
    assert clean("a" * 500, 3) == "aa…"
    assert clean("a" * 500, 1) == "…"


@pytest.mark.parametrize("unit", ["x", "\x1b[", "\x1b]", "\x1b[9", "\u0301", "\u202e", " ", "\x1b[31m"])
def test_fifty_megabytes_are_not_read(unit: str) -> None:
    text = unit * (50_000_000 // len(unit))
    assert len(clean(text, 16_000)) <= 16_000
    assert len(one_line(text, 80)) <= 80


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 character, found 0"):
        clean("x", 0)


@given(ANY | NASTY, LIMITS)
def test_one_line_is_one_line(text: str, limit: int) -> None:
    kept = one_line(text, limit)
    assert len(kept) <= limit
    assert len(kept.splitlines()) <= 1
    assert "\t" not in kept


@given(ANY | NASTY)
def test_a_cell_is_no_formula_and_keeps_its_text(text: str) -> None:
    cell = csv_cell(text)
    assert cell.replace("'", "") == text.replace("'", "") and csv_cell(cell) == cell
    # What a spreadsheet that parts cells at semicolons or tabs makes of it.
    assert not [part for part in re.split("[;\t]", cell)[1:] if part.lstrip('"').startswith(tuple("=+-@"))]
    if cell.startswith(("=", "@", "\t", "\r")):
        pytest.fail("a formula")
    if cell.startswith(("+", "-")):
        float(cell)


@pytest.mark.parametrize("text", ["-2.5", "+3", "17", "1e-6", "-.5", "0", "", "Ada", "a=b", "-1.5E+10"])
def test_numbers_and_words_are_left_as_they_are(text: str) -> None:
    assert csv_cell(text) == text


@pytest.mark.parametrize(
    "text", ["=1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", "-1+2", "--1", "+", "-１", "＝1", "-1\n"]
)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert csv_cell(text) == "'" + text


def test_what_follows_a_semicolon_is_no_formula() -> None:
    assert csv_cell('Sam;=HYPERLINK(1);"+x') == "Sam;'=HYPERLINK(1);\"'+x"
    assert csv_cell("too small; -2 points") == "too small; -2 points"


def test_every_verdict_and_status_has_words() -> None:
    assert set(VERDICT_WORDS) == set(HIDDEN_MESSAGES)
    assert set(STATUS_WORDS) == {"passed", "failed", "not_loadable", "grader_fault"}


@pytest.mark.parametrize("module", [texts, figures])
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    outcome = doctest.testmod(module)  # type: ignore[arg-type]
    assert outcome.attempted > 0
    assert outcome.failed == 0


@pytest.mark.parametrize("length", [81, 300, 4_416, 4_417, 10_000])
def test_what_is_cut_tells_its_whole_length(length: int) -> None:
    for shown in (clean("a" * length, 80), one_line("a" * length, 80)):
        assert len(shown) == 80 and shown.endswith(f"a… [cut: {length} characters in all]")
