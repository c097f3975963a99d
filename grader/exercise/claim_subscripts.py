"""Subscripts of claims: what ``x[...]`` takes out of an array, a list, a text or a mapping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.exercise.claim_values import (
    ClaimError,
    Room,
    array,
    broadcast_size,
    describe,
    is_mapping,
    is_sequence,
    out,
    read,
    shape_text,
)
from grader.exercise.near import did_you_mean

# A submission's mapping may have any number of keys, of any length.
_MOST_NAMED = 20
_LONGEST_NAMED = 40


def item(mapping: Any, key: str) -> Any:
    """The item of a mapping, for ``mapping.key`` and ``mapping["key"]``.

    Raises:
        ClaimError: It is no mapping, or has no such item.
    """
    if not is_mapping(mapping):
        raise ClaimError(
            f"{describe(mapping)} has no item {key!r}; only a mapping's items have names. "
            "What is known of an array is asked of functions, as in shape(x)"
        )
    if key not in mapping:
        known = [name for name in mapping if type(name) is str and len(name) <= _LONGEST_NAMED]
        hint = did_you_mean(key, known) if 0 < len(known) <= _MOST_NAMED else ""
        raise ClaimError(f"has no item {key!r}{hint}")
    return read(mapping[key])


def subscript(base: Any, index: Any, room: Room) -> Any:
    """``base[index]``.

    Raises:
        ClaimError: The index doesn't fit.
    """
    if is_mapping(base):
        if type(index) is not str:
            raise ClaimError(f"a mapping's items have texts as keys, not {describe(index)}")
        return item(base, index)
    if type(base) is str or is_sequence(base):
        if type(index) not in (int, slice):
            raise ClaimError(
                f"{describe(base)} takes one integer or slice, not {describe(index)}; "
                "array(x) makes an array of a list"
            )
        taken = base[index]
        return taken if type(index) is slice else read(taken)
    if not isinstance(base, np.ndarray):
        raise ClaimError(f"{describe(base)} has no parts")
    parts = tuple(_part(part, room) for part in (index if type(index) is tuple else (index,)))
    room.result(_size(base.shape, parts))
    return out(base[parts])


def _part(part: Any, room: Room) -> Any:
    if part is None or part is ... or type(part) in (int, slice):
        return part
    if is_sequence(part) and not part:
        return np.zeros(0, np.int64)
    if isinstance(part, np.ndarray) or is_sequence(part):
        given = array(part, room)
        if given.dtype.kind in "biu":
            return given
    raise ClaimError(f"an index is an integer, a slice, a mask or an array of integers, not {describe(part)}")


def _size(shape: tuple[int, ...], parts: tuple[Any, ...]) -> int:
    """How many elements an array of this shape has left after ``[parts]``: exactly what numpy will make."""
    used = sum(_axes(part) for part in parts)
    if used > len(shape):
        raise ClaimError(f"an array of shape {shape_text(shape)} has fewer axes than the index")
    kept: list[int] = []
    advanced: list[tuple[int, ...]] = []
    axis, dotted = 0, False
    for part in parts:
        if part is ...:
            if dotted:
                raise ClaimError("an index has more than one ...")
            dotted = True
            kept += shape[axis : axis + len(shape) - used]
            axis += len(shape) - used
            continue
        if type(part) is slice:
            kept.append(len(range(*part.indices(shape[axis]))))
        elif isinstance(part, np.ndarray):
            advanced.append((int(np.count_nonzero(part)),) if part.dtype == np.bool_ else part.shape)
        axis += _axes(part)
    kept += shape[axis:]
    return math.prod(kept) * broadcast_size(*advanced)


def _axes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.ndim if part.dtype == np.bool_ else 1
    return 0 if part is None or part is ... else 1
