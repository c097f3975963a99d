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
        (b"# coding: rot13\nk = 1\n", "The file's coding comment names an unknown encoding."),
        (
            b"# coding: undefined\nx = 1\n",
            "The file's text does not fit the encoding that its coding comment names.",
        ),
        (
            b"# coding: ascii\nx = '\xe9'\n",
            "The file's text does not fit the encoding that its coding comment names.",
        ),
        (
            b"# coding: raw_unicode_escape\nx = '\\ud800'\n",
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
