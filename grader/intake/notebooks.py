"""Jupyter notebooks as one text: the code cells from top to bottom, each a part of its own."""

from __future__ import annotations

import importlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.intake.magics import Plain, comments, plain
from grader.intake.text import MAX_BYTES, tidy
from grader.positions import Part

MAX_NOTEBOOK_BYTES = 20 << 20
MAX_CELLS = 5_000
# Each list and mapping of a JSON text takes some 64 bytes, however short it is written.
MAX_CONTAINERS = 2_000_000
MISSING = (
    "The notebook can't be read here because the package nbformat is not installed;"
    ' install it with: pip install "mlm-grader[notebooks]"'
)
COUNTED = "Cells are counted from the top, code cells only: cell 1 is the first code cell."
_KERNELS = {"ir": "R", "julia": "Julia", "octave": "Octave", "scala": "Scala", "xcpp": "C++", "cling": "C++"}
_NO_PROGRAM = frozenset({"file", "writefile"})
_NAMED = 5


@dataclass(frozen=True)
class Notebook:
    """What a notebook gives.

    Attributes:
        source: The code cells joined; None when ``problem`` or ``fault`` says why there is none.
        parts: One for each code cell that is not blank. ``cell 3`` is the third code cell; blank ones count,
            as Jupyter shows no number to go by.
        notes: What the student should know about how it was read.
        problem: Why it can't be read, through the student's doing.
        fault: Why it can't be read though the student is not to blame.
    """

    source: str | None
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    fault: str = ""


class _DamagedError(Exception):
    """The message is a sentence for the student."""


def is_notebook(raw: bytes) -> bool:
    """The bytes look like a notebook's, whatever the file's name says."""
    return raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and b'"nbformat"' in raw


def read_notebook(raw: bytes) -> Notebook:
    """The text of a notebook's code cells; outputs and everything else in it are ignored.

    Args:
        raw: The file's bytes.
    """
    try:
        data = _load(raw)
        nbformat = _nbformat()
        if nbformat is None:
            return Notebook(None, fault=MISSING)
        language = _language(data)
        if language:
            raise _DamagedError(
                f"The notebook is written in {language}; hand in a notebook in Python, or a .py file."
            )
        cells = _converted(data, nbformat)
        if not any(text.strip() for text, _ in cells):
            raise _DamagedError("The notebook has no code in it; expected code cells.")
        return _joined(cells, _out_of_order(data))
    except _DamagedError as error:
        return Notebook(None, problem=str(error))


def _nbformat() -> Any:
    try:
        # It is an extra, and takes a third of a second.
        return importlib.import_module("nbformat")
    except ImportError:
        return None


def _load(raw: bytes) -> dict[str, Any]:
    """The notebook's JSON, of a shape that is known."""
    if len(raw) > MAX_NOTEBOOK_BYTES:
        raise _DamagedError(
            f"The notebook has {len(raw):,} bytes; at most {MAX_NOTEBOOK_BYTES:,} are read."
            " Clear its outputs and hand it in again."
        )
    if not raw.strip(b"\xef\xbb\xbf \t\r\n"):
        raise _DamagedError("The notebook is empty.")
    if raw.count(b"[") + raw.count(b"{") > MAX_CONTAINERS:
        raise _DamagedError("The notebook holds too many values; clear its outputs and hand it in again.")
    try:
        data = json.loads(raw)
    except json.JSONDecodeError as error:
        raise _DamagedError(f"The notebook is damaged: it is no JSON from line {error.lineno} on.") from None
    except UnicodeDecodeError:
        raise _DamagedError("The notebook is damaged: it is no UTF-8 text.") from None
    except RecursionError:
        raise _DamagedError("The notebook is damaged: it is nested too deeply.") from None
    except ValueError:
        raise _DamagedError("The notebook is damaged: it holds a number that can't be read.") from None
    if not isinstance(data, dict) or not ("nbformat" in data or "cells" in data or "worksheets" in data):
        raise _DamagedError("The file is no Jupyter notebook: it is JSON, but has no cells.")
    return data


def _version(data: Mapping[str, Any]) -> int:
    version = data.get("nbformat", 3 if "worksheets" in data else 4)
    if type(version) is not int or version not in (3, 4):
        raise _DamagedError(
            f"The notebook has version {str(version)[:20]!s} of the format; versions 3 and 4 are read."
            " Open it in Jupyter and save it again."
        )
    return version


def _raw_cells(data: Mapping[str, Any], version: int) -> Iterator[dict[str, Any]]:
    """The code cells as they stand in the file."""
    sheets = data.get("worksheets", []) if version == 3 else [data]
    if not isinstance(sheets, list):
        raise _DamagedError("The notebook is damaged: its worksheets are no list.")
    for sheet in sheets:
        cells = sheet.get("cells", []) if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise _DamagedError("The notebook is damaged: its cells are no list.")
        for cell in cells:
            if not isinstance(cell, dict):
                raise _DamagedError("The notebook is damaged: one of its cells is no mapping.")
            if cell.get("cell_type") == "code":
                yield cell


def _converted(data: Mapping[str, Any], version_of: Any) -> list[tuple[str, str]]:
    """Text and language of every code cell, brought to version 4."""
    nbformat, version = version_of, _version(data)
    kept, languages = [], []
    for number, cell in enumerate(_raw_cells(data, version), 1):
        if number > MAX_CELLS:
            raise _DamagedError(f"The notebook has more than {MAX_CELLS:,} code cells, which is the most.")
        text = _cell_text(cell.get("source", cell.get("input", "")), number)
        languages.append(_cell_language(cell))
        if version == 3:
            kept.append(
                {"cell_type": "code", "language": "python", "collapsed": False, "metadata": {}}
                | {"input": text, "outputs": []}
            )
        else:
            kept.append(
                {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
            )
    clean: dict[str, Any] = {"nbformat": version, "nbformat_minor": 0, "metadata": {}}
    clean |= {"worksheets": [{"cells": kept, "metadata": {}}]} if version == 3 else {"cells": kept}
    if version == 3:
        clean["metadata"] = {"name": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = nbformat.convert(nbformat.versions[version].to_notebook_json(clean, minor=0), 4)
    return list(zip([str(cell["source"]) for cell in whole["cells"]], languages, strict=True))


def _cell_text(source: object, number: int) -> str:
    if source is None:
        return ""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        # Some tools leave out the ends of the lines.
        ended = any(line.endswith(("\n", "\r")) for line in source[:-1])
        return ("" if ended else "\n").join(source)
    if not isinstance(source, str):
        raise _DamagedError(f"The notebook is damaged: code cell {number} has no text.")
    return source


def _language(data: Mapping[str, Any]) -> str:
    """The notebook's language when that is told and is not Python."""
    metadata = _mapping(data.get("metadata"))
    kernel, info = _mapping(metadata.get("kernelspec")), _mapping(metadata.get("language_info"))
    for told in (info.get("name"), kernel.get("language")):
        if isinstance(told, str) and told.strip():
            return "" if _is_python(told) else _shown(_KERNELS.get(told.lower(), told))
    name = kernel.get("name")
    if isinstance(name, str):
        # The name of a kernel may be anything; these are known.
        found = re.match(r"[a-z]+", name.lower())
        return _KERNELS.get(found[0] if found else "", "")
    return ""


def _cell_language(cell: Mapping[str, Any]) -> str:
    """The language of a cell when it is told and is not Python."""
    metadata = _mapping(cell.get("metadata"))
    told = (cell.get("language"), _mapping(metadata.get("vscode")).get("languageId"), metadata.get("kernel"))
    for language in told:
        if isinstance(language, str) and language.strip() and not _is_python(language):
            return _shown(language)
    return ""


def _is_python(language: str) -> bool:
    return language.strip().lower().startswith(("python", "ipython", "pyodide", "xpython"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(text: str) -> str:
    """A stranger's words within a sentence: one line, short, fit for UTF-8."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return line if len(line) <= 60 else f"{line[:59]}…"


def _out_of_order(data: Mapping[str, Any]) -> bool:
    """The cells were run last in another order than from top to bottom."""
    cells = _raw_cells(data, _version(data))
    counts = [cell.get("execution_count", cell.get("prompt_number")) for cell in cells]
    told = [count for count in counts if type(count) is int]
    return told != sorted(told)


def _joined(cells: Sequence[tuple[str, str]], out_of_order: bool) -> Notebook:
    texts: list[str] = []
    parts: list[Part] = []
    notes = _Notes()
    line, size = 1, 0
    for number, (raw, language) in enumerate(cells, 1):
        text = tidy(raw)
        if not text.strip():
            continue
        size += len(text.encode("utf-8", "replace")) + 1
        if size > MAX_BYTES:
            return Notebook(None, problem=f"The notebook's code is longer than {MAX_BYTES:,} bytes.")
        clean = re.sub("[\0\ud800-\udfff]", "\ufffd", text)
        if clean != text:
            notes.odd.append(number)
        cell = Plain(comments(clean), f"a cell in {language}") if language else plain(clean)
        notes.tell(number, cell)
        text = cell.text if cell.text.endswith("\n") else f"{cell.text}\n"
        count = text.count("\n")
        texts.append(text)
        parts.append(Part("cell", f"cell {number}", line, count))
        line += count
    return Notebook("".join(texts), tuple(parts), notes.all(out_of_order))


class _Notes:
    """What is to be said about cells, gathered so that a long notebook gives few notes."""

    def __init__(self) -> None:
        self.odd: list[int] = []
        self._foreign: list[str] = []
        self._skipped: list[str] = []
        self._single: list[str] = []

    def tell(self, number: int, cell: Plain) -> None:
        if cell.foreign:
            self._foreign_cell(number, cell.foreign)
        for skipped in cell.skipped:
            where = f"cell {number}, line {skipped.line}"
            text = _shown(skipped.text)
            if re.match(r"%(?:run|load|loadpy)\b", text):
                self._single.append(
                    f"{where}: the file that {text} names is not run; put its code into a cell, or hand in a"
                    " .py file beside the notebook and import it."
                )
            elif re.match(r"%pylab\b", text):
                self._single.append(f"{where}: {text} is not run; import numpy yourself.")
            elif not re.match(r"[!%?,;/]|%%", text) and not text.endswith("?") and "=" in text:
                self._single.append(f"{where}: {text} is not run, so the name stands for nothing useful.")
            else:
                self._skipped.append(f"{text} ({where})")

    def _foreign_cell(self, number: int, magic: str) -> None:
        found = re.match(r"%%(\w+)[ \t]*(.*)", magic)
        if found and found[1] in _NO_PROGRAM:
            name = _shown(found[2].split()[-1]) if found[2].split() else "a file"
            self._single.append(
                f"cell {number}: %%{found[1]} does not write {name} here, and the cell is not run; hand in"
                " the file beside the notebook, or make it a plain cell."
            )
        else:
            self._foreign.append(f"cell {number} ({_shown(magic)})")

    def all(self, out_of_order: bool) -> tuple[str, ...]:
        notes = [COUNTED]
        if out_of_order:
            notes.append(
                "The cells were run in another order than they stand in; here each runs once, from the top."
            )
        if self._foreign:
            notes.append(f"Not run, because it is no plain Python: {_listed(self._foreign)}.")
        notes += [f"{note[0].upper()}{note[1:]}" for note in self._single[:_NAMED]]
        if len(self._single) > _NAMED:
            notes.append(f"So it is in {len(self._single) - _NAMED} more places.")
        if self._skipped:
            notes.append(f"Lines that only Jupyter understands are not run: {_listed(self._skipped)}.")
        if self.odd:
            cells = _listed([f"cell {number}" for number in self.odd])
            notes.append(f"Characters that no text may hold were replaced in {cells}.")
        return tuple(notes)


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:_NAMED])
    return f"{shown} and {len(items) - _NAMED} more" if len(items) > _NAMED else shown
