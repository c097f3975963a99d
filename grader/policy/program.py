"""The program: a source taken apart.

One pass over the tree cuts the source into *units*, pieces of code that are live or not as a whole (a
function's body, the value of one module-level assignment, a decorator list), and notes every binding,
every attribute or item that is stored, and every expression that a later check has to look at.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from grader.policy.certainty import Certainty
from grader.policy.folding import words
from grader.policy.pieces import run_names
from grader.policy.scopes import (
    Binding,
    Block,
    Call,
    Class,
    Func,
    Load,
    Loop,
    ModuleScope,
    Scope,
    Store,
    Unit,
)

DEEPEST = 180  # levels; hand-written code stays far below it, and the visitor far below Python's limit

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from typing import Any

    _Documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

LONGEST_ANNOTATION = 1_000


class TooDeep(Exception):
    """The tree is nested deeper than any hand-written code."""

    def __init__(self, line: int, column: int) -> None:
        super().__init__(line, column)
        self.line = line
        self.column = column


_MANGLED = re.compile(r"_[^_]\w*?(__\w+)\Z")
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)


class Text:
    """The code of one module of a submission: statements that run in one go, or cells.

    Attributes:
        name: By which it is imported; empty for a file that has no name.
        package: It is a package's ``__init__.py``.
        bodies: Its statements; those of each cell apart.
        unsure: What it binds after a statement that may raise may stay unbound, and the rest goes on.
    """

    __slots__ = ("bodies", "name", "package", "unsure")

    def __init__(
        self,
        bodies: Sequence[list[ast.stmt]],
        name: str = "",
        *,
        package: bool = False,
        unsure: bool = False,
    ) -> None:
        self.bodies = bodies
        self.name = name
        self.package = package
        self.unsure = unsure


class Star:
    """A starred import: into the module `home`, from a library or from the module `target`."""

    __slots__ = ("block", "done", "home", "lib", "node", "pos", "target")

    def __init__(
        self,
        lib: str,
        target: ModuleScope | None,
        home: ModuleScope,
        pos: int,
        block: Block,
        node: ast.ImportFrom,
    ) -> None:
        self.lib = lib
        self.target = target
        self.home = home
        self.pos = pos
        self.block = block
        self.node = node
        self.done: set[str] = set()


class Program:
    """A source, taken apart: scopes, bindings, units, and indexes of what a check needs to find.

    Args:
        main: The file, or the cells.
        modules: The helper modules.
        real: Tells whether a top-level module of a name may be there without the student's files.
        libraries: The libraries that have banned helpers.
        sure: The cells, counted from 0, that are taken to run to their ends.
        steady: The program puts no `__name__` or `TYPE_CHECKING` anywhere in a way that its text hides.

    Attributes:
        tails: Of cells that may end early the statements that may then not run, with the cell's number.
    """

    def __init__(
        self,
        main: Text,
        modules: Sequence[Text] = (),
        real: Callable[[str], bool] = lambda root: False,
        *,
        libraries: frozenset[str] = frozenset(),
        sure: Collection[int] = (),
        steady: bool = True,
    ) -> None:
        self.loads: dict[ast.Name, Load] = {}
        self.reads: dict[str, list[ast.Name]] = {}
        self.callees: set[ast.expr] = set()
        self.calls: dict[str, list[Call]] = {}
        self.lambda_calls: dict[ast.expr, Call] = {}
        self.lambdas: dict[ast.Lambda, Func] = {}
        self.funcs: list[Func] = []
        self.classes: list[Class] = []
        self.units: list[Unit] = []
        self.stores: list[Store] = []
        self.global_stores: list[tuple[ast.expr, ast.expr, Unit]] = []
        self.class_stores: dict[Class, list[Unit]] = {}  # put into the namespace of a class as it is made
        self.imports: list[tuple[str, ast.stmt]] = []
        self.dead_imports: set[ast.stmt] = set()
        self.raised: list[Unit] = []
        self.displaced: list[ast.ImportFrom] = []  # relative to a package that the source does not tell
        self._bodies: list[tuple[Unit, list[ast.stmt]]] = []
        self._keepers: dict[str, ast.expr] = {}  # names of methods that put things into a container
        self.stars: list[Star] = []
        self.own_stars: list[Star] = []
        self.modules: dict[str, ModuleScope] = {}
        self.tails: dict[Block, int] = {}
        self.steady = steady
        self._certainty = Certainty([main, *modules], libraries, steady=steady)
        self._sure = sure
        self._real = real
        self._known_real: dict[str, bool] = {}
        self.linked = False  # a module of the submission is imported
        self.renamed: dict[str, set[str]] = {}
        self.loose: set[str] = set()
        self.import_bindings: list[Binding] = []
        self.keyed: dict[ast.expr, object] = {}
        self.members_tested: set[ast.expr] = set()
        self.bound_at: dict[ast.AST, Binding] = {}
        self.attributes: set[str] = set()
        self.member_names: set[str] = set()
        self.annotations: list[Unit] = []
        self.call_units: dict[ast.Call, Unit] = {}
        self.unit_blocks: dict[Unit, Block] = {}

        self._pos = 0
        self._depth = 0
        self._func: Func | None = None
        self._class: Class | None = None
        self.module = self._home_module = ModuleScope(main.name)
        self._scope: Scope = self.module
        self.root = self._block = Block(None)
        self._effects: set[Unit] = set()
        self._register(main, modules)
        self.many = bool(modules)
        self._module(self.module, main)
        for text in modules:
            if self.modules.get(text.name) is not self.module:
                self._module(self.modules[text.name], text)
        self.expand_stars()
        for scope in self.modules.values():
            scope.cyclic = scope in _reached(scope)

    def _register(self, main: Text, modules: Sequence[Text]) -> None:
        """Know every module by its name before the first import is met."""
        for text in modules:
            self.modules[text.name] = ModuleScope(text.name, package=text.package)
        for name in list(self.modules):
            while "." in name:
                name = name.rpartition(".")[0]
                self.modules.setdefault(name, ModuleScope(name, package=True))
        for name in run_names(main.name):
            self.modules[name] = self.module

    def is_real(self, name: str) -> bool:
        """Whether a module of the submission may have the name of one that is there without it."""
        root = name.split(".")[0]
        if root not in self._known_real:
            self._known_real[root] = self._real(root)
        return self._known_real[root]

    def _module(self, scope: ModuleScope, text: Text) -> None:
        self._scope = scope
        self._home_module = scope
        self._block = self.root
        self._unit = self._new_unit()
        self._effects.add(self._unit)
        self._bodies.extend((self._unit, body) for body in text.bodies)
        for at, body in enumerate(text.bodies):
            if not text.unsure or (scope is self.module and at in self._sure):
                self._body(body)
                continue
            tail = self._unsure(body)
            if tail is not None and scope is self.module:
                self.tails[tail] = at

    def _unsure(self, statements: list[ast.stmt]) -> Block | None:
        """Statements of which one may raise, and what has run by then stays; those after it, if any."""
        sure = 0
        while sure < len(statements) and self._certainty.cannot_raise(statements[sure]):
            sure += 1
        self._body(statements[:sure])
        if sure == len(statements):
            return None
        block = self._block
        self._block = tail = Block(block)
        self._body(statements[sure:])
        self._block = block
        return tail

    def examples(self) -> list[tuple[Unit, str]]:
        """The code of the examples in docstrings, each docstring's as one text, with a unit of its module."""
        found: list[tuple[Unit, _Documented]] = [(unit, ast.Module(body, [])) for unit, body in self._bodies]
        found += [(func.header, func.node) for func in self.funcs if not isinstance(func.node, ast.Lambda)]
        found += [(cls.header, cls.node) for cls in self.classes]
        texts = [(unit, ast.get_docstring(node) if node.body else None) for unit, node in found]
        return [
            (unit, _example(text)) for unit, text in texts if text and ">>>" in text and unit.func is None
        ]

    def expand_stars(self) -> None:
        """Bind what a starred import takes from modules of the submission; again when they got more names."""
        grown = bool(self.own_stars)
        while grown:
            grown = False
            for star in self.own_stars:
                grown = self._expand(star) or grown

    def _expand(self, star: Star) -> bool:
        target = star.target
        assert target is not None
        named = "__all__" in target.names
        grown = False
        for name, found in list(target.names.items()):
            if name in star.done or not found or name == "__all__" or (name[:1] == "_" and not named):
                continue
            star.done.add(name)
            binding = Binding("member", name, star.node, star.home, star.block, star.pos)
            binding.target = target
            binding.lib = name
            bisect.insort(star.home.names.setdefault(name, []), binding, key=lambda item: item.pos)
            grown = True
        for other in [other for other in self.stars if other.home is target]:
            if f"{other.lib}.*" not in star.done:
                star.done.add(f"{other.lib}.*")
                self.stars.append(Star(other.lib, None, star.home, star.pos, star.block, star.node))
                grown = True
        return grown

    def loaded(self) -> set[ModuleScope]:
        """The file and the modules that it imports, directly or not, by statements."""
        return {self.module, *_reached(self.module)}

    def mentioned(self) -> frozenset[str]:
        """Every name that a library could go by here: imported, read, or an attribute."""
        parts = [part for module, _ in self.imports for part in module.split(".")]
        parts.extend(part for item in self.import_bindings for part in item.lib.split("."))
        return frozenset({*parts, *self.attributes, *self.reads})

    def looked_into(self) -> set[ast.expr]:
        """The expressions of which only a member is used: by a dot, a subscript or a name as a text."""
        found: set[ast.expr] = set()
        for _, body in self._bodies:
            for statement in body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Attribute | ast.Subscript):
                        found.add(node.value)
                    elif isinstance(node, ast.Call) and node.args and _last_name(node.func) in _LOOKING:
                        found.add(node.args[0])
        return found

    # --- units, blocks, positions -----------------------------------------------------------------

    def _new_unit(self) -> Unit:
        unit = Unit(self._func, self._home_module, dead=self._block.dead)
        self.units.append(unit)
        self.unit_blocks[unit] = self._block
        return unit

    def _next(self) -> int:
        self._pos += 1
        return self._pos

    def _enter(self, node: ast.AST) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooDeep(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def add_text(self, tree: ast.Module, at: ast.Call, unit: Unit) -> Unit:
        """Take in code that was given as text to `exec` or `eval`: all of it runs where the call stands.

        Its nodes get the call's place, since that is where a reader has to look.
        """
        for node in ast.walk(tree):
            if isinstance(node, ast.expr | ast.stmt | ast.alias | ast.arg | ast.excepthandler | ast.pattern):
                node.lineno = at.lineno
                node.col_offset = at.col_offset
                node.end_lineno = at.lineno
                node.end_col_offset = at.col_offset
        self._func, self._class, self._depth = unit.func, None, 0
        self._home_module = unit.home
        self._scope = unit.home if unit.func is None else Scope("text", unit.func.scope, unit.func)
        # What a text binds is bound on some path: it never hides a binding of the source itself.
        self._block = Block(self.unit_blocks[unit])
        first = len(self.units)
        self._unit = text_unit = self._new_unit()
        self._body(tree.body)
        text_unit.children.extend(part for part in self.units[first:] if part is not text_unit)
        return text_unit

    # --- statements -------------------------------------------------------------------------------

    def _body(self, statements: list[ast.stmt]) -> None:
        block, unit = self._block, self._unit
        for at, statement in enumerate(statements):
            self._statement(statement)
            if isinstance(statement, _LEAVING) and at + 1 < len(statements):
                # What follows can never run; its names still belong to the scope.
                self._dead(statements[at + 1 :])
                break
        self._block, self._unit = block, unit

    def _dead(self, statements: list[ast.stmt]) -> None:
        block, unit = self._block, self._unit
        self._block = Block(block, dead=True)
        self._unit = self._new_unit()
        self._body(statements)
        self._block, self._unit = block, unit

    def _branch(self, statements: list[ast.stmt], *, loop: Loop | None = None) -> None:
        if not statements:
            return
        block = self._block
        self._block = Block(block, loop=loop)
        self._body(statements)
        self._block = block

    def _statement(self, node: ast.stmt) -> None:
        self._enter(node)
        handler = _STATEMENTS.get(type(node))
        if handler is not None:
            handler(self, node)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expr(child)
        self._depth -= 1

    def _assign(self, node: ast.Assign) -> None:
        pairs: list[tuple[ast.expr, ast.expr]] = []
        for target in node.targets:
            pairs.extend(_paired(target, node.value))
        whole: list[tuple[Unit, dict[object, Unit]]] = []
        seen: dict[ast.expr, tuple[Unit, dict[object, Unit]]] = {}
        for target, value in pairs:
            if value not in seen:
                seen[value] = self._value(value, target)
            whole.append(seen[value])
        for (target, value), (unit, parts) in zip(pairs, whole, strict=True):
            self._target(target, "value", value, unit, parts)

    def _value(self, value: ast.expr, target: ast.expr) -> tuple[Unit, dict[object, Unit]]:
        """Visit an assigned value, in a unit of its own where it counts only if what is bound is used."""
        outer = self._unit
        parts: dict[object, Unit] = {}
        plain = isinstance(target, ast.Name)
        if self._func is not None and plain and not _deferrable(value):
            self._expr(value)
            return outer, parts
        self._unit = unit = self._new_unit()
        if self._func is not None and not plain:
            outer.children.append(unit)
        if plain and isinstance(value, ast.Dict | ast.List | ast.Tuple):
            self._display(value, unit, parts)
        else:
            self._expr(value)
        self._unit = outer
        return unit, parts

    def _display(self, value: ast.Dict | ast.List | ast.Tuple, unit: Unit, parts: dict[object, Unit]) -> None:
        """A literal container: each member counts on its own when it is read by a constant key."""
        keys: list[object] = []
        members: list[ast.expr]
        if isinstance(value, ast.Dict):
            members = value.values
            for label in value.keys:
                if label is not None:
                    self._expr(label)
                if isinstance(label, ast.Constant):
                    keys.append(label.value)
        else:
            members = value.elts
            keys.extend(i for i, item in enumerate(members) if not isinstance(item, ast.Starred))
        if len(keys) < len(members) or len(members) > 200:
            for member in members:
                self._expr(member)
            return
        for key, member in zip(keys, members, strict=True):
            self._unit = self._new_unit()
            unit.children.append(self._unit)
            self._expr(member)
            parts[key] = self._unit
        self._unit = unit

    def _target(
        self,
        target: ast.expr,
        kind: str,
        value: ast.expr,
        unit: Unit | None,
        parts: dict[object, Unit] | None = None,
        path: tuple[int | str, ...] = (),
    ) -> None:
        if isinstance(target, ast.Name):
            binding = self._bind(kind, target.id, target)
            binding.value = value
            binding.path = path
            if unit is not None:
                binding.units.append(unit)
            binding.parts = parts or {}
            if isinstance(value, ast.Lambda) and not path:
                self.lambdas[value].name = target.id
            if isinstance(value, ast.Attribute) and value.attr in _KEEPING and not path:
                self._keepers[target.id] = value.value
        elif isinstance(target, ast.Tuple | ast.List):
            star = next((i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)), None)
            for i, item in enumerate(target.elts):
                step: int | str = i if star is None or i < star else i - len(target.elts)
                if i == star:
                    step = "*"
                self._enter(target)
                inner = item.value if isinstance(item, ast.Starred) else item
                self._target(inner, kind, value, unit, None, (*path, step))
                self._depth -= 1
        elif isinstance(target, ast.Starred):
            self._target(target.value, kind, value, unit, None, (*path, "*"))
        elif isinstance(target, ast.Attribute):
            self._expr(target.value)
            self._store_attribute(target, value, unit or self._unit)
        elif isinstance(target, ast.Subscript):
            self._expr(target.value)
            self._expr(target.slice)
            self._store_item(target.value, [value], unit or self._unit, target.slice)

    def _store_attribute(self, target: ast.Attribute, value: ast.expr, unit: Unit) -> None:
        store = Store(unit, [value])
        target.attr = unmangled(target.attr)
        store.attr = target.attr
        store.receiver = store.into = receiver = target.value
        if isinstance(receiver, ast.Name) and self._func is not None and self._func.cls is not None:
            first = next(iter(self._func.params), None)
            if receiver.id == first and not self._func.static:
                store.cls = self._func.cls
        self.stores.append(store)
        self.member_names.add(target.attr)
        if _is_self_module(receiver):
            self.global_stores.append((ast.Constant(target.attr), value, unit))

    def _store_item(
        self,
        receiver: ast.expr,
        values: list[ast.expr],
        unit: Unit,
        key: ast.expr | None,
        called_on: ast.expr | None = None,
    ) -> None:
        """An item put into what `receiver` names: it is reached through the name or the attribute."""
        if _is_namespace(receiver):
            self._into_class(unit)
            if key is not None:
                self.global_stores.extend((key, value, unit) for value in values)
            return
        attr: str | None = None
        at = receiver
        while True:
            if isinstance(at, ast.Attribute):
                attr = attr or at.attr
                at = at.value
            elif isinstance(at, ast.Subscript | ast.Starred):
                at = at.value
            elif isinstance(at, ast.Call) and at.args and isinstance(at.func, ast.Name):
                at = at.args[0]  # vars(obj)["f"] = …
                attr = attr or "__dict__"
            elif isinstance(at, ast.Call) and isinstance(at.func, ast.Attribute):
                at = at.func.value
            else:
                break
        stores = [Store(unit, values)]
        stores[0].root = at if isinstance(at, ast.Name) else None
        if attr is not None:
            stores.append(Store(unit, values))
            if attr == "__dict__":
                stores[1].attr_expr = key or ast.Constant(None)
                stores[1].receiver = receiver
            else:
                stores[1].attr = attr
        for store in stores:
            store.key = key
            store.called_on = called_on
            store.into = receiver
        self.stores.extend(stores)

    def _aug_assign(self, node: ast.AugAssign) -> None:
        target = node.target
        unit = self._unit
        if isinstance(target, ast.Name):
            if self._func is None:
                self._unit = self._new_unit()
            self._load(target)  # the old value goes into the new one
            self._expr(node.value)
            binding = self._bind("aug", target.id, node)
            binding.value = node.value
            binding.units.append(self._unit)
            self._unit = unit
            return
        self._unit = inner = self._new_unit()
        if self._func is not None:
            unit.children.append(inner)
        self._expr(node.value)
        self._unit = unit
        self._target(target, "value", node.value, inner)

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            unit, parts = self._value(node.value, node.target)
            self._target(node.target, "value", node.value, unit, parts)
        elif isinstance(node.target, ast.Name):
            self._home(node.target.id).names.setdefault(node.target.id, [])
        if self._class is not None and self._scope is self._class.scope and isinstance(node.target, ast.Name):
            self.member_names.add(node.target.id)

    def _annotation(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Constant):
            node = _annotated(node)
        if node is None:
            return
        outer = self._unit
        self._unit = self._new_unit()
        self.annotations.append(self._unit)
        self._expr(node)
        self._unit = outer

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        unit = outer = self._unit
        if self._func is None:
            unit = self._unit = self._new_unit()
        self._expr(node.iter)
        self._unit = outer
        loop = Loop(self._next(), self._block.loop)
        block = self._block
        self._block = Block(block, loop=loop)
        self._target(node.target, "element", node.iter, unit)
        self._body(node.body)
        loop.end = self._next()
        self._block = block
        self._branch(node.orelse)

    def _while(self, node: ast.While) -> None:
        truth = self._certainty.truth(node.test)
        loop = Loop(self._next(), self._block.loop)
        block = self._block
        self._block = Block(block, loop=loop)
        self._expr(node.test)
        if truth is False:
            self._dead(node.body)
        else:
            self._body(node.body)
        loop.end = self._next()
        self._block = block
        self._branch(node.orelse)

    def _if(self, node: ast.If) -> None:
        block, unit = self._block, self._unit
        while True:
            truth = self._certainty.truth(node.test)
            self._expr(node.test)
            rest = node.orelse
            if truth is False:
                self._dead(node.body)
                # Only the other side is left: it runs as if no test stood there.
                if len(rest) == 1 and isinstance(rest[0], ast.If):
                    node = rest[0]
                    continue
                self._body(rest)
                break
            if truth is True:
                self._body(node.body)
                if rest:
                    self._dead(rest)
                break
            self._branch(node.body)
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                # A chain of elif is a loop here, so that its length is no nesting.
                node = rest[0]
                self._block = Block(self._block)
                continue
            self._branch(rest)
            break
        self._block, self._unit = block, unit

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        self._branch(node.body)
        for handler in node.handlers:
            block = self._block
            self._block = Block(block)
            if handler.type is not None:
                self._expr(handler.type)
            if handler.name:
                self._bind("opaque", handler.name, handler)
            self._body(handler.body)
            self._block = block
        self._branch(node.orelse)
        self._body(node.finalbody)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            unit = outer = self._unit
            if self._func is None and item.optional_vars is not None:
                unit = self._unit = self._new_unit()
            self._expr(item.context_expr)
            self._unit = outer
            if item.optional_vars is not None:
                self._target(item.optional_vars, "entered", item.context_expr, unit)
        # A context manager may swallow an error and so skip the rest of the body.
        self._branch(node.body)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        func = Func(node, node.name)
        outer = self._unit
        self._unit = func.header = self._new_unit()
        for decorator in node.decorator_list:
            self._expr(decorator)
            if isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod"):
                func.static = decorator.id
        self._unit = outer
        self._open(func, node)
        binding = self._bind("func", node.name, node)
        binding.func = func
        for decorator in node.decorator_list:
            self._decoration(decorator, binding, func.header)
        if self._func is not None and any(not _is_plain_wrapper(item) for item in node.decorator_list):
            # The decorator runs at once and may keep or call what it is given.
            outer.children.extend((func.header, func.body))
        if self._class is not None and self._scope is self._class.scope:
            func.cls = self._class
            self.member_names.add(node.name)
        self._body_of(func, node.body)

    def _open(self, func: Func, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Visit defaults and annotations where they stand, then bind the parameters in a new scope."""
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        defaults: dict[str, ast.expr] = {}
        for arg, default in zip(reversed(positional), reversed(args.defaults), strict=False):
            defaults[arg.arg] = default
        for arg, keyword_default in zip(args.kwonlyargs, args.kw_defaults, strict=False):
            if keyword_default is not None:
                defaults[arg.arg] = keyword_default
        outer_unit = self._unit
        if not isinstance(node, ast.Lambda):
            self._unit = func.header
            for annotated in (*positional, *args.kwonlyargs, args.vararg, args.kwarg):
                if annotated is not None:
                    self._annotation(annotated.annotation)
            self._annotation(node.returns)
        for default in (*args.defaults, *(item for item in args.kw_defaults if item is not None)):
            self._expr(default)
        self._unit = outer_unit
        func.owner = self._func
        func.scope = Scope("function", self._scope, func)
        func.block = Block(None, dead=self._block.dead)
        self.funcs.append(func)
        scope, block, owner = self._scope, self._block, self._func
        self._scope, self._block, self._func = func.scope, func.block, func
        for param in (*positional, *args.kwonlyargs):
            binding = self._bind("param", param.arg, param)
            binding.default = defaults.get(param.arg)
            binding.func = func
            func.params[param.arg] = binding
        for collected in (args.vararg, args.kwarg):
            if collected is not None:
                self._bind("opaque", collected.arg, collected)
        func.body = self._unit if isinstance(node, ast.Lambda) else self._new_unit()
        self._scope, self._block, self._func = scope, block, owner

    def _body_of(self, func: Func, body: list[ast.stmt]) -> None:
        saved = (self._scope, self._block, self._func, self._unit, self._class)
        self._scope, self._block, self._func, self._unit = func.scope, func.block, func, func.body
        self._class = None
        self._body(body)
        self._scope, self._block, self._func, self._unit, self._class = saved

    def _decoration(self, decorator: ast.expr, binding: Binding, unit: Unit) -> None:
        """A decorator line calls the decorator, or what the decorator's call returns, with the function."""
        func = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = _last_name(func)
        if name is not None:
            self.calls.setdefault(name, []).append(Call(decorator, func, [], [], unit, binding))
        if isinstance(func, ast.Attribute) and not _is_plain_wrapper(decorator):
            # @run.register: what is decorated is kept in what the decorator belongs to.
            kept = self._new_unit()
            kept.children.append(unit)
            if binding.func is not None:
                kept.children.append(binding.func.body)
            self._store_item(func.value, [], kept, None, called_on=func.value)

    def _class_def(self, node: ast.ClassDef) -> None:
        outer = self._unit
        self._unit = header = self._new_unit()
        for expr in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self._expr(expr.value if isinstance(expr, ast.Starred) else expr)
        self._unit = outer
        cls = Class(node, Scope("class", self._scope, None), header, self._new_unit())
        self.classes.append(cls)
        saved = (self._scope, self._block, self._func, self._unit, self._class)
        self._scope, self._unit, self._class = cls.scope, cls.body, cls
        # Members are bound for their own sake, also where a function defines the class.
        self._func = None
        self._block = Block(None, dead=self._block.dead)
        self._body(node.body)
        self._scope, self._block, self._func, self._unit, self._class = saved
        self.member_names.update(cls.scope.names)
        binding = self._bind("class", node.name, node)
        binding.cls = cls
        for decorator in node.decorator_list:
            self._decoration(decorator, binding, header)

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._expr(node.value)
            if self._func is not None:
                self._func.returns.append(node.value)

    def _raise(self, node: ast.Raise) -> None:
        """What is raised may be met by any handler: it counts where a handler's name is read."""
        for value in (node.exc, node.cause):
            if isinstance(value, ast.Call):
                self.callees.add(value.func)
                self._alone(value.func)
                for argument in (*value.args, *(keyword.value for keyword in value.keywords)):
                    self._alone(argument.value if isinstance(argument, ast.Starred) else argument)
                self._note_call(value)
            elif value is not None:
                self._alone(value)

    def _alone(self, value: ast.expr) -> None:
        """What an exception is made from, in a unit of its own; not a message, nor another call's result."""
        outer = self._unit
        if not isinstance(value, ast.Call | ast.JoinedStr | ast.BinOp | ast.Compare):
            self._unit = unit = self._new_unit()
            if self._func is not None:
                outer.children.append(unit)
            self.raised.append(unit)
        self._expr(value)
        self._unit = outer

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.split(".")[0]
            name = alias.name if alias.asname else root
            own = name in self.modules
            if own:
                self._link("module", alias.asname or root, alias, self.modules[name])
                self._imports(alias.name)
            if own and not self.is_real(root):
                continue
            self._imported(alias.name, node)
            binding = self._bind("import", alias.asname or root, alias, again=own)
            binding.lib = name
            self.import_bindings.append(binding)

    def _imported(self, module: str, node: ast.stmt) -> None:
        self.imports.append((module, node))
        if self._block.dead:
            self.dead_imports.add(node)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if node.level:
            module = absolute(module, self._home_module) or module
        target = self.modules.get(module)
        real = target is None or self.is_real(module)
        if target is not None:
            self._imports(module)
        if real:
            self._imported(module, node)
        for alias in node.names:
            if alias.name == "*":
                if target is not None:
                    self.linked = True
                    star = Star(module, target, self._home_module, self._next(), self._block, node)
                    self.own_stars.append(star)
                if real:
                    star = Star(module, None, self._home_module, self._next(), self._block, node)
                    self.stars.append(star)
                continue
            name = alias.asname or alias.name
            if target is not None:
                self._link("member", name, alias, target).lib = alias.name
                self._imports(f"{module}.{alias.name}")
                if name != alias.name:
                    self.renamed.setdefault(alias.name, set()).add(name)
            if real:
                binding = self._bind("import", name, alias, again=target is not None)
                binding.lib = f"{module}.{alias.name}"
                self.import_bindings.append(binding)
        if node.level:
            block = self._block
            self._block = Block(block)
            self._import_elsewhere(node)
            self._block = block

    def _import_elsewhere(self, node: ast.ImportFrom) -> None:
        """A relative import in a program that says itself in which packages its modules lie."""
        packages, complete = self._certainty.packages(loose=self._home_module is self.module)
        if not complete:
            self.displaced.append(node)
        relative = "." * node.level + (node.module or "")
        for package in packages:
            full = absolute(relative, ModuleScope(package, package=True))
            target = self.modules.get(full)
            if target is not None:
                self._imports(full)
            else:
                self._imported(full, node)
            for alias in node.names:
                if alias.name == "*":
                    self.linked = self.linked or target is not None
                    (self.stars if target is None else self.own_stars).append(
                        Star(full, target, self._home_module, self._next(), self._block, node)
                    )
                    continue
                below = self.modules.get(f"{full}.{alias.name}")
                if target is not None:
                    self._link("member", alias.asname or alias.name, alias, target).lib = alias.name
                    self._imports(f"{full}.{alias.name}")
                elif below is not None:
                    self._link("module", alias.asname or alias.name, alias, below)
                    self._imports(f"{full}.{alias.name}")
                else:
                    binding = self._bind("import", alias.asname or alias.name, alias)
                    binding.lib = f"{full}.{alias.name}"
                    self.import_bindings.append(binding)

    def _link(self, kind: str, name: str, node: ast.AST, target: ModuleScope) -> Binding:
        """Bind a name to a module of the submission, or to a name in it."""
        self.linked = True
        binding = self._bind(kind, name, node)
        binding.target = target
        return binding

    def _imports(self, name: str) -> None:
        """Note that the module at work imports another one, with the packages that it lies in."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            scope = self.modules.get(".".join(parts[:count]))
            if scope is not None and not self._block.dead:
                self._home_module.imports.add(scope)

    def _global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(node.names)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            for item in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                if isinstance(item, ast.Name):
                    self._bind("del", item.id, item)
                else:
                    self._children(item)

    def _expression(self, node: ast.Expr) -> None:
        value = node.value
        method = value
        while isinstance(method, ast.Call):
            method = method.func
        if (
            isinstance(value, ast.Call)
            and isinstance(method, ast.Attribute)
            and not isinstance(method.value, ast.Constant)
            and self._keeper(value) is None
        ):
            # ops.append(f), run.register(int)(f): a call for its effect may keep its arguments in what it is
            # called on.
            outer = self._unit
            self.callees.add(value.func)
            self._expr(value.func)
            self._unit = unit = self._new_unit()
            if self._func is not None:
                outer.children.append(unit)
            arguments = self._arguments(value)
            self._unit = outer
            self._note_call(value)
            receiver = method.value
            name = _last_name(value.func)
            stored = name in _STORING and self._stored(value, name, arguments, unit)
            if _is_namespace(receiver):
                self._update_namespace(value, unit)
            elif not stored or name != "__setattr__":
                # A method of the student's own may have one of the names: q.heappush(2, f).
                self._store_item(receiver, arguments, unit, None, called_on=receiver)
        else:
            self._expr(value)

    def _into_class(self, unit: Unit) -> None:
        if self._class is not None and self._scope is self._class.scope:
            self.class_stores.setdefault(self._class, []).append(unit)

    def _update_namespace(self, call: ast.Call, unit: Unit) -> None:
        self._into_class(unit)
        for keyword in call.keywords:
            if keyword.arg is not None:
                self.global_stores.append((ast.Constant(keyword.arg), keyword.value, unit))
        if len(call.args) == 2:  # __setitem__, setdefault
            self.global_stores.append((call.args[0], call.args[1], unit))
        for argument in call.args:
            if isinstance(argument, ast.Dict):
                for key, value in zip(argument.keys, argument.values, strict=True):
                    if key is not None:
                        self.global_stores.append((key, value, unit))

    def _match(self, node: ast.Match) -> None:
        outer = unit = self._unit
        if self._func is None:
            unit = self._unit = self._new_unit()
        self._expr(node.subject)
        self._unit = outer
        for case in node.cases:
            block = self._block
            self._block = Block(block)
            for inner in ast.walk(case.pattern):
                name = getattr(inner, "name", None) or getattr(inner, "rest", None)
                if isinstance(inner, ast.MatchValue):
                    self._expr(inner.value)
                elif isinstance(inner, ast.MatchClass):
                    self._expr(inner.cls)
                    self._members_matched(inner, node.subject, unit)
                if isinstance(name, str) and inner not in self.bound_at:
                    binding = self._bind("element", name, inner)
                    binding.value = node.subject
                    binding.path = ("*",)
                    binding.units.append(unit)
            if case.guard is not None:
                self._expr(case.guard)
            self._body(case.body)
            self._block = block

    def _members_matched(self, pattern: ast.MatchClass, subject: ast.expr, unit: Unit) -> None:
        """`case C(run=f)` reads the member `run` of the subject, or of something in it."""
        if pattern.patterns:
            read = ast.copy_location(ast.Attribute(subject, "__match_args__", ast.Load()), pattern)
            self.attributes.add(read.attr)
            self._unit.items.append(read)
        for attr, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            read = ast.copy_location(ast.Attribute(subject, attr, ast.Load()), pattern)
            self.attributes.add(attr)
            self._unit.items.append(read)
            if self.many:
                self.loose.add(attr)
            name = inner.name if isinstance(inner, ast.MatchAs) else None
            if name is not None:
                binding = self._bind("value", name, inner)
                binding.value = read
                binding.units.append(unit)

    def _type_alias(self, node: ast.stmt) -> None:
        name = getattr(node, "name", None)
        if isinstance(name, ast.Name):
            self._bind("opaque", name.id, name)
        self._annotation(getattr(node, "value", None))

    # --- expressions ------------------------------------------------------------------------------

    def _children(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.expr):
                    self._expr(child)
                elif isinstance(child, ast.AST) and child._fields:
                    self._enter(node)
                    self._children(child)
                    self._depth -= 1

    def _expr(self, node: ast.expr) -> None:
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)
            if type(node.ctx) is ast.Load:
                self._load(node)
            return
        if kind is ast.Constant:
            return
        self._enter(node)
        handler = _EXPRESSIONS.get(kind)
        if handler is not None:
            handler(self, node)
        else:
            self._children(node)
        self._depth -= 1

    def _load(self, node: ast.Name) -> None:
        node.id = unmangled(node.id)
        self.loads[node] = Load(self._scope, self._next(), self._block, self._unit)
        self.reads.setdefault(node.id, []).append(node)
        self._unit.items.append(node)

    def _attribute(self, node: ast.Attribute) -> None:
        chain = [node]
        while isinstance(chain[-1].value, ast.Attribute):
            chain.append(chain[-1].value)
        self._expr(chain[-1].value)
        for link in reversed(chain):
            link.attr = unmangled(link.attr)
            self.attributes.add(link.attr)
            self._unit.items.append(link)
        if self.many and node not in self.callees:
            self.loose.add(node.attr)

    def _bin_op(self, node: ast.BinOp) -> None:
        # A long sum leans to the left; walking it in a loop makes its length no nesting.
        rights = [node.right]
        left = node.left
        while isinstance(left, ast.BinOp):
            rights.append(left.right)
            left = left.left
        self._expr(left)
        for right in reversed(rights):
            self._expr(right)

    def _call(self, node: ast.Call) -> None:
        self.callees.add(node.func)
        self._expr(node.func)
        name = _last_name(node.func)
        if name in _STORING:
            self._storing_call(node, name)
        elif (receiver := self._keeper(node)) is not None:
            self._kept(node, receiver)
        else:
            self._arguments(node)
        self._note_call(node)

    def _keeper(self, node: ast.Call) -> ast.expr | None:
        """The container that a call may put its arguments into, wherever it stands.

        `k.append(f)`, `list.append(k, f)`, `map(k.append, [f])`, `partial(k.append)(f)`, and `add(f)` after
        `add = k.append`.
        """
        func = node.func
        if isinstance(func, ast.Name) and func.id in self._keepers:
            return self._keepers[func.id]
        if isinstance(func, ast.Attribute) and func.attr in _KEEPING:
            owner = _last_name(func.value)
            return node.args[0] if owner in _CONTAINER_TYPES and node.args else func.value
        for argument in node.args:
            if isinstance(argument, ast.Attribute) and argument.attr in _KEEPING:
                return argument.value
        return self._keeper(func) if isinstance(func, ast.Call) else None

    def _kept(self, node: ast.Call, receiver: ast.expr) -> None:
        """Visit the arguments, in a unit of their own, of a call that keeps them."""
        outer = self._unit
        self._unit = unit = self._new_unit()
        outer.children.append(unit)
        arguments = self._arguments(node)
        self._unit = outer
        if _is_namespace(receiver):
            self._update_namespace(node, unit)
        else:
            self._store_item(receiver, arguments, unit, None, called_on=receiver)

    def _note_call(self, node: ast.Call) -> None:
        self._unit.items.append(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant):
                self.keyed[node.func.value] = key.value
        self.call_units[node] = self._unit
        name = _last_name(node.func)
        call = Call(node, node.func, node.args, node.keywords, self._unit)
        if name is not None:
            self.calls.setdefault(name, []).append(call)
            if name in ("SimpleNamespace", "namedtuple", "make_dataclass"):
                self._named_fields(node)
        else:
            self.lambda_calls[node.func] = call

    def _named_fields(self, node: ast.Call) -> None:
        self.member_names.update(keyword.arg for keyword in node.keywords if keyword.arg)
        for argument in node.args[1:]:
            for inner in ast.walk(argument):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    self.member_names.update(inner.value.replace(",", " ").split())

    def _arguments(self, node: ast.Call) -> list[ast.expr]:
        arguments = [item.value if isinstance(item, ast.Starred) else item for item in node.args]
        arguments.extend(keyword.value for keyword in node.keywords)
        for argument in arguments:
            self._expr(argument)
        return arguments

    def _storing_call(self, node: ast.Call, name: str) -> None:
        outer = self._unit
        self._unit = unit = self._new_unit()
        outer.children.append(unit)
        arguments = self._arguments(node)
        self._unit = outer
        self._stored(node, name, arguments, unit)

    def _stored(self, node: ast.Call, name: str, arguments: list[ast.expr], unit: Unit) -> bool:
        """Note what a call of `_STORING` puts into its first argument, or into what it is called on."""
        if len(arguments) < 2:
            return False
        if name in ("setattr", "__setattr__"):
            receiver = arguments[0]
            if name == "__setattr__" and len(arguments) == 2 and isinstance(node.func, ast.Attribute):
                receiver = node.func.value
            store = Store(unit, [arguments[-1]])
            store.attr_expr = arguments[-2]
            store.receiver = store.into = receiver
            self.stores.append(store)
            if isinstance(arguments[-2], ast.Constant) and isinstance(arguments[-2].value, str):
                self.member_names.add(arguments[-2].value)
            if _is_self_module(receiver):
                self.global_stores.append((arguments[-2], arguments[-1], unit))
        else:
            key = arguments[1] if name == "setitem" else None
            self._store_item(arguments[0], arguments[1:], unit, key)
        return True

    def _subscript(self, node: ast.Subscript) -> None:
        self._expr(node.value)
        self._expr(node.slice)
        if type(node.ctx) is ast.Load:
            self._unit.items.append(node)
            if isinstance(node.slice, ast.Constant):
                self.keyed[node.value] = node.slice.value

    def _lambda(self, node: ast.Lambda) -> None:
        func = Func(node, "")
        func.header = self._unit
        self.lambdas[node] = func
        self._open(func, node)
        func.returns.append(node.body)
        scope, block, owner = self._scope, self._block, self._func
        self._scope, self._block, self._func = func.scope, func.block, func
        self._expr(node.body)
        self._scope, self._block, self._func = scope, block, owner

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        outer = self._scope
        inner = Scope("comprehension", outer, self._func)
        for at, generator in enumerate(node.generators):
            # The first iterable is worked out in the scope around the comprehension.
            self._scope = outer if at == 0 else inner
            self._expr(generator.iter)
            self._scope = inner
            # The iterable is live with the comprehension; the unit around it need not be.
            self._target(generator.target, "element", generator.iter, None)
            for test in generator.ifs:
                self._expr(test)
        if isinstance(node, ast.DictComp):
            self._expr(node.key)
            self._expr(node.value)
        else:
            self._expr(node.elt)
        self._scope = outer

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> None:
        if node.value is not None:
            self._expr(node.value)
            if self._func is not None:
                self._func.returns.append(node.value)

    def _compare(self, node: ast.Compare) -> None:
        self._expr(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            self._expr(right)
            if isinstance(op, ast.In | ast.NotIn):
                self.members_tested.add(right)

    def _named(self, node: ast.NamedExpr) -> None:
        outer = self._unit
        if self._func is None:
            # Reading the name later must not make the self-test live in which it was bound.
            self._unit = self._new_unit()
        self._expr(node.value)
        unit, self._unit = self._unit, outer
        if unit is not outer and outer not in self._effects:
            outer.children.append(unit)
        scope = self._scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        saved, self._scope = self._scope, scope
        self._target(node.target, "value", node.value, unit)
        self._scope = saved

    # --- bindings ---------------------------------------------------------------------------------

    def _home(self, name: str) -> Scope:
        scope = self._scope
        if name in scope.globals:
            return scope.home
        if name in scope.nonlocals:
            at = scope.parent
            while at is not None and (at.kind == "class" or name not in at.names):
                at = at.parent
            return at or scope
        return scope

    def _bind(self, kind: str, name: str, node: ast.AST, *, again: bool = False) -> Binding:
        """Bind a name; ``again`` to say what else it may get at the same place."""
        name = unmangled(name)
        scope = self._home(name)
        binding = Binding(kind, name, node, scope, self._block, self._pos if again else self._next())
        binding.owner = self._func if scope.kind != "comprehension" else scope.func
        scope.names.setdefault(name, []).append(binding)
        self.bound_at[node] = binding
        return binding

    def bind_global(self, name: str, value: ast.expr, unit: Unit, module: ModuleScope | None = None) -> None:
        """Bind a module-level name to a value that was stored into the module's namespace.

        Args:
            name: The name.
            value: What is stored.
            unit: Where that happens.
            module: Into which module, where it is another one.
        """
        scope = module or unit.home
        binding = Binding("value", name, value, scope, Block(self.unit_blocks[unit]), self._next())
        binding.value = value
        binding.units.append(unit)
        binding.owner = unit.func
        binding.late = module is not None
        scope.names.setdefault(name, []).append(binding)

    def scopes(self) -> list[Scope]:
        """Every scope of the program that has names of its own, but for comprehensions."""
        found: list[Scope] = [self.module, *self.modules.values()]
        found += [func.scope for func in self.funcs]
        found += [cls.scope for cls in self.classes]
        return list(dict.fromkeys(found))

    def replace_module(self, module: str, value: ast.expr, unit: Unit) -> None:
        """Let every import of a module give also what is put into `sys.modules` under its name."""
        parent = self.modules.get(module.rpartition(".")[0])
        if parent is not None:
            self.bind_global(module.rpartition(".")[2], value, unit, parent)
        for scope in self.scopes():
            for bindings in scope.names.values():
                for at, item in reversed(list(enumerate(bindings))):
                    rest = _below(item, module)
                    if rest is not None:
                        bindings.insert(at + 1, self._replaced(item, rest, value, unit))

    def _replaced(self, item: Binding, rest: list[str], value: ast.expr, unit: Unit) -> Binding:
        """A binding beside that of an import, to the value or a member of it."""
        binding = Binding("value", item.name, item.node, item.scope, Block(item.block), item.pos)
        binding.owner = item.owner
        read = self._new_unit()
        read.func, read.home, read.dead = item.owner, item.scope.home, item.block.dead
        for attr in rest:
            value = ast.Attribute(value, attr, ast.Load(), **_place(item.node))
            self.attributes.add(attr)
            read.items.append(value)
        binding.value = value
        binding.units = [read, unit]
        return binding


def _annotated(node: ast.Constant) -> ast.expr | None:
    """An annotation that is written as a text, as which it may be read; at the place of the text."""
    if not isinstance(node.value, str) or not 0 < len(node.value) <= LONGEST_ANNOTATION:
        return None
    try:
        tree = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for inner in ast.walk(tree):
        if isinstance(inner, ast.expr):
            ast.copy_location(inner, node)
    return tree


def _example(docstring: str) -> str:
    """What stands behind the prompts."""
    return "\n".join(
        line[4:] for line in map(str.strip, docstring.split("\n")) if line[:4] in (">>> ", "... ")
    )


def _below(item: Binding, module: str) -> list[str] | None:
    """Of what a name is by an import of this module the members below it; None where it is none of it."""
    if item.kind == "import":
        full = item.lib
    elif item.kind == "module" and item.target is not None:
        full = item.target.name
    elif item.kind == "member" and item.target is not None:
        full = f"{item.target.name}.{item.lib}"
    else:
        return None
    if full == module:
        return []
    return full[len(module) + 1 :].split(".") if full.startswith(f"{module}.") else None


def _place(node: ast.AST) -> dict[str, Any]:
    """Where a node stands, for another one."""
    return {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}


def unmangled(name: str) -> str:
    """`__run` for `_Model__run`, as which Python knows a class's private name outside of the class."""
    if name[:1] != "_" or "__" not in name[2:] or name[-2:] == "__":
        return name
    found = _MANGLED.match(name)
    return found[1] if found else name


def absolute(name: str, scope: ModuleScope) -> str:
    """The full name of a module that a module of the submission imports by a name with dots before it.

    Empty where there is no package that it could be relative to.
    """
    relative = name.lstrip(".")
    package = scope.name if scope.package else scope.name.rpartition(".")[0]
    for _ in range(len(name) - len(relative) - 1):
        package = package.rpartition(".")[0]
    return ".".join(part for part in (package, relative) if part) if package else ""


def _reached(scope: ModuleScope) -> set[ModuleScope]:
    """The modules that one imports, directly or not."""
    found: set[ModuleScope] = set()
    waiting = [scope]
    while waiting:
        for other in waiting.pop().imports:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Pair the targets of `a, b = f, g` with what each of them gets."""
    if (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
        and not any(isinstance(item, ast.Starred) for item in (*target.elts, *value.elts))
    ):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def _pure(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name | ast.Constant)


def _deferrable(value: ast.expr) -> bool:
    """Whether a local assignment only names things, so that it counts only if its target is read."""
    if isinstance(value, ast.Dict):
        return all(_pure(item) for item in value.values)
    if isinstance(value, ast.List | ast.Tuple):
        return all(_pure(item) for item in value.elts)
    return _pure(value)


def _last_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    return None


def _is_plain_wrapper(decorator: ast.expr) -> bool:
    """Decorators that only wrap: what they wrap counts when it is used."""
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last_name(func) in _WRAPPERS


_WRAPPERS = words(
    """
    staticmethod classmethod property setter getter wraps cache lru_cache cached_property no_grad njit jit
    inference_mode vectorize compile errstate contextmanager singledispatch overload override
    """
)


# Methods of containers that keep what they are given.
_KEEPING = words(
    """
    append appendleft extend extendleft insert add update setdefault put put_nowait set push register
    __setitem__ __iadd__ __ior__ new_child
    """
)
# Functions that put what they are given into their first argument.
_STORING = words(
    """
    setattr __setattr__ setitem heappush heappushpop heapreplace insort insort_left insort_right
    """
)
# Functions that look into their first argument, and keep nothing of it.
_LOOKING = words("getattr hasattr setattr delattr reload")
_CONTAINER_TYPES = words("list dict set deque OrderedDict defaultdict Counter UserDict UserList bytearray")


def _is_namespace(node: ast.expr) -> bool:
    """`globals()`, and `locals()` or `vars()` without an argument, or a module's `__dict__` by its name."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        return _last_name(node.func) in ("globals", "locals", "vars")
    if isinstance(node, ast.Call) and len(node.args) == 1 and _last_name(node.func) == "vars":
        return _is_self_module(node.args[0])
    return isinstance(node, ast.Attribute) and node.attr == "__dict__" and _is_self_module(node.value)


def _is_self_module(node: ast.expr) -> bool:
    """`sys.modules[__name__]`, `import_module(__name__)`, `__import__(__name__)`."""
    if isinstance(node, ast.Subscript):
        return _last_name(node.value) == "modules" and _last_name(node.slice) == "__name__"
    if isinstance(node, ast.Call) and node.args:
        named = _last_name(node.func) in ("import_module", "__import__", "get")
        return named and _last_name(node.args[0]) == "__name__"
    return False


_STATEMENTS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Assign: Program._assign,
    ast.AugAssign: Program._aug_assign,
    ast.AnnAssign: Program._ann_assign,
    ast.For: Program._for,
    ast.AsyncFor: Program._for,
    ast.While: Program._while,
    ast.If: Program._if,
    ast.Try: Program._try,
    ast.TryStar: Program._try,
    ast.With: Program._with,
    ast.AsyncWith: Program._with,
    ast.FunctionDef: Program._function,
    ast.AsyncFunctionDef: Program._function,
    ast.ClassDef: Program._class_def,
    ast.Return: Program._return,
    ast.Raise: Program._raise,
    ast.Import: Program._import,
    ast.ImportFrom: Program._import_from,
    ast.Global: Program._global,
    ast.Nonlocal: Program._nonlocal,
    ast.Delete: Program._delete,
    ast.Expr: Program._expression,
    ast.Match: Program._match,
}
if hasattr(ast, "TypeAlias"):  # since Python 3.12
    _STATEMENTS[ast.TypeAlias] = Program._type_alias
_EXPRESSIONS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Attribute: Program._attribute,
    ast.BinOp: Program._bin_op,
    ast.Call: Program._call,
    ast.Subscript: Program._subscript,
    ast.Lambda: Program._lambda,
    ast.ListComp: Program._comprehension,
    ast.SetComp: Program._comprehension,
    ast.GeneratorExp: Program._comprehension,
    ast.DictComp: Program._comprehension,
    ast.NamedExpr: Program._named,
    ast.Compare: Program._compare,
    ast.Yield: Program._yield,
    ast.YieldFrom: Program._yield,
}
