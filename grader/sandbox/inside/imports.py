"""What a submission may import: the standard library and the exercise's packages."""

import sys
from collections.abc import Iterable
from types import FrameType


class ImportGuard:
    """A meta path finder that refuses other packages to a student's module with a clear message.

    The packages' own imports of each other are let through. This is help, not confinement.

    Args:
        packages: What the exercise allows.
        elsewhere: Those of the packages that are loaded in another fork server.
        files: Modules that are not loaded yet can be read from files.

    Attributes:
        filename: The student's file.
        needs: A package of another fork server that was asked for, or an empty text.
    """

    def __init__(self, packages: list[str], elsewhere: Iterable[str], *, files: bool) -> None:
        self.packages = packages
        self.allowed = frozenset(packages) | sys.stdlib_module_names | {"__main__"}
        self.elsewhere = frozenset(elsewhere)
        self.files = files
        self.filename = ""
        self.needs = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for what may not be imported; leave the rest to the usual finders."""
        root = name.partition(".")[0]
        if root in self.elsewhere:
            self.needs = root
            raise ModuleNotFoundError(
                f"{root} is loaded only for a file that says so; write `import {root}` at its top", name=name
            )
        if root in self.allowed:
            if self.files or not self._asked_by_student():
                return
            raise ModuleNotFoundError(
                f"{name} can't be loaded on this machine: its kernel lacks Landlock, so submissions may open "
                "no files, and only modules that were loaded before can be imported",
                name=name,
            )
        if not self._asked_by_student():
            return
        allowed = ", ".join(self.packages)
        raise ModuleNotFoundError(
            f"{root} may not be used; this exercise allows the standard library, {allowed}, "
            "and only this one file is read",
            name=name,
        )

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
