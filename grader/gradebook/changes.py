"""What another pack has changed: each submission's newest result beside an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from grader.errors import GraderError
from grader.gradebook.journal import Gradebook
from grader.result import Result, SubmissionInfo

MAX_NAMED = 5
# Whoever writes a pack's digest by hand writes its beginning.
MIN_PREFIX = 4


class CaseChange(NamedTuple):
    """A case and its verdicts; empty where the pack had no such case."""

    id: str
    before: str
    after: str


@dataclass(frozen=True)
class Side:
    """A result in short."""

    pack: str
    status: str
    score: float | None
    max_score: float


@dataclass(frozen=True)
class Change:
    """What is different in a submission's result.

    Attributes:
        submission: As it is now.
        cases: The cases whose verdicts changed, in the order of the newer pack, then those that are gone.
        anew: Another file was handed in meanwhile, so the packs alone do not explain it.
    """

    submission: SubmissionInfo
    before: Side
    after: Side
    cases: tuple[CaseChange, ...]
    anew: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.submission.id,
            "name": self.submission.name,
            "before": dict(vars(self.before)),
            "after": dict(vars(self.after)),
            "cases": [case._asdict() for case in self.cases],
            "anew": self.anew,
        }


@dataclass(frozen=True)
class Changes:
    """What is different in a class.

    Attributes:
        compared: How many submissions have results by both packs.
        changed: Those whose score, status or any verdict is different, by id.
    """

    compared: int
    changed: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"compared": self.compared, "changed": [change.to_dict() for change in self.changed]}


def changes(gradebook: Gradebook, since: str = "") -> Changes:
    """What changed between results by two packs.

    Args:
        gradebook: The results of all packs.
        since: The earlier pack's id, or its beginning, with or without ``sha256:``; without it each
            submission's newest result is held against its last one by another pack.

    Raises:
        GraderError: No pack, or more than one, is called so; a record is damaged.
    """
    compared = 0
    changed = []
    for before, after in gradebook.earlier(_pack(gradebook, since) if since else ""):
        compared += 1
        change = Change(
            submission=after.submission,
            before=_side(before),
            after=_side(after),
            cases=tuple(_cases(before, after)),
            anew=before.submission.digest != after.submission.digest,
        )
        if change.cases or _marks(before) != _marks(after):
            changed.append(change)
    return Changes(compared, tuple(changed))


def _marks(result: Result) -> tuple[str, float | None, float]:
    return result.status, result.score, result.max_score


def _side(result: Result) -> Side:
    return Side(str(result.exercise.get("pack", "")), result.status, result.score, result.max_score)


def _cases(before: Result, after: Result) -> Iterator[CaseChange]:
    old = {case.id: case.verdict for case in before.cases}
    new = {case.id: case.verdict for case in after.cases}
    for name in [*new, *(name for name in old if name not in new)]:
        if old.get(name) != new.get(name):
            yield CaseChange(name, old.get(name, ""), new.get(name, ""))


def _pack(gradebook: Gradebook, since: str) -> str:
    known = gradebook.packs()
    wanted = since.removeprefix("sha256:")
    found = [p for p in known if p.removeprefix("sha256:").startswith(wanted)]
    exact = [p for p in found if p.removeprefix("sha256:") == wanted]
    if exact or (len(found) == 1 and len(wanted) >= MIN_PREFIX):
        return (exact or found)[0]
    shown = ", ".join([p[:19] for p in known[:MAX_NAMED]]) or "none"
    said = "several packs begin" if len(found) > 1 else "no pack begins"
    if found and len(wanted) < MIN_PREFIX:
        said = f"name at least {MIN_PREFIX} characters of the pack that begins"
    raise GraderError(
        f"{said} with {since!r}; {gradebook.path} has results by these, the last one first: {shown}"
    )
