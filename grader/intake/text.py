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
    mostly letters in comments, and no student loses marks for an editor's setting.
    """
    if len(raw) > MAX_BYTES:
        return Text(None, f"The file has {len(raw):,} bytes; at most {MAX_BYTES:,} are read.")
    if not raw.strip(b"\xef\xbb\xbf \t\r\n\f"):
        return Text(None, "The file is empty.")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return Text(raw.decode("utf-16"), note="The file is UTF-16; save it as UTF-8.")
        except UnicodeDecodeError:
            return Text(None, "The file is neither UTF-8 nor UTF-16 text; save it as UTF-8.")
    if b"\0" in raw:
        line = raw[: raw.index(b"\0")].count(b"\n") + 1
        return Text(None, f"The file holds a NUL byte in line {line}; it is no Python text.")
    note = ""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        if not ENCODINGS.fullmatch(encoding):
            return Text(
                None, f"The file's coding comment names {encoding}, which is not read; save it as UTF-8."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = raw.decode(encoding)
        source.encode()  # an escape may have made a lone surrogate, which is no text
    except SyntaxError:
        if _declares_encoding(raw):
            return Text(None, "The file's coding comment names an encoding that does not fit it.")
        source, note = raw.decode("cp1252", "replace"), "The file is not UTF-8; it was read as Windows-1252."
    except UnicodeError:
        if _declares_encoding(raw):
            return Text(None, "The file's text does not fit the encoding that its coding comment names.")
        source, note = raw.decode("cp1252", "replace"), "The file is not UTF-8; it was read as Windows-1252."
    except LookupError:
        return Text(None, "The file's coding comment names an unknown encoding.")
    return Text(source.replace("\r\n", "\n").replace("\r", "\n"), note=note)


def _declares_encoding(raw: bytes) -> bool:
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    return any(b"coding" in line and line.lstrip().startswith(b"#") for line in raw.split(b"\n", 2)[:2])
