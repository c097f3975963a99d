"""The Result record: one frozen, versioned record per submission, and its view for students."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from math import isfinite
from pathlib import PurePath
from typing import Any, Literal

from grader.documents import RESULT as SCHEMA
from grader.excerpt import SourceLine, around
from grader.frames import read_frames
from grader.people import Person
from grader.positions import Part, Positions

# Every line of JSON of a record begins like this.
BEGIN = f'{{"schema": "{SCHEMA}", '

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


class Shared(list[Any]):
    """A list that many records hold and nobody changes, with what was made of it.

    Attributes:
        made: What was made of the list, by what it is for; kept as long as the list.
    """

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.made: dict[Any, Any] = {}


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
_NOT_FAILED = ("passed", *UNJUDGED)


@dataclass(frozen=True)
class CaseResult:
    """The verdict on one case.

    Attributes:
        message: What was found and what was expected, for the student.
        hint: The author's hint; only on cases that did not pass.
        details: For a failing public case what a page shows: ``inputs``, ``obtained``, ``expected``,
            ``answers``, ``changed``, ``part``, ``worst``, ``traceback``, ``stdout``, ``stderr``, ``snippet``.
            Empty otherwise; but where a part of the checks was run, ``printed`` is of every public case whose
            calls printed a list of ``call`` (its number), ``of`` (how many there are), ``stdout`` and
            ``stderr``.
        drawn: It is a member of a random batch.
        extra: Its points are beyond the full marks.
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
    extra: bool = False

    @property
    def failed(self) -> bool:
        """Whether it was judged and did not pass."""
        return self.verdict != "passed" and self.verdict not in UNJUDGED


def rank_broken(cases: Sequence[CaseResult], clauses: Iterable[str]) -> tuple[str, ...]:
    """As `Result.broken_clauses`, for cases that are not in a record yet."""
    failing = [c for c in cases if c.verdict not in _NOT_FAILED]
    if not failing:
        return ()
    order = {name: number for number, name in enumerate(clauses)}
    # A drawn case is about everything at once and says little about its clause.
    drawn = all(c.drawn for c in failing)
    judged = Counter([c.clause for c in cases if (drawn or not c.drawn) and c.verdict not in UNJUDGED])
    failed = Counter([c.clause for c in failing if drawn or not c.drawn])
    ranked = sorted(failed, key=lambda c: (-failed[c] / judged[c], -failed[c], order.get(c, len(order))))
    rest = {c.clause for c in failing} - set(ranked)
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


# The rule by which a file was chosen that nothing else could be chosen for.
ONLY_FILE = "the only file with Python in it"


@dataclass(frozen=True)
class SubmissionInfo:
    """Who handed in what.

    Attributes:
        id: Unique in a run; letters, digits, ``.``, ``_`` and ``-``.
        name: For people.
        members: Everyone who gets a row for it.
        path: Where it was found.
        digest: SHA-256 of the bytes of the files that were run.
        people: The members with all that is known of each; may be empty.
        file: The file's name as the student called it; empty when it is that of ``path``.
        parts: Where cells and helper modules lie in the text whose lines the record names.
        layout: The learning platform's layout by which it was found; ``plain`` without one.
        rule: By which rule the file was chosen, in words.
        submitted_at: When it was handed in, ISO 8601, or empty.
        late: What the platform says; None when it says nothing.
        attempts: How often this student handed in.
        feedback: The name of the folder in which the platform takes feedback back, or empty.
        task: Of a language model's sample the task that it is for.
        alike: The digest of the text without names and comments; empty when it is too short to tell anything.
            For the teacher only.
    """

    id: str
    name: str
    members: tuple[str, ...]
    path: str
    digest: str
    people: tuple[Person, ...] = ()
    file: str = ""
    parts: tuple[Part, ...] = ()
    layout: str = "plain"
    rule: str = ""
    submitted_at: str = ""
    late: bool | None = None
    attempts: int = 1
    feedback: str = ""
    task: str = ""
    alike: str = ""

    @property
    def filename(self) -> str:
        """The file's own name."""
        return self.file or PurePath(self.path).name

    @property
    def positions(self) -> Positions:
        """Names for the lines that the record tells of."""
        return Positions(self.parts)

    def for_student(self) -> SubmissionInfo:
        """Without what is for the teacher only: folders, addresses of other members, and what is alike."""
        people = tuple([Person(person.name) for person in self.people])
        return replace(self, path=PurePath(self.path).name, people=people, feedback="", alike="")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **vars(self),
            "members": list(self.members),
            "people": [dict(vars(person)) for person in self.people],
            "parts": [dict(vars(part)) for part in self.parts],
        }


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

    @property
    def warning(self) -> str:
        """What a level without confinement means; empty for the others."""
        if self.level != "none":
            return ""
        return "nothing keeps the submission from your files, so this is for checking one's own work only"


@dataclass(frozen=True)
class Output:
    """What the submission printed."""

    stdout: str = ""
    stderr: str = ""
    truncated: bool = False


@dataclass(frozen=True)
class Timing:
    """Seconds: on the clock, and of processor time in the submission's processes.

    ``calls_s`` is the processor time of loading and of the calls alone, as the child reports it; ``public_s``
    that of loading and the public calls.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    calls_s: float = 0.0
    public_s: float = 0.0

    def for_student(self) -> Timing:
        """Loading and public calls alone: how long a hidden call takes can tell what it was asked."""
        return Timing(self.public_s, self.public_s, self.public_s, self.public_s)


@dataclass(frozen=True)
class Result:
    """Everything that was decided about one submission.

    ``exercise`` holds name, pack, title, the titles of the clauses in the statement's order, in ``counting``
    what a course makes of the points, in sentences, and ``visible_only`` (true) where no hidden checks
    were at hand.
    ``score`` is the sum of the cases' points and the adjustments; None when the grader failed.
    ``demands`` is what the statement says in the clauses in which a check failed, by the clause's name.
    ``loading`` is how a file that can't be loaded ended: ``exception`` and ``traceback``, as in a case's
    details.
    ``excerpt`` has the lines of the submission's text that policy, tracebacks and ``loading`` refer to.
    ``output`` is what was printed up to the last public call; ``hidden_output`` what came after it.

    None of the following shows an input or a value of a hidden case:

    - ``diagnoses``: named mistakes: ``ids`` (two for a pair), ``title``, ``clause``, ``fits``, ``of`` (a
      number of cases), ``message``, ``pages``. Of those with ``of`` above 0 one holds; all others
      hold. One that explains most of the answers and not all counts public cases alone.
    - ``undiagnosed``: a sentence when no known mistake explains the answers, or all of them.
    - ``counterexample``: a small input with both answers.
    - ``influence``: which element of an argument moves which row of the answer, here and in a right one.
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
    undiagnosed: str = ""
    influence: Mapping[str, Any] | None = None
    demands: Mapping[str, str] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)
    excerpt: tuple[SourceLine, ...] = ()
    output: Output = Output()
    hidden_output: Output = Output()
    timing: Timing = Timing()
    view: Literal["full", "student"] = "full"
    schema: str = SCHEMA

    def for_student(self) -> Result:
        """The record without anything that a student may not see.

        Of hidden cases only clause, verdict and points stay, and whether they were drawn.
        """
        cases = []
        hidden = 0
        for case in self.cases:
            if case.visibility == "hidden":
                hidden += 1
                case = CaseResult(
                    id=f"hidden_{hidden:02d}",
                    group="hidden",
                    title="",
                    clause=case.clause,
                    visibility="hidden",
                    verdict=case.verdict,
                    points=case.points,
                    max_points=case.max_points,
                    message=HIDDEN_MESSAGES[case.verdict],
                    drawn=case.drawn,
                    extra=case.extra,
                )
            cases.append(case)
        return replace(
            self,
            submission=self.submission.for_student(),
            cases=tuple(cases),
            hidden_output=Output(),
            timing=self.timing.for_student(),
            policy=replace(self.policy, suspicions=()),
            excerpt=self._excerpt_for_student(),
            view="student",
        )

    def _excerpt_for_student(self) -> tuple[SourceLine, ...]:
        """Without the lines that only suspicions refer to."""
        if not self.policy.suspicions:
            return self.excerpt
        kept = around(referred_lines(self.policy.violations, self.cases, self.loading))
        return tuple([line for line in self.excerpt if line.number in kept])

    def broken_clauses(self) -> tuple[str, ...]:
        """Clauses in which a check failed: the one with the largest share of failed checks first.

        A mistake shows in many cases, but in the cases of its own clause it shows most. Of clauses with equal
        shares the one with more failed checks comes first, then the statement's order decides. Before all
        others come the clauses of mistakes that are known.
        """
        return self._broken

    def diagnosed_clauses(self) -> tuple[str, ...]:
        """The clauses of the known mistakes that were named; not of what a verdict alone tells."""
        told: list[Any] = []
        for one in self.diagnoses:
            if isinstance(one, Mapping) and one.get("told_by") != "verdict":
                pages = one.get("pages")
                told += [one, *(pages if isinstance(pages, list | tuple) else ())]
        clauses = [page.get("clause") for page in told if isinstance(page, Mapping)]
        return tuple(dict.fromkeys([c for c in clauses if isinstance(c, str) and c]))

    @cached_property
    def _broken(self) -> tuple[str, ...]:
        ranked = rank_broken(self.cases, self.exercise.get("clauses", {}))
        named = set(self.diagnosed_clauses()) if self.diagnoses else ()
        return tuple(sorted(ranked, key=lambda clause: clause not in named)) if named else ranked

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the schema first."""
        begin, end = self._begin(), self._end()
        cases = [
            {**vars(case), "error": dict(vars(case.error)) if case.error else None} for case in self.cases
        ]
        return {**begin, "cases": cases, **end}

    def to_json(self) -> str:
        """One line of JSON without NaN or infinity, fit for UTF-8."""
        begin, end = dumps(self._begin()), dumps(self._end())
        # The cases are most of the record, and most of their text is the same in every record of a pack.
        cases = ", ".join(map(_case_json, self.cases))
        return one_line(f'{begin[:-1]}, "cases": [{cases}], {end[1:]}')

    def _begin(self) -> dict[str, Any]:
        """What stands before the cases in plain data."""
        policy = {
            "status": self.policy.status,
            "violations": [dict(vars(v)) for v in self.policy.violations],
            "suspicions": [dict(vars(v)) for v in self.policy.suspicions],
        }
        return {
            "schema": self.schema,
            "exercise": self.exercise,
            "submission": self.submission.to_dict(),
            "status": self.status,
            "score": self.score,
            "max_score": self.max_score,
            "message": self.message,
            "isolation": {**vars(self.isolation), "layers": list(self.isolation.layers)},
            "adjustments": [dict(vars(a)) for a in self.adjustments],
            "policy": policy,
        }

    def _end(self) -> dict[str, Any]:
        """What stands after the cases in plain data."""
        return {
            "diagnoses": list(self.diagnoses),
            "notes": list(self.notes),
            "counterexample": self.counterexample,
            "undiagnosed": self.undiagnosed,
            "influence": self.influence,
            "demands": dict(self.demands),
            "loading": dict(self.loading),
            "excerpt": [[line.number, line.text] for line in self.excerpt],
            "output": dict(vars(self.output)),
            "hidden_output": dict(vars(self.hidden_output)),
            "timing": dict(vars(self.timing)),
            "view": self.view,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Result:
        """A record from plain data; unknown keys, in any part of it, are left out: newer ones can be read.

        Raises:
            KeyError, TypeError, ValueError: The data is no Result record.
        """
        if data["schema"] != SCHEMA:
            raise ValueError(f"expected a record of schema {SCHEMA}, found {data['schema']!r}")
        kept = known_keys(Result, data)
        cases = []
        for case in kept["cases"]:
            known = known_keys(CaseResult, case)
            error = known.get("error")
            known["error"] = CaseError(**known_keys(CaseError, error)) if error else None
            cases.append(CaseResult(**known))
        return Result(
            **{
                **kept,
                "submission": read_submission(kept["submission"]),
                "isolation": read_isolation(kept["isolation"]),
                "adjustments": tuple(Adjustment(**known_keys(Adjustment, a)) for a in kept["adjustments"]),
                "policy": read_policy(kept["policy"]),
                "cases": tuple(cases),
                "diagnoses": tuple(kept["diagnoses"]),
                "notes": tuple(kept["notes"]),
                "excerpt": tuple([SourceLine(number, text) for number, text in kept.get("excerpt", ())]),
                "output": Output(**known_keys(Output, kept["output"])),
                "hidden_output": Output(**known_keys(Output, kept["hidden_output"])),
                "timing": Timing(**known_keys(Timing, kept["timing"])),
            }
        )


def referred_lines(
    findings: Iterable[Violation], cases: Iterable[CaseResult], loading: Mapping[str, Any]
) -> list[int]:
    """The lines of the submission's text that a record refers to, the most important first."""
    lines = _innermost_first(loading) + [finding.line for finding in findings if finding.line > 0]
    return lines + [line for case in cases if case.details for line in _innermost_first(case.details)]


def _innermost_first(details: Mapping[str, Any]) -> list[int]:
    """The lines of a traceback that are known."""
    return [frame.line for frame in reversed(read_frames(details)) if frame.line]


@cache
def _names(record: type) -> frozenset[str]:
    return frozenset(f.name for f in fields(record))


def known_keys(record: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the data that this version of the record knows. Raises TypeError."""
    if not isinstance(data, Mapping):
        raise TypeError(f"expected keys and values, found {type(data).__name__}")
    names = _names(record)
    return {key: value for key, value in data.items() if key in names}


def read_submission(data: Mapping[str, Any]) -> SubmissionInfo:
    """What `SubmissionInfo.to_dict` gave. Raises KeyError, TypeError or ValueError."""
    known = known_keys(SubmissionInfo, data)
    return SubmissionInfo(
        **known
        | {
            "members": tuple(known["members"]),
            "people": tuple([Person.from_dict(p) for p in known.get("people", ())]),
            "parts": tuple([Part.from_dict(p) for p in known.get("parts", ())]),
        }
    )


def read_isolation(data: Mapping[str, Any]) -> Isolation:
    """An isolation from a record's plain data. Raises KeyError or TypeError."""
    known = known_keys(Isolation, data)
    return Isolation(**known | {"layers": tuple(known["layers"])})


def read_policy(data: Mapping[str, Any]) -> PolicyResult:
    """What the policy found, from a record's plain data. Raises TypeError."""
    known = known_keys(PolicyResult, data)
    for key in ("violations", "suspicions"):
        known[key] = tuple(Violation(**known_keys(Violation, v)) for v in known.get(key, ()))
    return PolicyResult(**known)


# --- JSON -----------------------------------------------------------------------------------------

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def dumps(value: Any) -> str:
    """Plain data as JSON. Raises ValueError for what JSON has no word for."""
    return _encode(value)


# What Python and others take for the end of a line, and JSON doesn't escape.
_LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
_LINE_END = re.compile("[\x85\u2028\u2029]")


def one_line(text: str) -> str:
    """JSON as one line for every reader, with ``?`` for every lone surrogate: file names may hold them."""
    text = text.encode("utf-8", "replace").decode()
    return text.translate(_LINE_ENDS) if _LINE_END.search(text) else text


def _case_json(case: CaseResult) -> str:
    """The same text as that of the case's plain data in one go."""
    error = case.error
    if error is None:
        shown = "null"
    else:
        sizes = _number(error.max_abs), _number(error.max_rel), _number(error.tolerance)
        shown = '{"max_abs": %s, "max_rel": %s, "tolerance": %s}' % sizes  # noqa: UP031
    return (
        f"{_case_begin(case.id, case.group, case.title, case.clause, case.visibility, case.verdict)}"
        f', "points": {_number(case.points)}, "max_points": {_number(case.max_points)}, "error": {shown}, '
        f'"message": {_encode(case.message) if case.message else _EMPTY}, '
        f'"hint": {_encode(case.hint) if case.hint else _EMPTY}, '
        f'"details": {_details_json(case.details)}, "drawn": {"true" if case.drawn else "false"}, '
        f'"extra": {"true" if case.extra else "false"}}}'
    )


_EMPTY = '""'


@lru_cache(maxsize=4_096)
def _case_begin(*values: str) -> str:
    names = ("id", "group", "title", "clause", "visibility", "verdict")
    return dumps(dict(zip(names, values, strict=True)))[:-1]


def _number(value: float | None) -> str:
    return repr(value) if type(value) is float and isfinite(value) else dumps(value)


def _details_json(details: Mapping[str, Any]) -> str:
    if not details:
        return "{}"
    inputs = details.get("inputs")
    if not isinstance(inputs, Shared) or next(iter(details)) != "inputs":
        return dumps(details)
    if "json" not in inputs.made:
        inputs.made["json"] = dumps(inputs)
    rest = dumps({key: value for key, value in details.items() if key != "inputs"})
    return f'{{"inputs": {inputs.made["json"]}{", " if len(details) > 1 else ""}{rest[1:]}'
