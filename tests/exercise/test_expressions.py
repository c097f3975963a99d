"""Expressions over dims: Python's arithmetic, and nothing else of Python."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.exercise.expressions import MAX_LENGTH, ExpressionError, evaluate, names

NAMES = {"N": 3, "D": 8, "num_heads": 2, "zero": 0, "half": 0.5}
FUNCTIONS = {"sqrt": math.sqrt, "min": min, "max": max, "abs": abs}

leaves = (
    st.sampled_from(sorted(NAMES)) | st.integers(0, 50).map(str) | st.sampled_from(["0.25", "1e3", "True"])
)


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(pair, st.sampled_from(["+", "-", "*", "/", "//", "%"])).map(
            lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"
        ),
        st.tuples(pair, st.sampled_from(["==", "!=", "<", "<=", ">", ">="])).map(
            lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} <= {t[1]} < {t[2]})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"(not {t})"),
        inner.map(lambda t: f"sqrt({t})"),
        inner.map(lambda t: f"abs({t})"),
        pair.map(lambda t: f"min({t[0]}, {t[1]})"),
        pair.map(lambda t: f"max({t[0]}, {t[1]}, 2)"),
    )


arithmetic = st.recursive(leaves, grow, max_leaves=8).filter(lambda text: len(text) <= MAX_LENGTH)


@given(arithmetic)
@example("1 + 2 * 3 - 4 / 5 // 6 % 7")
@example("0 < N < 1 / zero")
@example("-7 // 2 + -7 % 2")
def test_arithmetic_and_comparisons_give_what_python_gives(text: str) -> None:
    try:
        wanted = eval(text, {"__builtins__": {}}, FUNCTIONS | NAMES)
    except (ArithmeticError, ValueError):
        with pytest.raises(ExpressionError, match="can't be computed"):
            evaluate(text, NAMES)
        return
    found = evaluate(text, NAMES)
    assert found == wanted or (math.isnan(found) and math.isnan(wanted))
    assert type(found) is type(wanted)


@given(arithmetic, arithmetic, st.sampled_from(["and", "or"]))
@example("zero > 0", "1 / zero > 1", "and")
@example("zero == 0", "1 / zero > 1", "or")
def test_and_and_or_agree_with_python_as_truth_and_stop_where_python_stops(
    left: str, right: str, op: str
) -> None:
    text = f"{left} {op} {right}"
    if len(text) > MAX_LENGTH:
        return
    try:
        wanted = bool(eval(text, {"__builtins__": {}}, FUNCTIONS | NAMES))
    except (ArithmeticError, ValueError):
        with pytest.raises(ExpressionError):
            evaluate(text, NAMES)
        return
    assert evaluate(text, NAMES) is wanted


@given(st.text(max_size=30) | st.text(alphabet="ND+-*/%()<>=! 01.,[]{}'\"abcdefilmnoqrstx_", max_size=30))
def test_any_other_text_is_refused_with_one_kind_of_error(text: str) -> None:
    try:
        value = evaluate(text, NAMES)
    except ExpressionError:
        return
    assert isinstance(value, int | float)
    assert names(text) <= NAMES.keys()


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "open('x')",
        "N.real",
        "(1).__class__",
        "[N][0]",
        "(N, D)",
        "{1: 2}",
        "'text'",
        "f'{N}'",
        "b'1'",
        "lambda: 1",
        "[n for n in N]",
        "N if D else 1",
        "(M := 3)",
        "2 ** 3",
        "1 << 3",
        "1 | 2",
        "1 @ 2",
        "~N",
        "+N",
        "1j",
        "None",
        "...",
        "N in D",
        "N is D",
        "sqrt",
        "sqrt()",
        "sqrt(1, 2)",
        "abs(1, 2)",
        "min()",
        "min(1)",
        "max(N)",
        "min(*N)",
        "min(1, 2, key=abs)",
        "sqrt(x=1)",
        "pow(2, 3)",
        "N()",
        "sqrt(2)(3)",
        "zero and 2 ** 3",
        "await N",
        "yield",
    ],
)
def test_what_is_not_arithmetic_is_refused_before_anything_is_computed(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text", ["", "   ", "1 +", "1 2", "N D", "(", "1; 2", "N = 3", "\0", "if", "(" * 150, "9" * 201]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        names(text)


def test_messages_say_what_was_found_and_what_may_be_used() -> None:
    with pytest.raises(ExpressionError, match=r"^'Q' is unknown here; known are D, N$"):
        evaluate("Q + 1", {"N": 1, "D": 2})
    with pytest.raises(ExpressionError, match=r"^'D \*\* 2' is not allowed; use numbers, dims"):
        evaluate("D ** 2", {"D": 2})
    with pytest.raises(ExpressionError, match=r"^'1 / N' can't be computed: division by zero$"):
        evaluate("1 / N", {"N": 0})
    with pytest.raises(ExpressionError, match=r"^'D %' is no arithmetic expression such as 1/sqrt\(D\)$"):
        evaluate("D %", {"D": 2})
    with pytest.raises(ExpressionError, match=f"at most {MAX_LENGTH} are read"):
        evaluate("1" * 300, {})


def test_numbers_are_their_own_value() -> None:
    assert evaluate(3, {}) == 3
    assert evaluate(0.5, {}) == 0.5


def test_the_names_of_an_expression_are_its_dims() -> None:
    assert names("N * max(T, D) % num_heads == sqrt(4)") == {"N", "T", "D", "num_heads"}
