"""Mutants of the reference: its code with one small change at one place, to see which ones the cases catch.

Every change is made on the syntax tree of ``model.py``, or of a module beside it that the model imports, and
run in a package of its own. The files and the imported reference stay as they are.
"""

from __future__ import annotations

import ast
import copy
import importlib
import itertools
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader.errors import ExerciseError
from grader.exercise.rehearsal import Functions

Function = Callable[..., Any]

# Beside the model, but no part of what it computes.
APART = ("misconceptions", "crosscheck", "rounding", "demo")
TYPES = ("typing", "typing_extensions", "collections.abc", "numpy.typing")
AXES = ("axis", "axis1", "axis2", "axes", "dim")

_OTHER: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)


@dataclass(frozen=True)
class _Slot:
    """Where a node hangs in its tree."""

    parent: ast.AST
    name: str
    index: int | None = None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


@dataclass(frozen=True)
class Mutant:
    """One change of the reference.

    Attributes:
        id: ``MODULE.py:LINE:OPERATOR:NUMBER``.
        file: The changed file.
        line: 1-based.
        operator: What kind of change it is.
        change: The change in words, such as ``axis -1 -> -2``.
    """

    id: str
    file: Path
    line: int
    operator: str
    change: str
    _module: str = field(repr=False)
    _slot: _Slot = field(repr=False)
    _new: ast.AST = field(repr=False)

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line} {self.change}"


class Mutants:
    """All mutants of a reference, in the order of its modules and lines.

    Args:
        folder: ``reference/NAME``.
        entry: Name of the entry point in ``model.py``; where there are several calls, those of their
            functions by the calls' names.

    Raises:
        ExerciseError: A module can't be read or parsed.
    """

    def __init__(self, folder: Path, entry: str | Mapping[str, str]) -> None:
        self._folder = folder
        self._entry = entry
        self._trees = dict(_modules(folder))
        self._codes = {
            name: compile(t, str(p), "exec", dont_inherit=True) for name, (p, t) in self._trees.items()
        }
        self._all: list[Mutant] = []
        for name, (path, tree) in self._trees.items():
            count: Counter[tuple[int, str]] = Counter()
            for change in _Changes(tree).found:
                line = getattr(change.old, "lineno", 1)
                count[line, change.operator] += 1
                number = f"{path.relative_to(folder).as_posix()}:{line}:{change.operator}"
                self._all.append(
                    Mutant(
                        id=f"{number}:{count[line, change.operator]}",
                        file=path,
                        line=line,
                        operator=change.operator,
                        change=change.words,
                        _module=name,
                        _slot=change.slot,
                        _new=change.new,
                    )
                )

    def __iter__(self) -> Iterator[Mutant]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @contextmanager
    def loaded(self, mutant: Mutant | None) -> Iterator[Functions]:
        """The entry point of a mutant, or of the unchanged reference, for the time of the ``with`` block.

        Raises:
            Exception: Whatever the changed module raises when it is imported.
        """
        codes = dict(self._codes)
        if mutant is not None:
            codes[mutant._module] = self.compiled(mutant)
        paths = {name: path for name, (path, _) in self._trees.items()}
        package = _Package(f"grader_mutant_{next(_numbers)}", codes, paths)
        with package:
            model = package.module("model")
            if isinstance(self._entry, str):
                yield getattr(model, self._entry)
            else:
                yield {call: getattr(model, name) for call, name in self._entry.items()}

    def compiled(self, mutant: Mutant) -> CodeType:
        """The changed module's code."""
        path, tree = self._trees[mutant._module]
        with _changed(mutant), warnings.catch_warnings():
            # Such as a number that is called; running it fails, which is the point.
            warnings.simplefilter("ignore")
            return compile(tree, str(path), "exec", dont_inherit=True)

    def source(self, mutant: Mutant | None, module: str = "model") -> str:
        """A module as Python text, changed when it is the mutant's."""
        tree = self._trees[module][1]
        if mutant is None or mutant._module != module:
            return ast.unparse(tree)
        with _changed(mutant):
            return ast.unparse(tree)

    @property
    def modules(self) -> tuple[str, ...]:
        """Names of the modules that are changed, the model first."""
        return tuple(self._trees)


_numbers = itertools.count(1)


@contextmanager
def _changed(mutant: Mutant) -> Iterator[None]:
    slot = mutant._slot
    found = getattr(slot.parent, slot.name)
    old = found if slot.index is None else found[slot.index]
    slot.put(mutant._new)
    try:
        yield
    finally:
        slot.put(old)


# --- modules ------------------------------------------------------------------------------------


def _modules(folder: Path) -> Iterator[tuple[str, tuple[Path, ast.Module]]]:
    """Name, path and tree of the model and of every module beside it that it imports."""
    waiting, seen = ["model"], {"model", *APART}
    while waiting:
        name = waiting.pop(0)
        path = _path(folder, name)
        if path is None:
            continue
        try:
            tree = ast.parse(path.read_bytes(), str(path))
        except (OSError, SyntaxError, ValueError) as error:
            line = error.lineno or 0 if isinstance(error, SyntaxError) else 0
            raise ExerciseError.at(str(path), line, f"{path} can't be parsed: {error}") from None
        yield name, (path, tree)
        inside = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = inside[: len(inside) - (node.level - 1)] + (node.module or "").split(".") * bool(
                node.module
            )
            # Importing a module runs the packages around it, too.
            targets = [".".join(base[:depth]) for depth in range(1, len(base) + 1)]
            targets += [".".join([*base, alias.name]) for alias in node.names]
            for target in targets:
                if target not in seen and target.split(".")[0] not in APART and _path(folder, target):
                    seen.add(target)
                    waiting.append(target)


def _path(folder: Path, name: str) -> Path | None:
    path = folder.joinpath(*name.split("."))
    for found in (path.with_suffix(".py"), path / "__init__.py"):
        if found.is_file():
            return found
    return None


class _Package(MetaPathFinder, Loader):
    """A package under a name of its own whose modules run given code; gone after the ``with`` block."""

    def __init__(self, name: str, codes: dict[str, CodeType], paths: Mapping[str, Path]) -> None:
        self.name = name
        self.codes = codes
        self.paths = paths

    def __enter__(self) -> _Package:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *failure: object) -> None:
        sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n == self.name or n.startswith(f"{self.name}.")]:
            del sys.modules[name]

    def module(self, name: str) -> ModuleType:
        """One of its modules, imported."""
        return importlib.import_module(f"{self.name}.{name}")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the package or of one of its modules."""
        if fullname == self.name:
            return spec_from_loader(fullname, self, is_package=True)
        own = fullname.removeprefix(f"{self.name}.")
        if own == fullname:
            return None
        inner = any(name.startswith(f"{own}.") for name in self.codes)
        known = own in self.codes or inner
        return spec_from_loader(fullname, self, is_package=inner) if known else None

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code in it."""
        own = module.__name__.removeprefix(f"{self.name}.")
        code = self.codes.get(own)
        if code is not None:
            # A module may look for files beside it.
            module.__file__ = str(self.paths[own])
            exec(code, vars(module))


# --- changes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    operator: str
    words: str
    slot: _Slot
    old: ast.AST
    new: ast.AST


class _Changes:
    """Finds every change of a module's tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[_Change] = []
        self._types: set[str] = set()
        self._modules: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._modules |= {(a.asname or a.name).split(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {a.asname or a.name for a in node.names}
                if node.module in TYPES:
                    self._types |= names
                elif node.level and not node.module:
                    self._modules |= names
        # Of the function that is looked at.
        self._bound: Counter[str] = Counter()
        self._last: ast.stmt | None = None
        # The innermost statement that is looked at, and what it was changed to so far.
        self._statement: ast.AST = tree
        self._seen: set[str] = set()
        self._children(tree)

    # What can't matter is not looked at: types, docstrings, messages, imports, decorators.

    def _visit(self, node: ast.AST, slot: _Slot) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.arg | ast.JoinedStr | ast.Pass):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id in self._types
        ):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id.startswith("__") for t in node.targets
        ):
            return
        if not isinstance(node, ast.stmt):
            self._look(node, slot)
            return
        outer = self._statement, self._seen
        self._statement, self._seen = node, {ast.dump(node)}
        self._look(node, slot)
        self._statement, self._seen = outer

    def _look(self, node: ast.AST, slot: _Slot) -> None:
        for operator, words, new in self._changes(node, slot):
            if self._is_new(node, slot, new):
                ast.copy_location(new, node)
                ast.fix_missing_locations(new)
                self.found.append(_Change(operator, words or _words(node, new), slot, node, new))
        if isinstance(node, ast.Raise) or _number(node) is not None:
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            outer = self._bound, self._last
            self._bound, self._last = _bindings(node), node.body[-1] if isinstance(node.body, list) else None
            self._children(node)
            self._bound, self._last = outer
        else:
            self._children(node)

    def _is_new(self, old: ast.AST, slot: _Slot, new: ast.AST) -> bool:
        """Whether the statement becomes another one than by any change before."""
        if old is self._statement:
            dumped = ast.dump(new)
        else:
            slot.put(new)
            dumped = ast.dump(self._statement)
            slot.put(old)
        if dumped in self._seen:
            return False
        self._seen.add(dumped)
        return True

    def _children(self, node: ast.AST) -> None:
        skipped = {"decorator_list", "returns", "annotation", "bases", "ctx", "type_params", "type_comment"}
        for name, value in ast.iter_fields(node):
            if name in skipped:
                continue
            if isinstance(value, ast.AST):
                self._visit(value, _Slot(node, name))
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        self._visit(item, _Slot(node, name, index))

    def _changes(self, node: ast.AST, slot: _Slot) -> Iterator[tuple[str, str, ast.AST]]:
        """Operator, words (made from the code when empty) and new node of every change at a node."""
        if isinstance(node, ast.stmt):
            yield from self._of_statement(node)
        number = _number(node)
        if number is not None:
            axis = isinstance(slot.parent, ast.keyword) and slot.parent.arg in AXES
            yield from _axes(slot.parent.arg, number) if axis else _numbers_near(number)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield "constant", "", ast.Constant(not node.value)
        elif isinstance(node, ast.BinOp):
            yield from _binary(node)
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
            yield "sign" if isinstance(node.op, ast.USub) else "condition", "", node.operand
        elif isinstance(node, ast.BoolOp):
            for other in _OTHER[type(node.op)]:
                yield "operator", "", _with(node, op=other())
            for dropped in range(len(node.values)):
                rest = [v for n, v in enumerate(node.values) if n != dropped]
                yield "dropped_term", "", rest[0] if len(rest) == 1 else _with(node, values=rest)
        elif isinstance(node, ast.Compare):
            for place, op in enumerate(node.ops):
                for other in _OTHER[type(op)]:
                    ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                    yield "comparison", "", _with(node, ops=ops)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Tuple | ast.List):
            for words, elements in _swapped(node.elts):
                yield "swapped_arguments", words, _with(node, elts=elements)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield "dropped_index", "", node.value
        elif isinstance(node, ast.Slice):
            for bound in ("lower", "upper", "step"):
                yield "dropped_index", "", _with(node, **{bound: None})
        elif isinstance(node, ast.IfExp):
            yield "condition", "", node.body
            yield "condition", "", node.orelse
        elif isinstance(node, ast.comprehension):
            for dropped in range(len(node.ifs)):
                rest = [v for n, v in enumerate(node.ifs) if n != dropped]
                yield "condition", "", _with(node, ifs=rest)

    def _of_statement(self, node: ast.stmt) -> Iterator[tuple[str, str, ast.AST]]:
        if isinstance(node, ast.If | ast.While):
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield "condition", f"{_text(node.test)} -> {_text(negated)}", _with(node, test=negated)
        if isinstance(node, ast.AugAssign):
            for other in _OTHER.get(type(node.op), ()):
                yield "operator", "", _with(node, op=other())
            yield "dropped_term", "", ast.Assign([node.target], node.value)
        if isinstance(node, ast.Break | ast.Continue):
            yield "dropped_statement", "", ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        if self._can_be_dropped(node):
            yield "dropped_statement", f"without {_text(node)}", ast.Pass()

    def _can_be_dropped(self, node: ast.stmt) -> bool:
        """Whether more may come of it than a name that is not bound."""
        if isinstance(node, ast.Return):
            # The last statement's answer only becomes None.
            return node is not self._last
        if isinstance(node, ast.Assign):
            names = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            stored = any(not isinstance(t, ast.Name | ast.Tuple | ast.List) for t in node.targets)
            return stored or all(self._bound[name] > 1 for name in names)
        kinds = (ast.Expr, ast.AugAssign, ast.Raise, ast.Assert, ast.Delete, ast.For, ast.While, ast.If)
        return isinstance(node, kinds)

    def _call(self, node: ast.Call) -> Iterator[tuple[str, str, ast.AST]]:
        for words, arguments in _swapped(node.args):
            yield "swapped_arguments", words, _with(node, args=arguments)
        # Switches and axes are no values that one could take for each other.
        kept = [k for k in node.keywords if not isinstance(k.value, ast.Constant | ast.UnaryOp)]
        for one, other in itertools.pairwise(kept):
            put = {one: other.value, other: one.value}
            keywords = [_with(k, value=put[k]) if k in put else k for k in node.keywords]
            words = f"{one.arg} and {other.arg} swapped"
            yield "swapped_arguments", words, _with(node, keywords=keywords)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        of_module = isinstance(receiver, ast.Name) and receiver.id in self._modules
        if receiver is not None and not of_module:
            yield "dropped_call", "", receiver
        # A library's function takes what it works on first; own ones often take a context before it.
        for argument in node.args[:1] if of_module else node.args[-1:]:
            if not isinstance(argument, ast.Starred) and _number(argument) is None:
                yield "dropped_call", "", argument


def _binary(node: ast.BinOp) -> Iterator[tuple[str, str, ast.AST]]:
    if any(
        isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
    ):
        return
    for other in _OTHER.get(type(node.op), ()):
        yield "operator", "", _with(node, op=other())
    yield "dropped_term", "", node.left
    yield "dropped_term", "", node.right
    if isinstance(node.op, _ORDERED):
        yield "swapped_arguments", "", _with(node, left=node.right, right=node.left)


def _axes(name: str, number: float) -> Iterator[tuple[str, str, ast.AST]]:
    for other in (-2, -1, 0, 1, None):
        if other != number:
            yield "axis", f"{name} {number} -> {other}", _literal(other)


def _numbers_near(number: int | float) -> Iterator[tuple[str, str, ast.AST]]:
    """Twice, half, the other sign, one more and one less, and another last digit."""
    others: list[float] = [2 * number, -number, number + 1, number - 1]
    if isinstance(number, float):
        others.append(number / 2)
        near = _last_digit(number)
        others += [] if near is None else [near]
    elif number % 2 == 0:
        others.append(number // 2)
    for other in dict.fromkeys(others):
        if other != number:
            yield "constant", f"{number!r} -> {other!r}", _literal(other)


def _last_digit(number: float) -> float | None:
    """The number with another last digit, when it has at least three."""
    digits, _, exponent = f"{number!r}".partition("e")
    if "." not in digits or len(digits.replace(".", "").lstrip("-0")) < 3:
        return None
    step = -1 if digits[-1] == "9" else 1
    return float(f"{digits[:-1]}{int(digits[-1]) + step}" + (f"e{exponent}" if exponent else ""))


def _number(node: ast.AST) -> float | None:
    """The value of a plain number with its sign; None where it is something else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand) if isinstance(node.operand, ast.Constant) else None
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value: float = node.value  # type: ignore[assignment]
        return value
    return None


def _literal(value: float | None) -> ast.expr:
    if value is not None and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _swapped(items: Sequence[ast.expr]) -> Iterator[tuple[str, list[ast.expr]]]:
    """The items with each pair of neighbours swapped, and that in words."""
    for one, other in itertools.pairwise(range(len(items))):
        swapped = list(items)
        swapped[one], swapped[other] = swapped[other], swapped[one]
        if not isinstance(items[one], ast.Starred) and not isinstance(items[other], ast.Starred):
            yield f"{_text(items[one], 40)} and {_text(items[other], 40)} swapped", swapped


def _with(node: ast.AST, **changes: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed


def _bindings(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Counter[str]:
    """How often each name is bound in a function, its parameters included."""
    bound = Counter(node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
    return bound


def _text(node: ast.AST, longest: int = 64) -> str:
    return _cut(" ".join(ast.unparse(node).split()), longest)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _words(old: ast.AST, new: ast.AST) -> str:
    """The two as text; of long ones the part in which they differ, with a little around it."""
    one, other = (" ".join(ast.unparse(node).split()) for node in (old, new))
    if len(one) > 64:
        same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
        start = one.rfind(" ", 0, max(same - 16, 0)) + 1
        if start:
            one, other = (f"...{text[start:]}" for text in (one, other))
    return f"{_cut(one, 64)} -> {_cut(other, 64)}"
