"""What running a submission gave, as plain data.

The words that the sandbox and the judge share: the sandbox makes these records from what a child left, the
judge decides on them. No array is built before its shape is known to be the expected one; see
`ArrayValue.array`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# Of a notebook's cells that ended early only so many are told; with as many there may be more.
MOST_FAILURES = 5
# What a child sends of an answer at most: values, keys and containers in all; how deep they lie in each
# other; letters of a text; bits of a whole number. Of what is longer only a part comes back.
MOST_VALUES, MOST_DEPTH, MOST_LETTERS, MOST_BITS = 10_000, 20, 2_000, 1024

State = Literal["returned", "raised", "out_of_memory", "timed_out", "crashed", "not_run"]


class DamagedError(ValueError):
    """A record is not of the form that an honest child writes."""


@dataclass(frozen=True)
class ArrayValue:
    """An array, a tensor or a numpy scalar.

    Attributes:
        kind: ``array``, ``tensor`` or ``scalar``.
        dtype: The dtype's name.
        shape: As the child reported it.
        data: C-ordered bytes; None where the dtype is no plain number or the array was too large.
    """

    kind: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes | None = field(repr=False)

    def array(self) -> NDArray[Any]:
        """The values. Raises DamagedError when there are none."""
        if self.data is None:
            raise DamagedError("the array's values were not sent")
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class PlainValue:
    """None, a bool, an int, a float, a complex number or a text; or an object known by its type's name."""

    kind: str
    value: Any = None


@dataclass(frozen=True)
class Container:
    """A list, a tuple, or a dict as a tuple of (key, value) pairs."""

    kind: str
    items: tuple[Any, ...]


Value = ArrayValue | PlainValue | Container


def describe_value(value: Value) -> str:
    """What was returned, in a few words."""
    match value:
        case ArrayValue(kind="array"):
            return f"an array of dtype {value.dtype} and shape {value.shape}"
        case ArrayValue(kind="tensor"):
            return f"a tensor of dtype {value.dtype} and shape {value.shape}"
        case ArrayValue():
            return f"a single number of type {value.dtype}"
        case Container():
            return f"a {value.kind} of {len(value.items)} item{'s' if len(value.items) != 1 else ''}"
        case PlainValue(kind="none"):
            return "None"
        case PlainValue(kind="object"):
            article = "an" if str(value.value)[:1].lower() in "aeiou" else "a"
            return f"{article} {value.value} object"
        case PlainValue(kind="str"):
            return "a text"
    return f"the single {value.kind} {value.value}"


@dataclass(frozen=True)
class Failure:
    """An exception of the student's code.

    Attributes:
        type: Name of its class.
        bases: Names of the classes it derives from.
        message: Its text, cut.
        frames: (line, function) of the student's own frames, outermost first.
        line: Line of a syntax error, else None.
    """

    type: str
    message: str
    bases: tuple[str, ...] = ()
    frames: tuple[tuple[int, str], ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class StepOutcome:
    """What one step gave.

    Attributes:
        state: How it ended.
        value: The answer of a step that returned.
        too_large: The answer's bytes did not fit, only its description came back.
        failure: The exception of a step that raised.
        detail: For a crash or a time-out, what happened, in words.
        reshaped: Numbers of arguments whose shape, strides or dtype changed, as the child reports.
        overwritten: Numbers of arguments whose bytes changed, as compared after the child's end.
        after: Of these the number and the array as it was then, without large ones and those of hidden calls.
        aliased: Numbers of arguments that the answer shares memory with, as the child reports.
        stdout, stderr: What was printed during the step.
        cpu_s: Processor time of the call, as the child reports.
    """

    state: State
    value: Value | None = None
    too_large: bool = False
    failure: Failure | None = None
    detail: str = ""
    reshaped: frozenset[int] = frozenset()
    overwritten: frozenset[int] = frozenset()
    after: tuple[tuple[int, Value], ...] = ()
    aliased: frozenset[int] = frozenset()
    stdout: str = ""
    stderr: str = ""
    cpu_s: float = 0.0


@dataclass(frozen=True)
class LoadOutcome:
    """What running the student's module gave.

    Attributes:
        state: How it ended.
        found: The entry point's name is bound.
        callable: It can be called.
        type: Name of its type.
        names: Other names bound at module level.
        needs: A package of a heavier fork server that was asked for, or an empty text.
        failures: The first cells of a notebook that ended early, which does not end loading: the cell's first
            line in the text, and the exception.
    """

    state: State
    found: bool = False
    callable: bool = False
    type: str = ""
    names: tuple[str, ...] = ()
    needs: str = ""
    failure: Failure | None = None
    detail: str = ""
    stdout: str = ""
    stderr: str = ""
    cpu_s: float = 0.0
    failures: tuple[tuple[int, Failure], ...] = ()

    @property
    def failed_cells(self) -> frozenset[int] | None:
        """The first lines of the cells that ended early; None when others may have too."""
        if self.state != "returned" or len(self.failures) >= MOST_FAILURES:
            return None
        return frozenset(first for first, _ in self.failures)


@dataclass(frozen=True)
class Execution:
    """Everything that came back.

    Attributes:
        report: The policy check's report, made in a process in which none of the student's code ran.
        load: How loading went; None when it was not tried.
        steps: Outcomes of each phase's steps.
        findings: What was seen of banned helpers in the recorded calls, as the children report it, unchecked.
        cpu_s: Processor time of all children, as the kernel counted it.
        call_cpu_s: Processor time of load and calls, as the children report.
        children: How many processes it took.
        truncated: Where captured output was cut: ``load`` and the phases' names.
    """

    report: Mapping[str, Any] | None
    load: LoadOutcome | None
    steps: Mapping[str, list[StepOutcome]]
    findings: tuple[Any, ...] = ()
    cpu_s: float = 0.0
    call_cpu_s: float = 0.0
    children: int = 0
    truncated: frozenset[str] = frozenset()
