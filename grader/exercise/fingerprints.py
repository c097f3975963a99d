"""Fingerprints: a few numbers by which an answer is recognized without being stored.

An answer's fingerprint is its *kind* (how the call ended; type, shape, and the places of NaN and infinity)
and eight *projections* of its finite part: inner products with vectors of ±1 over the root of their length.
Two answers whose elements differ by at most e have projections that differ by at most e times the root of the
length, and mostly by about e; answers that differ by more agree in all eight by a chance that falls with the
eighth power of the difference (random projections, Johnson & Lindenstrauss 1984; signs: Achlioptas 2003).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.outcomes import ArrayValue, Container, PlainValue, StepOutcome, Value

if TYPE_CHECKING:
    from grader.exercise.forms import Form

PROJECTIONS = 8
# An answer with larger elements has no projections that single precision can hold.
HUGE = 1e30
# Of larger answers only the form is kept.
MOST_ELEMENTS = 1 << 14
# Dtypes of single numbers whose value is looked at.
NUMBERS = frozenset({"float64", "float32", "float16"})
# The family of dtypes that says an answer is made of floats.
FLOATS = "float"

Vector = NDArray[np.float64]


class Fingerprint(NamedTuple):
    """What is kept of an outcome.

    Attributes:
        kind: Equal for outcomes of the same form.
        values: The projections; zeros where the outcome holds no numbers.
        scale: Largest magnitude of the finite elements.
    """

    kind: str
    values: Vector
    scale: float


@lru_cache(maxsize=64)
def signs(length: int) -> NDArray[np.float64]:
    """(8, length): the vectors for answers with this many elements, of Euclidean length 1."""
    words = np.random.PCG64(length).random_raw(-(-PROJECTIONS * length // 64) or 1)
    bits = np.unpackbits(np.asarray(words).astype("<u8").view(np.uint8))[: PROJECTIONS * length]
    rows = bits.reshape(PROJECTIONS, length).astype(np.float64) * 2 - 1
    return np.asarray(rows / np.sqrt(max(length, 1)), np.float64)


NOTHING = np.zeros(PROJECTIONS)
NOTHING.flags.writeable = False


def fingerprint(outcome: StepOutcome, raising: Collection[str] = (), form: Form | None = None) -> Fingerprint:
    """The fingerprint of how a step ended.

    Args:
        outcome: How it ended.
        raising: Names of exceptions that the exercise asks for, which are told apart from others.
        form: What the call is to return, where that lets several containers through: they are told apart only
            where they make a difference.
    """
    if outcome.state == "raised" and raising and (failure := outcome.failure) is not None:
        named = next((name for name in (failure.type, *failure.bases) if name in raising), "")
        return Fingerprint(f"raised {named}".rstrip(), NOTHING, 0.0)
    if outcome.state != "returned":
        return Fingerprint(outcome.state, NOTHING, 0.0)
    value = outcome.value
    if form is not None and value is not None:
        # Most exercises start without pydantic, and without this.
        from grader.exercise.structure import as_asked

        value = as_asked(value, form)
    match value:
        case ArrayValue(shape=()) if value.data is not None and value.dtype in NUMBERS:
            # An array or tensor of one number without axes is as good as the number itself.
            number = of_array(value.array())
            return Fingerprint(
                f"scalar {_family(value.dtype)}{_marks(number.kind)}", number.values, number.scale
            )
        case ArrayValue(kind="scalar") if value.data is not None:
            return Fingerprint(_plain(value), NOTHING, 0.0)
        case ArrayValue(kind="scalar"):
            return Fingerprint(f"scalar {_family(value.dtype)}", NOTHING, 0.0)
        case ArrayValue(data=None):
            return Fingerprint(f"{value.shape} {value.dtype}", NOTHING, 0.0)
        case ArrayValue():
            try:
                return of_array(value.array())
            except ValueError:
                # An empty array of a shape that numpy refuses to make.
                return Fingerprint("unreadable", NOTHING, 0.0)
        case Container():
            return _of_container(value)
        case PlainValue(kind="float"):
            number = of_array(np.array(value.value))
            return Fingerprint(f"scalar float{_marks(number.kind)}", number.values, number.scale)
        case PlainValue(kind="object"):
            return Fingerprint(value.kind, NOTHING, 0.0)
        case PlainValue():
            # What is compared exactly is part of the form.
            return Fingerprint(f"{value.kind} {value.value!r}"[:80], NOTHING, 0.0)
    return Fingerprint("nothing", NOTHING, 0.0)


def _marks(kind: str) -> str:
    """What a kind says of numbers that are not finite, or huge."""
    return f" #{kind.partition(' #')[2]}" if "#" in kind else ""


def _of_container(value: Container) -> Fingerprint:
    """The form of a container with everything in it that is compared exactly; and its floats end to end."""
    forms: list[str] = []
    parts: list[NDArray[np.float64]] = []

    def put(array: NDArray[Any], at: str) -> None:
        if "float" in array.dtype.name:
            forms.append(f"{at}={array.shape} {FLOATS}")
            parts.append(np.asarray(array, np.float64).ravel())
        else:
            digest = hashlib.sha256(array.astype(np.complex128).tobytes())
            forms.append(f"{at}={array.shape} {digest.hexdigest()[:16]}")

    def walk(item: Value, at: str) -> None:
        match item:
            case Container(kind="list" | "tuple") if (table := _table(item)) is not None:
                # A list of arrays and a list of lists with the same numbers are one mistake.
                forms.append(f"{at}={item.kind} {table.shape}")
                put(table, at)
            case Container(kind="dict"):
                forms.append(f"{at}=dict {len(item.items)}")
                for key, inner in sorted(item.items, key=lambda pair: repr(pair[0])):
                    walk(inner, f"{at}[{_plain(key)}]")
            case Container():
                forms.append(f"{at}={item.kind} {len(item.items)}")
                for number, inner in enumerate(item.items):
                    walk(inner, f"{at}[{number}]")
            case ArrayValue() if item.data is not None and (item.shape or "float" in item.dtype):
                try:
                    array = item.array()
                except ValueError:
                    # An empty array of a shape that numpy refuses to make.
                    forms.append(f"{at}=unreadable")
                    return
                put(array, at)
            case PlainValue(kind="float"):
                forms.append(f"{at}=() {FLOATS}")
                parts.append(np.array([item.value], np.float64))
            case _:
                forms.append(f"{at}={_plain(item)}")

    walk(value, "")
    vector = np.concatenate(parts) if parts else np.zeros(0)
    numbers = of_array(vector)
    digest = hashlib.sha256("\n".join(forms).encode()).hexdigest()[:16]
    return Fingerprint(f"{value.kind} {digest}{_marks(numbers.kind)}", numbers.values, numbers.scale)


def _table(value: Value) -> NDArray[Any] | None:
    """Lists, tuples and arrays within each other as one array; None where they are none of one type."""
    match value:
        case Container(kind="list" | "tuple", items=items) if items:
            rows = [_table(item) for item in items]
            first = rows[0]
            if first is None:
                return None
            same = [row for row in rows if row is not None and _alike(row, first)]
            return np.array(same) if len(same) == len(rows) else None
        case PlainValue(kind="float"):
            return np.array(value.value, np.float64)
        case PlainValue(kind="int") if abs(value.value) < 2**53:
            return np.array(value.value, np.int64)
        case ArrayValue() if value.data is not None and value.dtype.startswith(("float", "int", "uint")):
            try:
                array = value.array()
            except ValueError:
                return None
            return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    return None


def _alike(row: NDArray[Any], first: NDArray[Any]) -> bool:
    return row.shape == first.shape and row.dtype == first.dtype


def _plain(value: Value) -> str:
    if isinstance(value, PlainValue):
        return f"{value.kind} {value.value!r}"
    if isinstance(value, ArrayValue) and value.shape == () and value.data is not None:
        return f"{type(value.array().item()).__name__} {value.array().item()!r}"
    return f"{type(value).__name__}"


def of_array(array: NDArray[Any]) -> Fingerprint:
    """The fingerprint of an answer that is an array."""
    kind = f"{array.shape} {FLOATS if array.dtype.kind == 'f' else array.dtype.name}"
    if array.dtype.kind not in "fiub" or array.size > MOST_ELEMENTS:
        return Fingerprint(kind, NOTHING, 0.0)
    with np.errstate(all="ignore"):
        flat = np.asarray(array.ravel(), np.float64)
        scale = float(np.max(np.abs(flat), initial=0.0))
        if not np.isfinite(scale):
            signs_of = np.where(np.isnan(flat), 2, np.sign(flat) * np.isinf(flat)).astype(np.int8)
            kind += f" #{hashlib.sha256(signs_of.tobytes()).hexdigest()[:16]}"
            flat = np.where(signs_of != 0, 0.0, flat)
            scale = float(np.max(np.abs(flat), initial=0.0))
    if scale > HUGE:
        return Fingerprint(f"{kind} #huge", NOTHING, 0.0)
    return Fingerprint(kind, signs(flat.size) @ flat, scale)


def is_finite(kind: str) -> bool:
    """Whether an answer of this kind holds neither NaN nor infinity, nor numbers close to it."""
    return "#" not in kind


def is_empty(kind: str) -> bool:
    """Whether an answer of this kind is an array without elements."""
    return kind.startswith("(0,") or ", 0," in kind or ", 0)" in kind


def _family(dtype: str) -> str:
    """Floats of every width are one family: how an answer is rounded is no matter of its form."""
    return FLOATS if FLOATS in dtype else dtype


def is_half(outcomes: Sequence[StepOutcome]) -> bool:
    """Whether all answers are numbers of float16, or all of bfloat16, and not all of them are whole."""
    values = [o.value for o in outcomes if isinstance(o.value, ArrayValue) and "float" in o.value.dtype]
    arrays = [v.array().astype(np.float64) for v in values if v.data is not None]
    with np.errstate(all="ignore"):
        for narrow in (_to_float16, _to_bfloat16):
            if all(np.array_equal(narrow(a), a, equal_nan=True) for a in arrays):
                return any(bool((a[np.isfinite(a)] % 1 != 0).any()) for a in arrays)
    return False


def _to_float16(array: NDArray[np.float64]) -> NDArray[np.float64]:
    return array.astype(np.float16).astype(np.float64)


def _to_bfloat16(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first half of the bits of float32, without rounding: numbers of bfloat16 stay as they are."""
    bits = array.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return np.where(np.isfinite(array), bits.view(np.float32).astype(np.float64), array)
