"""A submission's text read as one program: its file or cells, and its helper modules.

What can't be compiled runs nothing, so it is left out; see `grader.policy.pieces`.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib.machinery import PathFinder

from grader.policy.pieces import CELL, MAIN, MODULE, Piece, compile_all, cut, error_place
from grader.policy.program import Text

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from grader.policy.pieces import Part
    from grader.policy.rules import Rules


class Broken(Exception):
    """The file itself is not valid Python."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(line, column, message)
        self.line = line
        self.column = column
        self.message = message


class Bundle:
    """What a text consists of.

    Attributes:
        main: The file, or its cells.
        modules: The helper modules.
        pieces: All parts; none when the text is one file.
    """

    def __init__(self, main: Text, modules: Sequence[Text], pieces: Sequence[Piece]) -> None:
        self.main = main
        self.modules = modules
        self.pieces = pieces

    @property
    def broken(self) -> list[Piece]:
        """The parts that are not valid Python."""
        return [piece for piece in self.pieces if piece.error is not None]


def read(source: str, parts: Iterable[Part], name: str) -> Bundle:
    """Read a text.

    Args:
        source: The text.
        parts: Its parts as plain data, or none.
        name: The name of the module as which it runs; empty when it is not known.

    Raises:
        Broken: The file is not valid Python.
        RecursionError, MemoryError, OverflowError: It is nested too deeply, or too large.
        ValueError: The parts are not those of the text.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listed = list(parts)
        if not listed:
            return Bundle(Text([_parsed(source)], name), (), ())
        pieces = cut(source, listed)
        compile_all(pieces, "<submission>")
        bodies: list[list[ast.stmt]] = []
        modules: list[Text] = []
        cells = False
        for piece in pieces:
            if piece.kind == MAIN and piece.error is not None:
                raise _broken(piece.text, piece.error)
            cells = cells or piece.kind == CELL
            body = _parsed(piece.text) if piece.error is None else []
            if piece.kind == MODULE:
                if _is_real(piece.module.split(".")[0]):
                    continue  # the real module is imported, whatever else has its name
                modules.append(Text([body], piece.module, package=piece.package, unsure=True))
            else:
                bodies.append(body)
    return Bundle(Text(bodies, name, unsure=cells), modules, pieces)


def _is_real(root: str) -> bool:
    return root in sys.stdlib_module_names or root == "numpy"


def may_be_real(root: str, rules: Rules) -> bool:
    """Whether a module of that name may be found without the student's files."""
    return (
        _is_real(root)
        or root in rules.roots
        or root in rules.array_libraries
        or root in sys.modules
        or PathFinder.find_spec(root) is not None
    )


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise _broken(text, error) from None


def _broken(text: str, error: Exception) -> Broken:
    if isinstance(error, SyntaxError):
        line, column, message = error_place(error)
        return Broken(line or 1, column or 1, message)
    return Broken(1, 1, value_message(text, error))


def value_message(text: str, error: Exception) -> str:
    """Why a text is no source at all."""
    if "\0" in text:
        return "The source holds NUL bytes, which Python does not read."
    return f"The source cannot be read: {type(error).__name__}."
