"""The lines of a submission that a traceback names, as a case's details and a failed loading hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Frame(NamedTuple):
    """A frame of a traceback.

    Attributes:
        line: Its line in the submission's text, see `grader.positions`; 0 where it is not known.
        function: Empty where the line can't be read as Python, ``?`` where the function is not known.
    """

    line: int
    function: str


def read_frames(details: Mapping[str, object]) -> list[Frame]:
    """The frames of what a record calls ``traceback``, outermost first; odd ones as line 0 of ``?``."""
    traceback = details.get("traceback")
    frames = []
    for found in traceback if isinstance(traceback, list | tuple) else ():
        parts = list(found) if isinstance(found, list | tuple) else []
        line = parts[0] if parts and type(parts[0]) is int else 0
        function = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else "?"
        # A record that was made elsewhere may hold a number that Python refuses to write.
        frames.append(Frame(line if 0 < line < 2**63 else 0, function))
    return frames
