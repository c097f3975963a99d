"""What a submission may import: the standard library and the exercise's packages."""

import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType
from typing import Any

MOST_NAMED = 8


class _Absent:
    """Of a module that a library may use if it is there, and that is not there for submissions."""

    def create_module(self, spec: ModuleSpec) -> None:
        raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)

    def exec_module(self, module: object) -> None:
        """Never reached."""


class ImportGuard:
    """A meta path finder that refuses other packages to a student's module with a clear message.

    The packages' own imports of each other are let through. This is help, not confinement.

    Args:
        packages: What the exercise allows.
        elsewhere: Those of the packages that are loaded in another fork server.
        files: Modules that are not loaded yet can be read from files.

    Attributes:
        filename: The student's file.
        beside: The helper modules that were handed in with it and are loaded from memory.
        needs: A package of another fork server that was asked for, or an empty text.
    """

    def __init__(self, packages: list[str], elsewhere: Iterable[str], *, files: bool) -> None:
        self.packages = packages
        self.allowed = frozenset(packages) | sys.stdlib_module_names | {"__main__"}
        self.elsewhere = frozenset(elsewhere)
        self.files = files
        self.filename = ""
        self.beside: tuple[str, ...] = ()
        self.needs = ""

    def installed(self, name: str) -> bool:
        """Whether there is a top-level module of that name."""
        return name in sys.modules or name in self.allowed or PathFinder.find_spec(name) is not None

    def find_spec(self, name: str, path: Any = None, target: object = None) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for what may not be imported; leave the rest to the usual finders."""
        root = name.partition(".")[0]
        if root in self.elsewhere:
            self.needs = root
            raise ModuleNotFoundError(
                f"{root} is loaded only for a file that says so; write `import {root}` at its top", name=name
            )
        if root in self.allowed:
            if self.files or not self._asked_by_student():
                return None
            raise ModuleNotFoundError(
                f"{name} can't be loaded on this machine: its kernel lacks Landlock, so submissions may open "
                "no files, and only modules that were loaded before can be imported",
                name=name,
            )
        if not self._asked_by_student():
            return self._unreadable(name, path)
        allowed = ", ".join(self.packages)
        raise ModuleNotFoundError(
            f"{root} may not be used; this exercise allows the standard library, {allowed}, "
            f"and {self._read()}",
            name=name,
        )

    def _read(self) -> str:
        if not self.beside:
            return "only this one file is read"
        more = len(self.beside) - MOST_NAMED
        return (
            f"of what was handed in only this file and {', '.join(self.beside[:MOST_NAMED])}"
            f"{f' and {more} more' if more > 0 else ''} are read"
        )

    def _unreadable(self, name: str, path: Any) -> ModuleSpec | None:
        """For a module that is installed but may not be read: one that can't be imported."""
        spec = PathFinder.find_spec(name, path)
        if spec is None or not spec.has_location or not spec.origin:
            return None
        try:
            os.close(os.open(spec.origin, os.O_RDONLY))
        except OSError:
            return ModuleSpec(name, _Absent())  # type: ignore[arg-type]
        return None

    def _asked_by_student(self) -> bool:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename == self.filename:
                return True
            if not filename.startswith("<frozen importlib") and "importlib" not in filename:
                return False
            frame = frame.f_back
        return False
