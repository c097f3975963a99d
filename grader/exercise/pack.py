"""The pack: everything that grading needs, in one data-only file.

A pack is a safetensors file. Its metadata holds one key, ``grader``, with sorted JSON: the exercise, its
policy and the cases. Its tensors are the phases' blocks (``phase.NAME``, see `grader.exercise.calls`), the
expected answers (``expected.CASE``), what is known of mistakes (``known.*``, see `grader.exercise.known`),
and what is run after a failure (``follow.*``, see `grader.exercise.follow_up`). A student's pack is the same
file without the hidden cases.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import deserialize as parse_tensors
from safetensors.numpy import save as save_tensors

from grader.errors import GraderError
from grader.exercise import follow_up as following
from grader.exercise import known as mistakes
from grader.exercise.calls import Step, calls_of, read_plan, value_of
from grader.exercise.follow_up import FollowUp
from grader.exercise.known import Known

if TYPE_CHECKING:
    from grader.exercise.forms import Form

SCHEMA = "grader.pack/2"
# Goes up with every change of the grader after which running a submission may give something else.
EXECUTION_VERSION = 2
# The largest element of an array.
ELEMENT = 16
# The description of an answer that takes no more than this has its room beside any answer.
DESCRIBED = 4096
PHASES = ("public", "hidden")


@dataclass(frozen=True)
class PackCase:
    """One case as grading sees it.

    Attributes:
        id: Unique within the pack.
        group: The case file it stands in.
        title: One line for people; may be empty.
        clause: The clause of the statement that it tests.
        points: What it is worth.
        visibility: ``public`` or ``hidden``; also the name of its phase.
        requires: Ids of cases that must pass for this one to count.
        hint: Shown to a student when it fails; may be empty.
        check: As `grader.exercise.models.check_name` gives it: ``compare``, ``finite``, a relation's name,
            ``raises``, ``holds`` or ``statistic``.
        options: What the check says beside its name and its change.
        steps: Numbers of its steps within its phase.
        shapes: Expected shape of the answer of each step; of an answer that is no array, of the vector of its
            numbers.
        tolerance: Largest accepted error relative to ``scale``; None where no values are compared.
        scale: Largest magnitude of the expected answer (1 where that is 0).
        dims: Value of each dim.
        drawn: It is a member of a random batch.
        extra: Its points are beyond the full marks.
        call: Which of the exercise's calls it makes; empty where there is only one.
        leaves: For each step the leaves of the expected answer, as path, shape and whether it is compared
            exactly (see `grader.exercise.structure`); empty where answers are arrays, or where the form alone
            is known, as they hang on chance.
        answer: The expected answer as people read it, where it is no array.
        chance: Its calls take random generators, so two right answers may differ.
        reference_time: Processor time of the reference on its calls, in workloads (see
            `grader.sandbox.workload`); None where no limit hangs on it.
    """

    id: str
    group: str
    title: str
    clause: str
    points: float
    visibility: str
    requires: tuple[str, ...]
    hint: str
    check: str
    options: Mapping[str, Any]
    steps: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    tolerance: float | None
    scale: float
    dims: Mapping[str, int]
    drawn: bool = False
    extra: bool = False
    call: str = ""
    leaves: tuple[Any, ...] = ()
    answer: str = ""
    chance: bool = False
    reference_time: float | None = None

    @property
    def batch(self) -> str:
        """Id of the random batch of which it is a member; empty where it is of none."""
        return self.id.rpartition("_")[0] if self.drawn else ""


@dataclass(frozen=True)
class PackCall:
    """One of the calls of an exercise.

    Attributes:
        parameters: Names of the arguments.
        returns: What it returns, as ``exercise.yaml`` says it.
        driven: A function of the driver makes it.
    """

    parameters: tuple[str, ...]
    returns: Mapping[str, Any]
    driven: bool = False

    @property
    def is_array(self) -> bool:
        """Whether the answer is one array."""
        return bool(self.returns.get("container", "array") == "array")

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that an answer may have which is one array."""
        return tuple(self.returns.get("dtype", ("float32", "float64")))

    @property
    def exact(self) -> bool:
        """Whether the answer is one array of whole numbers or truth values, which are equal or not."""
        return self.is_array and not any(name.startswith("float") for name in self.dtypes)

    @cached_property
    def form(self) -> Form:
        """The form of the answer."""
        # Exercises whose answers are arrays start without pydantic.
        from grader.exercise.forms import Form

        return Form.model_validate(dict(self.returns))

    @cached_property
    def lenient_form(self) -> Form | None:
        """The form, where it lets several containers through; None where nothing hangs on it."""
        return self.form if _names_also(self.returns) else None


@dataclass(frozen=True)
class PackExercise:
    """The exercise as grading sees it: what ``exercise.yaml`` says, in plain values.

    ``calls`` go by name; the only one has an empty name. ``entries`` are the names that a submission has to
    define, ``entry`` the first of them, ``driver`` the text of a Python module that runs beside the
    submission, which makes calls that go to it.

    ``grading`` holds what a course makes of the points: gates, late work and rounding; and ``weights`` as its
    author wrote them. The cases' points are weighted already. A student's pack names no hidden case there,
    and no group of hidden cases alone. ``limits`` that follow the reference have ``reference_start`` beside
    ``times_reference``: what the reference's first call in a process takes longer, in workloads.
    """

    name: str
    title: str
    entry: str
    packages: tuple[str, ...]
    calls: Mapping[str, PackCall]
    limits: Mapping[str, float]
    clauses: Mapping[str, Mapping[str, str]]
    policy: Mapping[str, Any]
    grading: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple[str, ...] = ()
    driver: str = field(default="", repr=False)

    @property
    def first(self) -> PackCall:
        """The only call, or the first of several."""
        return next(iter(self.calls.values()))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the arguments of the first call."""
        return self.first.parameters

    def called(self, call: str) -> str:
        """What a call is named when it is told of."""
        return call or self.entry


@dataclass(frozen=True)
class Pack:
    """A pack in memory.

    Attributes:
        id: ``sha256:`` and the digest of the file's bytes.
        exercise: What is asked.
        cases: All cases, in the order in which they are shown.
        blocks: The block of each phase, by name.
        tensors: The expected answers by case id.
        data: The file's bytes.
        known_data: What is known of mistakes, as it lies in the file.
        follow_data: What is run after a failure, as it lies in the file.
        student: Whether hidden cases were left out.
        sources: Digest of the sources that it was frozen from.
    """

    id: str
    exercise: PackExercise
    cases: tuple[PackCase, ...]
    blocks: Mapping[str, bytes] = field(repr=False)
    tensors: Mapping[str, NDArray[Any]] = field(repr=False)
    data: bytes = field(repr=False)
    known_data: Mapping[str, bytes] = field(repr=False, default_factory=dict)
    follow_data: Mapping[str, bytes] = field(repr=False, default_factory=dict)
    student: bool = False
    sources: str = ""

    @cached_property
    def max_score(self) -> float:
        """Full marks: the sum of the cases' points, extra credit left out."""
        return sum(case.points for case in self.cases if not case.extra)

    @cached_property
    def most_points(self) -> float:
        """What a right submission gets: full marks and all extra credit."""
        return sum(case.points for case in self.cases)

    @cached_property
    def execution_digest(self) -> str:
        """The same for packs by which running a submission gives the same, whatever they make of it.

        It hangs on entry, parameters, packages, limits, the policy's rules, the calls, and the sizes of the
        right answers, by which a child gets its memory; also on the reference's times where limits follow
        them, and never on how fast a machine is. It hangs on no right answer, tolerance, point, hint or other
        text, and not on what is known of mistakes.
        """
        exercise = self.exercise
        told = {
            "version": EXECUTION_VERSION,
            "entries": exercise.entries,
            "driver": exercise.driver,
            "packages": exercise.packages,
            "calls": {name: [call.parameters, call.driven] for name, call in exercise.calls.items()},
            "limits": exercise.limits,
            "policy": _told_policy(exercise.policy),
            "phases": [
                [name, hashlib.sha256(block).hexdigest(), self.answer_sizes(name)]
                for name, block in self.blocks.items()
            ],
            "student": self.student,
        }
        if any(case.reference_time is not None for case in self.cases):
            told["reference_times"] = {name: self.reference_times(name) for name in self.blocks}
        return f"sha256:{hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()}"

    def answer_sizes(self, phase: str) -> tuple[int, int]:
        """Bytes of a phase's largest right answer and of all, were their elements of the largest dtype.

        Of an answer of many parts they are those of its description, where that is longer.
        """
        sizes = [0]
        for case in self.cases:
            if case.visibility == phase:
                described = int(case.options.get("answer_bytes", 0))
                sizes += [max(ELEMENT * math.prod(shape), described) for shape in case.shapes]
        return max(sizes), sum(sizes)

    def reference_times(self, phase: str) -> list[float]:
        """What the reference takes for each step of a phase, in workloads: the time of its whole case.

        A second look at an earlier answer takes none.
        """
        times = [0.0] * len(self.plans[phase])
        for case in self.cases:
            if case.visibility == phase:
                for step in case.steps:
                    if not isinstance(self.plans[phase][step], int):
                        times[step] = max(times[step], case.reference_time or 0.0)
        return times

    @cached_property
    def plans(self) -> dict[str, list[Step]]:
        """The steps of each phase."""
        return {name: read_plan(block) for name, block in self.blocks.items()}

    @cached_property
    def lenient_forms(self) -> dict[str, list[Form | None]]:
        """For each step of each phase the form of its answer, where that lets several containers through."""
        forms = {name: call.lenient_form for name, call in self.exercise.calls.items()}
        return {phase: [forms[name] for name in calls_of(plan)] for phase, plan in self.plans.items()}

    @cached_property
    def texts(self) -> dict[tuple[str, str, int], Any]:
        """What was written out of the pack's arrays, kept: many submissions fail the same cases."""
        return {}

    @cached_property
    def known(self) -> Known:
        """What is known of mistakes; read when a submission fails.

        Raises:
            GraderError: It is damaged.
        """
        try:
            return mistakes.from_tensors(self.known_data)
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(error) from None

    @cached_property
    def follow_up(self) -> FollowUp | None:
        """What is run after a failure; None where there is nothing.

        Raises:
            GraderError: It is damaged.
        """
        try:
            return following.from_tensors(self.follow_data) if self.follow_data else None
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(error) from None

    def expected(self, case: PackCase) -> NDArray[Any]:
        """The expected answer of a ``compare`` case: float64, or int64 where it holds no floats."""
        return self.tensors[case.id]

    def arguments(self, case: PackCase, call: int = 0) -> list[tuple[str, Any]]:
        """Name and value of each argument of one of the case's calls."""
        step = self.plans[case.visibility][case.steps[call]]
        assert not isinstance(step, int)
        block = self.blocks[case.visibility]
        return list(zip(self.parameters(case), [value_of(a, block) for a in step], strict=True))

    def call(self, case: PackCase) -> PackCall:
        """The call that a case makes."""
        return self.exercise.calls[case.call]

    def parameters(self, case: PackCase) -> tuple[str, ...]:
        """Names of the arguments of the call that a case makes."""
        return self.call(case).parameters


def _names_also(returns: Any) -> bool:
    """Whether a form, as ``exercise.yaml`` says it, has the key ``also`` somewhere."""
    if isinstance(returns, Mapping):
        return bool(returns.get("also")) or any(_names_also(part) for part in returns.values())
    return isinstance(returns, list | tuple) and any(_names_also(part) for part in returns)


def _told_policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy without its effect, and without what only a rule's page shows."""
    told = {key: value for key, value in policy.items() if key != "effect"}
    if "rules" in told:
        pages = ("what", "looks")
        told["rules"] = [{k: v for k, v in rule.items() if k not in pages} for rule in told["rules"]]
    return told


def _damaged(error: Exception) -> GraderError:
    return GraderError(f"the pack is damaged ({error}); make it anew with grader pack")


def dump(
    exercise: PackExercise,
    cases: Sequence[PackCase],
    blocks: Mapping[str, bytes],
    expected: Mapping[str, NDArray[Any]],
    known: Known,
    follow: FollowUp | None,
    *,
    student: bool,
    sources: str,
) -> bytes:
    """The bytes of a pack; the same content gives the same bytes."""
    meta = {
        "schema": SCHEMA,
        # A list keeps the statement's order of the clauses, which sorted keys would lose.
        "exercise": asdict(exercise)
        | {
            "clauses": list(exercise.clauses.items()),
            "calls": [(name, asdict(call)) for name, call in exercise.calls.items()],
        },
        "cases": [_told_case(case) for case in cases],
        "student": student,
        "sources": sources,
    }
    tensors: dict[str, NDArray[Any]] = {
        f"phase.{name}": np.frombuffer(block, np.uint8) for name, block in sorted(blocks.items())
    }
    tensors |= {
        # numpy makes one axis of none where an array has to be contiguous.
        f"expected.{name}": np.ascontiguousarray(
            a, np.int64 if a.dtype.kind in "iub" else np.float64
        ).reshape(a.shape)
        for name, a in sorted(expected.items())
    }
    tensors |= {f"known.{name}": a for name, a in mistakes.to_tensors(known).items()}
    if follow is not None:
        tensors |= {f"follow.{name}": a for name, a in following.to_tensors(follow).items()}
    data: bytes = save_tensors(tensors, {"grader": json.dumps(meta, sort_keys=True, separators=(",", ":"))})
    return data


def _told_case(case: PackCase) -> dict[str, Any]:
    """A case as plain data, without a time that no limit hangs on."""
    told = asdict(case)
    if case.reference_time is None:
        del told["reference_time"]
    return told


def load(path: Path) -> Pack:
    """Read a pack.

    Raises:
        GraderError: The file can't be read or is no pack of this version.
    """
    try:
        return loads(path.read_bytes())
    except OSError as error:
        raise GraderError(f"{path} can't be read: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GraderError(
            f"{path} is no pack ({error}); make one with: grader pack NAME --out FILE"
        ) from None


def loads(data: bytes) -> Pack:
    """Parse a pack's bytes. Raises SafetensorError, ValueError, KeyError, TypeError or
    AttributeError on damage."""
    header_length = int.from_bytes(data[:8], "little")
    if not 2 <= header_length <= len(data) - 8:
        raise ValueError("it is cut short or damaged")
    header = json.loads(data[8 : 8 + header_length])
    meta = json.loads(header["__metadata__"]["grader"])
    if meta["schema"] != SCHEMA:
        raise ValueError(f"its schema is {meta['schema']}, expected {SCHEMA}")
    tensors = cast(dict[str, Any], dict(parse_tensors(data)))  # type: ignore[no-untyped-call]
    exercise = PackExercise(
        **{k: _frozen(v) for k, v in meta["exercise"].items() if k not in ("clauses", "calls")},
        clauses=dict(meta["exercise"]["clauses"]),
        calls={name: _call(call) for name, call in meta["exercise"]["calls"]},
    )
    expected: dict[str, NDArray[Any]] = {}
    blocks: dict[str, bytes] = {}
    kept: dict[str, dict[str, bytes]] = {"known": {}, "follow": {}}
    for name, tensor in tensors.items():
        kind, _, label = name.partition(".")
        if kind == "phase":
            blocks[label] = bytes(tensor["data"])
        elif kind in kept:
            kept[kind][label] = bytes(tensor["data"])
        elif kind == "expected":
            dtype = "<i8" if tensor["dtype"] == "I64" else "<f8"
            expected[label] = np.frombuffer(tensor["data"], dtype).reshape(tensor["shape"])
    return Pack(
        id=f"sha256:{hashlib.sha256(data).hexdigest()}",
        exercise=exercise,
        cases=tuple(_case(case) for case in meta["cases"]),
        blocks={name: blocks[name] for name in PHASES if name in blocks},
        tensors=expected,
        data=data,
        known_data=kept["known"],
        follow_data=kept["follow"],
        student=meta["student"],
        sources=meta["sources"],
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _call(data: dict[str, Any]) -> PackCall:
    return PackCall(tuple(data["parameters"]), data["returns"], data["driven"])


def _case(data: dict[str, Any]) -> PackCase:
    shapes = tuple(tuple(shape) for shape in data.pop("shapes"))
    return PackCase(**{k: _frozen(v) for k, v in data.items()}, shapes=shapes)
