"""Submissions that are alike: a hint for the teacher, who alone can tell what it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grader.result import SubmissionInfo


@dataclass(frozen=True)
class Twins:
    """Submissions that are alike.

    Attributes:
        exact: The files are the same byte for byte; otherwise their texts are, once names and comments are
            taken out.
        submissions: At least two, by id.
    """

    exact: bool
    submissions: tuple[SubmissionInfo, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "exact": self.exact,
            "submissions": [
                {"id": s.id, "name": s.name, "members": list(s.members)} for s in self.submissions
            ],
        }


def twins(submissions: Iterable[SubmissionInfo]) -> list[Twins]:
    """Groups of submissions that are alike: those with the same files first, then by the first one's id.

    Of submissions whose texts are alike there is a group only when their files are not all the same, as they
    are a group already. Samples of a language model are left out: that they repeat themselves says nothing.
    """
    files: dict[str, list[SubmissionInfo]] = {}
    texts: dict[str, list[SubmissionInfo]] = {}
    for one in submissions:
        if one.task:
            continue
        if one.digest:
            files.setdefault(one.digest, []).append(one)
        if one.alike:
            texts.setdefault(one.alike, []).append(one)
    groups = [Twins(True, _sorted(group)) for group in files.values() if len(group) > 1]
    groups += [Twins(False, _sorted(group)) for group in texts.values() if len({s.digest for s in group}) > 1]
    return sorted(groups, key=lambda group: (not group.exact, group.submissions[0].id))


def _sorted(group: list[SubmissionInfo]) -> tuple[SubmissionInfo, ...]:
    return tuple(sorted(group, key=lambda one: one.id))
