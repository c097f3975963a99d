"""Where in what a student handed in a line of its text lies.

A submission is one text, also where it was handed in as the cells of a notebook or as a file with helper
modules beside it: these follow each other in the text, and the parts say which lines belong to which. So a
line number means the same to the policy check, to a traceback and to the judge.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal


@dataclass(frozen=True)
class Part:
    """Lines of a submission's text that belong together.

    The parts of a text have every line once, in order: first the main file or its cells, then the modules.

    Attributes:
        kind: ``main`` for a whole file, ``cell`` for a cell of a notebook, ``module`` for a helper module.
        name: What people call it: ``solution.py``, ``cell 3``, ``tools/heads.py``.
        first: Its first line in the text, from 1.
        lines: How many lines it has; at least 1.
        module: The name under which a module is imported (``tools.heads``; a package's ``__init__.py`` is
            ``tools``); empty for the other kinds.
        package: The module is a package's ``__init__.py``.
    """

    kind: Literal["main", "cell", "module"]
    name: str
    first: int
    lines: int
    module: str = ""
    package: bool = False

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Part:
        """A part from plain data; unknown keys are left out. Raises TypeError."""
        known = {f.name for f in fields(Part)}
        return Part(**{key: value for key, value in data.items() if key in known})


class Positions:
    """Names for the lines of a text.

    Args:
        parts: The text's parts; none when it is one file as it was handed in.
    """

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self._parts = sorted(parts, key=lambda part: part.first)
        self._firsts = [part.first for part in self._parts]

    def within(self, line: int) -> tuple[str, int]:
        """The part's name, empty for the main file, and the line within that part."""
        at = bisect_right(self._firsts, line) - 1
        if at < 0:
            return "", line
        part = self._parts[at]
        return "" if part.kind == "main" else part.name, line - part.first + 1

    def name(self, line: int) -> str:
        """``line 12``, ``cell 3, line 2`` or ``tools.py, line 4``."""
        part, number = self.within(line)
        return f"{part}, line {number}" if part else f"line {number}"

    def names(self, lines: Iterable[int]) -> str:
        """Several lines, each once: ``lines 3, 4``, ``line 3; cell 4, lines 1, 2``."""
        places: dict[str, list[str]] = {}
        for line in sorted(set(lines)):
            part, number = self.within(line)
            places.setdefault(part, []).append(str(number))
        said = []
        for part, numbers in places.items():
            text = f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
            said.append(f"{part}, {text}" if part else text)
        return "; ".join(said)
