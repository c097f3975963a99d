"""The Result record: one frozen, versioned record per submission, and its view for students."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import PurePath
from typing import Any, Literal

SCHEMA = "grader.result/1"

Status = Literal["passed", "failed", "not_loadable", "grader_fault"]
Verdict = Literal[
    "passed",
    "wrong_value",
    "wrong_shape",
    "wrong_type",
    "relation_violated",
    "input_mutated",
    "output_aliases_input",
    "not_repeatable",
    "raised",
    "timed_out",
    "out_of_memory",
    "crashed",
    "skipped",
    "grader_fault",
]

HIDDEN_MESSAGES: Mapping[str, str] = {
    "passed": "",
    "wrong_value": "A hidden check of this clause found wrong values.",
    "wrong_shape": "A hidden check of this clause got an answer of another shape.",
    "wrong_type": "A hidden check of this clause got an answer of another type.",
    "relation_violated": "A hidden check of this clause found a property that does not hold.",
    "input_mutated": "In a hidden check an argument was changed.",
    "output_aliases_input": "In a hidden check the answer shared memory with an argument.",
    "not_repeatable": "In a hidden check the same call gave another answer.",
    "raised": "In a hidden check of this clause the call raised an exception.",
    "timed_out": "In a hidden check of this clause the call took too long.",
    "out_of_memory": "In a hidden check of this clause memory ran out.",
    "crashed": "In a hidden check of this clause the process crashed.",
    "skipped": "Not counted.",
    "grader_fault": "The grader failed here; this costs nothing.",
}


@dataclass(frozen=True)
class CaseError:
    """How far an answer is off.

    Attributes:
        max_abs: Largest absolute difference; None when it is not finite.
        max_rel: The same over the largest magnitude of the expected answer.
        tolerance: The largest ``max_rel`` that passes.
    """

    max_abs: float | None
    max_rel: float | None
    tolerance: float


UNJUDGED = ("skipped", "grader_fault")


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one case.

    Attributes:
        message: What was found and what was expected, for the student.
        hint: The author's hint; only on cases that did not pass.
        details: For a failing public case what a page shows: ``inputs``, ``obtained``, ``expected``,
            ``worst``, ``traceback``, ``stdout``, ``stderr``, ``snippet``. Empty otherwise.
        drawn: It is a member of a random batch.
    """

    id: str
    group: str
    title: str
    clause: str
    visibility: str
    verdict: Verdict
    points: float
    max_points: float
    error: CaseError | None = None
    message: str = ""
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False

    @property
    def failed(self) -> bool:
        """Whether it was judged and did not pass."""
        return self.verdict != "passed" and self.verdict not in UNJUDGED


def rank_broken(cases: Sequence[CaseResult], clauses: Iterable[str]) -> tuple[str, ...]:
    """As `Result.broken_clauses`, for cases that are not in a record yet."""
    order = {name: number for number, name in enumerate(clauses)}
    # A drawn case is about everything at once and says little about its clause.
    chosen = [c for c in cases if not c.drawn]
    if not any(c.failed for c in chosen):
        chosen = list(cases)
    judged: Counter[str] = Counter(c.clause for c in chosen if c.verdict not in UNJUDGED)
    failed: Counter[str] = Counter(c.clause for c in chosen if c.failed)
    ranked = sorted(failed, key=lambda c: (-failed[c] / judged[c], -failed[c], order.get(c, len(order))))
    rest = {c.clause for c in cases if c.failed} - set(ranked)
    return (*ranked, *sorted(rest, key=lambda c: order.get(c, len(order))))


@dataclass(frozen=True)
class Violation:
    """A finding of the policy check."""

    rule: str
    helper: str
    line: int
    column: int
    found: str
    message: str


@dataclass(frozen=True)
class PolicyResult:
    """What the policy check says: ``clean``, ``violated`` or ``suspicious``, and where."""

    status: Literal["clean", "violated", "suspicious"] = "clean"
    violations: tuple[Violation, ...] = ()
    suspicions: tuple[Violation, ...] = ()


@dataclass(frozen=True)
class SubmissionInfo:
    """Who handed in what.

    Attributes:
        id: Unique in a run; letters, digits, ``.``, ``_`` and ``-``.
        name: For people.
        members: Everyone who gets a row for it.
        path: Where it was found.
        digest: SHA-256 of the file's bytes.
    """

    id: str
    name: str
    members: tuple[str, ...]
    path: str
    digest: str


@dataclass(frozen=True)
class Adjustment:
    """Points added or taken away after the cases, with the reason."""

    reason: str
    points: float


@dataclass(frozen=True)
class Isolation:
    """How the submission was confined: ``full``, ``partial`` or ``none``, and by which layers."""

    level: Literal["full", "partial", "none"]
    layers: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """What the submission printed."""

    stdout: str = ""
    stderr: str = ""
    truncated: bool = False


@dataclass(frozen=True)
class Timing:
    """Seconds: on the clock, and of processor time in the submission's processes.

    ``calls_s`` is the processor time of loading and of the calls alone, as the child reports it.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    calls_s: float = 0.0


@dataclass(frozen=True)
class Result:
    """Everything that was decided about one submission.

    ``exercise`` holds name, pack, title and the titles of the clauses in the statement's order.
    ``score`` is the sum of the cases' points and the adjustments; None when the grader failed.
    ``output`` is what was printed up to the last public call; ``hidden_output`` what came after it.
    """

    exercise: Mapping[str, Any]
    submission: SubmissionInfo
    status: Status
    score: float | None
    max_score: float
    message: str
    isolation: Isolation
    adjustments: tuple[Adjustment, ...] = ()
    policy: PolicyResult = PolicyResult()
    cases: tuple[CaseResult, ...] = ()
    diagnoses: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    counterexample: Mapping[str, Any] | None = None
    output: Output = Output()
    hidden_output: Output = Output()
    timing: Timing = Timing()
    view: Literal["full", "student"] = "full"
    schema: str = SCHEMA

    def for_student(self) -> Result:
        """The record without anything that a student may not see.

        Of hidden cases only clause, verdict and points stay.
        """
        cases = []
        hidden = 0
        for case in self.cases:
            if case.visibility == "hidden":
                hidden += 1
                case = replace(
                    case,
                    id=f"hidden_{hidden:02d}",
                    group="hidden",
                    title="",
                    error=None,
                    message=HIDDEN_MESSAGES[case.verdict],
                    hint="",
                    details={},
                )
            cases.append(case)
        return replace(
            self,
            submission=replace(self.submission, path=PurePath(self.submission.path).name),
            cases=tuple(cases),
            hidden_output=Output(),
            policy=replace(self.policy, suspicions=()),
            view="student",
        )

    def broken_clauses(self) -> tuple[str, ...]:
        """Clauses in which a check failed: the one with the largest share of failed checks first.

        A mistake shows in many cases, but in the cases of its own clause it shows most. Of clauses with equal
        shares the one with more failed checks comes first, then the statement's order decides.
        """
        return rank_broken(self.cases, self.exercise.get("clauses", {}))

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the schema first."""
        # dataclasses.asdict copies every leaf, which takes longer than judging does.
        data = dict(vars(self))
        policy = dict(vars(self.policy))
        for key in ("violations", "suspicions"):
            policy[key] = [dict(vars(v)) for v in policy[key]]
        return (
            {"schema": data.pop("schema")}
            | data
            | {
                "submission": {**vars(self.submission), "members": list(self.submission.members)},
                "isolation": {**vars(self.isolation), "layers": list(self.isolation.layers)},
                "adjustments": [dict(vars(a)) for a in self.adjustments],
                "policy": policy,
                "cases": [
                    {**vars(case), "error": dict(vars(case.error)) if case.error else None}
                    for case in self.cases
                ],
                "diagnoses": list(self.diagnoses),
                "notes": list(self.notes),
                "output": dict(vars(self.output)),
                "hidden_output": dict(vars(self.hidden_output)),
                "timing": dict(vars(self.timing)),
            }
        )

    def to_json(self) -> str:
        """One line of JSON without NaN or infinity, fit for UTF-8."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)
        # File names and a submission's texts may hold lone surrogates, which no file takes.
        return text.encode("utf-8", "replace").decode()

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Result:
        """A record from plain data; unknown keys, in any part of it, are left out: newer ones can be read.

        Raises:
            KeyError, TypeError, ValueError: The data is no Result record.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"expected a record of schema {SCHEMA}, found {data['schema']!r}")
        kept = _known(Result, data)
        policy = _known(PolicyResult, kept["policy"])
        for key in ("violations", "suspicions"):
            policy[key] = tuple(Violation(**_known(Violation, v)) for v in policy.get(key, ()))
        submission = _known(SubmissionInfo, kept["submission"])
        submission["members"] = tuple(submission["members"])
        isolation = _known(Isolation, kept["isolation"])
        isolation["layers"] = tuple(isolation["layers"])
        cases = []
        for case in kept["cases"]:
            known = _known(CaseResult, case)
            error = known.get("error")
            known["error"] = CaseError(**_known(CaseError, error)) if error else None
            cases.append(CaseResult(**known))
        return Result(
            **{
                **kept,
                "submission": SubmissionInfo(**submission),
                "isolation": Isolation(**isolation),
                "adjustments": tuple(Adjustment(**_known(Adjustment, a)) for a in kept["adjustments"]),
                "policy": PolicyResult(**policy),
                "cases": tuple(cases),
                "diagnoses": tuple(kept["diagnoses"]),
                "notes": tuple(kept["notes"]),
                "output": Output(**_known(Output, kept["output"])),
                "hidden_output": Output(**_known(Output, kept["hidden_output"])),
                "timing": Timing(**_known(Timing, kept["timing"])),
            }
        )


@cache
def _names(record: type) -> frozenset[str]:
    return frozenset(f.name for f in fields(record))


def _known(record: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the data that this version of the record knows."""
    names = _names(record)
    return {key: value for key, value in data.items() if key in names}
