"""Certainty: what is known of a statement or a test before the program runs.

Only what the whole program leaves alone is known: whoever binds `__name__` somewhere may have changed what
a test of it gives.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from grader.policy.folding import words
from grader.policy.rules import LONGEST_NAME

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from grader.policy.program import Text

NAME, CHECKING = "__name__", "TYPE_CHECKING"
SHIFTING = frozenset({NAME, CHECKING})
# By these a relative import finds the package that it is relative to.
PLACING = frozenset({NAME, "__package__", "__spec__"})
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")
MOST_PACKAGES = 32
# Modules that are there and whose import does nothing that can fail.
_PLAIN_MODULES = words(
    """
    numpy math cmath random time datetime os sys functools itertools collections typing dataclasses json re
    operator copy abc contextlib string warnings pathlib enum types numbers statistics inspect unittest csv
    io logging textwrap decimal fractions heapq bisect struct pprint
    """
)
# Of these, those that scipy and torch don't import: they are looked for where sys.path says.
_LOOKED_FOR = frozenset({"cmath", "statistics", "decimal", "fractions"})
_PARTS = frozenset({"torch.nn", "torch.nn.functional"})
# Who names none of these has not replaced what print writes to, or what an import finds.
_TOUCHING = words(
    """
    sys os io posix contextlib stdout stderr open exec eval compile __import__ importlib builtins __builtins__
    getattr setattr globals locals vars modules ctypes gc inspect runpy pkgutil subprocess logging
    threading signal resource pathlib fileinput codecs __loader__ __spec__ unittest operator types
    """
)
# Who names none of these has not changed what an import or a class statement does.
_RUNNING = words(
    """
    __builtins__ builtins __import__ __build_class__ exec eval compile globals locals vars setattr __dict__
    __setattr__ modules meta_path path_hooks path_importer_cache importlib ctypes gc inspect runpy
    """
)
# Who names none of these can't have another statement raise: no function is called while one runs.
_INTERRUPTING = words(
    """
    settrace setprofile monitoring addaudithook setrecursionlimit setitimer alarm setrlimit
    interrupt_main ctypes exec __import__
    """
)
# By these the above may be taken from such a module without naming them.
_TAKING = words("attrgetter __dict__ vars __getattribute__")
_INTERRUPTERS = words("sys signal resource threading _thread")
_PLAIN_METHODS = words("__init__ __call__ __repr__ __str__ __len__ __getitem__ __enter__ __exit__")
_PLAIN_TYPES = words("int float bool str bytes list tuple dict set object complex")


class Certainty:
    """What the texts of a program leave certain.

    Args:
        texts: The file or cells, and the helper modules.
        libraries: The libraries that have banned helpers.
        steady: False where `SHIFTING` names are known to be bound in a way that the texts hide.
    """

    def __init__(self, texts: Sequence[Text], libraries: frozenset[str], *, steady: bool = True) -> None:
        self._texts = texts
        self._libraries = libraries
        self._modules = {text.name.split(".")[0] for text in texts if text.name}
        self._steady = steady
        self._words: _Words | None = None

    def _known(self) -> _Words:
        # Most programs have no statement or test that asks for it.
        if self._words is None:
            self._words = _Words(node for text in self._texts for body in text.bodies for node in body)
        return self._words

    def packages(self, *, loose: bool) -> tuple[list[str], bool]:
        """The packages that the program says its modules lie in, and whether it may say any other.

        Modules know their packages by themselves, so most programs say nothing.

        Args:
            loose: It is about the file itself, which lies in none, so that its name tells.
        """
        known = self._known()
        if known.places == 0 and not (loose and known.renamed):
            return [], True
        # Any of its texts may be meant that names a package of its own or one in which banned helpers are.
        found = [
            text
            for text in sorted(known.dotted)
            if text.split(".")[0] in self._libraries or text.split(".")[0] in self._modules
        ]
        complete = known.places == known.plain_places and not (loose and known.renamed)
        return found[:MOST_PACKAGES], complete and len(found) <= MOST_PACKAGES

    # --- tests ------------------------------------------------------------------------------------

    def truth(self, test: ast.expr) -> bool | None:
        """What a test is known to be while the module is imported under its own name, or None."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.Name | ast.Attribute):
            return False if self._is_checking(test) else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            known = [self.truth(value) for value in test.values]
            if isinstance(test.op, ast.And):
                return False if False in known else True if all(known) else None
            return True if True in known else False if known.count(False) == len(known) else None
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test.left, test.ops[0], test.comparators[0])
        return None

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool | None:
        if not any(isinstance(side, ast.Name) and side.id == NAME for side in (left, right)):
            return None
        main = any(isinstance(side, ast.Constant) and side.value == "__main__" for side in (left, right))
        if main and isinstance(op, ast.Eq | ast.Is):
            known = False
        elif main and isinstance(op, ast.NotEq | ast.IsNot):
            known = True
        elif isinstance(left, ast.Name) and isinstance(op, ast.In) and _holds_main_alone(right):
            known = False
        else:
            return None
        return known if self._steady and NAME not in self._known().bound else None

    def _is_checking(self, test: ast.Name | ast.Attribute) -> bool:
        if isinstance(test, ast.Name):
            return test.id == CHECKING and self._steady and CHECKING not in self._known().bound
        if test.attr != CHECKING or not isinstance(test.value, ast.Name) or not self._steady:
            return False
        known = self._known()
        base = test.value.id
        return CHECKING not in known.bound and base in known.typing and base not in known.bound

    # --- statements -------------------------------------------------------------------------------

    def cannot_raise(self, node: ast.stmt) -> bool:
        """Whether a module-level statement always binds what it binds."""
        if self._may_interrupt():
            return False
        if isinstance(node, ast.FunctionDef):
            args = node.args
            listed = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
            annotated = [arg.annotation for arg in listed if arg is not None]
            evaluated = [*annotated, node.returns, *args.defaults, *args.kw_defaults]
            return not node.decorator_list and all(self._is_plain(item) for item in evaluated)
        if isinstance(node, ast.ClassDef):
            made_alone = not (node.decorator_list or node.bases or node.keywords or _has_types(node))
            return (
                made_alone
                and self._known().seen.isdisjoint(_RUNNING)
                and all(not _special(inner) and self.cannot_raise(inner) for inner in node.body)
            )
        if isinstance(node, ast.Assign):
            named = all(isinstance(item, ast.Name) for item in node.targets)
            return named and self._is_plain(node.value)
        if isinstance(node, ast.Import):
            return all(self._is_there(item.name) for item in node.names)
        if isinstance(node, ast.ImportFrom):
            return node.module == "__future__" or (
                node.level == 0
                and all(f"{node.module}.{item.name}" in _PARTS for item in node.names)
                and self._is_there(node.module or "")
            )
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant) or self._is_told(node.value)
        return isinstance(node, ast.Pass)

    def _may_interrupt(self) -> bool:
        """Whether the program may have any statement raise, by a hook or a limit that it sets."""
        known = self._known()
        if known.interrupting or not known.seen.isdisjoint(_INTERRUPTING):
            return True
        takes = known.looks_up or not known.seen.isdisjoint(_TAKING)
        return takes and not known.seen.isdisjoint(_INTERRUPTERS)

    def _is_plain(self, node: ast.expr | None) -> bool:
        if isinstance(node, ast.UnaryOp):
            number = isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
            return number and isinstance(node.op, ast.USub)
        if isinstance(node, ast.Tuple | ast.List):
            return isinstance(node.ctx, ast.Load) and all(self._is_plain(item) for item in node.elts)
        if isinstance(node, ast.Name):
            return node.id in _PLAIN_TYPES and node.id not in self._known().bound
        return node is None or isinstance(node, ast.Constant)

    def _is_there(self, module: str) -> bool:
        """Whether an import of a module surely works, or no banned helper could be used where it does not."""
        root = module.split(".")[0]
        if not self._known().seen.isdisjoint(_RUNNING):
            return False
        if module in _PLAIN_MODULES:
            return module not in _LOOKED_FOR or not self._known().searches
        if (module != root and module not in _PARTS) or root not in self._libraries or root in self._modules:
            return False
        seen = self._known().seen
        # Where this library is missing, so is each of its helpers; those of another one need not be.
        return seen.isdisjoint(_TOUCHING) and seen.isdisjoint(self._libraries - {root})

    def _is_told(self, node: ast.expr) -> bool:
        """print("Now my own")"""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "print":
            return False
        if node.keywords or not all(isinstance(item, ast.Constant) and _prints(item) for item in node.args):
            return False
        known = self._known()
        return "print" not in known.bound and known.seen.isdisjoint(_TOUCHING)


class _Words:
    """The names that some nodes have.

    Attributes:
        seen: All of them: names, attributes, what is imported.
        bound: Those that may be bound or stored, as names, as attributes or by their texts.
        typing: Those under which the module `typing` is imported.
        interrupting: `_INTERRUPTING` ones may be looked up by their texts, or come with a starred import.
        looks_up: Members are looked up by texts that are not told.
        searches: `path` is looked up on anything but `os`: on sys, it may change what an import finds.
        renamed: How often an attribute `__name__` is stored, mostly of functions.
        places: How often a name of `PLACING` may be bound or stored; `plain_places` how often to a constant.
        dotted: The texts that could name a package.
    """

    def __init__(self, nodes: Iterator[ast.stmt]) -> None:
        self.seen: set[str] = set()
        self.bound: set[str] = set()
        self.typing: set[str] = set()
        self.interrupting = self.looks_up = self.searches = False
        self.places = self.plain_places = self.renamed = 0
        self.dotted: set[str] = set()
        for statement in nodes:
            for node in ast.walk(statement):
                tell = _TELLING.get(type(node))
                if tell is not None:
                    tell(self, node)

    def _name(self, node: ast.Name) -> None:
        self.seen.add(node.id)
        if not isinstance(node.ctx, ast.Load):
            self._bound(node.id)

    def _attribute(self, node: ast.Attribute) -> None:
        self.seen.add(node.attr)
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.attr)
            self.places += node.attr in PLACING and node.attr != NAME
            self.renamed += node.attr == NAME
        if node.attr == "path":
            self.searches = self.searches or getattr(node.value, "id", "") != "os"

    def _call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in ("getattr", "getattr_static") and len(node.args) >= 2:
            self.looks_up = self.looks_up or not isinstance(node.args[1], ast.Constant)

    def _bound(self, name: str) -> None:
        self.bound.add(name)
        self.places += name in PLACING

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Constant):
            names = [getattr(item, "id", "") for item in node.targets]
            self.plain_places += sum(name in PLACING for name in names)

    def _constant(self, node: ast.Constant) -> None:
        # setattr(m, "__name__", …), globals()["__name__"] = …
        if not isinstance(node.value, str):
            return
        if node.value in SHIFTING:
            self.bound.add(node.value)
        self.places += node.value in PLACING
        self.interrupting = self.interrupting or node.value in _INTERRUPTING
        if len(node.value) <= LONGEST_NAME and _DOTTED.match(node.value):
            self.dotted.add(node.value)

    def _keyword(self, node: ast.keyword) -> None:
        if node.arg in SHIFTING:
            self.bound.add(node.arg)
        self.places += node.arg in PLACING

    def _arg(self, node: ast.arg) -> None:
        self._bound(node.arg)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._bound(node.name)

    def _part(self, node: ast.AST) -> None:
        for field in ("name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                self._bound(name)

    def _import(self, node: ast.Import) -> None:
        for item in node.names:
            self.seen.update(item.name.split("."))
            name = item.asname or item.name.split(".")[0]
            (self.typing if item.name == "typing" else self.bound).add(name)
            self.places += name in PLACING
            self.searches = self.searches or (name == "os" and item.name != "os")

    def _import_from(self, node: ast.ImportFrom) -> None:
        self.seen.update((node.module or "").split("."))
        for item in node.names:
            self.seen.add(item.name)
            name = item.asname or item.name
            self.places += name in PLACING
            self.searches = self.searches or item.name == "path" or name == "os"
            self.interrupting = self.interrupting or (item.name == "*" and node.module in _INTERRUPTERS)
            if (node.module, node.level, item.name, name) != ("typing", 0, CHECKING, CHECKING):
                self.bound.add(name)


_TELLING: dict[type[ast.AST], Callable[..., None]] = {
    ast.Name: _Words._name,
    ast.Attribute: _Words._attribute,
    ast.Assign: _Words._assign,
    ast.Call: _Words._call,
    ast.Constant: _Words._constant,
    ast.keyword: _Words._keyword,
    ast.arg: _Words._arg,
    ast.FunctionDef: _Words._definition,
    ast.AsyncFunctionDef: _Words._definition,
    ast.ClassDef: _Words._definition,
    ast.ExceptHandler: _Words._part,
    ast.MatchAs: _Words._part,
    ast.MatchStar: _Words._part,
    ast.MatchMapping: _Words._part,
    ast.Import: _Words._import,
    ast.ImportFrom: _Words._import_from,
}


def _has_types(node: ast.ClassDef) -> bool:
    return bool(getattr(node, "type_params", None))


def _special(node: ast.stmt) -> bool:
    """Whether a statement of a class binds a name by which Python makes the class, as `__slots__`."""
    if isinstance(node, ast.Assign):
        names = [item.id for item in node.targets if isinstance(item, ast.Name)]
    else:
        names = [name] if isinstance(name := getattr(node, "name", None), str) else []
    return any(name.startswith("__") and name not in _PLAIN_METHODS for name in names)


def _holds_main_alone(node: ast.expr) -> bool:
    """Whether a literal container has no member but the name of a program that is run by itself."""
    return isinstance(node, ast.Tuple | ast.List | ast.Set) and all(
        isinstance(item, ast.Constant) and item.value == "__main__" for item in node.elts
    )


def _prints(node: ast.Constant) -> bool:
    return not isinstance(node.value, str) or not any("\ud800" <= letter <= "\udfff" for letter in node.value)
