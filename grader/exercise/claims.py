"""What must hold of an answer, as written in YAML: ``all(corrupted[~chosen] == token_ids[~chosen])``.

A claim is an expression over arrays in a small part of Python's syntax, with numpy's meaning. It comes from
an exercise's file, its values from submissions; so it is computed here, node by node, and can do nothing
but give a value. It differs from numpy where numpy would let a wrong answer through:

* Integers are computed in 64 bits and floats in float64, whatever the dtype; where an integer result could
  need more bits, or an integer is divided by zero, that is an error. Nothing wraps around.
* ``&``, ``|`` and ``^`` need two booleans or two integers, ``~`` booleans;
  arithmetic on two booleans is refused.
* A comparison can be chained over arrays: ``all(0 <= ids < size)``.
* Lists and tuples are compared with each other as a whole: ``shape(x) == (2, 3)``.
* ``and``, ``or``, ``not`` and a claim as a whole need one True or False; arrays need all() or any().

As in numpy, arrays are broadcast, so ``all(a == b)`` says little unless the shapes are known: it is true of
an empty array and one number. ``array_equal(a, b)`` broadcasts nothing.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from grader.exercise.claim_functions import FUNCTIONS, Function, bind
from grader.exercise.claim_subscripts import item, subscript
from grader.exercise.claim_values import (
    MAX_BITS,
    ClaimError,
    Room,
    arithmetic,
    compared,
    describe,
    inverted,
    logical,
    negative,
    read,
)
from grader.exercise.expressions import ExpressionError, syntax
from grader.exercise.near import did_you_mean

__all__ = ["FUNCTIONS", "Claim", "ClaimError", "Function", "parse"]

MAX_LENGTH = 500
MAX_NODES = 200
MAX_DEPTH = 40

_ARITHMETIC: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
}
_LOGICAL: Mapping[type[ast.operator], str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
# What numpy and Python raise for values that an operation can't be done with.
_FAULTS = (ArithmeticError, ValueError, TypeError, LookupError, MemoryError, RecursionError)


@dataclass(frozen=True)
class Claim:
    """A claim that was parsed and found to use allowed things alone.

    Attributes:
        text: The claim as written.
        names: The names that it uses, without functions: of ``first.corrupted`` the name ``first``.
        paths: The same with the items that are asked of them, as far as they are written out:
            of ``first.corrupted[0]`` the path ``first.corrupted``.
    """

    text: str
    names: frozenset[str]
    paths: frozenset[str]
    _body: ast.expr = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """What the claim gives: an array, or a single number, text, tuple or None as Python's own.

        Args:
            values: For each name an array, a number, a text, None, a list, or a mapping of such values.

        Raises:
            ClaimError: A name is unknown, or something can't be computed with these values.
        """
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _Evaluation(values).value(self._body)

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the claim is true of these values.

        Raises:
            ClaimError: As `evaluate` does; or the claim gives anything else than one True or False.
        """
        return _truth(self.evaluate(values), self._body)


@lru_cache(maxsize=1024)
def parse(text: str) -> Claim:
    """The claim that a text makes.

    Raises:
        ClaimError: The text can't be parsed, is too long, or uses what claims don't allow.

    Example:
        >>> claim = parse("all(diff(positions) > 0)")
        >>> sorted(claim.names), claim.holds({"positions": np.array([1, 4, 7])})
        (['positions'], True)
    """
    try:
        body = syntax(text, MAX_LENGTH, "no claim such as all(positions >= 0)")
    except ExpressionError as error:
        raise ClaimError(str(error)) from None
    _check(body)
    nodes = list(_nodes(body))
    if len(nodes) > MAX_NODES:
        raise ClaimError(f"has {len(nodes)} parts; at most {MAX_NODES} are computed. Make two claims of it")
    names = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    return Claim(text, names, frozenset(_outermost_paths(body)), body)


# Checking


def _parts(node: ast.AST) -> Sequence[ast.expr]:
    """The expressions that an allowed expression is made of; no function's name is among them.

    Raises:
        ClaimError: It is not allowed.
    """
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > MAX_BITS:
            raise ClaimError(f"a number has more than {MAX_BITS:,} bits")
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return ()
        case ast.Name(id=name) if not name.startswith("__"):
            return ()
        case ast.Attribute(value=value, attr=name) if not name.startswith("__"):
            return (value,)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            return (operand,)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC or type(op) in _LOGICAL:
            return (left, right)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
            return (left, *others)
        case ast.BoolOp(values=values):
            return values
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return values
        case ast.Subscript(value=value, slice=index):
            return (value, *_index_parts(index))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            _check_call(name, arguments, keywords)
            return (*arguments, *(keyword.value for keyword in keywords))
    raise ClaimError(
        f"{_written(node)!r} is not allowed; use numbers, texts, names, items (a.b), subscripts, lists, "
        "+ - * / // % ** @, comparisons, & | ^ ~, and, or, not, and functions such as all, any, sum and shape"
    )


def _index_parts(index: ast.expr) -> Sequence[ast.expr]:
    parts: list[ast.expr] = []
    for one in index.elts if isinstance(index, ast.Tuple) else (index,):
        if isinstance(one, ast.Slice):
            parts += [end for end in (one.lower, one.upper, one.step) if end is not None]
        elif not (isinstance(one, ast.Constant) and one.value is ...):
            parts.append(one)
    return parts


def _check_call(name: str, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> None:
    if name not in FUNCTIONS:
        raise ClaimError(f"there is no function {name!r}{did_you_mean(name, sorted(FUNCTIONS))}")
    function = FUNCTIONS[name]
    if any(isinstance(argument, ast.Starred) for argument in arguments):
        raise ClaimError(f"* is not allowed among the arguments of {function.signature}")
    named = [keyword.arg for keyword in keywords]
    if None in named:
        raise ClaimError(f"** is not allowed among the arguments of {function.signature}")
    if wrong := bind(function, len(arguments), [one for one in named if one is not None]):
        raise ClaimError(f"{name} {wrong}: {function.signature}")


def _check(node: ast.expr, depth: int = 0) -> None:
    """Raises ClaimError for anything that is not allowed."""
    if depth > MAX_DEPTH:
        raise ClaimError(f"is nested more than {MAX_DEPTH} deep")
    for part in _parts(node):
        _check(part, depth + 1)


def _nodes(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    for part in _parts(node):
        yield from _nodes(part)


def _path(node: ast.expr) -> str | None:
    """``a.b.c``, however it is written, if it starts with a name."""
    match node:
        case ast.Name(id=name):
            return name
        case (
            ast.Attribute(value=value, attr=key)
            | ast.Subscript(value=value, slice=ast.Constant(value=str() as key))
        ):
            start = _path(value)
            return start and f"{start}.{key}"
    return None


def _outermost_paths(node: ast.expr) -> Iterator[str]:
    if (path := _path(node)) is not None:
        yield path
        return
    for part in _parts(node):
        yield from _outermost_paths(part)


def _written(node: ast.AST) -> str:
    """An expression's text, cut where it is long."""
    try:
        text = ast.unparse(node)
    except RecursionError:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


# Evaluating


def _truth(value: Any, node: ast.expr) -> bool:
    if type(value) is bool:
        return value
    if isinstance(value, np.ndarray):
        raise ClaimError(
            f"{_written(node)!r} gives {describe(value)}, not one True or False; "
            "write all(...) or any(...) around it"
        )
    raise ClaimError(
        f"{_written(node)!r} gives {describe(value)}, not True or False; write a comparison, as in ... > 0"
    )


class _Evaluation:
    """Computes the nodes of one claim."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.room = Room()

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(name)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._chain(node, left, ops, comparators)
            case ast.BoolOp(op=op, values=parts):
                # As in Python, what comes after the deciding part is not computed.
                truths = (_truth(self.value(part), part) for part in parts)
                return all(truths) if isinstance(op, ast.And) else any(truths)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not _truth(self.value(operand), operand)
            case ast.List(elts=elements):
                return [self.value(element) for element in elements]
            case ast.Tuple(elts=elements):
                return tuple(self.value(element) for element in elements)
        # These compute; whatever goes wrong is told with the innermost part that it went wrong in.
        operands = self._operands(node)
        try:
            return self._computed(node, *operands)
        except _FAULTS as error:
            raise self._told(node, error) from None

    def _operands(self, node: ast.expr) -> list[Any]:
        match node:
            case ast.UnaryOp(operand=operand):
                return [self.value(operand)]
            case ast.BinOp(left=left, right=right):
                return [self.value(left), self.value(right)]
            case ast.Attribute(value=base):
                return [self.value(base)]
            case ast.Subscript(value=base, slice=index):
                return [self.value(base), self._index(index)]
            case ast.Call(args=arguments, keywords=keywords):
                named = {str(keyword.arg): self.value(keyword.value) for keyword in keywords}
                return [[self.value(argument) for argument in arguments], named]
        raise AssertionError(f"unchecked: {ast.dump(node)}")

    def _computed(self, node: ast.expr, first: Any, second: Any = None) -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub()):
                return negative(first, self.room)
            case ast.UnaryOp():
                return inverted(first, self.room)
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
                return arithmetic(_ARITHMETIC[type(op)], first, second, self.room)
            case ast.BinOp(op=op):
                return logical(_LOGICAL[type(op)], first, second, self.room)
            case ast.Attribute(attr=key):
                return item(first, key)
            case ast.Subscript():
                return subscript(first, second, self.room)
            case ast.Call(func=ast.Name(id=name)):
                return FUNCTIONS[name].compute(self.room, *first, **second)
        raise AssertionError(f"unchecked: {ast.dump(node)}")

    def _named(self, name: str) -> Any:
        if name not in self.values:
            if name in FUNCTIONS:
                raise ClaimError(f"{name!r} is a function; write {FUNCTIONS[name].signature}")
            raise ClaimError(f"{name!r} is unknown here; known are {', '.join(sorted(self.values))}")
        try:
            return read(self.values[name])
        except ClaimError as error:
            raise ClaimError(f"{name} {error}") from None

    def _chain(
        self, node: ast.expr, left: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr]
    ) -> Any:
        before, result = self.value(left), None
        for op, term in zip(ops, comparators, strict=True):
            after = self.value(term)
            try:
                one = compared(_COMPARE[type(op)], before, after, self.room)
                result = one if result is None else logical("&", result, one, self.room)
            except _FAULTS as error:
                raise self._told(node, error) from None
            if result is False:
                # As in Python; what comes after is not computed.
                return False
            before = after
        return result

    def _index(self, index: ast.expr) -> Any:
        if isinstance(index, ast.Tuple):
            return tuple(self._index(one) for one in index.elts)
        if isinstance(index, ast.Slice):
            ends = [
                None if end is None else self.value(end) for end in (index.lower, index.upper, index.step)
            ]
            for end in ends:
                if end is not None and type(end) is not int:
                    raise ClaimError(f"a slice goes from one integer to another, not to {describe(end)}")
            return slice(*ends)
        return self.value(index)

    @staticmethod
    def _told(node: ast.expr, error: BaseException) -> ClaimError:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        return ClaimError(f"{_written(node)!r} can't be computed: {said}")
