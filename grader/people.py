"""Who hands in work."""

from __future__ import annotations

from collections.abc import Mapping
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
