"""Files and folders by the name of the entry point alone; see `grader.intake.collect`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.intake import collect as _collect
from grader.intake.asked import Asked
from grader.intake.collect import Intake, require_some
from grader.intake.ids import submission_id, with_suffix
from grader.intake.tree import LINK

__all__ = ["LINK", "Intake", "collect", "require_some", "submission_id", "with_suffix"]


def collect(paths: Sequence[Path], entry: str) -> Intake:
    """All submissions in the given paths."""
    return _collect.collect(paths, Asked(entry))
