"""What a demonstration takes, and what it says of what it does not take."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.demonstration import (
    MAX_ELEMENTS,
    MAX_SIDE,
    Demonstration,
    Example,
    Matrix,
    Metric,
    Vector,
    paragraphs,
)
from grader.errors import GraderError

ONE = Metric("one", 1)


def test_arrays_are_taken_without_conversion() -> None:
    m = Matrix("m", np.arange(6, dtype=np.float32).reshape(2, 3), rows=np.array(["a", "b"]), columns=range(3))
    assert m.values == ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0)) and m.rows == ("a", "b")
    assert m.columns == ("0", "1", "2") and type(m.values[0][0]) is float
    assert Vector("v", np.array([True, False])).values == (1, 0)
    assert Metric("m", np.float32(0.5)).value == 0.5
    # A list of arrays' scalars, as loops make them.
    assert Vector("v", [np.float64(1.5), np.int64(2)]).values == (1.5, 2)


def test_tensors_are_taken_too_also_with_gradients() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.eye(2))
    assert Matrix("m", weight).values == ((1.0, 0.0), (0.0, 1.0))
    assert Metric("loss", weight.sum()).value == 2.0


def test_numbers_stand_for_names_that_are_left_out() -> None:
    m = Matrix("m", [[1, 2]])
    assert (m.rows, m.row_names, m.column_names) == ((), ("0",), ("0", "1"))
    assert Vector("v", ["a", "b"]).names == ("0", "1")


WRONG: dict[str, tuple[Any, str]] = {
    "ragged": (
        lambda: Matrix("m", [[1, 2], [1]]),
        "Matrix 'm': row 1 has 1 elements and row 0 has 2; expected rows of one length",
    ),
    "no_matrix": (lambda: Matrix("m", [1, 2]), "Matrix 'm': row 0 is 1; expected a list of numbers"),
    "a_number": (lambda: Matrix("m", 3.5), "Matrix 'm': values is 3.5; expected rows of numbers"),
    "empty_matrix": (lambda: Matrix("m", np.zeros((0, 3))), "Matrix 'm' has no elements"),
    "no_columns": (lambda: Matrix("m", [[], []]), "Matrix 'm' has no elements"),
    "three_axes": (
        lambda: Matrix("m", np.zeros((2, 2, 2))),
        "Matrix 'm': row 0, element 0 is a value of type list; expected a number or a text",
    ),
    "large": (
        lambda: Matrix("m", np.zeros((MAX_SIDE + 1, 2))),
        f"Matrix 'm' has 41 rows and 2 columns; more than {MAX_SIDE} can't be read",
    ),
    "names": (lambda: Matrix("m", [[1, 2]], columns=["a"]), "columns has 1 names for 2; expected one each"),
    "a_name": (lambda: Matrix("m", [[1]], rows="a"), "rows is 'a'; expected names"),
    "scale": (
        lambda: Matrix("m", [[1]], scale=(1, 1)),
        "scale is (1, 1); expected two numbers, the lower first",
    ),
    "scale_nan": (lambda: Matrix("m", [[1]], scale=(math.nan, 1)), "expected two numbers"),
    "complex": (lambda: Vector("v", [1j]), "Vector 'v': values, element 0 is a value of type complex"),
    "none": (lambda: Metric("m", None), "Metric 'm': value is a value of type NoneType"),
    "text_for_vector": (
        lambda: Vector("v", "abc"),
        "Vector 'v': values is 'abc'; expected a list of numbers",
    ),
    "long": (lambda: Vector("v", range(MAX_ELEMENTS + 1)), "Vector 'v' has 101 elements"),
    "empty_vector": (lambda: Vector("v", []), "Vector 'v' has no elements"),
    "huge": (lambda: Metric("m", 10**5000), "Metric 'm': value is an integer of 16610 bits"),
    "blank": (lambda: Metric(" ", 1), "Metric: label is empty"),
    "no_text": (lambda: Metric(3, 1), "Metric: label is 3; expected a text"),  # type: ignore[arg-type]
    "id": (lambda: Example("Two Heads", "l", metrics=[ONE]), "id is 'Two Heads'; expected small letters"),
    "nothing": (lambda: Example("e", "l", "note"), "Example e shows nothing"),
    "kind": (
        lambda: Example("e", "l", matrices=[ONE]),  # type: ignore[list-item]
        "Example e: matrices[0] is a value of type Metric; expected a Matrix",
    ),
    "no_list": (
        lambda: Example("e", "l", metrics=ONE),  # type: ignore[arg-type]
        "Example e: metrics is a value of type Metric; expected a list of Metric",
    ),
    "note": (lambda: Example("e", "l", [ONE]), "note is a value of type list"),  # type: ignore[arg-type]
    "no_examples": (lambda: Demonstration("t", "d", []), "Demonstration has 0 examples; expected 1 to"),
    "twice": (
        lambda: Demonstration("t", "d", [Example("e", "l", metrics=[ONE])] * 2),
        "two examples have the id 'e'",
    ),
    "dicts": (
        lambda: Demonstration("t", "d", [{"id": "e"}]),  # type: ignore[list-item]
        "examples[0] is a value of type dict; expected an Example",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_can_not_be_shown_is_told_in_words(name: str) -> None:
    make, said = WRONG[name]
    with pytest.raises(GraderError) as caught:
        make()
    assert said in str(caught.value)


def test_an_array_that_can_not_be_read_is_told() -> None:
    class Broken:
        def tolist(self) -> None:
            raise RuntimeError("no data")

    with pytest.raises(GraderError, match=r"Vector 'v': values can't be read: RuntimeError: no data"):
        Vector("v", Broken())


VALUES = st.floats() | st.integers(-(2**62), 2**62) | st.text(max_size=5) | st.booleans()


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=1)))
def test_any_matrix_is_kept_and_is_json(rows: list[list[Any]]) -> None:
    made = Demonstration("t", "d", [Example("e", "l", matrices=[Matrix("m", rows[:MAX_SIDE])])])
    text = json.dumps(made.to_dict(), allow_nan=False)
    (read,) = json.loads(text)["examples"][0]["matrices"]
    for row, kept in zip(rows, read["values"], strict=False):
        for value, found in zip(row, kept, strict=True):
            same = str(value) == found if isinstance(value, float) and not math.isfinite(value) else False
            assert same or value == found


def test_paragraphs_are_parted_by_blank_lines() -> None:
    assert paragraphs("one\n two\n\n  \nthree ") == ["one two", "three"] and paragraphs(" \n") == []
