"""Source text from a file's bytes."""

from __future__ import annotations

import io
import re
import tokenize
import warnings
from dataclasses import dataclass

MAX_BYTES = 2 << 20
# Character sets that editors write. Others that Python knows (punycode, unicode_escape, utf-7 …) are no
# character sets of files, and some take minutes for a file of this size.
ENCODINGS = re.compile(
    r"utf[-_]?8(-sig)?|(us-)?ascii|(iso[-_]?)?8859[-_]\d+|iso[-_]8859[-_]\d+(-\w+)?|latin[-_]?\d+|cp\d+"
    r"|windows[-_]\d+|mac[-_]\w+|koi8[-_]\w+|gbk|gb2312|gb18030|big5[-_]?\w*|euc[-_]?\w+|shift[-_]jis\w*|sjis"
    r"|johab",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Text:
    """A file's text, or why it has none; ``note`` tells of a guess."""

    source: str | None
    problem: str = ""
    note: str = ""


def decode(raw: bytes) -> Text:
    """The text of a Python file: by its byte order mark, its coding comment, else UTF-8.

    A file that is not UTF-8 and declares nothing is read as Windows-1252, with a note: such bytes are
    mostly letters in comments, and no student loses marks for an editor's setting. Lines end with ``\\n``.
    """
    if len(raw) > MAX_BYTES:
        return Text(None, f"The file has {len(raw):,} bytes; at most {MAX_BYTES:,} are read.")
    if not raw.strip(b"\xef\xbb\xbf \t\r\n\f"):
        return Text(None, "The file is empty.")
    wide = _utf_16(raw)
    if wide is not None:
        return wide
    if b"\0" in raw:
        line = tidy(raw[: raw.index(b"\0")].decode("latin-1")).count("\n") + 1
        return Text(None, f"The file holds a NUL byte in line {line}; it is no Python text.")
    note = ""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(_head(raw)).readline)
        if not ENCODINGS.fullmatch(encoding):
            return Text(
                None, f"The file's coding comment names {encoding}, which is not read; save it as UTF-8."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = raw.decode(encoding)
        source.encode()  # an escape may have made a lone surrogate, which is no text
    except SyntaxError:
        return Text(None, "The file's coding comment names an encoding that does not fit it.")
    except UnicodeError:
        if _declares_encoding(raw):
            return Text(None, "The file's text does not fit the encoding that its coding comment names.")
        source, note = raw.decode("cp1252", "replace"), "The file is not UTF-8; it was read as Windows-1252."
    except LookupError:
        return Text(None, "The file's coding comment names an unknown encoding.")
    return _text(source, note)


def tidy(text: str) -> str:
    """A text whose lines end with ``\\n``, as Python counts lines: a form feed, say, ends none."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text(source: str, note: str) -> Text:
    source = tidy(source).lstrip("\ufeff")
    if "\0" in source:
        line = source[: source.index("\0")].count("\n") + 1
        return Text(None, f"The file holds a NUL character in line {line}; it is no Python text.")
    return Text(source, note=note) if source.strip() else Text(None, "The file is empty.")


def _utf_16(raw: bytes) -> Text | None:
    """What a file in UTF-16 holds, also without its mark; None when it is none."""
    marked = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if marked else ""
    if not marked and len(raw) % 2 == 0 and b"\0" in raw:
        # Of plain letters every second byte is a NUL; in no other text is there one at all.
        first, second = raw[::2].count(0), raw[1::2].count(0)
        most = len(raw) // 2 * 0.8
        encoding = "utf-16-le" if second > most and not first else ""
        encoding = "utf-16-be" if first > most and not second else encoding
    if not encoding:
        return None
    try:
        return _text(raw.decode(encoding), "The file is UTF-16; save it as UTF-8.")
    except UnicodeDecodeError:
        return Text(None, "The file is neither UTF-8 nor UTF-16 text; save it as UTF-8.")


def _head(raw: bytes) -> bytes:
    """The first two lines as far as a coding comment can be told: nothing but ASCII after the mark."""
    mark = b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b""
    lines = re.split(rb"\r\n|\r|\n", raw[len(mark) :], maxsplit=2)[:2]
    return mark + b"".join(re.sub(rb"[^\t\x0c -~]", b"?", line) + b"\n" for line in lines)


def _declares_encoding(raw: bytes) -> bool:
    first, second = [*_head(raw).removeprefix(b"\xef\xbb\xbf").split(b"\n"), b""][:2]
    comment = rb"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+"
    blank = re.match(rb"[ \t\f]*(?:#|$)", first)
    return bool(re.match(comment, first) or (blank and re.match(comment, second)))
