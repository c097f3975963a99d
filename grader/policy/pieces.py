"""The pieces of a submission's text that run one by one: its file or its cells, and its helper modules.

The policy check and the process that runs a submission both cut and compile a text here, so that what is
checked is what is run. A piece that can't be compiled runs nothing.
"""

from __future__ import annotations
import __future__

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType

MAIN, CELL, MODULE = "main", "cell", "module"
# What else a text could ask of the future has come, or would let later cells be read in another grammar.
_LASTING = __future__.annotations.compiler_flag

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from typing import Any

    Part = Mapping[str, Any]


class Piece:
    """A part of a text, with empty lines before it, so that its lines have the numbers of the whole text.

    Attributes:
        kind: ``main``, ``cell`` or ``module``.
        name: What people call it.
        first, lines: Its first line, and how many it has.
        module: The name by which a module is imported.
        package: It is a package's ``__init__.py``.
        text: What is compiled.
        code: That compiled; None when it is no valid Python.
        error: Why it is not.
    """

    __slots__ = ("code", "error", "first", "kind", "lines", "module", "name", "package", "text")

    def __init__(self, part: Part, lines: Sequence[str]) -> None:
        self.kind = part["kind"]
        self.name = part["name"]
        self.first = part["first"]
        self.lines = part["lines"]
        self.module = part["module"]
        self.package = part["package"]
        own = lines[self.first - 1 : self.first - 1 + self.lines]
        self.text = "\n" * (self.first - 1) + "\n".join(own) + "\n"
        self.code: CodeType | None = None
        self.error: Exception | None = None

    def compile(self, filename: str, flags: int = 0) -> None:
        """Set ``code`` or ``error``; RecursionError, MemoryError and OverflowError go on to the caller."""
        try:
            self.code = compile(self.text, filename, "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            self.error = error.with_traceback(None)


def split_lines(source: str) -> list[str]:
    """The lines as Python counts them; str.splitlines would also end one at a form feed."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def cut(source: str, parts: Iterable[Part]) -> list[Piece]:
    """The pieces of a text, in its order.

    Args:
        source: The whole text.
        parts: As `grader.positions.Part` has them, as plain data; together they have every line once.

    Raises:
        ValueError: They do not.
    """
    lines = split_lines(source)
    ordered = sorted(parts, key=lambda part: int(part["first"]))
    line = 1
    for part in ordered:
        if part["first"] != line or part["lines"] < 1 or part["kind"] not in (MAIN, CELL, MODULE):
            raise ValueError(
                f"the parts of a text must have every line once, in order: expected one that begins at line "
                f"{line}, found {part['name']} of kind {part['kind']} with {part['lines']} lines from line "
                f"{part['first']}"
            )
        line += part["lines"]
    # A text that ends with its last line's end has nothing after it.
    if line - 1 not in (len(lines), len(lines) - (lines[-1] == "")):
        raise ValueError(f"the parts of a text have {line - 1} lines together, the text has {len(lines)}")
    return [Piece(part, lines) for part in ordered]


def compile_all(pieces: Iterable[Piece], filename: str) -> None:
    """Compile every piece, before any of them runs: nothing that runs can change what is valid Python.

    ``from __future__ import annotations`` in a cell holds for the later cells too, as in Jupyter.
    """
    flags = 0
    for piece in pieces:
        piece.compile(filename, flags if piece.kind == CELL else 0)
        if piece.kind == CELL and piece.code is not None:
            flags |= piece.code.co_flags & _LASTING


def run_names(module: str) -> tuple[str, ...]:
    """The names under which a file may be in sys.modules: another one where a real module has its own."""
    return (module, f"submission_{module}") if module else ()


def error_place(error: Exception) -> tuple[int, int, str]:
    """Line, column and message of what a piece's compilation raised; the line is 0 when it is not told."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0, error.offset or 0, str(error.msg)
    return 0, 0, ""


def name_line(parts: Sequence[tuple[str, int]], line: int) -> str:
    """``Line 12``, ``Cell 3, line 2`` or ``heads.py, line 4``, as a sentence begins with it.

    Args:
        parts: Name, empty for the file itself, and first line of each part, in order.
        line: A line of the whole text.
    """
    at = bisect_right([first for _, first in parts], line) - 1
    if at < 0 or not parts[at][0]:
        return f"Line {line}"
    name, first = parts[at]
    # A file keeps its name as it is.
    name = name[:1].upper() + name[1:] if name.startswith("cell ") else name
    return f"{name}, line {line - first + 1}"
