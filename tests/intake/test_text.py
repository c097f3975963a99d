"""Source text from any bytes: encodings as Python reads them, and never a crash."""

from __future__ import annotations

import codecs
import encodings.aliases

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.intake.text import MAX_BYTES, decode

CODE = 'def f():\n    return "é"\n'


@pytest.mark.parametrize(
    "raw",
    [
        CODE.encode(),
        b"\xef\xbb\xbf" + CODE.encode(),
        CODE.replace("\n", "\r\n").encode(),
        CODE.replace("\n", "\r").encode(),
        b"# -*- coding: latin-1 -*-\n" + CODE.encode("latin-1"),
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n" + CODE.encode("cp1252"),
        b"\f\n" + CODE.encode(),
    ],
)
def test_what_python_reads_is_read_without_a_note(raw: bytes) -> None:
    text = decode(raw)
    assert text.source is not None
    assert text.source.endswith(CODE)
    assert "\r" not in text.source
    assert "\ufeff" not in text.source
    assert (text.problem, text.note) == ("", "")


def test_bytes_that_are_not_utf8_are_taken_for_windows_1252_with_a_note() -> None:
    text = decode(CODE.encode("cp1252"))
    assert (text.source, text.note) == (CODE, "The file is not UTF-8; it was read as Windows-1252.")
    assert decode(b"x = 1 \x81\n").source == "x = 1 \ufffd\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_with_its_mark_is_read_with_a_note(encoding: str) -> None:
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    text = decode(mark + CODE.encode(encoding))
    assert text.source is not None
    assert text.source.lstrip("\ufeff") == CODE
    assert text.note == "The file is UTF-16; save it as UTF-8."


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "The file is empty."),
        (b"\xef\xbb\xbf", "The file is empty."),
        (b" \t\r\n\f\n", "The file is empty."),
        (b"x = 1\ny = '\0'\n", "The file holds a NUL byte in line 2; it is no Python text."),
        (b"\x7fELF\x02\x01\x01\0", "The file holds a NUL byte in line 1; it is no Python text."),
        (b"# coding: klingon\nx = 1\n", "The file's coding comment names an encoding that does not fit it."),
        (
            b"# coding: ascii\nx = '\xe9'\n",
            "The file's text does not fit the encoding that its coding comment names.",
        ),
        (
            b"\xef\xbb\xbf# coding: latin-1\nx = 1\n",
            "The file's coding comment names an encoding that does not fit it.",
        ),
        (b"\xff\xfea", "The file is neither UTF-8 nor UTF-16 text; save it as UTF-8."),
    ],
)
def test_what_is_no_text_says_why(raw: bytes, problem: str) -> None:
    text = decode(raw)
    assert (text.source, text.problem) == (None, problem)


REFUSED = (
    *("punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "utf7", "rot13", "rot_13", "undefined"),
    *("idna", "hex", "base64", "uu", "zlib", "bz2", "quopri"),
)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_character_set_of_files_is_refused_with_a_message(name: str) -> None:
    # The codecs among them that are quadratic would take minutes for a file of this size.
    raw = f"# coding: {name}\n".encode()
    for body in (b"x = 1\n", b"x = '\\ud800'\n", b"+2AA-", b"a-" * (MAX_BYTES // 2 - 20)):
        text = decode(raw + body)
        assert text.source is None
        assert text.problem.startswith("The file's coding comment names ")
        assert text.problem in (
            f"The file's coding comment names {name}, which is not read; save it as UTF-8.",
            "The file's coding comment names an encoding that does not fit it.",
        )


READ = {
    "latin-1": "é",
    "iso-8859-1": "é",
    "iso8859-15": "€",
    "iso_8859_15": "€",
    "latin9": "€",
    "cp1252": "€é",
    "windows-1251": "ж",
    "cp850": "é",
    "koi8-r": "ж",
    "mac_roman": "é",
    "gbk": "李",
    "gb2312": "王",
    "gb18030": "李",
    "big5": "王",
    "big5-hkscs": "王",
    "shift_jis": "名前",
    "sjis": "名前",
    "cp932": "名前",
    "euc-jp": "名前",
    "euc_kr": "각",
    "utf-8": "é",
    "utf8": "é",
    "UTF-8": "é",
    "utf-8-sig": "é",
    "ascii": "e",
    "us-ascii": "e",
}


@pytest.mark.parametrize("name", READ)
def test_what_editors_write_is_read(name: str) -> None:
    source = f"# -*- coding: {name} -*-\nx = '{READ[name]}'\n"
    encoding = "utf-8" if name == "utf-8-sig" else name
    text = decode(source.encode(encoding))
    assert (text.source, text.problem, text.note) == (source, "", "")


def test_a_file_beyond_the_cap_is_not_read() -> None:
    assert decode(b"#" * MAX_BYTES).source is not None
    assert (
        decode(b"#" * (MAX_BYTES + 1)).problem == "The file has 2,097,153 bytes; at most 2,097,152 are read."
    )


names = sorted(
    {*encodings.aliases.aliases.values(), *encodings.aliases.aliases, "undefined", "idna", "oem", "mbcs"}
)


@given(
    st.binary(max_size=80)
    | st.builds(
        lambda name, body: f"# -*- coding: {name} -*-\n".encode() + body,
        st.sampled_from(names) | st.text(max_size=8).map(lambda t: t.encode("ascii", "ignore").decode()),
        st.binary(max_size=40),
    )
)
@example(b"# coding: undefined\n")
@example(b"# coding: unicode_escape\nx = '\\d \\ud800'")
@example(b"# coding: utf-7\n+2AA-")
def test_any_bytes_are_text_or_one_sentence(raw: bytes) -> None:
    text = decode(raw)
    assert (text.source is None) == bool(text.problem)
    if text.source is not None:
        text.source.encode()
    else:
        assert text.problem.startswith("The file")
        assert text.problem.endswith(".")


@pytest.mark.parametrize("name", names)
def test_no_encoding_that_python_knows_breaks_it(name: str) -> None:
    text = decode(f"# coding: {name}\nx = 1\n".encode())
    assert (text.source is None) == bool(text.problem)


# --- what else editors write ------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_its_mark_is_read_with_a_note(encoding: str) -> None:
    text = decode(CODE.replace("\n", "\r\n").encode(encoding))
    assert (text.source, text.note) == (CODE, "The file is UTF-16; save it as UTF-8.")


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_utf32_is_no_text_and_never_holds_a_nul(encoding: str) -> None:
    text = decode(CODE.encode(encoding))
    assert text.source is None
    assert "NUL" in text.problem


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("\ufeffx\0".encode("utf-16-le"), "The file holds a NUL character in line 1; it is no Python text."),
        ("\ufeff \r\n".encode("utf-16-le"), "The file is empty."),
        (b"a\rb\r\n\0", "The file holds a NUL byte in line 3; it is no Python text."),
        (b"x" * 9 + b"\0", "The file holds a NUL byte in line 1; it is no Python text."),
    ],
)
def test_a_nul_is_found_in_its_line(raw: bytes, problem: str) -> None:
    assert decode(raw).problem == problem


def test_old_line_ends_are_those_of_the_coding_comment_too() -> None:
    assert decode(b"# coding: latin-1\rx = '\xe9'\r").source == "# coding: latin-1\nx = 'é'\n"
    assert (
        decode(b"#!python\r# coding: latin-1\rx = '\xe9'\r").source
        == "#!python\n# coding: latin-1\nx = 'é'\n"
    )
    # In the third line it declares nothing, whatever ends the lines.
    assert decode(b"#\r#\r# coding: klingon\r").source == "#\n#\n# coding: klingon\n"


def test_only_a_comment_at_the_top_declares_an_encoding() -> None:
    note = "The file is not UTF-8; it was read as Windows-1252."
    for raw in (
        b"x = 1\n# coding: utf-8 \xe9\n",
        b"# my coding style\nx = '\xe9'\n",
        b"x = 'coding: ascii \xe9'\n",
    ):
        assert decode(raw).note == note, raw
    # A letter before the comment hides it from nobody.
    assert decode(b"# \xe9\n# coding: latin-1\nx = 1\n").source == "# é\n# coding: latin-1\nx = 1\n"


def test_a_second_mark_is_dropped_like_the_first() -> None:
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n").source == "x = 1\n"


LINES = st.lists(st.text("ab\t\f\v\x1c\u2028\x85 é#'", max_size=8), min_size=1, max_size=5)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_a_texts_lines_are_those_that_python_counts(lines: list[str], end: str, encoding: str) -> None:
    text = "x = 1" + end + end.join(lines)
    decoded = decode(text.encode(encoding))
    assert decoded.source == "\n".join(["x = 1", *lines])


@given(
    st.text(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"]),
)
def test_what_comes_out_is_tidy(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding, "replace"))
    if decoded.source is not None:
        assert not {"\r", "\0"} & set(decoded.source)
        assert not decoded.source.startswith("\ufeff")
        assert decoded.source.strip()
        decoded.source.encode()
