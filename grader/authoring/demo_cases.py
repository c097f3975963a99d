"""A demonstration made from what an exercise has: some of its public cases, and its map of influence."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.demonstration import (
    MAX_ELEMENTS,
    MAX_PARTS,
    MAX_SIDE,
    Demonstration,
    Example,
    Matrix,
    Metric,
    Vector,
)
from grader.errors import ExerciseError, Problem
from grader.exercise.assemble import AssembledCase, assemble, plain_call
from grader.exercise.calls import ArrayArgument, leaves
from grader.exercise.checks import Raises
from grader.exercise.influence_calls import influence_calls, right_map
from grader.exercise.models import Case, Exercise
from grader.exercise.reference import Entry, load_entries
from grader.exercise.source import ExerciseSource, PlacedCase, shown

# So many examples are read, not skimmed.
MOST = 6
# An array of more matrices is read by nobody.
MOST_MATRICES = 6
INFLUENCE = "influence"

Array = NDArray[Any]
Part = Matrix | Vector | Metric


def from_cases(source: ExerciseSource) -> Demonstration:
    """A small public case for each of the first clauses that have one, and the map of influence.

    Raises:
        ExerciseError: The reference is missing, fails on a case, or the exercise has nothing to be shown.
    """
    exercise = source.exercise
    entries = load_entries(source.reference_folder, "model", exercise)
    examples = [
        _example(exercise.view(one.case.call), entries[exercise.call_named(one.case.call)], one)
        for one in _chosen(source)
    ]
    if exercise.influence is not None:
        name = INFLUENCE
        while name in [e.id for e in examples]:
            name += "_map"
        call = exercise.call_named(exercise.influence.call)
        examples.append(_influence(source, exercise.view(call), entries[call], name))
    if not examples:
        place = shown(source.root / "cases" / source.name)
        message = "there is no public case and no map of influence to be shown; add a public case"
        raise ExerciseError([Problem(place, 0, "", message)])
    return Demonstration(
        exercise.title,
        f"What the reference of {' and '.join(exercise.entries)} gives for arguments of public cases.",
        examples,
    )


# --- Cases ----------------------------------------------------------------------------------------


def _chosen(source: ExerciseSource) -> list[AssembledCase]:
    """For each of the first clauses its smallest public case with values to compare, or else with any."""
    clauses: dict[str, list[AssembledCase]] = {name: [] for name in source.exercise.clauses}
    for entry in source.entries:
        # Where an exception is asked for there is no answer to show.
        if not isinstance(entry.spec, Case) or isinstance(entry.spec.check, Raises):
            continue
        if entry.spec.visibility == "public":
            placed = PlacedCase(entry.spec, entry.group, entry.file, entry.line, item=entry.item)
            clauses[entry.spec.clause].append(assemble(source.exercise, placed))
    chosen: list[AssembledCase] = []
    seen: set[str] = set()
    compared = any(c.case.check == "compare" for found in clauses.values() for c in found)
    for found in clauses.values():
        new = [c for c in found if c.inputs_digest not in seen]
        if compared:
            new = [c for c in new if c.case.check == "compare"]
        if new and len(chosen) < MOST:
            smallest = min(new, key=_size)
            chosen.append(smallest)
            seen.add(smallest.inputs_digest)
    return chosen


def _size(assembled: AssembledCase) -> tuple[bool, bool, int]:
    """How well a case can be shown: whole arrays before those left out, something before nothing."""
    arrays = [a.array if isinstance(a, ArrayArgument) else np.zeros(()) for a in leaves(assembled.calls[0])]
    return (
        not all(_is_shown(a) for a in arrays),
        any(a.size == 0 for a in arrays),
        sum(a.size for a in arrays),
    )


def _example(exercise: Exercise, entry: Entry, assembled: AssembledCase) -> Example:
    case, placed = assembled.case, assembled.placed
    given = plain_call(assembled.calls[0])
    answer = _answer(entry, given, placed)
    parts = [p for name, value in zip(exercise.parameters, given, strict=True) for p in _parts(name, value)]
    flat = any(isinstance(p, Matrix) for p in parts)
    parts += _parts("answer", answer, flat=flat)
    clause = exercise.clauses[case.clause]
    told = f"{clause.title}: {clause.text}" if clause.text else clause.title
    return Example(
        case.id,
        case.title or case.id,
        told,
        matrices=[p for p in parts if isinstance(p, Matrix)][-MAX_PARTS:],
        vectors=[p for p in parts if isinstance(p, Vector)][-MAX_PARTS:],
        metrics=[p for p in parts if isinstance(p, Metric)][-MAX_PARTS:],
    )


def _answer(entry: Callable[..., Any], given: Sequence[Any], placed: PlacedCase) -> Any:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # The arguments are shown as they were before the call.
            return entry(*copy.deepcopy(list(given)))
    except Exception as error:
        message = f"{placed.case.id}: the reference fails on it: {type(error).__name__}: {error}"
        raise ExerciseError([Problem(placed.file, placed.line, "", message)]) from error


# --- Values ---------------------------------------------------------------------------------------


def _parts(name: str, value: Any, *, flat: bool = False) -> Iterator[Part]:
    """A value as it is shown; a structure as the parts that it has.

    Args:
        name: What it is called.
        value: A number, an array, or what a function may return else.
        flat: An array of one axis is a matrix of one row, to stand after other matrices.
    """
    if isinstance(value, tuple | list) and 0 < len(value) <= MAX_ELEMENTS and set(map(type, value)) == {str}:
        yield Vector(name, value)
        return
    inner = _inner(value)
    if inner is not None:
        for key, one in inner:
            yield from _parts(f"{name}{key}", one, flat=flat)
        return
    array = _array(value)
    if array is None:
        yield Metric(name, value if isinstance(value, str) else f"a value of type {type(value).__name__}")
    elif array.ndim == 0:
        yield Metric(name, array)
    else:
        # A tensor names its dtype with its package.
        dtype = str(getattr(value, "dtype", array.dtype)).rpartition(".")[2]
        yield from _array_parts(f"{name}, {dtype} ({_lengths(array)})", array, flat)


def _array_parts(label: str, array: Array, flat: bool) -> Iterator[Part]:
    if not array.size:
        yield Metric(label, "no elements")
    elif not _is_shown(array):
        yield Metric(label, "not shown, since it is large")
    elif array.ndim == 1 and not (flat and array.size <= MAX_SIDE):
        yield Vector(label, array)
    elif array.ndim <= 2:
        yield Matrix(label, np.atleast_2d(array))
    else:
        scale = _common_scale(array)
        for index in product(*map(range, array.shape[:-2])):
            yield Matrix(f"{label}, [{', '.join(map(str, index))}, :, :]", array[index], scale=scale)


def _inner(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a structure with what tells them apart; None for what is none."""
    if is_dataclass(value) and not isinstance(value, type):
        return [(f".{f.name}", getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", one) for key, one in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{key}", one) for key, one in zip(value._fields, value, strict=True)]
    if isinstance(value, tuple | list) and _array(value) is None:
        return [(f"[{at}]", one) for at, one in enumerate(value)]
    return None


def _array(value: Any) -> Array | None:
    """Numbers or truth values as an array; None for anything else, and for a tuple of arrays."""
    if hasattr(value, "tolist"):
        array = value if isinstance(value, np.ndarray) else np.asarray(value.tolist())
    elif isinstance(value, tuple | list) and any(hasattr(one, "tolist") for one in value):
        return None
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            # Lists of unequal length.
            return None
    return array if array.dtype.kind in "fiub" else None


def _is_shown(array: Array) -> bool:
    """Whether an array is small enough to be shown whole."""
    if array.ndim <= 1:
        return array.size <= MAX_ELEMENTS
    return max(array.shape[-2:]) <= MAX_SIDE and math.prod(array.shape[:-2]) <= MOST_MATRICES


def _lengths(array: Array) -> str:
    return ", ".join(map(str, array.shape)) + ("," if array.ndim == 1 else "")


def _common_scale(array: Array) -> tuple[float, float] | None:
    """The ends of the colours of several matrices of one array, which are to be compared."""
    finite = array[np.isfinite(array)].astype(np.float64)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return (low, high) if low < high else None


# --- Influence ------------------------------------------------------------------------------------


def _influence(source: ExerciseSource, exercise: Exercise, entry: Entry, name: str) -> Example:
    """The map of influence as a matrix of zeros and ones."""
    spec = source.exercise.influence
    assert spec is not None
    place = shown(source.root / "cases" / source.name / "exercise.yaml"), source.influence_line
    found = right_map(entry, influence_calls(exercise, spec, *place), exercise, spec, *place)
    elements = [", ".join(map(str, index)) for index in np.ndindex(found.shape)]
    return Example(
        name,
        f"What a change of {spec.argument} moves",
        f"Each element of {spec.argument}, by its index, is changed in turn. "
        "1: that row of the answer moves; 0: it stays as it was.",
        matrices=[
            Matrix(
                f"Element of {spec.argument} by row of the answer",
                [[int(sign == "1") for sign in row] for row in found.expected],
                rows=[f"[{index}]" for index in elements],
                scale=(0, 1),
            )
        ],
    )
