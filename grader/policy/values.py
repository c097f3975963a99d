"""Values: what an expression may stand for, as far as the source tells."""

from __future__ import annotations

import ast

from grader.policy.scopes import Class, Func, ModuleScope


class Value:
    """Anything an expression may stand for; plain classes, since importing this must stay cheap."""

    __slots__ = ()


class Named(Value):
    """A value known by a canonical dotted name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Lib(Named):
    """A library module or a member of one."""

    __slots__ = ()


class Result(Named):
    """What calling a library function gave: an array, a layer, anything of that library's making."""

    __slots__ = ()


class Table(Named):
    """The namespace of a library module, as `vars(torch)`; with an empty name, `sys.modules`."""

    __slots__ = ()


class Function(Value):
    """A function or lambda of the source."""

    __slots__ = ("func",)

    def __init__(self, func: Func) -> None:
        self.func = func

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and other.func is self.func

    def __hash__(self) -> int:
        return id(self.func)


class OfClass(Value):
    """A class of the source, or an object of one."""

    __slots__ = ("cls",)

    def __init__(self, cls: Class) -> None:
        self.cls = cls

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, OfClass) and other.cls is self.cls

    def __hash__(self) -> int:
        return id(self.cls)


class OwnClass(OfClass):
    """A class of the source."""

    __slots__ = ()


class Instance(OfClass):
    """An object of a class of the source."""

    __slots__ = ()


class Container(Value):
    """A literal container or comprehension, by its expression."""

    __slots__ = ("node",)

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Container) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)


class Bag(Value):
    """A container of which only the members are known."""

    __slots__ = ("members",)

    def __init__(self, members: Values) -> None:
        self.members = members


class Partial(Value):
    """functools.partial: functions with their first arguments."""

    __slots__ = ("args", "functions")

    def __init__(self, functions: Values, args: list[ast.expr]) -> None:
        self.functions = functions
        self.args = args


class Getter(Value):
    """operator.attrgetter, itemgetter or methodcaller, with the expressions of what they look up."""

    __slots__ = ("args", "kind")

    def __init__(self, kind: str, args: list[ast.expr]) -> None:
        self.kind = kind
        self.args = args


class Namespace(Value):
    """A module of the submission itself, or its globals()."""

    __slots__ = ("scope",)

    def __init__(self, scope: ModuleScope) -> None:
        self.scope = scope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Namespace) and other.scope is self.scope

    def __hash__(self) -> int:
        return id(self.scope)


class Own(Value):
    """Some object of the student's own making that is no array."""

    __slots__ = ()


class Unknown(Value):
    """Anything at all."""

    __slots__ = ()


Values = tuple[Value, ...]

OWN = Own()
UNKNOWN = Unknown()
# What someone else may give a method in place of an object of its class.
GIVEN = Result("given")
ANYTHING: Values = (UNKNOWN,)
