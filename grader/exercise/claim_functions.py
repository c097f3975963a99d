"""The functions that claims may call, each with one line for the author."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.exercise.claim_values import (
    INT64_MAX,
    MAX_ELEMENTS,
    Array,
    ClaimError,
    Room,
    alike,
    array,
    broadcast_size,
    describe,
    fits,
    is_plain,
    is_sequence,
    magnitude,
    out,
    wide,
)

# Sorting and searching take longer than arithmetic.
_SORTING = 24
_LENGTH_OF_RANGE = 2**62


@dataclass(frozen=True)
class Function:
    """A function of claims.

    Attributes:
        name: Its name.
        required: Names of the arguments that must be given, by position.
        optional: Those that may be given, by position or by name.
        summary: One line that says what it gives.
        compute: Gets the room and all arguments; those left out are not passed.
    """

    name: str
    required: tuple[str, ...]
    optional: Mapping[str, Any]
    summary: str
    compute: Callable[..., Any]

    @property
    def signature(self) -> str:
        """As an author writes it: ``sum(x, axis=None)``."""
        given = [*self.required, *(f"{name}={value}" for name, value in self.optional.items())]
        return f"{self.name}({', '.join(given)})"


FUNCTIONS: dict[str, Function] = {}


def _function(
    signature: str, summary: str, **optional: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Puts a function into the table: ``signature`` holds its name and its required arguments."""
    name, *required = signature.split()

    def put(compute: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(name, tuple(required), optional, summary, compute)
        return compute

    return put


# Arguments


def _integer(value: object, what: str, least: int = -MAX_ELEMENTS, most: int = MAX_ELEMENTS) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClaimError(f"{what} is an integer, not {describe(value)}")
    if not least <= value <= most:
        raise ClaimError(f"{what} is at least {least:,} and at most {most:,}")
    return value


def _integers(value: Any, what: str, least: int) -> tuple[int, ...]:
    """One integer or a list of them, as a tuple."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1 and value.size <= 64:
        value = value.tolist()
    if not is_sequence(value):
        value = (value,)
    if len(value) > 64:
        raise ClaimError(f"{what} has more than 64 numbers")
    return tuple(_integer(one, what, least) for one in value)


def _axis(axis: Any, ndim: int) -> int:
    number = _integer(axis, "axis")
    if not -ndim <= number < ndim:
        raise ClaimError(f"axis {number} is out of range for {ndim} axes")
    return number % ndim


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """All axes where ``axis`` is None."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(_axis(one, ndim) for one in _integers(axis, "axis", -MAX_ELEMENTS))
    if len(set(axes)) < len(axes):
        raise ClaimError("an axis is named twice")
    return axes


def _parts(value: Any, room: Room) -> list[Array]:
    if not is_sequence(value) or not value:
        raise ClaimError(f"takes a list of arrays, as in [a, b], not {describe(value)}")
    room.result(len(value))
    return [array(part, room) for part in value]


def _product(shape: Iterable[int]) -> int:
    return math.prod(shape)


def _without(shape: Sequence[int], axes: Sequence[int]) -> int:
    """How many elements are left when the axes are reduced to one number."""
    return _product(length for axis, length in enumerate(shape) if axis not in axes)


# Reductions


def _reduced(x: Any, axis: Any, room: Room) -> tuple[Array, tuple[int, ...]]:
    given = array(x, room)
    axes = _axes(axis, given.ndim)
    room.result(_without(given.shape, axes), given.size)
    return given, axes


@_function("all x", "True where all values are true, along an axis or of the whole array.", axis=None)
def _all(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.all(given, axis=axes))


@_function("any x", "True where at least one value is true.", axis=None)
def _any(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.any(given, axis=axes))


@_function("count_nonzero x", "How many values are true, or are not 0.", axis=None)
def _count_nonzero(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.sum(given != 0, axis=axes, dtype=np.int64))


@_function("sum x", "The sum; of True and False how many are True.", axis=None)
def _sum(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    widened = wide(given)
    if widened.dtype == np.int64:
        fits(magnitude(widened) * max(given.size, 1))
    return out(np.sum(widened, axis=axes))


@_function("prod x", "The product.", axis=None)
def _prod(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    widened = wide(given)
    if widened.dtype == np.int64 and widened.size:
        # The bits that a product needs are the sum of its factors'; zeros are counted as ones.
        bits = np.sum(np.log2(np.maximum(np.abs(widened.astype(np.float64)), 1.0)), axis=axes)
        if float(np.max(bits, initial=0.0)) > 62.9:
            fits(INT64_MAX + 1)
    return out(np.prod(widened, axis=axes))


def _floats(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


@_function("mean x", "The mean, in float64; NaN of nothing.", axis=None)
def _mean(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.mean(_floats(given), axis=axes))


@_function("var x", "The population variance (divided by the count).", axis=None)
def _var(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.var(_floats(given), axis=axes))


@_function("std x", "The square root of the population variance.", axis=None)
def _std(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.std(_floats(given), axis=axes))


@_function("norm x", "The Euclidean norm: the square root of the sum of squares.", axis=None)
def _norm(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.sqrt(np.sum(np.abs(_floats(given)) ** 2, axis=axes)))


@_function("min x", "The smallest value; NaN where there is one.", axis=None)
def _min(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.min(given, axis=axes))


@_function("max x", "The largest value; NaN where there is one.", axis=None)
def _max(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.max(given, axis=axes))


@_function(
    "argmin x", "The position of the smallest value, the first of equals; flat without an axis.", axis=None
)
def _argmin(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.argmin(given, axis=None if axis is None else _single(axes)))


@_function(
    "argmax x", "The position of the largest value, the first of equals; flat without an axis.", axis=None
)
def _argmax(room: Room, x: Any, axis: Any = None) -> Any:
    given, axes = _reduced(x, axis, room)
    return out(np.argmax(given, axis=None if axis is None else _single(axes)))


def _single(axes: Sequence[int]) -> int:
    if len(axes) != 1:
        raise ClaimError("takes one axis")
    return axes[0]


# Element by element


def _of_each(
    name: str, summary: str, compute: Callable[[Array], Any], *, keeps_integers: bool = False
) -> None:
    @_function(f"{name} x", summary)
    def _(room: Room, x: Any) -> Any:
        given = wide(array(x, room))
        room.result(given.size, given.size * 4)
        if keeps_integers and given.dtype == np.int64:
            return out(given)
        return out(compute(given))


def _absolute(x: Array) -> Any:
    if x.dtype == np.int64:
        fits(magnitude(x))
    return np.abs(x)


_of_each("abs", "Absolute values.", _absolute)
_of_each("sign", "-1, 0 or 1; NaN of NaN.", np.sign)
_of_each("sqrt", "Square roots; NaN of what is negative.", np.sqrt)
_of_each("exp", "e to the power of each value.", np.exp)
_of_each("log", "Natural logarithms; -inf of 0, NaN of what is negative.", np.log)
_of_each("tanh", "Hyperbolic tangents.", np.tanh)
_of_each("floor", "Rounded down; integers as they are.", np.floor, keeps_integers=True)
_of_each("ceil", "Rounded up; integers as they are.", np.ceil, keeps_integers=True)
_of_each("isfinite", "True where a value is neither NaN nor infinite.", np.isfinite)
_of_each("isnan", "True where a value is NaN.", np.isnan)


@_function("round x", "Rounded to the nearest, halves to the even one; integers as they are.", decimals=0)
def _round(room: Room, x: Any, decimals: Any = 0) -> Any:
    given = wide(array(x, room))
    places = _integer(decimals, "decimals", 0, 300)
    room.result(given.size, given.size * 4)
    return out(given if given.dtype == np.int64 else np.round(given, places))


def _pair(left: Any, right: Any, room: Room) -> list[Array]:
    both = alike([array(left, room), array(right, room)])
    room.result(broadcast_size(*(one.shape for one in both)))
    return both


@_function("maximum a b", "The larger of each two values; NaN where one is.")
def _maximum(room: Room, a: Any, b: Any) -> Any:
    return out(np.maximum(*_pair(a, b, room)))


@_function("minimum a b", "The smaller of each two values; NaN where one is.")
def _minimum(room: Room, a: Any, b: Any) -> Any:
    return out(np.minimum(*_pair(a, b, room)))


@_function("isclose a b rtol", "True where |a - b| <= atol + rtol * |b|; NaN is close to nothing.", atol=0)
def _isclose(room: Room, a: Any, b: Any, rtol: Any, atol: Any = 0) -> Any:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise ClaimError(f"{name} is a number that is not negative, not {describe(value)}")
    left, right = _pair(a, b, room)
    return out(np.isclose(_floats(left), _floats(right), rtol=float(rtol), atol=float(atol)))


@_function("array_equal a b", "True if the shapes are equal and all values are; nothing is broadcast.")
def _array_equal(room: Room, a: Any, b: Any) -> bool:
    left, right = array(a, room), array(b, room)
    if left.shape != right.shape:
        return False
    room.result(left.size)
    return bool(np.all(left == right))


@_function("where condition a b", "Values of a where the condition is true, of b elsewhere.")
def _where(room: Room, condition: Any, a: Any, b: Any) -> Any:
    mask = array(condition, room)
    if mask.dtype != np.bool_:
        raise ClaimError(f"the condition holds True and False, not {describe(mask)}")
    left, right = alike([array(a, room), array(b, room)])
    room.result(broadcast_size(mask.shape, left.shape, right.shape))
    return out(np.where(mask, left, right))


@_function("clip x low high", "Values below low are low, above high are high.")
def _clip(room: Room, x: Any, low: Any, high: Any) -> Any:
    given, least, most = alike([array(x, room), array(low, room), array(high, room)])
    room.result(broadcast_size(given.shape, least.shape, most.shape))
    return out(np.minimum(np.maximum(given, least), most))


@_function("isin x values", "True where a value of x is among the values; NaN never is.")
def _isin(room: Room, x: Any, values: Any) -> Any:
    given, known = alike([array(x, room), array(values, room)])
    room.result(given.size + known.size, (given.size + known.size) * _SORTING)
    if not known.size:
        return out(np.zeros(given.shape, np.bool_))
    ordered = np.sort(known, axis=None)
    place = np.minimum(np.searchsorted(ordered, given), ordered.size - 1)
    return out(ordered[place] == given)


# In order


def _sorting(x: Any, axis: Any, room: Room) -> tuple[Array, int]:
    given = array(x, room)
    if given.ndim == 0:
        raise ClaimError("a single number has no axis to sort along")
    room.result(given.size, given.size * _SORTING)
    return given, _axis(axis, given.ndim)


@_function("sort x", "Sorted along an axis, NaN last.", axis=-1)
def _sort(room: Room, x: Any, axis: Any = -1) -> Any:
    given, along = _sorting(x, axis, room)
    return np.sort(given, axis=along)


@_function("argsort x", "The positions that sort along an axis; equals keep their order.", axis=-1)
def _argsort(room: Room, x: Any, axis: Any = -1) -> Any:
    given, along = _sorting(x, axis, room)
    return np.argsort(given, axis=along, kind="stable")


@_function("unique x", "The different values of the whole array, sorted; NaN once.")
def _unique(room: Room, x: Any) -> Any:
    given = array(x, room)
    room.result(given.size, given.size * _SORTING)
    # Sorted here: numpy may use a hash table, whose time depends on what the values are.
    ordered = np.sort(given, axis=None)
    first = np.ones(ordered.size, np.bool_)
    both_nan = np.isnan(ordered[1:]) & np.isnan(ordered[:-1])
    first[1:] = (ordered[1:] != ordered[:-1]) & ~both_nan
    return ordered[first]


@_function("diff x", "Each value minus the one before it, along an axis.", axis=-1)
def _diff(room: Room, x: Any, axis: Any = -1) -> Any:
    given = array(x, room)
    if given.dtype == np.bool_:
        raise ClaimError("differences of True and False; compare neighbours instead: x[1:] != x[:-1]")
    if given.ndim == 0:
        raise ClaimError("a single number has no differences")
    along = _axis(axis, given.ndim)
    widened = wide(given)
    if widened.dtype == np.int64:
        fits(2 * magnitude(widened))
    room.result(given.size)
    return np.diff(widened, axis=along)


@_function("cumsum x", "Sums of all values up to each, along an axis or of the flat array.", axis=None)
def _cumsum(room: Room, x: Any, axis: Any = None) -> Any:
    given = array(x, room)
    along = None if axis is None else _axis(axis, given.ndim)
    widened = wide(given)
    if widened.dtype == np.int64:
        fits(magnitude(widened) * max(given.size, 1))
    room.result(given.size)
    return np.cumsum(widened, axis=along)


@_function("flatnonzero x", "Positions in the flat array that are true, or are not 0, ascending.")
def _flatnonzero(room: Room, x: Any) -> Any:
    given = array(x, room)
    room.result(given.size)
    return np.flatnonzero(given)


@_function("bincount x", "How often each of 0, 1, 2, … occurs in a flat array of integers.", minlength=0)
def _bincount(room: Room, x: Any, minlength: Any = 0) -> Any:
    given = array(x, room)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise ClaimError(f"counts a flat array of integers, not {describe(given)}")
    if given.size and int(given.min()) < 0:
        raise ClaimError("counts integers that are not negative")
    least = _integer(minlength, "minlength", 0)
    room.result(max(least, int(given.max()) + 1 if given.size else 0), given.size)
    return np.bincount(given.astype(np.int64, copy=False), minlength=least)


# Taking and making


@_function("take x indices", "x[indices] along an axis, or of the flat array.", axis=None)
def _take(room: Room, x: Any, indices: Any, axis: Any = None) -> Any:
    given, which = array(x, room), array(indices, room)
    if which.dtype.kind not in "iu":
        raise ClaimError(f"indices are integers, not {describe(which)}")
    along = None if axis is None else _axis(axis, given.ndim)
    room.result(which.size * (1 if along is None else _without(given.shape, (along,))))
    return out(np.take(given, wide(which), axis=along))


@_function(
    "arange start", "0, 1, … below start; with stop: start, start + step, … below stop.", stop=None, step=1
)
def _arange(room: Room, start: Any, stop: Any = None, step: Any = 1) -> Any:
    ends = (0, start, step) if stop is None else (start, stop, step)
    first, last, by = (
        _integer(value, what, -_LENGTH_OF_RANGE, _LENGTH_OF_RANGE)
        for value, what in zip(ends, ("start", "stop", "step"), strict=True)
    )
    numbers = range(first, last, by)
    # len() counts to 2**63 - 1 only.
    room.result(max(0, -((first - last) // by) if by > 0 else -((last - first) // -by)))
    return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)


def _filled(room: Room, shape: Any, value: Any) -> Any:
    lengths = _integers(shape, "a length", 0)
    if not is_plain(value):
        raise ClaimError(f"the value is one number, not {describe(value)}")
    room.result(_product(lengths))
    one = array(value, room)
    return out(np.full(lengths, one, one.dtype))


@_function("zeros shape", "An array of this shape full of 0.0.")
def _zeros(room: Room, shape: Any) -> Any:
    return _filled(room, shape, 0.0)


@_function("ones shape", "An array of this shape full of 1.0.")
def _ones(room: Room, shape: Any) -> Any:
    return _filled(room, shape, 1.0)


@_function("full shape value", "An array of this shape full of one number.")
def _full(room: Room, shape: Any, value: Any) -> Any:
    return _filled(room, shape, value)


@_function("array x", "A list (of lists) of numbers as an array.")
def _array(room: Room, x: Any) -> Any:
    return out(array(x, room))


# Shapes


@_function("shape x", "The lengths of an array's axes, as a tuple: shape(x) == (2, 3).")
def _shape(room: Room, x: Any) -> tuple[int, ...]:
    return array(x, room).shape


@_function("ndim x", "How many axes an array has.")
def _ndim(room: Room, x: Any) -> int:
    return array(x, room).ndim


@_function("size x", "How many values an array has.")
def _size(room: Room, x: Any) -> int:
    return array(x, room).size


@_function("len x", "The length of the first axis, of a list, of a text, or how many items a mapping has.")
def _len(room: Room, x: Any) -> int:
    if is_plain(x) or x is None:
        raise ClaimError(f"{describe(x)} has no length")
    return len(x)


@_function(
    "dtype_kind x", '"b" of True and False, "i" of integers, "u" of unsigned ones, "f" of floats, "c".'
)
def _dtype_kind(room: Room, x: Any) -> str:
    return array(x, room).dtype.kind


@_function("reshape x shape", "The same values in another shape; -1 stands for what is left.")
def _reshape(room: Room, x: Any, shape: Any) -> Any:
    given = array(x, room)
    lengths = _integers(shape, "a length", -1)
    room.result(given.size)
    return out(np.reshape(given, lengths))


@_function("transpose x", "Axes in reversed order, or in the order given.", axes=None)
def _transpose(room: Room, x: Any, axes: Any = None) -> Any:
    given = array(x, room)
    order = _axes(axes, given.ndim)
    if len(order) != given.ndim:
        raise ClaimError(f"axes names {len(order)} of {given.ndim} axes")
    return out(np.transpose(given, order if axes is not None else None))


@_function("concatenate parts", "Arrays one after another along an axis.", axis=0)
def _concatenate(room: Room, parts: Any, axis: Any = 0) -> Any:
    given = alike(_parts(parts, room))
    room.result(sum(part.size for part in given))
    return np.concatenate(given, axis=_axis(axis, given[0].ndim))


@_function("stack parts", "Arrays of one shape along a new axis.", axis=0)
def _stack(room: Room, parts: Any, axis: Any = 0) -> Any:
    given = alike(_parts(parts, room))
    room.result(sum(part.size for part in given))
    return np.stack(given, axis=_axis(axis, given[0].ndim + 1))


@_function("repeat x times", "Each value so many times, along an axis or of the flat array.", axis=None)
def _repeat(room: Room, x: Any, times: Any, axis: Any = None) -> Any:
    given, count = array(x, room), _integer(times, "times", 0)
    along = None if axis is None else _axis(axis, given.ndim)
    room.result(given.size * count)
    return np.repeat(given, count, axis=along)


@_function("tile x times", "The whole array so many times, along each axis.")
def _tile(room: Room, x: Any, times: Any) -> Any:
    given, counts = array(x, room), _integers(times, "times", 0)
    room.result(given.size * _product(counts))
    return out(np.tile(given, counts))


def bind(function: Function, given: int, names: Iterable[str]) -> str:
    """What is wrong with a call by ``given`` positional and these named arguments; empty if nothing is."""
    named = list(names)
    positions = [*function.required, *function.optional]
    for name in named:
        if name not in function.optional:
            return f"takes no argument {name!r} by name"
        if name in positions[:given] or named.count(name) > 1:
            return f"gets {name!r} twice"
    if given > len(positions):
        return f"takes at most {len(positions)} arguments, not {given}"
    if given < len(function.required):
        return f"needs {function.required[given]}"
    return ""
