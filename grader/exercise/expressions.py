"""Arithmetic over an exercise's dims, as written in YAML: ``D % num_heads == 0``, ``1/sqrt(D)``."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {"sqrt": math.sqrt, "min": min, "max": max, "abs": abs}
MAX_LENGTH = 200


class ExpressionError(ValueError):
    """An expression can't be parsed, names something unknown, or can't be evaluated."""


def syntax(text: str, longest: int, wanted: str) -> ast.expr:
    """The syntax tree of an expression; whether it uses allowed things alone is the caller's to check.

    Args:
        text: The expression.
        longest: How many characters are read at most.
        wanted: What the text is not, for the message: ``no arithmetic expression such as 1/sqrt(D)``.

    Raises:
        ExpressionError: The text is too long, or no expression of Python's.
    """
    if len(text) > longest:
        raise ExpressionError(f"has {len(text)} characters; at most {longest} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is {wanted}") from None


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr:
    parsed = syntax(text, MAX_LENGTH, "no arithmetic expression such as 1/sqrt(D)")
    _check(parsed)
    return parsed


def names(text: str) -> set[str]:
    """The dims that an expression uses.

    Raises:
        ExpressionError: ``text`` can't be parsed, or uses what `evaluate` doesn't allow.
    """
    return {
        node.id for node in ast.walk(_parse(text)) if isinstance(node, ast.Name) and node.id not in _FUNCTIONS
    }


def evaluate(expression: str | Number, values: Mapping[str, Number]) -> Number:
    """The value of an expression where its names have the given values.

    Allowed are numbers, names, ``+ - * / // %``, comparisons, ``and``, ``or``, ``not`` and the
    functions sqrt, min, max and abs. A comparison, ``and`` and ``or`` give True or False.

    Raises:
        ExpressionError: Anything else is used, a name is unknown, or the arithmetic fails.
    """
    if not isinstance(expression, str):
        return expression
    try:
        return _evaluate(_parse(expression), values)
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise ExpressionError(f"{expression!r} can't be computed: {error}") from None


def _check(node: ast.expr) -> None:
    """Raises ExpressionError for anything but arithmetic."""
    parts: Sequence[ast.expr]
    match node:
        case ast.Constant(value=bool() | int() | float()) | ast.Name():
            parts = ()
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            parts = (operand,)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            parts = (left, right)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
            parts = (left, *others)
        case ast.BoolOp(values=parts):
            pass
        case ast.Call(func=ast.Name(id="sqrt" | "abs"), args=[argument], keywords=[]):
            parts = (argument,)
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as parts, keywords=[]):
            pass
        case _:
            raise ExpressionError(
                f"{ast.unparse(node)!r} is not allowed; use numbers, dims, + - * / // %, comparisons, "
                "and, or, not, sqrt(a), abs(a), min(a, b), max(a, b)"
            )
    for part in parts:
        _check(part)


def _evaluate(node: ast.expr, values: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            if name not in values:
                raise ExpressionError(f"{name!r} is unknown here; known are {', '.join(sorted(values))}")
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, values)
        case ast.UnaryOp(operand=operand):
            return not _evaluate(operand, values)
        case ast.BinOp(op=op, left=left, right=right):
            return _BINARY[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            before = _evaluate(left, values)
            for comparison, term in zip(ops, comparators, strict=True):
                after = _evaluate(term, values)
                if not _COMPARE[type(comparison)](before, after):
                    return False
                before = after
            return True
        case ast.BoolOp(op=op, values=parts):
            # As in Python, what comes after the deciding part is not computed: D > 1 and 1/(D - 1) > 0.
            results = (bool(_evaluate(part, values)) for part in parts)
            return all(results) if isinstance(op, ast.And) else any(results)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*[_evaluate(arg, values) for arg in args])
    raise AssertionError(f"unchecked: {ast.dump(node)}")
