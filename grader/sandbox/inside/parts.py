"""A submission that is more than one file: cells run one by one, helper modules imported from memory.

Everything keeps the file name and the line numbers of the one text that it is part of, so whatever looks for
the student's frames finds them here too.
"""

import linecache
import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from grader.policy.pieces import CELL, MODULE, Piece, compile_all, cut
from grader.sandbox.inside import failures
from grader.sandbox.inside.imports import ImportGuard

MAX_FAILURES = 5
# Beside the one that is told in full there is room for these in short.
MAX_MESSAGE = 150
MAX_FRAMES = 3
MAX_BASES = 3

_exec = exec
Ended = dict[str, Any]


class Parts:
    """The pieces of one text, compiled, with its helper modules ready to be imported.

    Args:
        source: The text.
        parts: Its parts as plain data.
        filename: The name that tracebacks show.
        guard: Refuses imports of everything else.

    Attributes:
        reason: Of the cells that ended early the one by which the entry point may be missing, as
            `failures.describe` has it: the first that would define it, or the first. None when none did.
        out_of_memory: That one ran out of memory.

    Raises:
        ValueError: The parts are not those of the text.
        RecursionError, MemoryError, OverflowError: A piece is too large to be compiled.
    """

    def __init__(self, source: str, parts: list[dict[str, Any]], filename: str, guard: ImportGuard) -> None:
        pieces = cut(source, parts)
        # All before the first one runs, see there.
        compile_all(pieces, filename)
        self._main = [piece for piece in pieces if piece.kind != MODULE]
        modules = {
            piece.module: piece
            for piece in pieces
            if piece.kind == MODULE and not _taken(piece.module.partition(".")[0], guard)
        }
        if modules:
            sys.meta_path.insert(0, _Finder(modules))
            guard.beside = tuple(piece.name for piece in modules.values())
            for piece in modules.values():
                text = piece.text[piece.first - 1 :]
                linecache.cache.setdefault(
                    piece.name, (len(text), None, text.splitlines(keepends=True), piece.name)
                )
        self._filename = filename
        self._defined = False
        self.reason: Ended | None = None
        self.out_of_memory = False

    def run(self, namespace: dict[str, Any], entry: str) -> list[Ended]:
        """Run the file, or the cells in their order; what a file raises goes on to the caller.

        Args:
            namespace: The module's.
            entry: The name of the entry point.

        Returns:
            The first few cells that ended early, in short. As in Jupyter, such a cell ends by itself, also by
            `exit`.
        """
        ended: list[Ended] = []
        for piece in self._main:
            if piece.kind != CELL:
                _execute(piece, namespace)
                continue
            try:
                _execute(piece, namespace)
            except BaseException as error:
                defines = _defines(piece.text, entry)
                if self.reason is None or (defines and not self._defined):
                    self.reason = failures.describe(error, self._filename)
                    self.out_of_memory = failures.memory_error(error)
                    self._defined = defines
                if len(ended) < MAX_FAILURES:
                    told = failures.describe(error, self._filename)
                    told["message"] = told["message"][:MAX_MESSAGE]
                    del told["frames"][:-MAX_FRAMES], told["bases"][MAX_BASES:]
                    ended.append(told | {"first": piece.first})
        return ended


def _taken(root: str, guard: ImportGuard) -> bool:
    """Whether a name is that of a module which is there without the student's files."""
    return root in guard.allowed or root in sys.modules


def _execute(piece: Piece, namespace: dict[str, Any]) -> None:
    if piece.code is None:
        assert piece.error is not None
        # Without the frames of an earlier time.
        raise piece.error.with_traceback(None)
    _exec(piece.code, namespace)


def _defines(text: str, entry: str) -> bool:
    name = re.escape(entry)
    pattern = rf"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*[:=]"
    return re.search(pattern, text, re.MULTILINE) is not None


class _Finder:
    """A meta path finder for helper modules and the folders that they lie in."""

    def __init__(self, modules: dict[str, Piece]) -> None:
        self._modules = modules
        self._packages = {name for name, piece in modules.items() if piece.package}
        for name in modules:
            self._packages.update(_parents(name))

    def find_spec(self, name: str, path: Any = None, target: object = None) -> ModuleSpec | None:
        """The module's spec; None for every other name."""
        piece = self._modules.get(name)
        package = name in self._packages
        if piece is None and not package:
            return None
        origin = piece.name if piece is not None else None
        spec = ModuleSpec(name, _Loader(piece), origin=origin, is_package=package)  # type: ignore[arg-type]
        if origin is not None:
            spec.has_location = True
            spec.cached = None
        return spec


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


class _Loader:
    """Runs one helper module; a folder without a file of its own runs nothing."""

    def __init__(self, piece: Piece | None) -> None:
        self._piece = piece

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """None: an ordinary module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text in it."""
        if self._piece is not None:
            _execute(self._piece, module.__dict__)

    def get_source(self, name: str) -> str:
        """The module's text."""
        return self._piece.text[self._piece.first - 1 :] if self._piece is not None else ""
