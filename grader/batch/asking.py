"""What an intake has to know of an exercise."""

from __future__ import annotations

from grader.exercise.pack import Pack
from grader.intake.asked import Asked


def asked_of(pack: Pack) -> Asked:
    """What a pack's exercise asks for."""
    exercise = pack.exercise
    return Asked(exercise.entry, exercise.packages, exercise.parameters, exercise.entries[1:])
