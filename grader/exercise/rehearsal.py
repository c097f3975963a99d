"""A trusted function run over the calls of a phase in this process: what a submission would leave that is it.

For the author's code only: the reference, known mistakes, mutants. Nothing confines it.
"""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import (
    PlacedArgument,
    PlacedArray,
    PlacedCall,
    PlacedMapping,
    Step,
    placed_arrays,
    plain,
    unplaced,
)
from grader.outcomes import ArrayValue, Container, Failure, PlainValue, State, StepOutcome, Value

Array = NDArray[Any]
Function = Callable[..., Any]
# A function, or one for each of an exercise's calls by the call's name.
Functions = Function | Mapping[str, Function]

NOT_RUN = StepOutcome("not_run")
NO_MEMORY = np.zeros(0, np.uint8)


def as_value(answer: Any) -> Value:
    """An answer as if it had come back from a child."""
    if isinstance(answer, np.ndarray):
        # As a child does, in this machine's order of bytes.
        array = np.ascontiguousarray(answer, answer.dtype.newbyteorder("="))
        return ArrayValue("array", answer.dtype.name, answer.shape, array.tobytes())
    if isinstance(answer, np.generic):
        return ArrayValue("scalar", answer.dtype.name, (), answer.tobytes())
    if isinstance(answer, list | tuple):
        return Container(
            "list" if isinstance(answer, list) else "tuple", tuple(as_value(item) for item in answer)
        )
    if isinstance(answer, dict):
        return Container("dict", tuple((as_value(k), as_value(v)) for k, v in answer.items()))
    if type(answer).__module__.partition(".")[0] == "torch" and hasattr(answer, "detach"):
        array = answer.detach().cpu().numpy()
        return ArrayValue("tensor", array.dtype.name, array.shape, np.ascontiguousarray(array).tobytes())
    if answer is None:
        return PlainValue("none")
    # As in a child, what is of a derived class counts by what it holds.
    plain: Mapping[type, Callable[[Any], Any]] = {
        bool: bool,
        int: int,
        float: float,
        complex: complex,
        str: str.__str__,
    }
    for kind, made in plain.items():
        if isinstance(answer, kind):
            return PlainValue(kind.__name__, made(answer))
    return PlainValue("object", type(answer).__name__)


def function_for(entry: Functions, call: str) -> Function:
    """The function that makes a call."""
    return entry[call] if isinstance(entry, Mapping) else entry


def rehearse(
    entry: Functions,
    block: bytes,
    plan: Sequence[Step],
    only: Collection[int] | None = None,
) -> list[StepOutcome]:
    """The outcome of each step of a phase.

    Args:
        entry: The function, or those by the calls' names; calls are made in order.
        block: The phase's block.
        plan: The phase's steps.
        only: Numbers of the steps to run; the others are ``not_run``. All when left out.
    """
    # Every call has its own copy of every array in a block, so one copy of the block serves them all.
    memory = bytearray(block)
    whole = np.frombuffer(memory, np.uint8)
    answers: dict[int, Any] = {}
    outcomes: list[StepOutcome] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, step in enumerate(plan):
            if only is not None and number not in only:
                outcomes.append(NOT_RUN)
            elif isinstance(step, int):
                kept = step in answers
                outcomes.append(
                    StepOutcome("returned", value=as_value(answers[step])) if kept else outcomes[step]
                )
            else:
                arguments = [_argument(a, memory) for a in step]
                outcome, answer = _call(function_for(entry, step.call), arguments, whole)
                changed = _changed_containers(step, arguments, memory)
                if changed:
                    outcome = replace(outcome, reshaped=changed)
                if outcome.state == "returned":
                    answers[number] = answer
                outcomes.append(outcome)
    if memory == block:
        return outcomes
    return [
        _with_overwritten(outcome, step, memory, block) for outcome, step in zip(outcomes, plan, strict=True)
    ]


def _changed_containers(step: PlacedCall, arguments: Sequence[Any], memory: bytearray) -> frozenset[int]:
    """Numbers of the lists and dictionaries that hold something else than before the call."""
    changed = set()
    for number, (placed, now) in enumerate(zip(step, arguments, strict=True)):
        if isinstance(placed, PlacedMapping):
            if not isinstance(now, dict) or list(now) != [key for key, _ in placed.items]:
                changed.add(number)
        elif isinstance(now, list) and now != plain(unplaced(placed, memoryview(memory))):
            changed.add(number)
    return frozenset(changed)


def prepare(step: Step, block: bytes) -> list[Any]:
    """The arguments of one call, with memory of their own that is never written to.

    Raises:
        TypeError: The step is no call.
    """
    if isinstance(step, int):
        raise TypeError("a second look at an answer has no arguments")
    memory = bytearray(block)
    arguments = [_argument(a, memory) for a in step]
    for array in arrays_in(arguments):
        array.flags.writeable = False
    return arguments


def arrays_in(arguments: Sequence[Any]) -> Iterator[Array]:
    """The arrays among arguments, those in dictionaries too."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            yield argument
        elif isinstance(argument, dict):
            yield from arrays_in(list(argument.values()))


def call(entry: Function, arguments: Sequence[Any]) -> StepOutcome:
    """The outcome of one call of a function that changes no argument."""
    with np.errstate(all="ignore"):
        return _call(entry, arguments, NO_MEMORY)[0]


def _argument(argument: PlacedArgument, memory: bytearray) -> Any:
    if isinstance(argument, PlacedMapping):
        return {key: _argument(item, memory) for key, item in argument.items}
    if not isinstance(argument, PlacedArray):
        return plain(unplaced(argument, memoryview(memory)))
    array: Array = np.ndarray(argument.shape, argument.dtype, memory, argument.offset, argument.strides)
    if argument.read_only:
        array.flags.writeable = False
    return array


def _call(entry: Callable[..., Any], arguments: Sequence[Any], memory: Array) -> tuple[StepOutcome, Any]:
    try:
        answer = entry(*arguments)
    except (Exception, SystemExit) as error:
        state: State = "out_of_memory" if _ran_out(error) else "raised"
        bases = tuple(base.__name__ for base in type(error).__mro__[1:-1])
        failure = Failure(type(error).__name__, str(error)[:300], bases, _frames(entry, error))
        return StepOutcome(state, failure=failure), None
    aliased: frozenset[int] = frozenset()
    parts = list(_arrays_of(answer))
    if any(np.may_share_memory(part, memory) for part in parts):
        aliased = frozenset(
            number
            for number, argument in enumerate(arguments)
            if any(np.shares_memory(part, a) for part in parts for a in arrays_in([argument]))
        )
    return StepOutcome("returned", value=as_value(answer), aliased=aliased), answer


def _ran_out(error: BaseException) -> bool:
    """Whether memory ran out; torch says so in a RuntimeError."""
    said = type(error) is RuntimeError and "can't allocate memory" in str(error)
    return said or isinstance(error, MemoryError)


def _arrays_of(answer: Any) -> Iterator[Array]:
    """The arrays in an answer."""
    if isinstance(answer, np.ndarray):
        yield answer
    elif isinstance(answer, list | tuple):
        for item in answer:
            yield from _arrays_of(item)
    elif isinstance(answer, dict):
        yield from _arrays_of(list(answer.values()))


def _frames(entry: Callable[..., Any], error: BaseException) -> tuple[tuple[int, str], ...]:
    """Line and function of the frames in the function's own file, outermost first."""
    code = getattr(inspect.unwrap(entry), "__code__", None)
    if code is None:
        return ()
    return tuple(
        (line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == code.co_filename
    )


def _with_overwritten(outcome: StepOutcome, step: Step, memory: bytearray, block: bytes) -> StepOutcome:
    if isinstance(step, int):
        return outcome
    changed = [
        number
        for number, a in enumerate(step)
        if any(
            memory[p.offset : p.offset + p.length] != block[p.offset : p.offset + p.length]
            for p in placed_arrays(a)
        )
    ]
    if not changed:
        return outcome
    return replace(
        outcome,
        overwritten=frozenset(changed),
        after=tuple(
            (number, as_value(np.array(_argument(step[number], memory))))
            for number in changed
            if isinstance(step[number], PlacedArray)
        ),
    )
