"""Who hands in work."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Person:
    """A student, as a learning platform or a roster tells of one.

    Attributes:
        name: For people; two students may have the same.
        id: The student's number or login; text, so that leading zeros stay. Empty when it is not told.
        email: Empty when it is not told.
        platform_id: What the platform itself calls the student: Canvas' user id, Moodle's participant id,
            Brightspace's user id, Gradescope's submission id. Empty when it is not told.
    """

    name: str
    id: str = ""
    email: str = ""
    platform_id: str = ""

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Person:
        """A person from plain data; unknown keys are left out. Raises TypeError."""
        known = {f.name for f in fields(Person)}
        return Person(**{key: str(value) for key, value in data.items() if key in known})


@dataclass(frozen=True)
class ListFile:
    """A class list as it was named: a run that is not given one reads that of an earlier run again.

    Attributes:
        shown: The file's path for people.
        data: What it holds.
    """

    shown: str
    data: bytes


def words_of(name: str) -> list[str]:
    """The words of a name, without accents and capitals."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", bare)


class LikeAny:
    """Whether a name is like any of some names, as `alike` has it, without a look at each of them.

    Args:
        names: The names.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._words: set[str] = set()
        self._long: set[str] = set()
        self._ends: set[str] = set()
        for name in names:
            words = words_of(name)
            self._words.update(word for word in words if _tells(word, 1))
            self._long.update(word for word in words if _tells(word, 2))
            if len(words) == 1:
                self._ends.update(ends_of(words[0]))

    def __call__(self, name: str) -> bool:
        words = words_of(name)
        if any(word in self._words for word in words if _tells(word, 1)):
            return True
        if any(word in self._ends for word in words if _tells(word, 2)):
            return True
        return len(words) == 1 and any(end in self._long for end in ends_of(words[0]))


def _tells(word: str, least: int) -> bool:
    """Whether a word has more letters than ``least``, or is of a script in which one letter is much."""
    return len(word) > least or not word.isascii()


def ends_of(word: str) -> Iterator[str]:
    """Everything that a word begins or ends with."""
    for at in range(1, len(word) + 1):
        yield word[:at]
        yield word[-at:]


def alike(name: str, other: str) -> bool:
    """Whether two names have a word in common, be it that one of them is written without blanks.

    Example:
        >>> alike("hw1_ash", "Ann Ash"), alike("ashann", "Ann Ash"), alike("A. Oz", "A. Ash")
        (True, True, False)
    """
    words, others = words_of(name), words_of(other)
    if any(_tells(word, 1) for word in set(words) & set(others)):
        return True
    pairs = [(words[0], others)] if len(words) == 1 else []
    pairs += [(others[0], words)] if len(others) == 1 else []
    return any(
        glued.startswith(word) or glued.endswith(word)
        for glued, some in pairs
        for word in some
        if _tells(word, 2)
    )
