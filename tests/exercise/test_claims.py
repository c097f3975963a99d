"""Claims: numpy's meaning, nothing else of Python, and no harm from what they are computed with."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.exercise.claim_subscripts import subscript
from grader.exercise.claim_values import MAX_ELEMENTS, MAX_TOTAL, Room
from grader.exercise.claims import FUNCTIONS, MAX_DEPTH, MAX_LENGTH, MAX_NODES, Claim, ClaimError, parse

VALUES: dict[str, Any] = {
    "token_ids": np.array([[5, 6, 7], [8, 9, 0]]),
    "corrupted": np.array([[5, 1, 7], [8, 9, 0]]),
    "chosen": np.array([[False, True, False], [False, False, False]]),
    "sentinel_id": 1,
    "flat_positions": np.array([1, 4, 5]),
    "probabilities": np.array([[0.25, 0.75], [0.5, 0.5]], np.float32),
    "first": {"corrupted": np.arange(3), "loss": 0.5, "extra": {"words": ["a", "b"]}},
    "second": MappingProxyType({"corrupted": np.arange(3)}),
    "numbers": [1, 2, 3],
    "nothing": None,
    "word": "the",
}


def holds(text: str, **more: Any) -> bool:
    return parse(text).holds(VALUES | more)


def evaluate(text: str, **more: Any) -> Any:
    return parse(text).evaluate(VALUES | more)


# The same as numpy

I64, F64 = np.int64, np.float64
small = st.integers(-5, 5)
SHAPES = [(2, 3), (3,), (2, 1), (1, 3), (1,)]


def arrays(dtype: str, elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(SHAPES).flatmap(lambda shape: hnp.arrays(dtype, shape, elements=elements))


floating = st.sampled_from([0.0, -0.0, 0.5, -1.25, 3.0, math.inf, -math.inf, math.nan])
worlds = st.fixed_dictionaries(
    {
        "i": arrays("int32", small),
        "j": arrays(">i2", small),
        "u": arrays("uint8", st.integers(0, 5)),
        "f": arrays("float64", floating),
        "g": arrays("float32", floating),
        "m": arrays("bool", st.booleans()),
        "n": arrays("bool", st.booleans()),
        "k": small,
    }
)

# Each text twice: as a claim, and for Python's eval, where a number is one of numpy's.
Two = tuple[str, str]


def one(form: str) -> Callable[[Two], Two]:
    return lambda t: (form.format(t[0]), form.format(t[1]))


def two(form: str) -> Callable[[tuple[Two, Two]], Two]:
    return lambda t: (form.format(t[0][0], t[1][0]), form.format(t[0][1], t[1][1]))


number_leaves = st.one_of(
    st.sampled_from("ijufgk").map(lambda name: (name, name)),
    st.integers(0, 4).map(lambda n: (f"{n}", f"I64({n})")),
    st.sampled_from(["0.5", "2.0"]).map(lambda n: (n, f"F64({n})")),
    st.sampled_from(["(i ** 2)", "(u ** 3)", "(f ** 2)", "(g ** 0.5)"]).map(lambda t: (t, t)),
)
mask_leaves = st.sampled_from("mn").map(lambda name: (name, name))


def comparisons(numbers: st.SearchStrategy[Two]) -> st.SearchStrategy[Two]:
    signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    return st.tuples(st.tuples(numbers, numbers), signs).map(lambda t: two(f"({{}} {t[1]} {{}})")(t[0]))


UNARY = [
    "(-{})", "abs({})", "sqrt({})", "exp({})", "log({})", "sign({})", "sum({})", "sum({}, axis=0)",
    "mean({}, -1)", "max({})", "min({}, axis=-1)", "cumsum({})", "diff({})", "sort({})", "norm({}, axis=0)",
    "unique({})", "transpose({})", "({})[0]", "({})[..., 1:]", "({})[::-1]", "({})[None, -1]",
    "({})[[0, 0]]", "argmax({}, 0)", "reshape({}, -1)", "clip({}, -1, 2)", "floor({} * 1.0)",
    "concatenate([{}, i])", "stack([{0}, {0}], axis=1)", "repeat({}, 2, axis=0)", "tile({}, 2)",
]  # fmt: skip


def grow_numbers(inner: st.SearchStrategy[Two]) -> st.SearchStrategy[Two]:
    pair = st.tuples(inner, inner)
    binary = st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})"])
    binary |= st.sampled_from(["maximum({}, {})", "minimum({}, {})", "where({} > 0, {}, 2)"])
    binary |= st.sampled_from(["({} @ {})", "({})[{} > 0]"])
    unary = st.sampled_from(UNARY)
    return st.one_of(
        st.tuples(binary, pair).map(lambda t: two(t[0])(t[1])),
        st.tuples(unary, inner).map(lambda t: one(t[0])(t[1])),
    )


numbers = st.recursive(number_leaves, grow_numbers, max_leaves=5)
masks = st.recursive(
    mask_leaves | comparisons(numbers),
    lambda inner: st.one_of(
        st.tuples(inner, inner).flatmap(
            lambda t: st.sampled_from(["({} & {})", "({} | {})", "({} ^ {})"]).map(lambda form: two(form)(t))
        ),
        inner.map(one("(~{})")),
    ),
    max_leaves=4,
)
wholes = masks.flatmap(
    lambda t: st.sampled_from(["all({})", "any({}, axis=0)", "sum({})", "count_nonzero({})"]).map(
        lambda form: one(form)(t)
    )
)

AS_NUMPY: dict[str, Any] = {
    name: getattr(np, name)
    for name in FUNCTIONS
    if name not in ("array", "isclose", "len", "dtype_kind", "norm", "shape", "size", "ndim")
}
AS_NUMPY |= {"norm": np.linalg.norm, "I64": I64, "F64": F64, "__builtins__": {}}

# Where claims refuse on purpose what numpy does, they say so with these words.
STRICTER = (
    "64 bits",
    "divided by zero",
    # Of single numbers: no index, no axis, and True or False is no index.
    "a number has no parts",
    "an index is an integer, a slice, a mask",
    "is out of range for 0 axes",
)


def widened(world: Mapping[str, Any]) -> dict[str, Any]:
    wide = {"b": np.bool_, "i": I64, "u": I64, "f": F64}
    return {name: np.asarray(v).astype(wide[np.asarray(v).dtype.kind])[()] for name, v in world.items()}


@given(st.one_of(numbers, masks, wholes), worlds)
def test_claims_give_what_numpy_gives(text: Two, world: dict[str, Any]) -> None:
    mine, theirs = text
    if len(mine) > MAX_LENGTH:
        return
    with np.errstate(all="ignore"):
        try:
            wanted = eval(theirs, dict(AS_NUMPY), widened(world))
        except (ValueError, TypeError, IndexError, ArithmeticError):
            with pytest.raises(ClaimError):
                parse(mine).evaluate(world)
            return
    try:
        found = parse(mine).evaluate(world)
    except ClaimError as error:
        assert any(words in str(error) for words in STRICTER), error
        return
    assert np.shape(found) == np.shape(wanted)
    # Small dtypes stay as they are until something is computed.
    assert np.asarray(found).dtype.kind.replace("u", "i") == np.asarray(wanted).dtype.kind
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12)


x = np.array([[3, -1, 2], [0, 5, 2]])
y = np.array([0.5, np.nan, -np.inf, 2.5])
# Of every function: claims about x and y with what they give.
EXAMPLES: dict[str, list[tuple[str, Any]]] = {
    "abs": [("abs(x)", abs(x)), ("abs(-3)", 3)],
    "all": [("all(x > -2)", True), ("all(x, axis=0)", x.all(axis=0)), ("all(x[:0])", True)],
    "any": [("any(x > 4, (0, 1))", True), ("any(x > 4, axis=1)", (x > 4).any(axis=1))],
    "arange": [
        ("arange(3)", [0, 1, 2]),
        ("arange(2, 9, step=3)", [2, 5, 8]),
        ("arange(5, 0, -2)", [5, 3, 1]),
    ],
    "argmax": [("argmax(x)", 4), ("argmax(x, axis=1)", [0, 1])],
    "argmin": [("argmin(x)", 1), ("argmin(x, -1)", [1, 0])],
    "argsort": [
        ("argsort(x)", np.argsort(x)),
        ("argsort(arange(99) % 2)", [*range(0, 99, 2), *range(1, 99, 2)]),
    ],
    "array": [
        ("array([[1, 2], [3, 4.5]])", [[1, 2], [3, 4.5]]),
        ("array([True, 2])", [1, 2]),
        ("array([1, True, 2.5])", [1, 1, 2.5]),
    ],
    "array_equal": [
        ("array_equal(x, x)", True),
        ("array_equal(x[:0], 1)", False),
        ("array_equal(y, y)", False),
    ],
    "bincount": [("bincount(reshape(x[1], -1), minlength=8)", [1, 0, 1, 0, 0, 1, 0, 0])],
    "ceil": [("ceil(y)", np.ceil(y)), ("ceil(x)", x)],
    "clip": [("clip(x, 0, 2)", x.clip(0, 2)), ("clip(2.5, x, 3)", np.clip(2.5, x, 3))],
    "concatenate": [
        ("concatenate([x, x[:1]])", np.concatenate([x, x[:1]])),
        ("concatenate((x, x), axis=-1)", np.hstack([x, x])),
    ],
    "count_nonzero": [("count_nonzero(x)", 5), ("count_nonzero(x == 2, axis=0)", [0, 0, 2])],
    "cumsum": [("cumsum(x)", x.cumsum()), ("cumsum(x, axis=0)", x.cumsum(axis=0))],
    "diff": [("diff(x)", np.diff(x)), ("diff(x, axis=0)", np.diff(x, axis=0))],
    "dtype_kind": [
        ("dtype_kind(x) == 'i'", True),
        ("dtype_kind(x > 0) == 'b'", True),
        ("dtype_kind(0.5) == 'f'", True),
    ],
    "exp": [("exp(y)", np.exp(y)), ("exp(0)", 1.0)],
    "flatnonzero": [("flatnonzero(x > 1)", [0, 2, 4, 5])],
    "floor": [("floor(y)", np.floor(y)), ("floor(x)", x)],
    "full": [("full((2, 1), 7)", [[7], [7]]), ("full(2, True)", [True, True])],
    "isclose": [
        ("isclose([1, 1.1], 1, 0.05)", [True, False]),
        ("isclose(y, y, 0)", [True, False, True, True]),
        ("isclose(0, 0.1, 0, atol=0.2)", True),
    ],
    "isfinite": [("isfinite(y)", [True, False, False, True])],
    "isin": [
        ("isin(x, [2, 3])", np.isin(x, [2, 3])),
        ("isin(y, y)", [True, False, True, True]),
        ("isin(x, [])", np.zeros((2, 3), bool)),
    ],
    "isnan": [("isnan(y)", [False, True, False, False])],
    "len": [("len(x)", 2), ("len('abc')", 3), ("len([1, 2])", 2), ("len(both)", 2)],
    "log": [("log([1, 0])", [0, -np.inf])],
    "max": [("max(x)", 5), ("max(x, axis=0)", x.max(axis=0)), ("max(y)", np.nan)],
    "maximum": [("maximum(x, 1)", np.maximum(x, 1))],
    "mean": [("mean(x)", x.mean()), ("mean(x > 0, axis=1)", (x > 0).mean(axis=1)), ("mean([])", np.nan)],
    "min": [("min(x)", -1), ("min(x, 1)", [-1, 0])],
    "minimum": [("minimum(x, y[3])", np.minimum(x, 2.5))],
    "ndim": [("ndim(x)", 2), ("ndim(3)", 0)],
    "norm": [("norm([3, 4])", 5.0), ("norm(x, axis=0)", np.linalg.norm(x, axis=0))],
    "ones": [("ones(2)", [1.0, 1.0])],
    "prod": [("prod(x)", 0), ("prod(x, axis=1)", [-6, 0]), ("prod([])", 1.0)],
    "repeat": [("repeat(x, 2)", x.repeat(2)), ("repeat(x, 2, axis=0)", x.repeat(2, axis=0))],
    "reshape": [("reshape(x, (3, -1))", x.reshape(3, -1)), ("reshape(x, shape([[1, 1, 1], [1, 1, 1]]))", x)],
    "round": [("round([0.5, 1.5, 2.125], 2)", [0.5, 1.5, 2.12]), ("round(x)", x), ("round(2.5)", 2.0)],
    "shape": [("shape(x) == (2, 3)", True), ("shape(x)[-1]", 3), ("shape(1) == ()", True)],
    "sign": [("sign(x)", np.sign(x))],
    "size": [("size(x)", 6), ("size(x[:0])", 0)],
    "sort": [("sort(x)", np.sort(x)), ("sort(x, axis=0)", np.sort(x, axis=0))],
    "sqrt": [("sqrt([4, -1])", [2.0, np.nan])],
    "stack": [("stack([x, x], axis=-1)", np.stack([x, x], axis=-1)), ("stack([1, 2.5])", [1, 2.5])],
    "std": [("std(x)", x.std()), ("std(x, 0)", x.std(axis=0))],
    "sum": [("sum(x)", 11), ("sum(x, axis=(0, 1))", 11), ("sum(x > 0, 1)", [2, 2]), ("sum([])", 0.0)],
    "take": [("take(x, [5, 0])", [2, 3]), ("take(x, [1, 1], axis=1)", x[:, [1, 1]]), ("take(x, -1)", 2)],
    "tanh": [("tanh(y)", np.tanh(y))],
    "tile": [("tile(x, (2, 1, 2))", np.tile(x, (2, 1, 2)))],
    "transpose": [
        ("transpose(x)", x.T),
        ("transpose(x, (1, 0))", x.T),
        ("shape(transpose(ones((2, 3, 4)), axes=(2, 0, 1))) == (4, 2, 3)", True),
    ],
    "unique": [("unique(x)", [-1, 0, 2, 3, 5]), ("unique([y, y])", [-np.inf, 0.5, 2.5, np.nan])],
    "var": [("var(x)", x.var()), ("var(x, axis=1)", x.var(axis=1))],
    "where": [("where(x > 1, x, -1)", np.where(x > 1, x, -1)), ("where(True, 1, 2)", 1)],
    "zeros": [("zeros((2, 0))", np.zeros((2, 0)))],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_gives_what_its_summary_says(name: str) -> None:
    for text, wanted in EXAMPLES[name]:
        found = evaluate(text, x=x, y=y, both={"x": x, "y": y})
        assert np.asarray(found).shape == np.asarray(wanted).shape, text
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12, err_msg=text)


def test_every_function_has_a_line_for_its_author() -> None:
    for name, function in FUNCTIONS.items():
        assert function.name == name
        assert function.signature.startswith(f"{name}(")
        assert function.summary.endswith(".")
        assert len(function.summary) < 100
    assert FUNCTIONS["arange"].signature == "arange(start, stop=None, step=1)"


# What authors write


@pytest.mark.parametrize(
    "text",
    [
        "all(corrupted[~chosen] == token_ids[~chosen])",
        "all(diff(flat_positions) > 0)",
        "sum((corrupted == sentinel_id) & chosen) == 1",
        "all(isclose(sum(probabilities, -1), 1, 1e-6))",
        "all(first.corrupted == second.corrupted)",
        "size(flat_positions) >= 1",
        "all(0 <= token_ids < 10)",
        "shape(corrupted) == shape(token_ids) == (2, 3)",
        "first['loss'] == first.loss == 0.5",
        "first.extra.words == ['a', 'b']",
        "first.extra.words[1] == 'b' and len(first.extra.words) == 2",
        "word != 'a' and word[0] == 't' and word[1:] == 'he'",
        "nothing == None and word != None and None != numbers",
        "numbers == [1, 2, 3] and numbers != [1, 2] and numbers != [1, 2, None]",
        "all(array(numbers) == [1, 2, 3]) and sum(numbers) == 6",
        "not any(chosen[1])",
        "size(flat_positions) == 0 or min(flat_positions) >= 0",
        "all(token_ids[[0, 1], [2, 2]] == [7, 0])",
        "all(token_ids[:, None, ::2] == token_ids[..., None, [0, 2]])",
        "all(probabilities[0] == [0.25, 0.75])",
        "2 ** -1 == 0.5 and 7 // 2 == 3 and -7 % 3 == 2",
        "dtype_kind(probabilities) == 'f'",
        "1 / size(chosen[:0]) > 10 ** 300",
    ],
)
def test_authors_say_what_must_hold(text: str) -> None:
    assert holds(text) is True
    assert holds(f"not ({text})") is False


def test_a_claim_knows_its_names_and_what_is_asked_of_them() -> None:
    claim = parse("all(first.corrupted[0] == second['extra'].words) and sum(x, axis=size) > first.loss")
    assert claim.names == {"first", "second", "x", "size"}
    assert claim.paths == {"first.corrupted", "second.extra.words", "x", "size", "first.loss"}
    assert claim.text.startswith("all(")
    assert parse(claim.text) is claim
    copy: Claim = pickle.loads(pickle.dumps(claim))
    assert copy == claim


def test_and_and_or_stop_where_python_stops() -> None:
    assert holds("size(x) == 0 or max(x) > 1", x=np.zeros(0))
    assert not holds("size(x) > 0 and max(x) > 1", x=np.zeros(0))
    assert not holds("1 < 0 < max(x)", x=np.zeros(0))
    with pytest.raises(ClaimError, match="max"):
        holds("max(x) > 1 or size(x) == 0", x=np.zeros(0))


def test_a_single_number_is_pythons_own() -> None:
    assert type(evaluate("sum(token_ids)")) is int
    assert type(evaluate("token_ids[0, 0]")) is int
    assert type(evaluate("all(chosen)")) is bool
    assert type(evaluate("n", n=np.float32(0.5))) is float
    assert type(evaluate("n", n=np.array(True))) is bool


def test_a_float_is_compared_in_the_arrays_precision_but_never_becomes_infinite() -> None:
    tenth = np.array([0.1], np.float32)
    assert holds("all(x == 0.1)", x=tenth)
    assert not holds("any(x <= 70000.0)", x=np.array([np.inf], np.float16))
    assert not holds("any(1e39 >= x)", x=np.array([np.inf], np.float32))


# Nothing wraps around


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("all(diff(x) > 0)", np.array([3, 1], np.uint8)),
        ("all(x[1:] - x[:-1] > 0)", np.array([3, 1], np.uint64)),
        ("all(-x < 0)", np.array([-128], np.int8)),
        ("all(abs(x) < 0)", np.array([-128], np.int8)),
        ("sum(x) < 200", np.array([100, 100], np.uint8)),
        ("all(x + 200 < 200)", np.array([100], np.uint8)),
        ("all(x * x < 200)", np.array([16], np.uint8)),
        ("all(x ** 2 == 0)", np.array([16], np.uint8)),
        ("max(cumsum(x)) < 200", np.array([100, 100], np.int8)),
        ("all(x @ x == 0)", np.array([[16]], np.uint8)),
        ("prod(x) == 0", np.array([16, 16], np.uint8)),
        ("norm(x) == 0.0", np.array([16], np.uint8)),
    ],
)
def test_small_integers_do_not_wrap_around(text: str, values: np.ndarray) -> None:
    assert not holds(text, x=values)


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("abs(x)", np.array([LEAST])),
        ("-x", np.array([LEAST])),
        ("x // -1", np.array([LEAST])),
        ("x + 1", np.array([MOST])),
        ("x - 2", np.array([LEAST])),
        ("x * 2", np.array([2**62])),
        ("x ** 3", np.array([2**21])),
        ("x @ x", np.array([2**31, 2**31])),
        ("sum(x)", np.array([2**62, 2**62])),
        ("sum(x, axis=0)", np.array([[2**62], [2**62]])),
        ("cumsum(x)", np.array([2**62, 2**62])),
        ("diff(x)", np.array([LEAST, 1])),
        ("prod(x)", np.array([2**32, 2**31])),
        ("x + 0", np.array([2**64 - 1], np.uint64)),
        ("x + 18446744073709551616", np.array([1])),
        ("take([1, 2], x)", np.array([2**64 - 1], np.uint64)),
    ],
)
def test_integers_that_could_need_more_bits_are_an_error(text: str, values: np.ndarray) -> None:
    with pytest.raises(ClaimError, match=r"64 bits|too large"):
        evaluate(text, x=values)


@pytest.mark.parametrize("text", ["x // 0", "x % [0, 1]", "1 // 0", "5 % size(x[:0])"])
def test_an_integer_divided_by_zero_is_an_error(text: str) -> None:
    with pytest.raises(ClaimError, match="divided by zero"):
        evaluate(text, x=np.array([1, 2]))


def test_large_unsigned_integers_are_compared_exactly() -> None:
    large = np.array([2**64 - 1], np.uint64)
    assert holds("all(x == 18446744073709551615) and all(x > -1) and not any(x == -1)", x=large)


# What is refused

REFUSED = [
    "__import__('os')",
    "open('x')",
    "x.__class__",
    "x.a.__dict__",
    "x['a'].__dict__['b']",
    "(1).__class__",
    "x.dot(x)",
    "x.T()",
    "lambda: 1",
    "[n for n in x]",
    "{n for n in x}",
    "{1: 2}",
    "{1, 2}",
    "x if x else x",
    "(n := 3)",
    "f'{x}'",
    "b'1'",
    "1j",
    "1 << 3",
    "x is None",
    "1 in x",
    "+x",
    "...",
    "x[(..., 1), 0]",
    "[*x]",
    "sum(*x)",
    "sum(**x)",
    "sum()",
    "sum(x, 0, 1)",
    "sum(x, axis=0, axis=1)",
    "sum(x, 0, axis=1)",
    "sum(x, out=x)",
    "sum(x, dtype=x)",
    "sum(x=x)",
    "isclose(x, x)",
    "sum(x)(x)",
    "x()",
    "sums(x)",
    "__x__",
    "await x",
    "yield",
    "",
    "   ",
    "x y",
    "x = 3",
    "x; x",
    "import os",
    "(" * 150,
    "\0",
    "-" * (MAX_DEPTH + 1) + "1",
    "9" * 400,
    "'" + "a" * MAX_LENGTH + "'",
    "+".join(["1"] * (MAX_NODES // 2 + 60)),
    "[" + ",".join(["1"] * MAX_NODES) + "]",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_claim_is_refused_before_anything_is_computed(text: str) -> None:
    with pytest.raises(ClaimError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("corrupted == token_ids", r"'corrupted == token_ids' gives an array .* write all\(\.\.\.\) or any"),
        ("chosen and word == 'the'", r"'chosen' gives an array of shape \(2, 3\)"),
        ("not chosen", r"write all\(\.\.\.\) or any\(\.\.\.\)"),
        ("sum(chosen)", "'sum\\(chosen\\)' gives a number, not True or False; write a comparison"),
        ("nothing", "gives None"),
        ("word", "gives a text"),
        ("sum(chosen) and True", "not True or False"),
        ("corupted > 0", "'corupted' is unknown here; known are chosen"),
        ("sum > 0", r"'sum' is a function; write sum\(x, axis=None\)"),
        ("first.los > 0", "has no item 'los'; did you mean 'loss'"),
        ("corrupted.shape == (2, 3)", r"'corrupted.shape' can't be computed: an array .* shape\(x\)"),
        ("first[0] > 0", "keys"),
        ("corrupted[2, 0] > 0", r"'corrupted\[2, 0\]' can't be computed: index 2 is out of bounds"),
        ("corrupted[0, 0, 0] > 0", "fewer axes"),
        ("corrupted[0.5] > 0", "an index is an integer"),
        ("all(corrupted[chosen[0]])", "boolean index"),
        ("corrupted[0:0.5] == 1", "a slice goes from one integer"),
        ("numbers['a'] == 1", "a list takes one integer or slice"),
        ("numbers[3] == 1", "out of range"),
        ("nothing[0] == 1", "None has no parts"),
        ("all(corrupted == flat_positions[:2])", r"shapes \(2, 3\) and \(2,\) don't fit together"),
        ("all(chosen + chosen)", r"both sides of \+ are True or False; use & | ^"),
        ("all(corrupted & chosen)", "needs True and False on both sides, or integers"),
        ("all(~corrupted)", "~ is for True and False"),
        ("all(-chosen)", "use ~ or not"),
        ("word < 3", "have no order"),
        ("word + word == 'thethe'", "a text is no array of numbers"),
        ("sum(first) > 0", "a mapping is no array of numbers"),
        ("sum(nothing) > 0", "None is no array of numbers"),
        ("sum([[1, 2], [3]]) > 0", "different shapes"),
        ("first == second", "a mapping is no array"),
        ("sum(corrupted, axis=2) > 0", "axis 2 is out of range for 2 axes"),
        ("where(corrupted, 1, 2)[0] == 1", "the condition holds True and False"),
        ("max(corrupted[:0]) > 0", r"'max\(corrupted\[:0\]\)' can't be computed"),
        ("summ(corrupted) > 0", "there is no function 'summ'; did you mean 'sum'"),
        ("sum(corrupted, axes=0) > 0", r"sum takes no argument 'axes' by name: sum\(x, axis=None\)"),
        ("isclose(1, 1) == True", r"isclose needs rtol: isclose\(a, b, rtol, atol=0\)"),
        ("[corrupted] == [corrupted]", "lists of arrays are not compared as a whole"),
        ("1 if chosen else 2", "is not allowed; use numbers"),
    ],
)
def test_messages_say_what_is_wrong_and_what_to_write(text: str, words: str) -> None:
    with pytest.raises(ClaimError, match=words):
        holds(text)


alphabet = "corupted chosenfistx0123456789.,:()[]{}'\"+-*/%@&|^~=<>!\n\\_"
PIECES = [
    "x", "m", "d", "d.a", "d['a']", "(", ")", "[", "]", ",", ":", "...", "None", "True", "-", "~", "not ",
    " and ", "+", "*", "**", "//", "@", "&", "==", "<", "0", "1", "-1", "2.5", "'a'", "axis=0", "s",
    "list_", *(f"{name}(" for name in sorted(FUNCTIONS)),
]  # fmt: skip
pieces = st.sampled_from(PIECES)
WORLD: dict[str, Any] = {
    "x": np.arange(6).reshape(2, 3),
    "m": np.array([True, False]),
    "d": {"a": np.ones(2), "b": None},
    "s": "text",
    "list_": [1, [2.5, None], "a"],
}


@given(st.text(max_size=40) | st.text(alphabet, max_size=40) | st.lists(pieces, max_size=12).map("".join))
@example("x[m, d.a")
def test_any_other_text_is_refused_with_one_kind_of_error(text: str) -> None:
    try:
        claim = parse(text)
        claim.evaluate(WORLD)
    except ClaimError:
        return
    assert claim.names <= WORLD.keys()


# Hostile values

anything = st.deferred(
    lambda: st.one_of(
        hnp.arrays(hnp.scalar_dtypes() | hnp.nested_dtypes(), hnp.array_shapes(min_dims=0, min_side=0)),
        hnp.arrays("object", 2, elements=st.just(object())),
        hnp.from_dtype(np.dtype("complex64")),
        st.integers() | st.sampled_from([2**64, -(2**63), 10**400, 2**63]),
        st.floats() | st.complex_numbers() | st.booleans() | st.none() | st.text(max_size=3),
        st.lists(anything, max_size=3),
        st.dictionaries(st.text("ab", max_size=1) | st.integers(), anything, max_size=2),
        st.just(np.ma.masked_array([1, 2])),
        st.just(object()),
    )
)
FORMS = [
    "all(x == y)", "x < y", "x == y", "x + y", "x ** y", "x // y", "x @ y", "x & y", "~x", "-x", "x[y]",
    "x.a", "x[0]", "x['a']", "x[..., None, 1:]", "[x, y] == [y, x]", "x and y", "not x", "x < y < x",
    "isclose(x, y, 1e-6)", "where(x, y, x)", "arange(x)", "zeros(x)", "full(2, x)", "reshape(x, y)",
    "tile(x, y)", "repeat(x, y)", "isin(x, y)", "concatenate([x, y])", "stack([x, y])", "concatenate(x)",
    "sum(x, y)", "take(x, y)", "take(x, y, axis=0)", "transpose(x, y)", "round(x, y)", "maximum(x, y)",
    "array_equal(x, y)", "len(x) + ndim(y)", "x[x > y]", "[[x], [y]] != x", "bincount(x, y)",
    "clip(x, x, y)",
    *(f"{name}(x)" for name, function in FUNCTIONS.items() if len(function.required) == 1),
]  # fmt: skip


@given(st.sampled_from(FORMS), anything, anything)
@example("x < y", np.array([1j]), 2)
@example("x[y]", [1, 2], 10**400)
@example("full(2, x)", 10**400, 0)
@example("x / y", 10**400, 3)
@example("x + y", 10**400, 0.5)
@example("x ** y", 2, 10**400)
@example("x ** y", 0, -1)
@example("x ** y", -8.0, 0.5)
def test_whatever_the_values_are_there_is_a_value_or_a_claim_error(text: str, x: Any, y: Any) -> None:
    try:
        found = parse(text).evaluate({"x": x, "y": y})
    except ClaimError as error:
        assert len(str(error)) < 600
        return
    if isinstance(found, np.ndarray):
        assert type(found) is np.ndarray
        assert found.ndim
        assert found.dtype.kind in "biufc"


METHODS = [
    "__len__", "__iter__", "__getitem__", "__getattr__", "__array__", "__array_ufunc__",
    "__array_function__", "__bool__", "__eq__", "__add__", "__radd__", "__lt__", "__index__", "__int__",
    "__float__", "__str__", "__repr__", "__format__", "__contains__", "__neg__", "__array_finalize__",
    "__array_wrap__", "item", "tolist", "keys", "items", "get",
]  # fmt: skip


def test_nothing_of_a_values_own_class_is_run() -> None:
    ran: list[str] = []

    def note(name: str) -> Callable[..., Any]:
        def method(*_: Any, **__: Any) -> Any:
            ran.append(name)
            return 1

        return method

    for base in (object, int, float, str, list, tuple, dict, np.ndarray, np.float64):
        made: Any = type(
            "Evil", (base,), {name: note(name) for name in METHODS} | {"__hash__": object.__hash__}
        )
        value = np.ones(2).view(made) if base is np.ndarray else made()
        ran.clear()
        for text in FORMS:
            for x, y in ((value, np.ones(2)), ([value], value), ({"a": value}, value), (np.ones(2), value)):
                try:
                    parse(text).evaluate({"x": x, "y": y})
                    parse("x.a + 1").evaluate({"x": x, "y": y})
                except ClaimError as error:
                    str(error)
        assert not ran, base


# Room

BIG = np.zeros((MAX_ELEMENTS // 4, 4), np.int8)
FLAT = np.zeros((0, 2**40), np.int8)


@pytest.mark.parametrize(
    "text",
    [
        "arange(2**60)",
        "arange(-2**61, 2**61)",
        "zeros((100000, 100000))",
        "ones(4000000) + reshape(ones(4000000), (-1, 1))",
        "reshape(ones(4000000), (-1, 1)) == ones(4000000)",
        "reshape(ones(4000000), (-1, 1)) @ ones((1, 4000000))",
        "ones((2000, 2000)) @ ones((2000, 2000))",
        "repeat(ones(1000), 1000000)",
        "tile(ones(1000), (1000, 1000))",
        "ones(4000000)[:, None][:, [0, 0, 0]]",
        "ones(2000)[zeros((3000, 3000)) == 0]",
        "take(ones((2, 4000000)), [0, 1, 0], axis=0)",
        "take(ones((2, 2000000)), array([0, 1, 0]), axis=0)",
        "ones((3000, 1))[arange(3000)[:, None], full((1, 3000), 0)]",
        "concatenate([ones(4000000), ones(4000000)])",
        "[ones(4000000), ones(4000000), ones(4000000), ones(4000000), ones(4000000)] == [1]",
        "bincount([1099511627776])",
        "bincount([1], minlength=1099511627776)",
        "sum(flat, axis=0)",
        "any(flat, 0)",
        "transpose(flat) @ flat",
        "big[:, :, None] + zeros(5)",
        "where(big == 0, big, zeros((5, 1, 1)))",
        "clip(big, 0, ones((5, 1, 1)))",
        "2 ** 1024 == 1",
        "3 ** 10000000000 == 1",
        "2 ** (2 ** 1000) == 1",
        "9 ** 9 ** 9 ** 9 == 1",
        "big * 9 ** 300",
    ],
)
def test_a_claim_that_needs_too_much_is_refused_before_it_is_made(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ClaimError, match=r"elements|operations|at most|bits"):
            evaluate(text, big=BIG, flat=FLAT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Bytes: no more than a few allowed results of float64.
    assert peak < MAX_TOTAL * 8 + 2**20


def a_mask_and_more(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """A mask of the first axis, and an index of the others."""
    others = hnp.basic_indices(shape[1:], allow_ellipsis=False) if len(shape) > 1 else st.just(())
    return st.tuples(hnp.arrays("bool", shape[:1]), others).map(
        lambda both: (both[0], *(both[1] if type(both[1]) is tuple else (both[1],)))
    )


@st.composite
def subscripts(draw: st.DrawFn) -> tuple[np.ndarray, Any]:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    kinds = [hnp.basic_indices(shape, allow_newaxis=True), hnp.arrays("bool", shape), a_mask_and_more(shape)]
    if 0 not in shape:
        kinds.append(hnp.integer_array_indices(shape))
        kinds.append(
            st.tuples(st.just(...), hnp.arrays("int64", (2, 1), elements=st.integers(0, shape[-1] - 1)))
        )
    return np.arange(math.prod(shape)).reshape(shape), draw(st.one_of(kinds))


@given(subscripts())
def test_the_room_of_a_subscript_is_known_exactly_before_it_is_taken(case: tuple[np.ndarray, Any]) -> None:
    base, index = case
    room = Room()
    np.testing.assert_array_equal(subscript(base, index, room), base[index])
    assert MAX_TOTAL - room.elements == np.size(base[index])


@given(st.sampled_from(FORMS), anything, anything)
def test_no_result_is_larger_than_what_was_asked_for(text: str, x: Any, y: Any) -> None:
    asked: list[int] = []

    class Asked(Room):
        def result(self, elements: int, work: int | None = None) -> None:
            asked.append(elements)
            super().result(elements, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grader.exercise.claims.Room", Asked)
        try:
            found = parse(text).evaluate({"x": x, "y": y})
        except ClaimError:
            return
    if isinstance(found, np.ndarray):
        assert found.size <= max(asked)


def test_an_answer_that_is_too_large_is_not_looked_at() -> None:
    with pytest.raises(ClaimError, match="x has 4,194,305 elements; at most 4,194,304 are read"):
        evaluate("x", x=np.zeros(MAX_ELEMENTS + 1, np.int8))
    with pytest.raises(ClaimError, match="elements"):
        evaluate("sum(x)", x=[0] * (MAX_ELEMENTS + 1))


def test_the_same_array_can_be_asked_many_things_but_not_endlessly() -> None:
    assert holds(" and ".join(["x[0]>0"] * 30), x=np.ones((2, 1))[:, 0])
    with pytest.raises(ClaimError, match="operations"):
        holds(" and ".join(["min(x)>0"] * 35), x=np.ones(MAX_ELEMENTS))


def test_a_mapping_of_many_or_long_names_makes_no_long_message() -> None:
    for many in ({f"name_{n}": n for n in range(1000)}, {"a" * 2000: 1}):
        with pytest.raises(ClaimError, match="has no item 'nam'") as caught:
            evaluate("x.nam", x=many)
        assert len(str(caught.value)) < 100


def test_lists_nested_without_end_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for text in ("sum(x)", "x == x", "x == [x]", "x + 1", "x[x]"):
        with pytest.raises(ClaimError):
            evaluate(text, x=endless)


def test_the_values_are_left_as_they_were() -> None:
    x = np.array([[3, 1], [2, 0]], ">i4")
    before = x.tobytes()
    x.flags.writeable = False
    assert evaluate("sort(x, axis=0) + clip(x, 0, 1) - cumsum(x, axis=0)", x=x).shape == (2, 2)
    assert x.tobytes() == before
    assert evaluate("x", x=x).dtype.isnative


def test_the_page_on_the_language_lists_every_function() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "claims.md").read_text("utf-8")
    rows = [f"| `{function.signature}` | {function.summary} |" for function in FUNCTIONS.values()]
    assert [line for line in page.splitlines() if line.startswith("| `") and "(" in line] == rows
