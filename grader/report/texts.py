"""Texts that are safe to show: what a submission wrote, defused for pages, terminals and spreadsheets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from grader.positions import Positions

# CSI; strings (OSC, DCS, SOS, PM, APC) with their end; the two-character sequences. Also in their 8-bit form.
_ANSI = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-OQ-WYZ\\\\`-~]"
)

# What reorders, hides or breaks the text around it: controls but tab and newline, bidi controls, invisible
# characters, line separators, lone surrogates (no encoder takes them), tag characters. Zero-width joiners
# stay, since names and emoji are spelled with them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)

_MAX_KEPT = 200

# What of ASCII is shown as it is.
_PLAIN = b"\t\n" + bytes(range(0x20, 0x7F))

# Accents stacked one on another grow over the neighbouring lines, and what joins signs makes one of them that
# no line can break. Marks are no letters to Python, so a run of them is a run of no word; those that are
# letters or formats are listed: Korean syllables in pieces (beginnings, middles, ends), Thai and Lao AM,
# halfwidth voicing, Arabic number signs and the like. No script needs more than four of one kind in a row.
_PILE = re.compile(r"[^\w\s\x00-\x7f]{5,}")
_MARKS = frozenset({"Mn", "Mc", "Me"})
_MORE_MARKS = frozenset("\u200c\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")  # colours of skin
_MOST_MARKS = 4
_JOINER, _MOST_JOINERS = "\u200d", 8  # the largest emoji have 3
_CHAIN = re.compile(
    "|".join(
        f"[{signs}]{{{_MOST_MARKS + 1},}}"
        for signs in (
            "\u1100-\u115f\ua960-\ua97c",
            "\u1160-\u11a7\ud7b0-\ud7c6",
            "\u11a8-\u11ff\ud7cb-\ud7fb",
            "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3",
            "\u0e33\u0eb3\uff9e\uff9f\U00011a84-\U00011a89\U00011d46",
        )
    )
)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

# The wide forms are taken for the plain ones by spreadsheets in some locales.
_PARTED = re.compile(r'([;\t]"?)(?=[=+\-@＝＋－＠])')
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

VERDICT_WORDS: Mapping[str, str] = {
    "passed": "Passed",
    "wrong_value": "Wrong values",
    "wrong_shape": "Wrong shape",
    "wrong_type": "Wrong type",
    "relation_violated": "Property violated",
    "input_mutated": "Argument changed",
    "output_aliases_input": "Answer shares memory with an argument",
    "not_repeatable": "Not repeatable",
    "raised": "Raised an exception",
    "timed_out": "Timed out",
    "out_of_memory": "Out of memory",
    "crashed": "Crashed",
    "skipped": "Not counted",
    "grader_fault": "Grader fault",
}

STATUS_WORDS: Mapping[str, str] = {
    "passed": "Full marks",
    "failed": "Not full marks",
    "not_loadable": "Not loadable",
    "grader_fault": "Grader fault",
}
# A verdict that has no sign here is a failure.
VERDICT_SIGNS: Mapping[str, str] = {"passed": "✓", "skipped": "–", "grader_fault": "?"}
FAILED_SIGN = "✗"
STATUS_SIGNS: Mapping[str, str] = {"passed": "✓", "failed": "✗", "not_loadable": "!", "grader_fault": "?"}


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _flattened(match: re.Match[str]) -> str:
    """The run without the marks and joiners beyond what any script needs."""
    kept = []
    marks = joiners = since = 0
    for sign in match.group():
        if sign == _JOINER:
            joiners, since = joiners + 1, 0
            if joiners > _MOST_JOINERS:
                continue
        elif sign in _MORE_MARKS or unicodedata.category(sign) in _MARKS:
            marks += 1
            if marks > _MOST_MARKS:
                continue
        else:
            marks, since = 0, since + 1
            if since > 1:
                joiners = 0
        kept.append(sign)
    return "".join(kept)


def _cut(text: str, limit: int, length: int) -> str:
    """At most ``limit`` characters that end with a remark on the ``length - limit`` or so left out."""
    for remark in (f"… [cut: {length} characters in all]", "… [cut]", "…"):
        if len(remark) * 2 <= limit or remark == "…":
            return text[: limit - len(remark)] + remark
    raise AssertionError("the last remark always fits")


def _is_plain(text: str) -> bool:
    # Deleting what is plain is faster than looking for what is not.
    return not text.encode().translate(None, _PLAIN)


def _window(limit: int) -> int:
    # Sequences that are removed may take up room, so more than the limit is read, but never all of 50 MB.
    return 4 * limit + 4_096


def _defused(text: str) -> str:
    kept = _UNSAFE.sub(_visible, _ANSI.sub("", text))
    if not kept.isascii():
        kept = _CHAIN.sub(lambda match: match.group()[:_MOST_MARKS], _PILE.sub(_flattened, kept))
    return kept


def clean(text: str, limit: int) -> str:
    """The text without anything that could act on what shows it; tabs and newlines stay.

    ANSI sequences are removed. Control characters are replaced by their pictures (``␛``, ``␀``), bidi
    controls, invisible characters and lone surrogates by their escapes (``\\u202e``), so that a reader sees
    that they were there. A text that has been cleaned stays as it is when cleaned again. HTML is not escaped:
    that is for the templates.

    Args:
        text: Anything, of any length; what lies far beyond ``limit`` is not looked at.
        limit: Most characters of the answer, at least 1. A text that is longer ends with a remark.

    Raises:
        ValueError: ``limit`` is below 1.

    Example:
        >>> clean("\\x1b[31mred\\x1b[0m \\x00", 80)
        'red ␀'
        >>> clean("abc" * 100, 60)
        'abcabcabcabcabcabcabcabcabcabc… [cut: 300 characters in all]'
    """
    if limit < 1:
        raise ValueError(f"expected a limit of at least 1 character, found {limit}")
    length = len(text)
    # Nearly every text is like this, and is told so much faster than by the patterns below.
    if length <= limit and text.isascii() and (text.isprintable() or _is_plain(text)):
        return text
    window = _window(limit)
    kept = _defused(text[:window].replace("\r\n", "\n"))
    if length > window or len(kept) > limit:
        return _cut(kept, limit, length)
    return kept


def place_words(positions: Positions, line: int) -> str:
    """``Line 12`` or ``Cell 3, line 2``, as a sentence begins; the name of a file stays as it is."""
    name = one_line(positions.name(line), 200)
    return name[:1].upper() + name[1:] if name.startswith(("line ", "cell ")) else name


def one_line(text: str, limit: int) -> str:
    """The cleaned text with every run of white space as one blank, for cells, titles and headings.

    Example:
        >>> one_line("two\\n  lines ", 80)
        'two lines'
    """
    # Titles, names and ids come again and again.
    return _kept_line(text, limit) if len(text) <= _MAX_KEPT else _one_line(text, limit)


def _one_line(text: str, limit: int) -> str:
    window = _window(limit)
    line = " ".join(text[:window].split())
    return clean(line, limit) if len(text) <= window else _cut(_defused(line), limit, len(text))


_kept_line = lru_cache(maxsize=4_096, typed=True)(_one_line)


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula.

    A text that begins like a formula gets an apostrophe in front, unless it is a plain number. Quoting is
    left to the csv module, and control characters to `clean`. Where a spreadsheet parts cells at semicolons
    or tabs, as it does in many countries, what follows one within a text begins a cell too.

    Example:
        >>> csv_cell("=1+2"), csv_cell("-2.5"), csv_cell("Ada;=1+2")
        ("'=1+2", '-2.5', "Ada;'=1+2")
    """
    text = _PARTED.sub(r"\1'", text)
    if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text
