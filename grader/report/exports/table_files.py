"""Tables that learning platforms export and take back: read as they are, written back in the same form."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import GraderError

MAX_BYTES = 64 << 20
_DELIMITERS = ",;\t"


@dataclass
class Table:
    """A table of texts.

    Attributes:
        rows: With the head as the first; each as long as it is in the file.
        delimiter, newline, mark: As the file has them: between cells, at the end of a row, and whether it
            begins with a byte order mark.
    """

    rows: list[list[str]] = field(default_factory=list)
    delimiter: str = ","
    newline: str = "\r\n"
    mark: bool = False

    @property
    def head(self) -> list[str]:
        """The titles of the columns."""
        return self.rows[0]

    def column(self, *titles: str) -> int | None:
        """The number of the first column with one of these titles, whatever their case."""
        known = [title.strip().casefold() for title in self.head]
        for title in titles:
            if title.casefold() in known:
                return known.index(title.casefold())
        return None

    def cell(self, row: list[str], column: int | None) -> str:
        """A cell without the blanks around it; empty where the row is too short."""
        return row[column].strip() if column is not None and column < len(row) else ""

    def put(self, row: list[str], column: int, text: str) -> None:
        """Set a cell, also beyond the row's end."""
        row += [""] * (column + 1 - len(row))
        row[column] = text

    def text(self) -> str:
        """The table as a file holds it."""
        out = io.StringIO()
        # Both signs have to be in the terminator, or a cell with a bare carriage return is not quoted.
        writer = csv.writer(out, delimiter=self.delimiter, lineterminator="\r\n")
        lines = []
        for row in self.rows:
            writer.writerow(row)
            lines.append(out.getvalue().removesuffix("\r\n") + self.newline)
            out.seek(0)
            out.truncate()
        return ("\ufeff" if self.mark else "") + "".join(lines)


def read_table(path: Path, what: str) -> Table:
    """A table with at least a head.

    Args:
        path: UTF-8 with or without a byte order mark, UTF-16 with one, or else Windows' western encoding;
            commas, semicolons or tabs between cells.
        what: What it should be, for messages: ``Canvas gradebook``.

    Raises:
        GraderError: It can't be read, or is no table.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GraderError(f"{path} is no {what}: it is larger than {MAX_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise GraderError(f"{path} can't be read: {error.strerror}; name the {what} for --template") from None
    text = _decoded(data)
    if "\0" in text or not text.strip():
        found = "no text" if text.strip("\0 \r\n\t") else "nothing"
        raise GraderError(f"{path} is no {what}: expected a CSV file, found {found} in it")
    mark, text = text.startswith("\ufeff"), text.removeprefix("\ufeff")
    first = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=lambda sign: len(next(csv.reader([first], delimiter=sign), [])))
    newline = "\r\n" if first.endswith("\r") else "\n"
    limit = csv.field_size_limit(len(text) + 1)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise GraderError(f"{path} is no {what}: {error}; export it again as CSV") from None
    finally:
        csv.field_size_limit(limit)
    return Table(rows, delimiter, newline, mark)


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
