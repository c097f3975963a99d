"""Scopes: the records of where each name of a source is bound and read."""

from __future__ import annotations

import ast


class Loop:
    """A loop's span in positions: a binding late in its body is seen by a read early in it."""

    __slots__ = ("end", "parent", "start")

    def __init__(self, start: int, parent: Loop | None) -> None:
        self.start = start
        self.end = 1 << 60
        self.parent = parent


class Block:
    """A run of statements that are executed together or not at all."""

    __slots__ = ("dead", "loop", "parent")

    def __init__(self, parent: Block | None, *, dead: bool = False, loop: Loop | None = None) -> None:
        self.parent = parent
        self.dead: bool = dead or (parent is not None and parent.dead)
        self.loop: Loop | None = loop or (parent.loop if parent is not None else None)


class Unit:
    """Code that is live or not as a whole, in the module `home`."""

    __slots__ = ("children", "dead", "func", "home", "items")

    def __init__(self, func: Func | None, home: ModuleScope, *, dead: bool) -> None:
        self.items: list[ast.expr] = []
        self.children: list[Unit] = []
        self.func = func
        self.home = home
        self.dead = dead


class Scope:
    """The names of a module, class, function or comprehension, in the module `home`."""

    __slots__ = ("func", "globals", "home", "inline", "kind", "names", "nonlocals", "parent")

    def __init__(self, kind: str, parent: Scope | None, func: Func | None) -> None:
        self.kind = kind
        self.parent = parent
        self.func = func
        # The code of a class or comprehension runs where it stands, that of a function later.
        self.inline = kind in ("class", "comprehension")
        self.names: dict[str, list[Binding]] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.home: ModuleScope
        if parent is not None:
            self.home = parent.home


class ModuleScope(Scope):
    """The names of a module of the submission: its file or a helper module.

    `cyclic`: another module may meet it before it has run to its end, since they import each other.
    """

    __slots__ = ("cyclic", "imports", "name", "package")

    def __init__(self, name: str = "", *, package: bool = False) -> None:
        super().__init__("module", None, None)
        self.home = self
        self.name = name
        self.package = package
        self.cyclic = False
        self.imports: set[ModuleScope] = set()


class Binding:
    """One place that gives a name a value.

    `kind` is one of import, value, element (of an iterable), entered (by a with statement), aug,
    param, func, class, del and opaque; module for a module of the submission itself, which is `target`, and
    member for the name `lib` in it. `path` leads from the value to what is bound when a sequence is
    unpacked. What is bound `late` is put into a module's namespace from elsewhere, at any time.
    """

    __slots__ = (
        "block",
        "cls",
        "default",
        "func",
        "kind",
        "late",
        "lib",
        "name",
        "node",
        "owner",
        "parts",
        "path",
        "pos",
        "scope",
        "target",
        "units",
        "value",
    )

    def __init__(self, kind: str, name: str, node: ast.AST, scope: Scope, block: Block, pos: int) -> None:
        self.kind = kind
        self.name = name
        self.node = node
        self.scope = scope
        self.block = block
        self.pos = pos
        self.owner: Func | None = None
        self.value: ast.expr | None = None
        self.path: tuple[int | str, ...] = ()
        self.units: list[Unit] = []
        self.parts: dict[object, Unit] = {}
        self.func: Func | None = None
        self.cls: Class | None = None
        self.lib = ""
        self.late = False
        self.target: ModuleScope | None = None
        self.default: ast.expr | None = None


class Func:
    """A function or lambda."""

    __slots__ = (
        "args",
        "block",
        "body",
        "cls",
        "header",
        "name",
        "node",
        "owner",
        "params",
        "returns",
        "scope",
        "static",
    )

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> None:
        self.node = node
        self.name = name
        self.args = node.args
        self.owner: Func | None = None
        self.cls: Class | None = None
        self.static = ""  # "staticmethod" or "classmethod" for a method that is one
        self.scope: Scope
        self.block: Block
        self.header: Unit
        self.body: Unit
        self.returns: list[ast.expr] = []
        self.params: dict[str, Binding] = {}


class Class:
    """A class, with its members in its scope."""

    __slots__ = ("bases", "body", "decorated", "header", "name", "node", "scope")

    def __init__(self, node: ast.ClassDef, scope: Scope, header: Unit, body: Unit) -> None:
        self.node = node
        self.name = node.name
        self.scope = scope
        self.header = header
        self.body = body
        self.bases = node.bases
        self.decorated = bool(node.decorator_list)


class Store:
    """A value put into an attribute or container that exists already.

    `attr` is the attribute's name, None for an item, `attr_expr` its name as an expression (setattr).
    `called_on` is set when it is only an argument of a method call that may keep it: ops.append(f).
    `receiver` is what an attribute is put into, `into` what the value is put into, whether as an attribute or
    as an item.
    """

    __slots__ = ("attr", "attr_expr", "called_on", "cls", "into", "key", "receiver", "root", "unit", "values")

    def __init__(self, unit: Unit, values: list[ast.expr]) -> None:
        self.unit = unit
        self.values = values
        self.attr: str | None = None
        self.attr_expr: ast.expr | None = None
        self.key: ast.expr | None = None
        self.root: ast.Name | None = None
        self.called_on: ast.expr | None = None
        self.receiver: ast.expr | None = None
        self.into: ast.expr | None = None
        self.cls: Class | None = None


class Load:
    """Where a name is read."""

    __slots__ = ("block", "pos", "scope", "unit")

    def __init__(self, scope: Scope, pos: int, block: Block, unit: Unit) -> None:
        self.scope = scope
        self.pos = pos
        self.block = block
        self.unit = unit


class Call:
    """Where a function may be called: a call, or a decorator line with what it decorates."""

    __slots__ = ("args", "decorated", "func", "keywords", "node", "unit")

    def __init__(
        self,
        node: ast.AST,
        func: ast.expr,
        args: list[ast.expr],
        keywords: list[ast.keyword],
        unit: Unit,
        decorated: Binding | None = None,
    ) -> None:
        self.node = node
        self.func = func
        self.args = args
        self.keywords = keywords
        self.unit = unit
        self.decorated = decorated
