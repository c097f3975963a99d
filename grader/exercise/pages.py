"""The page that explains a mistake, in four sections."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

from grader.errors import GraderError

SECTIONS = ("What it does", "Why it is wrong", "How it looks", "What to write instead")


@dataclass(frozen=True)
class Page:
    """What a student reads about a mistake; plain text, the last two mostly lines of code."""

    what: str
    why: str
    looks: str
    instead: str


def read_page(text: str, where: str) -> tuple[str, Page]:
    """Title and page from a docstring.

    Args:
        text: A first line, then the four sections in their order, each under its name and a colon.
        where: The place, for the message.

    Raises:
        GraderError: A section is missing, empty or in another place.
    """
    title, _, rest = text.partition("\n")
    parts = re.split(rf"^({'|'.join(SECTIONS)}):\n", rest, flags=re.MULTILINE)
    found = tuple(parts[1::2])
    if found != SECTIONS or not title.strip():
        expected = ", ".join(f"'{name}:'" for name in SECTIONS)
        raise GraderError(f"{where}: expected a title and the sections {expected}; found {list(found)}")
    bodies = [inspect.cleandoc("\n" + body) for body in parts[2::2]]
    for name, body in zip(SECTIONS, bodies, strict=True):
        if not body.strip():
            raise GraderError(f"{where}: the section '{name}:' is empty")
    return title.strip().removesuffix("."), Page(*bodies)
