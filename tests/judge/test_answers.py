"""Every kind of thing that a function may return has its verdict and its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.answers import Refusal, describe_value, read_answer
from grader.outcomes import ArrayValue, Container, PlainValue, StepOutcome, Value
from judge.made_up import value

SHAPE = (2, 3)
DTYPES = ("float32", "float64")
FEW = "{} keeps about three digits, too few for this exercise."
WANTED = "expected an array of shape (2, 3) and dtype float32 or float64."


def read(found: Value | None, shape: tuple[int, ...] = SHAPE) -> Any:
    return read_answer(StepOutcome("returned", value=found), shape, DTYPES)


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_or_tensor_of_the_shape_is_taken(kind: str, dtype: str) -> None:
    made = np.arange(6, dtype=dtype).reshape(SHAPE)
    answer = read(value(made, kind))
    assert np.array_equal(answer, made)
    assert answer.dtype == dtype


def test_an_empty_answer_must_have_the_exact_shape() -> None:
    assert read(value(np.zeros((0, 3))), (0, 3)).shape == (0, 3)
    assert read(value(np.zeros((0,))), (0, 3)).verdict == "wrong_shape"
    assert read(value(np.zeros((0, 2))), (0, 3)).verdict == "wrong_shape"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (PlainValue("none"), f"It returned None; {WANTED} Is a return statement missing?"),
        (PlainValue("bool", True), f"It returned the single bool True; {WANTED}"),
        (PlainValue("int", 3), f"It returned the single int 3; {WANTED}"),
        (PlainValue("float", float("nan")), f"It returned the single float nan; {WANTED}"),
        (PlainValue("complex", 1j), f"It returned the single complex 1j; {WANTED}"),
        (PlainValue("str", "abc"), f"It returned a text; {WANTED}"),
        (PlainValue("object", "generator"), f"It returned a generator object; {WANTED}"),
        (PlainValue("object", "Answer"), f"It returned an Answer object; {WANTED}"),
        (Container("list", ()), f"It returned a list of 0 items; {WANTED} Return one numpy array."),
        (
            Container("list", (PlainValue("int", 1),)),
            f"It returned a list of 1 item; {WANTED} Return one numpy array.",
        ),
        (
            Container("tuple", (value(np.ones(SHAPE)), PlainValue("none"))),
            f"It returned a tuple of 2 items; {WANTED} Return one numpy array.",
        ),
        (
            Container("dict", ((PlainValue("str", "a"), PlainValue("int", 1)),)),
            f"It returned a dict of 1 item; {WANTED} Return one numpy array.",
        ),
        (value(np.float64(3), "scalar"), f"It returned a single number of type float64; {WANTED}"),
        (None, f"It returned nothing; {WANTED}"),
        (value(np.ones(SHAPE, np.int64)), f"It returned an array of dtype int64 and shape (2, 3); {WANTED}"),
        (value(np.ones(SHAPE, bool)), f"It returned an array of dtype bool and shape (2, 3); {WANTED}"),
        (
            value(np.ones(SHAPE, np.complex128)),
            f"It returned an array of dtype complex128 and shape (2, 3); {WANTED}",
        ),
        (
            ArrayValue("array", "object", SHAPE, None),
            f"It returned an array of dtype object and shape (2, 3); {WANTED}",
        ),
        (
            ArrayValue("array", "str32", SHAPE, None),
            f"It returned an array of dtype str32 and shape (2, 3); {WANTED}",
        ),
        (
            value(np.ones(SHAPE, np.float16)),
            f"It returned an array of dtype float16 and shape (2, 3); {WANTED} {FEW.format('float16')}",
        ),
        (
            ArrayValue("tensor", "bfloat16", SHAPE, None),
            f"It returned a tensor of dtype bfloat16 and shape (2, 3); {WANTED} {FEW.format('bfloat16')}",
        ),
        (
            ArrayValue("array", "float64", SHAPE, None),
            "It returned an array of dtype float64 and shape (2, 3), whose values can't be read.",
        ),
    ],
)
def test_what_is_no_float_array_is_of_the_wrong_type_and_told(found: Any, said: str) -> None:
    refusal = read(found)
    assert isinstance(refusal, Refusal)
    assert refusal.verdict == "wrong_type"
    assert refusal.message == said


@pytest.mark.parametrize(
    ("shape", "wanted", "hint"),
    [
        ((3, 2), (2, 3), " It looks transposed."),
        ((4, 3, 2), (2, 3, 4), " It looks transposed."),
        ((3,), (1, 3), " An axis of length 1 was dropped."),
        ((2,), (2, 1), " An axis of length 1 was dropped."),
        ((), (1, 1), " An axis of length 1 was dropped."),
        ((1, 2, 3), (2, 3), " It has one axis too many."),
        ((6,), (2, 3), " It was flattened."),
        ((5,), (2, 3), ""),
        ((2, 4), (2, 3), ""),
        ((0, 3), (2, 3), ""),
    ],
)
def test_another_shape_is_told_with_what_it_looks_like(
    shape: tuple[int, ...], wanted: tuple[int, ...], hint: str
) -> None:
    refusal = read(value(np.zeros(shape)), wanted)
    assert refusal == Refusal("wrong_shape", f"The answer has the shape {shape}; expected {wanted}.{hint}")


def test_the_shape_is_told_before_the_dtype() -> None:
    assert read(value(np.ones((3, 2), np.int64))).verdict == "wrong_shape"


def test_an_array_that_was_too_large_to_come_back_is_told_by_its_shape() -> None:
    huge = ArrayValue("array", "float64", (2**62, 0), None)
    assert read(huge).message.startswith(
        "The answer has the shape (4611686018427387904, 0); expected (2, 3)."
    )


plain = st.builds(
    PlainValue,
    st.sampled_from(["none", "bool", "int", "float", "complex", "str", "object"]),
    st.text() | st.integers(),
)
arrays = st.builds(
    ArrayValue,
    st.sampled_from(["array", "tensor", "scalar"]),
    st.sampled_from(["float64", "float32", "int8", "object", "bfloat16"]),
    st.lists(st.integers(0, 2**63), max_size=4).map(tuple),
    st.none(),
)
values = st.recursive(
    plain | arrays,
    lambda inner: st.builds(
        Container, st.sampled_from(["list", "tuple"]), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=6,
)


@given(values)
def test_anything_else_gets_a_verdict_and_one_line_of_words(found: Any) -> None:
    refusal = read(found)
    assert isinstance(refusal, Refusal)
    assert refusal.verdict in ("wrong_type", "wrong_shape")
    assert refusal.message.rstrip().endswith((".", "?"))
    assert describe_value(found)
