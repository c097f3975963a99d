"""Cases made into calls with real arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.errors import ExerciseError, Problem
from grader.exercise.arrays import RecipeError, apply_change, make_array
from grader.exercise.calls import Argument, ArrayArgument
from grader.exercise.expressions import ExpressionError, evaluate
from grader.exercise.models import Case, Change, Exercise, Relation
from grader.exercise.recipes import ArrayChange
from grader.exercise.source import PlacedCase

Call = tuple[Argument, ...]


@dataclass(frozen=True)
class AssembledCase:
    """A case with the arguments of each call it makes: one, or two for a relation with a change."""

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
            for argument in call:
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


def assemble(exercise: Exercise, placed: PlacedCase) -> AssembledCase:
    """Make the arrays of a case.

    Raises:
        ExerciseError: A recipe of the case doesn't fit, with the case's file and line.
    """
    case = placed.case
    seed = case_seed(case)
    dims: dict[str, int | float] = dict(case.dims)
    first: dict[str, Argument] = {}

    def fault(error: Exception, *key: str) -> ExerciseError:
        said = f"{case.id}.{'.'.join(key)}"
        return ExerciseError([Problem(placed.file, placed.at(*key), said, str(error))])

    for name, parameter in exercise.parameters.items():
        change = case.arrays.get(name, ArrayChange())
        try:
            if parameter.shape is None:
                assert parameter.scalar is not None
                first[name] = _plain(evaluate(parameter.scalar, dims))
            else:
                array = make_array(name, parameter, change, dims, seed, placed.dtype)
                first[name] = ArrayArgument(array, change.layout or "c", bool(change.read_only))
        except (RecipeError, ExpressionError) as error:
            raise fault(error, "arrays", name) from None
    calls = [tuple(first.values())]
    if isinstance(case.check, Relation) and case.check.change:
        second = dict(first)
        for name, relation_change in case.check.change.items():
            try:
                second[name] = change_argument(name, first[name], relation_change, dims, seed)
            except (RecipeError, ExpressionError) as error:
                raise fault(error, "check", "change", name) from None
        calls.append(tuple(second.values()))
    return AssembledCase(placed, tuple(calls))


def _plain(number: int | float) -> int | float:
    return int(number) if float(number).is_integer() else float(number)


def change_argument(
    name: str, argument: Argument, change: Change, dims: dict[str, int | float], seed: int
) -> Argument:
    """An argument of a relation's second call, made from that of the first.

    Raises:
        RecipeError, ExpressionError: The change doesn't fit the argument.
    """
    if isinstance(argument, ArrayArgument):
        if change.scalar is not None:
            raise RecipeError("is an array; a scalar can't replace it")
        array = apply_change(argument.array, change, dims, seed, name)
        return ArrayArgument(array, argument.layout, argument.read_only)
    if change.scalar is None:
        raise RecipeError("is a scalar; expected the key scalar")
    return change.scalar


def plain_call(
    call: Sequence[Argument],
) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]] | int | float]:
    """The arguments of a call as a function written in numpy takes them, in C order and writable."""
    return [a.array.copy() if isinstance(a, ArrayArgument) else a for a in call]
