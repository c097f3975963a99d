"""A demonstration: an exercise's reference at work, in examples of matrices, vectors and figures.

``reference/NAME/demo.py`` makes one; see docs/exercise.md. Values are taken from lists, and from arrays and
tensors, which need no conversion: whatever has ``tolist``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader import documents
from grader.errors import GraderError

# What is larger can't be read, neither on a page nor in a terminal.
MAX_SIDE = 40
MAX_ELEMENTS = 100
MAX_PARTS = 24
MAX_EXAMPLES = 24

_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")

Value = float | int | str


@dataclass(frozen=True)
class Matrix:
    """A table whose cells are coloured by their values.

    Attributes:
        label: What it is.
        values: Rows of numbers or texts, all of one length; kept as tuples.
        rows: A name for each row; rows are numbered where there are none.
        columns: A name for each column, likewise.
        scale: The values at which the colours end, low and high; where it is left out, the least and the
            largest of the matrix.

    Raises:
        GraderError: The values are no matrix that can be shown, or names are too many or too few.
    """

    label: str
    values: Any
    rows: Any = ()
    columns: Any = ()
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        what = _name(self, "label", self.label)
        rows = _items(f"{what}: values", self.values, "rows of numbers")
        values = tuple([_values(f"{what}: row {at}", row) for at, row in enumerate(rows)])
        lengths = [len(row) for row in values]
        for at, length in enumerate(lengths):
            if length != lengths[0]:
                raise GraderError(
                    f"{what}: row {at} has {length} elements and row 0 has {lengths[0]}; "
                    "expected rows of one length"
                )
        if not lengths or not lengths[0]:
            raise GraderError(f"{what} has no elements; leave it out, or say so in a note")
        if max(len(values), lengths[0]) > MAX_SIDE:
            raise GraderError(
                f"{what} has {len(values)} rows and {lengths[0]} columns; more than {MAX_SIDE} can't be read"
            )
        _set(self, "values", values)
        _set(self, "rows", _labels(f"{what}: rows", self.rows, len(values)))
        _set(self, "columns", _labels(f"{what}: columns", self.columns, lengths[0]))
        _set(self, "scale", _scale(f"{what}: scale", self.scale))

    @property
    def row_names(self) -> tuple[str, ...]:
        """The names of the rows, or their numbers."""
        return self.rows or tuple(map(str, range(len(self.values))))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers."""
        return self.columns or tuple(map(str, range(len(self.values[0]))))


@dataclass(frozen=True)
class Vector:
    """A row of numbers, drawn as bars, or of texts.

    Attributes:
        label: What it is.
        values: Numbers or texts; kept as a tuple.
        labels: A name for each element; elements are numbered where there are none.

    Raises:
        GraderError: The values are no vector that can be shown, or names are too many or too few.
    """

    label: str
    values: Any
    labels: Any = ()

    def __post_init__(self) -> None:
        what = _name(self, "label", self.label)
        values = _values(f"{what}: values", self.values)
        if not values:
            raise GraderError(f"{what} has no elements; leave it out, or say so in a note")
        if len(values) > MAX_ELEMENTS:
            raise GraderError(f"{what} has {len(values)} elements; more than {MAX_ELEMENTS} can't be read")
        _set(self, "values", values)
        _set(self, "labels", _labels(f"{what}: labels", self.labels, len(values)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the elements, or their numbers."""
        return self.labels or tuple(map(str, range(len(self.values))))


@dataclass(frozen=True)
class Metric:
    """A figure, or a short text, with its name.

    Raises:
        GraderError: The value is neither a number nor a text.
    """

    label: str
    value: Any

    def __post_init__(self) -> None:
        what = _name(self, "label", self.label)
        _set(self, "value", _value(f"{what}: value", self.value))


@dataclass(frozen=True)
class Example:
    """One thing that the reference does. Shown are its figures, then its vectors, then its matrices.

    Attributes:
        id: Unique within the demonstration; by it a command names the example.
        label: One line for people.
        note: What there is to see; paragraphs are parted by blank lines.

    Raises:
        GraderError: The id is no identifier, there is nothing to show, or a part is of another kind.
    """

    id: str
    label: str
    note: str = ""
    matrices: Sequence[Matrix] = ()
    vectors: Sequence[Vector] = ()
    metrics: Sequence[Metric] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise GraderError(
                f"Example: id is {_told(self.id)}; expected small letters, digits and underscores, "
                "a letter first, such as two_heads"
            )
        what = f"Example {self.id}"
        _text(f"{what}: label", self.label)
        _require(f"{what}: note", self.note, str, "a text")
        kinds: dict[str, type] = {"matrices": Matrix, "vectors": Vector, "metrics": Metric}
        for name, kind in kinds.items():
            parts = _items(f"{what}: {name}", getattr(self, name), f"a list of {kind.__name__}")
            for at, part in enumerate(parts):
                _require(f"{what}: {name}[{at}]", part, kind, f"a {kind.__name__}")
            if len(parts) > MAX_PARTS:
                raise GraderError(f"{what} has {len(parts)} {name}; at most {MAX_PARTS} are shown")
            _set(self, name, tuple(parts))
        if not (self.matrices or self.vectors or self.metrics):
            raise GraderError(f"{what} shows nothing; give it matrices, vectors or metrics")


@dataclass(frozen=True)
class Demonstration:
    """What ``demonstrate()`` returns.

    Attributes:
        title: The heading.
        description: What is shown; paragraphs are parted by blank lines.
        examples: At least one.

    Raises:
        GraderError: There is no example, or two have the same id.
    """

    title: str
    description: str
    examples: Sequence[Example]

    def __post_init__(self) -> None:
        what = "Demonstration"
        _text(f"{what}: title", self.title)
        _require(f"{what}: description", self.description, str, "a text")
        examples = _items(f"{what}: examples", self.examples, "a list of Example")
        for at, example in enumerate(examples):
            _require(f"{what}: examples[{at}]", example, Example, "an Example")
            if example.id in [one.id for one in examples[:at]]:
                raise GraderError(f"{what}: two examples have the id {example.id!r}; each needs its own")
        if not 0 < len(examples) <= MAX_EXAMPLES:
            raise GraderError(f"{what} has {len(examples)} examples; expected 1 to {MAX_EXAMPLES}")
        _set(self, "examples", tuple(examples))

    def to_dict(self) -> dict[str, Any]:
        """The demonstration as JSON has it; NaN and infinity are texts."""
        return {
            "schema": documents.DEMONSTRATION,
            "title": self.title,
            "description": self.description,
            "examples": [
                {
                    "id": e.id,
                    "label": e.label,
                    "note": e.note,
                    "matrices": [
                        {
                            "label": m.label,
                            "values": [list(map(_json, row)) for row in m.values],
                            "rows": list(m.rows),
                            "columns": list(m.columns),
                            "scale": m.scale and list(m.scale),
                        }
                        for m in e.matrices
                    ],
                    "vectors": [
                        {"label": v.label, "values": list(map(_json, v.values)), "labels": list(v.labels)}
                        for v in e.vectors
                    ],
                    "metrics": [{"label": m.label, "value": _json(m.value)} for m in e.metrics],
                }
                for e in self.examples
            ],
        }


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a note or description, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _json(value: Value) -> Value:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


# --- What is taken --------------------------------------------------------------------------------


def _set(record: object, name: str, value: Any) -> None:
    object.__setattr__(record, name, value)


def _told(value: Any) -> str:
    """A value in a message: a short text as it is, else its type."""
    short = isinstance(value, str | float) or (isinstance(value, int) and value.bit_length() < 64)
    if short and len(repr(value)) <= 60:
        return repr(value)
    return f"a value of type {type(value).__name__}"


def _require(what: str, value: Any, kind: type, words: str) -> None:
    if not isinstance(value, kind):
        raise GraderError(f"{what} is {_told(value)}; expected {words}")


def _text(what: str, value: Any) -> str:
    _require(what, value, str, "a text")
    if not value.strip():
        raise GraderError(f"{what} is empty; expected a text")
    return str(value)


def _name(record: object, field: str, value: Any) -> str:
    """How messages call a part: its kind and label."""
    kind = type(record).__name__
    return f"{kind} {_text(f'{kind}: {field}', value)!r}"


def _plain(what: str, value: Any) -> Any:
    """Arrays, tensors and their scalars as lists and numbers."""
    convert = getattr(value, "tolist", None)
    if convert is None:
        return value
    try:
        return convert()
    except Exception as error:
        raise GraderError(f"{what} can't be read: {type(error).__name__}: {error}") from None


def _items(what: str, values: Any, words: str) -> Sequence[Any]:
    values = _plain(what, values)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise GraderError(f"{what} is {_told(values)}; expected {words}")
    return values


def _values(what: str, values: Any) -> tuple[Value, ...]:
    return tuple(
        [_value(f"{what}, element {at}", v) for at, v in enumerate(_items(what, values, "a list of numbers"))]
    )


def _value(what: str, value: Any) -> Value:
    value = _plain(what, value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and value.bit_length() > 63:
        raise GraderError(f"{what} is an integer of {value.bit_length()} bits; expected at most 63")
    if isinstance(value, int | float | str):
        return value
    raise GraderError(f"{what} is {_told(value)}; expected a number or a text")


def _labels(what: str, labels: Any, count: int) -> tuple[str, ...]:
    names = tuple([str(_value(f"{what}[{at}]", v)) for at, v in enumerate(_items(what, labels, "names"))])
    if names and len(names) != count:
        raise GraderError(f"{what} has {len(names)} names for {count}; expected one each, or none")
    return names


def _scale(what: str, scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    ends = _values(what, scale)
    numbers = [float(v) for v in ends if not isinstance(v, str) and math.isfinite(v)]
    if len(ends) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise GraderError(f"{what} is {ends!r}; expected two numbers, the lower first")
    return numbers[0], numbers[1]
