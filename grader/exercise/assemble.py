"""Cases made into calls with real arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.errors import ExerciseError, Problem
from grader.exercise.arrays import RecipeError, apply_change, make_array
from grader.exercise.calls import (
    Argument,
    ArrayArgument,
    GeneratorArgument,
    LeafArgument,
    PlainArgument,
    grouped,
    leaves,
    plain,
)
from grader.exercise.checks import Change, Statistic, change_of
from grader.exercise.expressions import ExpressionError, evaluate, names
from grader.exercise.models import Case, Exercise
from grader.exercise.recipes import ArrayChange, Parameter
from grader.exercise.source import PlacedCase

Call = tuple[Argument, ...]


@dataclass(frozen=True)
class AssembledCase:
    """A case with the arguments of each call it makes.

    These are one call; two for a check with a change; for a statistic as many as it asks for.
    """

    placed: PlacedCase
    calls: tuple[Call, ...]

    @property
    def case(self) -> Case:
        return self.placed.case

    @property
    def inputs_digest(self) -> str:
        """SHA-256 over dtype, shape and bytes of every argument."""
        hasher = hashlib.sha256()
        for call in self.calls:
            for argument in leaves(call):
                if isinstance(argument, ArrayArgument):
                    array = argument.array
                    hasher.update(f"{array.dtype.str}{array.shape}".encode())
                    hasher.update(array.tobytes())
                else:
                    hasher.update(repr(argument).encode())
        return f"sha256:{hasher.hexdigest()}"


def case_seed(case: Case) -> int:
    """The case's seed; without one in the YAML, a number that depends on the id alone."""
    if case.seed is not None:
        return case.seed
    return int.from_bytes(hashlib.sha256(case.id.encode()).digest()[:6], "big")


def generator_seed(seed: int, name: str, number: int = 0) -> int:
    """The seed of a generator argument in one of a case's calls."""
    text = f"{seed}\0{name}\0{number}"
    # Short enough to be typed.
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def assemble(exercise: Exercise, placed: PlacedCase) -> AssembledCase:
    """Make the arguments of a case.

    Raises:
        ExerciseError: A recipe of the case doesn't fit, with the case's file and line.
    """
    case = placed.case
    exercise = exercise.view(case.call)
    seed = case_seed(case)
    dims: dict[str, int | float] = dict(case.dims)
    first: dict[str, LeafArgument] = {}

    def fault(error: Exception, *key: str) -> ExerciseError:
        said = f"{case.id}.{'.'.join(key)}"
        return ExerciseError([Problem(placed.file, placed.at(*key), said, str(error))])

    for name, parameter in exercise.slots.items():
        change = case.arrays.get(name, ArrayChange())
        try:
            first[name] = _argument(name, parameter, change, dims, seed, placed.dtype)
        except (RecipeError, ExpressionError) as error:
            raise fault(error, "arrays", name) from None
    calls = [grouped(first)]
    changes = change_of(case.check)
    if changes:
        second = dict(first)
        for name, relation_change in changes.items():
            try:
                second[name] = change_argument(name, first[name], relation_change, dims, seed)
            except (RecipeError, ExpressionError) as error:
                raise fault(error, "check", "change", name) from None
        calls.append(grouped(second))
    if isinstance(case.check, Statistic):
        generators = [n for n, p in exercise.slots.items() if p.generator is not None]
        for number in range(1, case.check.calls):
            other = first | {n: GeneratorArgument(generator_seed(seed, n, number)) for n in generators}
            calls.append(grouped(other))
    return AssembledCase(placed, tuple(calls))


def changed_dims(exercise: Exercise, assembled: AssembledCase) -> dict[str, int]:
    """The dims of a case's second call: ``take`` leaves an argument with other lengths than the first call's.

    Args:
        exercise: The call that the case makes, as `Exercise.view` gives it.
        assembled: The case, with two calls.

    Returns:
        All dims of the case, without those that one argument has otherwise than another, or that can't be
        told from a length.
    """
    dims = dict(assembled.case.dims)
    lengths: dict[str, set[int | None]] = {name: set() for name in dims}
    first, second = (leaves(call) for call in assembled.calls[:2])
    for parameter, before, after in zip(exercise.slots.values(), first, second, strict=True):
        if parameter.scalar in dims and before == dims[parameter.scalar]:
            lengths[parameter.scalar].add(int(after) if isinstance(after, int | float) else None)
        if not isinstance(before, ArrayArgument) or not isinstance(after, ArrayArgument):
            continue
        sizes = zip(parameter.shape or (), before.array.shape, after.array.shape, strict=False)
        for size, length, new in sizes:
            if size in dims and length == dims[str(size)]:
                lengths[str(size)].add(new)
            elif length != new and isinstance(size, str):
                for name in names(size) & set(dims):
                    lengths[name].add(None)
    known = {name: found or {dims[name]} for name, found in lengths.items()}
    return {name: length for name, (length, *more) in known.items() if length is not None and not more}


def _argument(
    name: str,
    parameter: Parameter,
    change: ArrayChange,
    dims: dict[str, int | float],
    seed: int,
    dtype: str | None,
) -> LeafArgument:
    """Raises RecipeError or ExpressionError where the recipe doesn't fit."""
    if parameter.shape is not None:
        array = make_array(name, parameter, change, dims, seed, dtype)
        return ArrayArgument(array, change.layout or "c", bool(change.read_only), parameter.as_list)
    given = "value" in change.model_fields_set
    if parameter.generator is not None:
        stated = change.value if given else None
        return GeneratorArgument(stated if stated is not None else generator_seed(seed, name))
    if parameter.scalar is not None and not given:
        return _plain(evaluate(parameter.scalar, dims))
    return plain_argument(change.value if given else parameter.value)


def plain_argument(value: Any) -> LeafArgument:
    """A value as an argument: numbers as they are."""
    return value if type(value) in (int, float) else PlainArgument(value)


def _plain(number: int | float) -> int | float:
    return int(number) if float(number).is_integer() else float(number)


def change_argument(
    name: str, argument: LeafArgument, change: Change, dims: dict[str, int | float], seed: int
) -> LeafArgument:
    """An argument of a second call, made from that of the first.

    Raises:
        RecipeError, ExpressionError: The change doesn't fit the argument.
    """
    if isinstance(argument, ArrayArgument):
        if change.scalar is not None or "value" in change.model_fields_set:
            raise RecipeError("is an array; a scalar can't replace it")
        array = apply_change(argument.array, change, dims, seed, name)
        return ArrayArgument(array, argument.layout, argument.read_only, argument.as_list)
    new = change.value if "value" in change.model_fields_set else change.scalar
    if new is None and "value" not in change.model_fields_set:
        (key,) = change.model_fields_set
        if isinstance(argument, GeneratorArgument):
            raise RecipeError("is a generator; expected the key value with a whole number as its seed")
        if type(argument) in (int, float):
            raise RecipeError(f"is a scalar; expected the key scalar, as {key} is for arrays")
        raise RecipeError(f"is no array; expected the key value, as {key} is for arrays")
    if isinstance(argument, GeneratorArgument):
        if type(new) is not int or new < 0:
            raise RecipeError(f"is a generator; expected a whole number as its seed, found {new!r}")
        return GeneratorArgument(new)
    return plain_argument(new)


def plain_call(call: Sequence[Argument]) -> list[Any]:
    """The arguments of a call as a function written in numpy takes them, in C order and writable."""
    return [plain(argument) for argument in call]
