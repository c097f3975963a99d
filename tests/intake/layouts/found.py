"""What all tests of layouts ask of a reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from support.lms import Expected, MadeClass, tree

from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.layouts.recognition import read
from grader.intake.tree import HandedIn

LIMIT = 1 << 20


def reading_of(layout: str, files: Mapping[str, str], *, name: str = "submissions") -> Reading:
    """What a layout finds in files that are in memory only."""
    return read(tree(name, dict(files)), layout)


def only(reading: Reading) -> Attempt:
    (attempt,) = reading.attempts
    return attempt


def names(attempt: Attempt) -> list[str]:
    return [file.name for file in attempt.files]


def text(file: HandedIn) -> str:
    return file.entry.read(LIMIT).decode()


def keys(reading: Reading) -> list[str]:
    return [attempt.key for attempt in reading.attempts]


def newest(reading: Reading) -> dict[str, Attempt]:
    """The newest attempt of each key."""
    found: dict[str, Attempt] = {}
    for attempt in reading.attempts:
        if attempt.key not in found or attempt.order > found[attempt.key].order:
            found[attempt.key] = attempt
    return found


def told(reading: Reading) -> dict[str, Expected]:
    """What a reading tells of everyone, in the words of a made-up class; the file's name is left empty."""
    result = {}
    for key, attempt in newest(reading).items():
        result[key] = Expected(
            name=attempt.name,
            people=attempt.people,
            file="",
            text="",
            files=tuple(names(attempt)),
            late=attempt.late,
            submitted_at=attempt.submitted_at,
            attempts=keys(reading).count(key),
            feedback=attempt.feedback,
        )
    return result


def assert_all_is_found(made: MadeClass, reading: Reading) -> None:
    """Everybody is found with everything that the platform tells, and no file is two attempts'."""
    expected = {key: replace(one, file="", text="") for key, one in made.expected.items()}
    assert told(reading) == expected
    for key, attempt in newest(reading).items():
        (solution,) = [file for file in attempt.files if file.name == made.expected[key].file]
        assert text(solution) == made.expected[key].text
    shown = {file.entry.path for attempt in reading.attempts for file in attempt.files}
    assert len({attempt.identity for attempt in newest(reading).values()}) == len(expected)
    assert len(shown) == sum(len(attempt.files) for attempt in reading.attempts)
