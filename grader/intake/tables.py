"""Tables that people and platforms write as CSV: any usual encoding, separator and header."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.intake.tree import UnreadableError, read_file
from grader.people import ListFile

MAX_BYTES = 64 << 20
SEPARATORS = ",;\t|"
# Above the header people put a title, and spreadsheets a line that names the separator.
MOST_ABOVE = 10
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\u00ad"))
_QUOTED = re.compile(r'="(.*)"', re.DOTALL)


@dataclass(frozen=True)
class Table:
    """Rows below a header.

    Attributes:
        shown: The file's path for people.
        header: The names of the columns, as they stand there.
        rows: Each with its line's number and as many texts as there are columns.
        guessed: It is no Unicode, and nothing tells which of the older encodings it is in.
    """

    shown: str
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    guessed: bool = False


def read_list(path: Path) -> ListFile:
    """What a file holds. Raises GraderError where it can't be read."""
    try:
        return ListFile(str(path), read_file(str(path), MAX_BYTES, follow=True))
    except UnreadableError as error:
        raise GraderError(f"{path}: {error}") from None


def read_table(file: Path | ListFile, known: Collection[str]) -> Table:
    """The table in a CSV file.

    Args:
        file: The file, or what it held when it was read.
        known: Names of columns, as `plain` makes them; the header is the line that has most of them.

    Raises:
        GraderError: It can't be read, or holds no header with a known name.
    """
    held = read_list(file) if isinstance(file, Path) else file
    path, raw = held.shown, held.data
    text = decoded(raw)
    if text is None:
        raise GraderError(f"{path} is no text; expected a CSV file, saved as UTF-8")
    best: tuple[int, int, str, int] | None = None
    for separator in SEPARATORS:
        for number, (_, row) in enumerate(_rows(path, text, separator)):
            if number > MOST_ABOVE:
                break
            hits = len({plain(cell) for cell in row} & set(known))
            if hits and (best is None or (hits, len(row)) > best[:2]):
                best = (hits, len(row), separator, number)
    if best is None:
        first = next((line.strip() for line in text.split("\n") if line.strip()), "")
        raise GraderError(
            f"{path}: found no header; expected a line that names the columns, such as name,id,email; "
            + (f"the first line is {first[:80]!r}" if first else "the file is empty")
        )
    _, width, separator, at = best
    rows = list(_rows(path, text, separator))
    filled = tuple(
        (line, tuple([_stripped(cell) for cell in row] + [""] * (width - len(row))))
        for line, row in rows[at + 1 :]
        if any(cell.strip() for cell in row)
    )
    return Table(path, tuple(_stripped(cell) for cell in rows[at][1]), filled, _is_guessed(raw))


def _stripped(cell: str) -> str:
    """A cell without blanks around it, and without signs that nobody sees and that web pages are full of."""
    return cell.translate(_UNSEEN).strip()


def plain(text: str) -> str:
    """A column's name without capitals, accents and signs: ``E-Mail address`` is ``emailaddress``."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in letters if sign.isalnum())


def decoded(raw: bytes) -> str | None:
    """Text in any encoding that spreadsheets and platforms write; None when it is none."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif b"\0" in raw:
        # Without a mark the zeros of Latin letters tell which half comes first.
        encodings = ["utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"]
    else:
        encodings = ["utf-8-sig", "cp1252", "latin-1"]
    for encoding in encodings:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text.replace("\r\n", "\n").replace("\r", "\n")
    return None


def _is_guessed(raw: bytes) -> bool:
    if b"\0" in raw or raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _rows(path: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for row in reader:
            # Spreadsheets keep leading zeros of what is written as a formula.
            yield (
                reader.line_num,
                [_QUOTED.sub(r"\1", cell) if cell.startswith("=") else cell for cell in row],
            )
    except csv.Error as error:
        raise GraderError(f"{path}:{reader.line_num}: this is no CSV: {error}") from None
