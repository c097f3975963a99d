"""Result records in short: what is the same for a whole class, and a row for each submission."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from grader.result import (
    Adjustment,
    Isolation,
    PolicyResult,
    Result,
    Status,
    SubmissionInfo,
    dumps,
    known_keys,
    one_line,
    read_isolation,
    read_policy,
    read_submission,
)

PASSED, FAILED, SKIPPED, FAULT = "+", "x", "-", "?"
MARKS: Mapping[str, str] = {"passed": PASSED, "skipped": SKIPPED, "grader_fault": FAULT}


class CaseOutline(NamedTuple):
    """What is the same of a case whoever is graded."""

    id: str
    title: str
    clause: str
    visibility: str


class Named(NamedTuple):
    """A known mistake."""

    id: str
    title: str
    clause: str


class Diagnosis(NamedTuple):
    """What a record's diagnosis names: one mistake, or two that come together.

    Attributes:
        counted: It was told by counting the cases that it explains; of several such ones only one holds.
    """

    mistakes: tuple[Named, ...]
    counted: bool


@dataclass(frozen=True)
class Outline:
    """What the records of a pack share: the exercise as in `Result`, and the cases in their order."""

    exercise: Mapping[str, Any]
    cases: tuple[CaseOutline, ...]

    @staticmethod
    def of(result: Result) -> Outline:
        """What a record shares with the others of its pack."""
        return Outline(result.exercise, _outlines(result))

    @property
    def digest(self) -> str:
        """The same for outlines that are the same."""
        return _digest(dumps(self.exercise), self.cases)


def _outlines(result: Result) -> tuple[CaseOutline, ...]:
    return tuple([CaseOutline(c.id, c.title, c.clause, c.visibility) for c in result.cases])


@lru_cache(maxsize=64)
def _digest(exercise: str, cases: tuple[tuple[str, ...], ...]) -> str:
    text = exercise + dumps(cases)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class Summary:
    """A Result record in short: a row of a class.

    Attributes:
        outline: The digest of its `Outline`.
        pack: The pack's id.
        wall_s: Seconds on the clock.
        broken: As `Result.broken_clauses`.
        marks: A sign for each case of the outline: ``+`` passed, ``x`` failed, ``-`` skipped, ``?`` a fault
            of the grader.
        diagnoses: What the diagnoses name; mostly nothing.
        adjustments: As in the record; mostly none.

    The other attributes are those of the record.
    """

    outline: str
    pack: str
    submission: SubmissionInfo
    status: Status
    score: float | None
    max_score: float
    message: str
    isolation: Isolation
    policy: PolicyResult
    wall_s: float
    broken: tuple[str, ...]
    marks: str
    diagnoses: tuple[Diagnosis, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()

    @staticmethod
    def of(result: Result) -> Summary:
        """What the class's page, the gradebook and the command line need of a record."""
        return Summary(
            outline=_digest(dumps(result.exercise), _outlines(result)),
            pack=str(result.exercise.get("pack", "")),
            submission=result.submission,
            status=result.status,
            score=result.score,
            max_score=result.max_score,
            message=result.message,
            isolation=result.isolation,
            policy=result.policy,
            wall_s=result.timing.wall_s,
            broken=result.broken_clauses(),
            marks="".join([MARKS.get(c.verdict, FAILED) for c in result.cases]),
            diagnoses=tuple(map(_diagnosis, result.diagnoses)) if result.diagnoses else (),
            adjustments=result.adjustments,
        )

    @property
    def explanations(self) -> list[tuple[str, ...]]:
        """Ids of the mistakes of each explanation between which the cases can't decide; one if they can."""
        always = [m.id for d in self.diagnoses if not d.counted for m in d.mistakes]
        counted = [[m.id for m in d.mistakes] for d in self.diagnoses if d.counted]
        return [(*ids, *always) for ids in counted or ([[]] if always else [])]

    def to_json(self) -> str:
        """One line of JSON, fit for UTF-8."""
        policy = {
            **vars(self.policy),
            "violations": [vars(v) for v in self.policy.violations],
            "suspicions": [vars(v) for v in self.policy.suspicions],
        }
        parts = {
            "submission": self.submission.to_dict(),
            "isolation": vars(self.isolation),
            "policy": policy,
            "adjustments": [vars(one) for one in self.adjustments],
        }
        return one_line(dumps({**vars(self), **parts}))

    @staticmethod
    def from_json(text: str) -> Summary:
        """What `to_json` wrote; unknown keys are left out.

        Raises:
            KeyError, TypeError, ValueError: The text is no summary.
        """
        known = known_keys(Summary, json.loads(text))
        diagnoses = known.get("diagnoses", ())
        return Summary(
            **known
            | {
                "submission": read_submission(known["submission"]),
                "isolation": read_isolation(known["isolation"]),
                "policy": read_policy(known["policy"]),
                "broken": tuple(known["broken"]),
                "diagnoses": tuple(
                    [Diagnosis(tuple([Named(*m) for m in ms]), counted) for ms, counted in diagnoses]
                ),
                # Summaries of before have none of these: they are made anew from the record.
                "adjustments": tuple(
                    [Adjustment(**known_keys(Adjustment, one)) for one in known["adjustments"]]
                ),
            }
        )


def _diagnosis(found: Mapping[str, Any]) -> Diagnosis:
    """A diagnosis in short; what is missing or odd in it is empty."""
    pages = {str(p.get("id", "")): p for p in _listed(found, "pages") if isinstance(p, Mapping)}
    mistakes = []
    for name in map(str, _listed(found, "ids")):
        page = pages.get(name, found)
        mistakes.append(Named(name, str(page.get("title", "")), str(page.get("clause", ""))))
    return Diagnosis(tuple(mistakes), bool(found.get("of")))


def _listed(found: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = found.get(key)
    return value if isinstance(value, list | tuple) else ()


@dataclass(frozen=True)
class Record:
    """A Result record as text, with its summary: what a worker sends and a gradebook keeps.

    Attributes:
        text: As `Result.to_json` gives it.
    """

    text: str
    summary: Summary

    @staticmethod
    def of(result: Result) -> Record:
        """The text of a record and its summary."""
        return Record(result.to_json(), Summary.of(result))

    def to_bytes(self) -> bytes:
        """One JSON document: the record, and the summary as its last key."""
        return f"{self.text[:-1]}{_SUMMARY}{self.summary.to_json()}}}".encode()

    @staticmethod
    def from_bytes(data: bytes) -> Record:
        """What `to_bytes` gave; the record itself is not parsed.

        Raises:
            KeyError, TypeError, ValueError: The data is nothing of that kind.
        """
        # Within a text of JSON a quotation mark has a backslash before it, so no text holds the key.
        text, key, summary = data.decode().rpartition(_SUMMARY)
        if not key:
            raise ValueError("a record without a summary")
        return Record(text + "}", Summary.from_json(summary[:-1]))

    @property
    def result(self) -> Result:
        """The whole record. Raises KeyError, TypeError or ValueError when it is none."""
        return Result.from_dict(json.loads(self.text))

    @property
    def submission(self) -> SubmissionInfo:
        """As in the record."""
        return self.summary.submission

    @property
    def status(self) -> Status:
        """As in the record."""
        return self.summary.status

    @property
    def score(self) -> float | None:
        """As in the record."""
        return self.summary.score

    @property
    def message(self) -> str:
        """As in the record."""
        return self.summary.message


_SUMMARY = ', "summary": '
