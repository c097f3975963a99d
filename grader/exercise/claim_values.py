"""What the expressions of claims compute with, and how large it may become.

Values come from submissions, so nothing is believed of them: only the exact types below are read, integer
arithmetic is done in 64 bits and never wraps around, and the size of a result is known before it is made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Plain = int | float | complex

# Of one result, of all results of one evaluation, and of the operations on them.
MAX_ELEMENTS = 2**22
MAX_TOTAL = 2**24
MAX_WORK = 2**27
MAX_BITS = 1024
MAX_DEPTH = 30
# What is done item by item in Python takes so much longer than in an array.
_PYTHON = 400

INT64_MAX = 2**63 - 1
_SCALARS = frozenset(np.sctypeDict.values())
_MAPPINGS = (dict, MappingProxyType)


class ClaimError(ValueError):
    """A claim can't be parsed, or can't be computed with the values it is about."""


class Room:
    """What one evaluation may still make and do; asked before anything is made."""

    def __init__(self) -> None:
        self.elements = MAX_TOTAL
        self.work = MAX_WORK

    def result(self, elements: int, work: int | None = None) -> None:
        """Takes room for a result of so many elements, made in so many operations (one each, if not said).

        Raises:
            ClaimError: There is not that much left.
        """
        if elements > MAX_ELEMENTS:
            raise ClaimError(f"would have {elements:,} elements; at most {MAX_ELEMENTS:,} are computed")
        self.elements -= elements
        self.work -= elements if work is None else max(work, elements)
        if self.elements < 0:
            raise ClaimError(f"all results together would have more than {MAX_TOTAL:,} elements")
        if self.work < 0:
            raise ClaimError(f"would take more than {MAX_WORK:,} operations")


def is_plain(value: object) -> TypeGuard[Plain]:
    """Whether this is one of Python's numbers, True and False among them."""
    return type(value) in (bool, int, float, complex)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return type(value) in (list, tuple)


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return type(value) in _MAPPINGS


def read(value: Any) -> Any:
    """A value as claims see it: single numbers are Python's, arrays are in this machine's byte order.

    Raises:
        ClaimError: It is nothing that claims are made about, or too large.
    """
    kind = type(value)
    if kind is np.ndarray or kind in _SCALARS:
        widest = 16 if value.dtype.kind == "c" else 8
        if value.dtype.kind not in "biufc" or value.dtype.itemsize > widest:
            raise ClaimError(f"holds values of dtype {str(value.dtype)[:40]}, which claims don't read")
        if value.size > MAX_ELEMENTS:
            raise ClaimError(f"has {value.size:,} elements; at most {MAX_ELEMENTS:,} are read")
        if value.ndim == 0:
            return value.item()
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if value is None or is_plain(value) or is_sequence(value) or is_mapping(value) or kind is str:
        return value
    raise ClaimError(f"is {kind.__name__[:40]}, which claims don't read")


def out(value: Any) -> Any:
    """What numpy gave, single numbers as Python's."""
    return value.item() if isinstance(value, np.generic) or value.ndim == 0 else value


def describe(value: Any) -> str:
    """What a value is, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {shape_text(value.shape)} and dtype {value.dtype}"
    if value is True or value is False or value is None:
        return str(value)
    if is_plain(value):
        return "a number"
    if is_mapping(value):
        return "a mapping"
    kind: type = type(value)
    return {"str": "a text", "list": "a list", "tuple": "a tuple"}.get(kind.__name__, kind.__name__)


def shape_text(shape: Sequence[int]) -> str:
    return str(tuple(shape))


def array(value: Any, room: Room, depth: int = 0) -> Array:
    """A number, an array, or a list of them as an array; never of objects.

    Raises:
        ClaimError: It is none of these, an integer needs more than 64 bits, or the parts' shapes differ.
    """
    value = read(value)
    if isinstance(value, np.ndarray):
        return value
    if is_plain(value):
        return _array_of_number(value)
    if not is_sequence(value):
        raise ClaimError(f"{describe(value)} is no array of numbers")
    if depth >= MAX_DEPTH:
        raise ClaimError(f"lists are nested more than {MAX_DEPTH} deep")
    room.result(len(value))
    kinds = {type(item) for item in value}
    if kinds <= {bool, int, float, complex}:
        return _array_of_numbers(value, kinds)
    room.result(0, len(value) * _PYTHON)
    parts = [array(item, room, depth + 1) for item in value]
    if len({part.shape for part in parts}) > 1:
        raise ClaimError("the parts of a list have different shapes; no array can be made of them")
    room.result(len(parts) * parts[0].size)
    return np.stack(alike(parts))


def _array_of_numbers(value: Sequence[Plain], kinds: set[type]) -> Array:
    if kinds == {bool}:
        return np.array(value, np.bool_)
    if kinds and kinds <= {bool, int}:
        if max(value) > INT64_MAX or min(value) < -INT64_MAX - 1:  # type: ignore[type-var,operator]
            raise ClaimError("an integer needs more than 64 bits")
        return np.array(value, np.int64)
    # An integer that no float can be is told by Python as an OverflowError.
    return np.array(value, np.complex128 if complex in kinds else np.float64)


def _array_of_number(value: Plain) -> Array:
    if isinstance(value, int) and not isinstance(value, bool):
        if -INT64_MAX - 1 <= value <= INT64_MAX:
            return np.array(value, np.int64)
        if 0 <= value <= 2**64 - 1:
            return np.array(value, np.uint64)
        raise ClaimError("an integer needs more than 64 bits")
    return np.array(value)


def wide(value: Array) -> Array:
    """The same values in 64 bits: float64, complex128, or int64 for integers and booleans.

    Raises:
        ClaimError: An unsigned integer is larger than an int64 can be.
    """
    kind = value.dtype.kind
    if kind == "f":
        return value.astype(np.float64, copy=False)
    if kind == "c":
        return value.astype(np.complex128, copy=False)
    if value.dtype == np.uint64 and value.size and int(value.max()) > INT64_MAX:
        raise ClaimError("an unsigned integer is larger than 2**63 - 1, too large for arithmetic")
    return value.astype(np.int64, copy=False)


def alike(parts: Sequence[Array]) -> list[Array]:
    """The arrays with one dtype: their own where it is the same, else the 64 bits that hold all of them."""
    if len({part.dtype for part in parts}) <= 1:
        return list(parts)
    widened = [wide(part) for part in parts]
    common = np.result_type(*{part.dtype for part in widened})
    return [part.astype(common, copy=False) for part in widened]


def magnitude(value: Array) -> int:
    """The largest absolute value of an array of integers, exactly; 0 where it is empty."""
    return max(-int(value.min()), int(value.max())) if value.size else 0


def fits(largest: int) -> None:
    """Raises ClaimError where an integer result could need more than 64 bits."""
    if largest > INT64_MAX:
        raise ClaimError("integers this large could need more than 64 bits")


def broadcast_size(*shapes: Sequence[int]) -> int:
    """How many elements arrays of these shapes have when broadcast together.

    Raises:
        ClaimError: They can't be.
    """
    try:
        return math.prod(np.broadcast_shapes(*(tuple(shape) for shape in shapes)))
    except ValueError:
        said = " and ".join(shape_text(shape) for shape in shapes)
        raise ClaimError(f"shapes {said} don't fit together") from None


def _both_boolean(left: Any, right: Any) -> bool:
    return all(
        type(side) is bool or (isinstance(side, np.ndarray) and side.dtype == np.bool_)
        for side in (left, right)
    )


_UFUNCS: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
    "@": np.matmul,
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def arithmetic(sign: str, left: Any, right: Any, room: Room) -> Any:
    """``left sign right``, element by element, or as a product of matrices.

    Raises:
        ClaimError: Shapes or kinds don't fit, an integer result could need more than 64 bits, or an
            integer would be divided by zero.
    """
    if _both_boolean(left, right):
        raise ClaimError(f"both sides of {sign} are True or False; use & | ^, or sum() to count")
    if is_plain(left) and is_plain(right) and sign != "@":
        return _of_numbers(sign, left, right)
    first, second = wide(array(left, room)), wide(array(right, room))
    if sign == "@":
        inner = _take_matmul_room(first.shape, second.shape, room)
    else:
        inner = 1
        # A power takes longer than the others.
        size = broadcast_size(first.shape, second.shape)
        room.result(size, size * 8 if sign == "**" else None)
    if first.dtype == second.dtype == np.int64:
        _check_integers(sign, first, second, inner)
    return out(_UFUNCS[sign](first, second))


def _check_integers(sign: str, first: Array, second: Array, inner: int) -> None:
    left, right = magnitude(first), magnitude(second)
    if sign in ("+", "-"):
        fits(left + right)
    elif sign in ("*", "@"):
        fits(left * right * max(inner, 1))
    elif sign in ("//", "%"):
        fits(left)
        if second.size and not second.all():
            raise ClaimError("an integer is divided by zero")
    elif sign == "**":
        if second.size and int(second.min()) < 0:
            raise ClaimError("an integer has a negative exponent; make it a float with * 1.0")
        fits(_power(left, right))
    # True division is done in float64.


def _power(base: int, exponent: int) -> int:
    """``base ** exponent``, or a number of more than `MAX_BITS` bits where it is larger than that."""
    if base > 1 and (base.bit_length() - 1) * exponent > MAX_BITS:
        return 1 << MAX_BITS
    return int(base**exponent)


def _of_numbers(sign: str, left: Plain, right: Plain) -> Plain:
    if isinstance(left, int) and isinstance(right, int):
        if sign == "/":
            return left / right if right else _floating(sign, left, right)
        if sign in ("//", "%") and not right:
            raise ClaimError("an integer is divided by zero")
        if sign == "**":
            # A negative exponent gives a float, as in Python.
            _in_bits(_power(abs(left), abs(right)))
        return _in_bits(_OPERATORS[sign](left, right))
    return _floating(sign, left, right)


def _floating(sign: str, left: Plain, right: Plain) -> Plain:
    """As numpy computes it: a division by zero is infinite or NaN, and a power is never complex."""
    kind = complex if isinstance(left, complex) or isinstance(right, complex) else float
    result: Plain = _UFUNCS[sign](np.array(left, kind), np.array(right, kind)).item()
    return result


def _in_bits(value: Plain) -> Plain:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ClaimError(f"an integer needs more than {MAX_BITS:,} bits")
    return value


def _take_matmul_room(left: Sequence[int], right: Sequence[int], room: Room) -> int:
    """Takes the room of a product of matrices; the length of its sums."""
    if not left or not right:
        raise ClaimError("@ needs arrays on both sides")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    inner = left[-1]
    if inner != (right[-2] if len(right) > 1 else right[-1]):
        raise ClaimError(f"shapes {shape_text(left)} and {shape_text(right)} don't fit for @")
    size = broadcast_size(left[:-2], right[:-2]) * math.prod(rows) * math.prod(columns)
    room.result(size, size * inner)
    return inner


def negative(value: Any, room: Room) -> Any:
    """``-value``.

    Raises:
        ClaimError: It is boolean, no number, or the smallest int64.
    """
    if type(value) is bool or (isinstance(value, np.ndarray) and value.dtype == np.bool_):
        raise ClaimError("- of True or False; use ~ or not")
    if is_plain(value):
        return -value
    given = wide(array(value, room))
    room.result(given.size)
    if given.dtype == np.int64:
        fits(magnitude(given))
    return out(-given)


def inverted(value: Any, room: Room) -> Any:
    """``~value`` of True and False.

    Raises:
        ClaimError: It is anything else; of integers ``~`` means another thing, which a mask never does.
    """
    if type(value) is bool:
        return not value
    given = array(value, room)
    if given.dtype != np.bool_:
        raise ClaimError(f"~ is for True and False, not for {describe(given)}; use == 0")
    room.result(given.size)
    return ~given


_LOGICAL: Mapping[str, Callable[..., Any]] = {
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def logical(sign: str, left: Any, right: Any, room: Room) -> Any:
    """``left & right``, ``|`` or ``^``, both boolean or both integers.

    Raises:
        ClaimError: They are not.
    """
    first, second = array(left, room), array(right, room)
    kinds = {given.dtype.kind.replace("u", "i") for given in (first, second)}
    if kinds not in ({"b"}, {"i"}):
        raise ClaimError(
            f"{sign} needs True and False on both sides, or integers; "
            f"here are {describe(first)} and {describe(second)}"
        )
    if kinds == {"i"}:
        first, second = wide(first), wide(second)
    room.result(broadcast_size(first.shape, second.shape))
    return out(_LOGICAL[sign](first, second))


_COMPARE_ARRAYS: Mapping[str, Callable[..., Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compared(sign: str, left: Any, right: Any, room: Room) -> Any:
    """``left sign right``: element by element where one side is an array, else one True or False.

    Two lists (or tuples) are equal as a whole, as shapes are; so are texts, and None equals None alone.

    Raises:
        ClaimError: The two can't be compared this way.
    """
    whole = left is None or right is None or str in (type(left), type(right))
    if whole or (is_sequence(left) and is_sequence(right)):
        if sign in ("==", "!="):
            return same(left, right, room) is (sign == "==")
        if type(left) is str and type(right) is str:
            return _COMPARE[sign](left, right)
        raise ClaimError(f"{describe(left)} and {describe(right)} have no order")
    if is_plain(left) and is_plain(right):
        if sign not in ("==", "!=") and complex in (type(left), type(right)):
            raise ClaimError("complex numbers have no order")
        return _COMPARE[sign](left, right)
    first, second = array(left, room), array(right, room)
    if sign not in ("==", "!=") and "c" in (first.dtype.kind, second.dtype.kind):
        raise ClaimError("complex numbers have no order")
    room.result(broadcast_size(first.shape, second.shape))
    return out(_COMPARE_ARRAYS[sign](_beside(second, left, first), _beside(first, right, second)))


def _beside(other: Array, given: Any, made: Array) -> Any:
    """A plain float takes the precision of the array, as in numpy: an answer of float32 can equal 0.1.

    But not where it would become infinite: infinity is not at most 1e39.
    """
    if type(given) is not float or other.dtype.kind != "f":
        return made
    return given if abs(given) <= float(np.finfo(other.dtype).max) else made


def same(left: Any, right: Any, room: Room, depth: int = 0) -> bool:
    """Whether two values that are no arrays are equal as a whole.

    Raises:
        ClaimError: Arrays are among the parts.
    """
    left, right = read(left), read(right)
    if is_sequence(left) and is_sequence(right):
        if depth >= MAX_DEPTH:
            raise ClaimError(f"lists are nested more than {MAX_DEPTH} deep")
        room.result(len(left), len(left) * _PYTHON)
        pairs = zip(left, right, strict=True) if len(left) == len(right) else ()
        return len(left) == len(right) and all(same(a, b, room, depth + 1) for a, b in pairs)
    if left is None or right is None:
        return left is right
    if type(left) is str or type(right) is str:
        # An array beside a text would be compared element by element.
        return type(left) is type(right) and bool(left == right)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        raise ClaimError("lists of arrays are not compared as a whole; compare their items with all()")
    if is_mapping(left) and is_mapping(right):
        raise ClaimError("mappings are not compared as a whole; compare their items")
    return is_plain(left) and is_plain(right) and bool(left == right)
