"""A digest of what a program does without the names that its author chose, for finding twins.

Two texts have the same digest when they differ only in comments, blank lines, docstrings, annotations, the
names of variables, functions, classes, parameters and own attributes, the way in which libraries are
imported, and self-tests under ``if __name__ == "__main__":``. The order of statements, constants, operators
and the names of libraries' members count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Sequence

from grader.policy.program import Text

# Below this many nodes in the bodies of functions, honest programs are often the same.
FEWEST_NODES = 60

_SKIPPED = frozenset({ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal})
# Left out: types in words, positions in a text, and what is told by the other fields.
_LEFT_OUT = frozenset({"annotation", "returns", "type_comment", "kind", "ctx", "type_ignores", "simple"})
# Of each kind of node the other fields, as they are met.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {}


def digest(texts: Sequence[Text]) -> str:
    """The digest of a program's file and helper modules; empty when it is too short to tell anything.

    Raises:
        RecursionError: It is nested too deeply.
    """
    writer = _Writer(texts)
    for text in texts:
        writer.module(text)
    if writer.nodes < FEWEST_NODES:
        return ""
    written = "\0".join(writer.words())
    return f"sha256:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()}"


class _Names:
    """The names of a module, class or function: those of the author's choice, and imported ones."""

    __slots__ = ("elsewhere", "known", "members", "outer", "own")

    def __init__(self, outer: _Names | None, *, members: bool = False) -> None:
        self.outer = outer
        self.members = members  # of a class; its functions don't see them
        self.own: set[str] = set()
        self.known: dict[str, str] = {}
        self.elsewhere: set[str] = set()  # global and nonlocal ones

    def find(self, name: str) -> tuple[_Names | None, str]:
        """Where a name is bound, and what it is imported as, if it is."""
        at: _Names | None = self
        while at is not None:
            if name not in at.elsewhere and (at is self or not at.members):
                if name in at.own:
                    return at, ""
                if name in at.known:
                    return at, at.known[name]
            at = at.outer
        return None, ""


class _Reference:
    """A name, a chain of attributes that begins with one, or a keyword of a call.

    What it stands for is known when everything was read.
    """

    __slots__ = ("attrs", "keyword", "name", "names")

    def __init__(self, names: _Names, name: str, attrs: Sequence[str] = (), keyword: str = "") -> None:
        self.names = names
        self.name = name
        self.attrs = attrs
        self.keyword = keyword


class _Writer:
    def __init__(self, texts: Sequence[Text]) -> None:
        self.out: list[str | tuple[_Names, str] | _Reference] = []
        self._known: dict[tuple[_Names, str], str] = {}
        self.nodes = 0
        self._members: set[str] = set()  # attributes of the program's own making
        self._numbers: dict[object, int] = {}
        self._inside = 0
        self._scopes = {text.name: _Names(None) for text in texts}
        self._names = self._scopes[texts[0].name]

    def module(self, text: Text) -> None:
        """Take in one module."""
        self._names = self._scopes[text.name]
        self.out.append("module")
        self._statements([statement for body in text.bodies for statement in body])

    # --- reading ----------------------------------------------------------------------------------

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if type(statement) in _SKIPPED:
                self._note(statement)
            elif isinstance(statement, ast.If) and _is_self_test(statement.test):
                self._statements(statement.orelse)
            elif not _does_nothing(statement):
                self._node(statement)
        self.out.append("end")

    def _note(self, node: ast.stmt) -> None:
        """A statement that says only where names come from."""
        names = self._names
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                names.known[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                names.known[alias.asname or alias.name] = f"{module}.{alias.name}"
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names.elsewhere.update(node.names)

    def _node(self, node: ast.AST) -> None:
        self.nodes += self._inside
        kind = type(node)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, node)
            return
        self.out.append(kind.__name__)
        fields = _FIELDS.get(kind)
        if fields is None:
            fields = _FIELDS[kind] = tuple([name for name in node._fields if name not in _LEFT_OUT])
        for name in fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self._node(value)
            elif isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    self._statements(value)
                    continue
                self.out.append(f"[{len(value)}")
                for item in value:
                    if isinstance(item, ast.AST):
                        self._node(item)
                    else:
                        self.out.append(str(item))
            else:
                self.out.append(str(value))

    def _name(self, node: ast.Name) -> None:
        if type(node.ctx) is not ast.Load:
            self._names.own.add(node.id)
        self.out.append((self._names, node.id))

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        # Python refuses to write very long integers in decimals.
        self.out.append(f"int {value:x}" if type(value) is int else f"{type(value).__name__} {value!r}")

    def _attribute(self, node: ast.Attribute) -> None:
        if type(node.ctx) is not ast.Load:
            self._members.add(node.attr)
        root, attrs = _chain(node)
        if isinstance(root, ast.Name):
            self.out.append(_Reference(self._names, root.id, attrs))
        else:
            self._node(root)
            self.out.append(_Reference(self._names, "", attrs))

    def _call(self, node: ast.Call) -> None:
        self.out.append(f"Call {len(node.args)} {len(node.keywords)}")
        self._node(node.func)
        for argument in node.args:
            self._node(argument)
        if node.keywords:
            root, attrs = _chain(node.func)
            name = root.id if isinstance(root, ast.Name) else ""
            for keyword in node.keywords:
                self.out.append(_Reference(self._names, name, attrs, keyword.arg or "**"))
                self._node(keyword.value)

    def _ann_assign(self, node: ast.AnnAssign) -> None:
        # As if no type stood there.
        self.out.append("Assign")
        self.out.append("[1")
        self._node(node.target)
        if node.value is not None:
            self._node(node.value)

    def _class(self, node: ast.ClassDef) -> None:
        self._names.own.add(node.name)
        self.out += ["ClassDef", _Reference(self._names, node.name)]
        for item in (*node.decorator_list, *node.bases, *node.keywords):
            self._node(item)
        saved, self._names = self._names, _Names(self._names, members=True)
        self._statements(node.body)
        self._members |= self._names.own
        self._names = saved

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        out, args = self.out, node.args
        out.append(type(node).__name__)
        if not isinstance(node, ast.Lambda):
            self._names.own.add(node.name)
            out.append(_Reference(self._names, node.name))
            for decorator in node.decorator_list:
                self._node(decorator)
        for default in (*args.defaults, *args.kw_defaults):
            if default is None:
                out.append("-")
            else:
                self._node(default)
        out.append(
            f"{len(args.posonlyargs)} {len(args.args)} {len(args.kwonlyargs)} "
            f"{args.vararg is not None} {args.kwarg is not None}"
        )
        saved, self._names = self._names, _Names(self._names)
        for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if arg is not None:
                self._names.own.add(arg.arg)
                out.append(_Reference(self._names, arg.arg))
        self._inside += 1
        if isinstance(node, ast.Lambda):
            self._node(node.body)
        else:
            self._statements(node.body)
        self._inside -= 1
        self._names = saved

    def _binding(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        """A node that binds a name which is a text."""
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        self.out.append(type(node).__name__)
        if name:
            self._names.own.add(name)
            self.out.append(_Reference(self._names, name))
        for child in ast.iter_child_nodes(node):
            self._node(child)
        self.out.append("end")

    # --- writing ----------------------------------------------------------------------------------

    def words(self) -> Iterator[str]:
        """Everything in words."""
        for item in self.out:
            if type(item) is str:
                yield item
            elif isinstance(item, _Reference):
                yield self._keyword(item) if item.keyword else self._said(item)
            elif isinstance(item, tuple):
                said = self._known.get(item)
                if said is None:
                    said = self._known[item] = self._said(_Reference(*item))
                yield said

    def _keyword(self, item: _Reference) -> str:
        """The keyword of a call: its name, unless the author chose it."""
        if item.attrs and item.attrs[-1] in self._members:
            return "keyword"
        said = self._said(item)
        return "keyword" if said.startswith(("#", "own")) and "." not in said else item.keyword

    def _said(self, item: _Reference) -> str:
        attrs = list(item.attrs)
        if not item.name:
            begin = ""
        else:
            names, known = item.names.find(item.name)
            if names is None:
                begin = item.name
            elif not known:
                begin = self._number(item.name if names.members else (names, item.name))
            else:
                begin, attrs = self._imported(known, attrs)
        return ".".join([begin, *(self._member(attr, begin) for attr in attrs)])

    def _member(self, attr: str, begin: str) -> str:
        own = attr in self._members and (not begin or begin[0] in "#o")
        return self._number(attr) if own else attr

    def _imported(self, known: str, attrs: list[str]) -> tuple[str, list[str]]:
        """The full name of what is imported; of a module of the program the number of what is taken."""
        parts = [*known.lstrip(".").split("."), *attrs]
        for count in range(len(parts) - 1, 0, -1):
            scope = self._scopes.get(".".join(parts[:count]))
            if scope is not None:
                names, deeper = scope.find(parts[count])
                rest = parts[count + 1 :]
                if deeper:
                    return f"{deeper}", rest
                return (self._number((scope, parts[count])) if names is not None else "own"), rest
        return known, attrs

    def _number(self, key: object) -> str:
        return f"#{self._numbers.setdefault(key, len(self._numbers))}"


def _chain(node: ast.expr) -> tuple[ast.expr, list[str]]:
    attrs: list[str] = []
    while isinstance(node, ast.Attribute):
        attrs.append(node.attr)
        node = node.value
    attrs.reverse()
    return node, attrs


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, ast.Expr) and type(node.value) is ast.Constant


def _is_self_test(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "__main__"
    )


_HANDLERS: dict[type[ast.AST], Callable[..., None]] = {
    ast.Name: _Writer._name,
    ast.Constant: _Writer._constant,
    ast.Attribute: _Writer._attribute,
    ast.Call: _Writer._call,
    ast.AnnAssign: _Writer._ann_assign,
    ast.ClassDef: _Writer._class,
    ast.FunctionDef: _Writer._function,
    ast.AsyncFunctionDef: _Writer._function,
    ast.Lambda: _Writer._function,
    ast.ExceptHandler: _Writer._binding,
    ast.MatchAs: _Writer._binding,
    ast.MatchStar: _Writer._binding,
    ast.MatchMapping: _Writer._binding,
}
