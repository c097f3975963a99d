"""An answer that is no single array, as one vector of numbers and the places where they stand.

An answer of containers becomes its *leaves*: arrays, numbers, truth values, texts, each at a path such as
``targets`` or ``[2].tokens``. What is compared with a tolerance and what exactly is decided leaf by leaf.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader.exercise.expressions import ExpressionError, evaluate
from grader.exercise.forms import Form, words
from grader.outcomes import MOST_VALUES, ArrayValue, Container, PlainValue, Value, describe_value

Path = tuple[str | int, ...]
Vector = NDArray[np.float64]
# Whole numbers up to here are held by float64 exactly.
EXACT = 2**53


class UnfitError(Exception):
    """An answer is not of the form that is asked for.

    Attributes:
        verdict: ``wrong_type``, ``wrong_shape`` or ``wrong_value``.
    """

    def __init__(self, verdict: Literal["wrong_type", "wrong_shape", "wrong_value"], message: str) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.message = message


@dataclass(frozen=True)
class Leaf:
    """A part of an answer that is made of no further parts.

    Attributes:
        path: Keys and places on the way to it; empty where it is the whole answer.
        shape: Its shape; of a single value ().
        exact: It is compared exactly.
        group: Leaves of one group share a scale: the items of a list, but not those of a dictionary with keys
            that the exercise names.
    """

    path: Path
    shape: tuple[int, ...]
    exact: bool
    group: str

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Flat:
    """An answer as a vector.

    Attributes:
        leaves: Its parts in order.
        numbers: All their elements end to end; a text is a number that is made of it.
        sizes: Each size that the form states, with the path, and what it is here.
    """

    leaves: tuple[Leaf, ...]
    numbers: Vector = field(repr=False)
    sizes: tuple[tuple[Path, str | int | float, int], ...] = ()


def show_path(path: Path) -> str:
    """``targets[3]``, as one would write it behind the answer's name; empty for the whole answer."""
    text = ""
    for part in path:
        plain = isinstance(part, str) and part.isidentifier()
        text += f".{part}" if plain and text else str(part) if plain else f"[{part!r}]"
    return text


def flatten(value: Value | None, form: Form) -> Flat:
    """An answer's leaves.

    Args:
        value: What came back.
        form: What is asked for; sizes are reported, not checked.

    Raises:
        UnfitError: The answer is of another form.
    """
    reader = _Reader()
    reader.read(value, form, (), "")
    numbers = np.concatenate(reader.parts) if reader.parts else np.zeros(0)
    return Flat(tuple(reader.leaves), numbers, tuple(reader.sizes))


def scales(leaves: Sequence[Leaf], *vectors: Vector) -> Vector:
    """For each number the largest magnitude in its group, 1 where all are 0, and 0 where it is exact.

    Args:
        leaves: The leaves of all the vectors.
        vectors: Answers of the same form; the largest magnitude of all of them counts.
    """
    largest: dict[str, float] = {}
    with np.errstate(all="ignore"):
        sizes = np.max([np.abs(v) for v in vectors], axis=0) if vectors else np.zeros(0)
    sizes = np.where(np.isfinite(sizes), sizes, 0.0)
    at = 0
    for leaf in leaves:
        part = sizes[at : at + leaf.size]
        largest[leaf.group] = max(largest.get(leaf.group, 0.0), float(np.max(part, initial=0.0)))
        at += leaf.size
    made = [np.full(leaf.size, 0.0 if leaf.exact else largest[leaf.group] or 1.0) for leaf in leaves]
    return np.concatenate(made) if made else np.zeros(0)


def place(leaves: Sequence[Leaf], element: int) -> str:
    """Where a number of the vector stands in the answer."""
    for leaf in leaves:
        if element < leaf.size:
            index = np.unravel_index(element, leaf.shape) if leaf.shape else ()
            return show_path(leaf.path) + (f"[{', '.join(str(int(i)) for i in index)}]" if index else "")
        element -= leaf.size
    raise IndexError(f"an answer has no number {element} more")


def require_same(found: Flat, expected: Sequence[Leaf]) -> None:
    """Raises UnfitError where an answer's leaves are not those that are expected, or are of other shapes."""
    mine = {leaf.path: leaf for leaf in found.leaves}
    wanted = {leaf.path: leaf for leaf in expected}
    missing = [path for path in wanted if path not in mine]
    extra = [path for path in mine if path not in wanted]
    if missing or extra:
        told = [f"lacks {show_path(p)}" for p in missing[:3]] + [f"has {show_path(p)}" for p in extra[:3]]
        more = len(missing) + len(extra) - len(told)
        raise UnfitError(
            "wrong_value",
            f"The answer {' and '.join(told)}{f', and {more} more' if more else ''}" + _too_much(extra),
        )
    for path, leaf in wanted.items():
        if mine[path].shape != leaf.shape:
            where = f"{show_path(path)} has" if path else "The answer has"
            raise UnfitError("wrong_shape", f"{where} the shape {mine[path].shape}; expected {leaf.shape}.")


def _too_much(extra: Sequence[Path]) -> str:
    return ", which it should not have." if extra else "."


def require_sizes(found: Flat, dims: Mapping[str, int]) -> dict[str, int]:
    """What the free names of a form are in an answer.

    Raises:
        UnfitError: A size is not the one that is stated, or a free name would be two sizes.
    """
    bound: dict[str, int] = {}

    def is_free(size: str | int | float) -> bool:
        return isinstance(size, str) and size.isidentifier() and size not in dims

    # Free names first: a size that is computed from one may stand before the part that decides it.
    for path, size, number in sorted(found.sizes, key=lambda one: not is_free(one[1])):
        free = is_free(size)
        try:
            wanted = bound.setdefault(str(size), number) if free else int(evaluate(size, {**dims, **bound}))
        except ExpressionError:
            # It is computed from a free name that no part of this answer decides.
            continue
        if number != wanted:
            what = show_path(path) or "The answer"
            because = f", as {size} is elsewhere" if free else f" ({size})" if isinstance(size, str) else ""
            raise UnfitError("wrong_shape", f"{what} has {number} where {wanted} are expected{because}.")
    return bound


class _Reader:
    def __init__(self) -> None:
        self.leaves: list[Leaf] = []
        self.parts: list[Vector] = []
        self.sizes: list[tuple[Path, str | int | float, int]] = []

    def read(self, value: Value | None, form: Form, path: Path, group: str) -> None:
        match form.container:
            case "array":
                self._array(value, form, path, group)
            case "list" | "tuple":
                self._sequence(value, form, path, group)
            case "dict":
                self._dict(value, form, path, group)
            case _:
                self._single(value, form, path, group)

    def _leaf(self, path: Path, shape: tuple[int, ...], numbers: Any, group: str, *, exact: bool) -> None:
        self.leaves.append(Leaf(path, shape, exact, group))
        self.parts.append(np.asarray(numbers, np.float64).reshape(-1))

    # --- arrays and single values ---------------------------------------------------------------

    def _array(self, value: Value | None, form: Form, path: Path, group: str) -> None:
        shape = form.shape or []
        wanted = f"{words(form)} and dtype {' or '.join(form.dtype)}"
        if not isinstance(value, ArrayValue) or value.kind == "scalar":
            raise UnfitError("wrong_type", _said(path, value, wanted))
        if len(value.shape) != len(shape):
            raise UnfitError("wrong_shape", _said(path, value, wanted))
        if value.dtype not in form.dtype:
            narrow = value.dtype in ("float16", "bfloat16")
            advice = f" {value.dtype} keeps about three digits, too few for this exercise." if narrow else ""
            raise UnfitError("wrong_type", _said(path, value, wanted) + advice)
        if value.data is None:
            raise UnfitError("wrong_type", f"{_where(path)} holds values that can't be read.")
        self.sizes += [(path, size, n) for size, n in zip(shape, value.shape, strict=True)]
        array = _values_of(value, path, wanted)
        self._leaf(path, value.shape, _told_apart(array), group, exact=array.dtype.kind != "f")

    def _single(self, value: Value | None, form: Form, path: Path, group: str) -> None:
        kind = form.container
        item = _item(value)
        if isinstance(value, ArrayValue) and value.dtype in ("float16", "bfloat16"):
            said = _said(path, value, words(form))
            raise UnfitError("wrong_type", f"{said} {value.dtype} keeps about three digits, too few here.")
        number: float | None = None
        if kind == "none" and isinstance(value, PlainValue) and value.kind == "none":
            number = 0.0
        elif kind == "boolean" and isinstance(item, bool):
            number = float(item)
        elif kind == "text" and isinstance(item, str):
            number = _of_text(item)
        elif kind == "integer" and isinstance(item, int) and not isinstance(item, bool):
            number = _of_whole(item)
        elif kind == "number" and isinstance(item, int | float) and not isinstance(item, bool):
            number = _as_float(item)
        if number is None:
            raise UnfitError("wrong_type", _said(path, value, words(form)))
        self._leaf(path, (), [number], group, exact=kind != "number")

    # --- containers -------------------------------------------------------------------------------

    def _sequence(self, value: Value | None, form: Form, path: Path, group: str) -> None:
        allowed = {form.container, *form.also}
        if isinstance(value, ArrayValue) and "array" in allowed and value.data is not None and value.shape:
            value = _as_lists(_values_of(value, path, words(form)))
            allowed.add("list")
        if not isinstance(value, Container) or value.kind not in allowed:
            raise UnfitError("wrong_type", _said(path, value, words(form)))
        if isinstance(form.items, list):
            if len(value.items) != len(form.items):
                wanted = f"{words(form)}"
                raise UnfitError("wrong_shape", _said(path, value, wanted))
            for number, (item, inner) in enumerate(zip(value.items, form.items, strict=True)):
                self.read(item, inner, (*path, number), f"{group}/{number}")
            return
        assert form.of is not None
        if form.length is not None:
            self.sizes.append((path, form.length, len(value.items)))
        for number, item in enumerate(value.items):
            self.read(item, form.of, (*path, number), f"{group}/*")

    def _dict(self, value: Value | None, form: Form, path: Path, group: str) -> None:
        if not isinstance(value, Container) or value.kind != "dict":
            raise UnfitError("wrong_type", _said(path, value, words(form)))
        found: dict[str | int, Value] = {}
        for key, item in value.items:
            plain = _key(key, form, path)
            if plain in found:
                # Keys that Python tells apart, tensors for one, may be the same number.
                raise UnfitError("wrong_type", f"{_where(path)} has the key {plain!r} more than once.")
            found[plain] = item
        if isinstance(form.items, dict):
            missing = [key for key in form.items if key not in found]
            extra = [key for key in found if key not in form.items]
            if missing or extra:
                told = [f"lacks the key {missing[0]!r}"] if missing else []
                told += [f"has the key {extra[0]!r}, which is not asked for"] if extra else []
                raise UnfitError("wrong_type", f"{_where(path)} {' and '.join(told)}.")
            # In an order of its own: that of an answer says nothing, and a pack does not keep the form's.
            for name in sorted(form.items):
                self.read(found[name], form.items[name], (*path, name), f"{group}/{name}")
            return
        assert form.values is not None
        for key in sorted(found, key=lambda k: (str(type(k)), k)):
            self.read(found[key], form.values, (*path, key), f"{group}/*")


def _item(value: Value | None) -> Any:
    """The Python value that a single value is; None where it is none."""
    if isinstance(value, PlainValue):
        return value.value if value.kind in ("bool", "int", "float", "str") else None
    if isinstance(value, ArrayValue) and value.shape == () and value.data is not None:
        return value.array().item()
    return None


def _key(key: Value, form: Form, path: Path) -> str | int:
    item = _item(key)
    if form.keys == "integer" and isinstance(item, int) and not isinstance(item, bool):
        return item
    if form.keys != "integer" and isinstance(item, str):
        return item
    wanted = "whole numbers" if form.keys == "integer" else "texts"
    single = item is not None or key == PlainValue("none")
    told = f"the key {item!r}" if single else f"{describe_value(key)} as a key"
    raise UnfitError("wrong_type", f"{_where(path)} has {told}; expected {wanted} as keys.")


def _values_of(value: ArrayValue, path: Path, wanted: str) -> NDArray[Any]:
    """An array that came back. Raises UnfitError where it is empty, of a shape that numpy refuses to make."""
    try:
        return value.array()
    except ValueError:
        raise UnfitError("wrong_shape", _said(path, value, wanted)) from None


def as_asked(value: Value, form: Form) -> Value:
    """An answer with the containers that ``also`` lets through as the form's own; the rest as it is."""
    allowed = {form.container, *form.also}
    if isinstance(value, ArrayValue) and "array" in form.also and value.shape and value.data is not None:
        if math.prod(value.shape) > MOST_VALUES:
            # More than a list of them could be sent.
            return value
        try:
            value = _as_lists(value.array())
        except ValueError:
            return value
        allowed.add("list")
    if not isinstance(value, Container):
        return value
    if value.kind == "dict":
        items = form.items if isinstance(form.items, dict) else {}
        pairs = [
            (key, as_asked(item, inner) if inner is not None else item)
            for key, item in value.items
            for inner in [items.get(str(_item(key))) or form.values]
        ]
        return Container("dict", tuple(pairs))
    if form.container not in ("list", "tuple"):
        return value
    forms = form.items if isinstance(form.items, list) else [form.of] * len(value.items)
    parts = [
        as_asked(item, inner) if inner is not None else item
        for item, inner in zip_longest(value.items, forms[: len(value.items)])
    ]
    return Container(form.container if value.kind in allowed else value.kind, tuple(parts))


def _as_lists(array: NDArray[Any]) -> Value:
    """An array as nested lists of plain values."""

    def nested(item: Any) -> Value:
        if isinstance(item, list):
            return Container("list", tuple(nested(i) for i in item))
        return PlainValue(type(item).__name__, item)

    return nested(array.tolist())


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _told_apart(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that float64 does not hold as it holds those made of texts, others as they are."""
    if array.dtype.kind != "i" or not (large := (array > EXACT) | (array < -EXACT)).any():
        return array
    numbers = array.astype(np.float64)
    numbers[large] = [_of_whole(number) for number in array[large].tolist()]
    return numbers


def _of_text(text: str) -> float:
    """A whole number that float64 holds, made of a text; equal for equal texts."""
    return float(int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big"))


def _of_whole(number: int) -> float:
    """A whole number itself, or beyond what float64 holds one that is made of its digits."""
    return float(number) if abs(number) <= EXACT else _of_text(str(number))


def _where(path: Path) -> str:
    return show_path(path) if path else "The answer"


def _said(path: Path, value: Value | None, wanted: str) -> str:
    found = describe_value(value) if value is not None else "nothing"
    subject = f"{show_path(path)} is" if path else "It returned"
    advice = ""
    if not path and isinstance(value, PlainValue) and value.kind == "none":
        advice = " Is a return statement missing?"
    return f"{subject} {found}; expected {wanted}.{advice}"
