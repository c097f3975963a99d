"""Name resolution: which bindings a read may see, and what an expression may stand for.

The answer is a set of values, a little too large rather than too small: every binding on some path
counts. Names are canonical, so `F.softmax` is torch.nn.functional.softmax whatever F was imported as.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from grader.policy import texts
from grader.policy.folding import words
from grader.policy.program import Program, Star, absolute, unmangled
from grader.policy.rules import LONGEST_NAME, Rules
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
from grader.policy.values import (
    ANYTHING,
    GIVEN,
    OWN,
    UNKNOWN,
    Bag,
    Container,
    Function,
    Getter,
    Instance,
    Lib,
    Named,
    Namespace,
    Own,
    OwnClass,
    Partial,
    Result,
    Table,
    Unknown,
    Value,
    Values,
)

MOST_BINDINGS = 64  # beyond it, order within a scope is no longer looked at
MOST_VALUES = 64
MOST_STARS = 16
LARGEST_FAMILY = 64
MOST_STEPS = 200_000
DEEPEST = 300

_IMPORTERS = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})
_LOCATORS = frozenset({"pkgutil.resolve_name", "pydoc.locate"})
_GETTERS = {
    "operator.attrgetter": "attr",
    "operator.itemgetter": "item",
    "operator.methodcaller": "method",
}
_LOOKUPS = frozenset({"builtins.getattr", "inspect.getattr_static", "builtins.object.__getattribute__"})
# What these return is, or holds, what they are given.
_HOLDERS = words(
    """
    builtins.zip builtins.enumerate builtins.reversed builtins.sorted builtins.list builtins.tuple
    builtins.set builtins.dict builtins.iter builtins.frozenset itertools.chain itertools.cycle
    itertools.repeat collections.deque collections.OrderedDict collections.defaultdict collections.ChainMap
    types.MappingProxyType builtins.filter itertools.product itertools.zip_longest
    """
)
_PASSED_ON = words(
    """
    builtins.next builtins.max builtins.min copy.copy copy.deepcopy contextlib.nullcontext
    builtins.staticmethod builtins.classmethod builtins.property functools.lru_cache functools.cache
    functools.wraps functools.update_wrapper torch.compile torch.jit.script torch.vmap torch.func.vmap
    jax.jit jax.vmap random.choice weakref.proxy weakref.ref
    """
)
GETATTR = "__getattr__"
# What gives members of an object by their names as texts.
GETTING = frozenset({"getattr", "__getattr__", "__getattribute__", "getattr_static"})
_WRAPPED = frozenset({"__call__", "__func__", "__wrapped__", "__self__"})
# What gives all members of what it is given, with their names.
_TABLES = frozenset({"builtins.vars", "inspect.getmembers", "inspect.getmembers_static"})
_NAMESPACES = frozenset({"builtins.globals", "builtins.locals"})
# By these an object of torch is given a member under a name.
_REGISTERING = words("add_module register_module register_buffer register_parameter")
_CONTAINER_LOOKUPS = frozenset({"get", "__getitem__", "pop", "setdefault"})
_IMPORTING = words("__import__ __builtins__ builtins importlib pkgutil pydoc runpy exec eval sys modules")
_LISTINGS = frozenset({"values", "items", "copy", "popitem"})


class Lookup:
    """What a lookup by text names at one expression, next to what its value is."""

    __slots__ = ("any_attr", "any_global", "attrs", "globals", "libs", "methods", "unresolved")

    def __init__(self) -> None:
        self.libs: dict[str, list[Unit] | None] = {}  # with the calls it depends on, None when it always is
        self.methods: dict[str, Values] = {}
        self.attrs: set[str] = set()
        self.any_attr = False
        self.globals: set[tuple[ModuleScope, str]] = set()
        self.any_global: set[ModuleScope] = set()
        self.unresolved: str | None = None


class Resolver(texts.Scenery):
    """Resolves the names and expressions of one program.

    Args:
        entries: The names of the functions and classes that are asked for.
        driven: Anyone may call the methods of the program's classes, with anything.
    """

    def __init__(self, program: Program, rules: Rules, entries: Sequence[str], driven: bool) -> None:
        self.program = program
        self.rules = rules
        self.entries = frozenset(entries)
        self.texts = texts.Texts(self, program.bound_at)
        self.lookups: dict[ast.expr, Lookup] = {}
        self.consumed: set[ast.expr] = set()
        self.imported: list[tuple[str, ast.expr]] = []
        self.exhausted = False
        self.dirty = False
        self._memo: dict[ast.expr, Values] = {}
        self._seeds: dict[object, Values] = {}
        self._busy: set[object] = set()
        self._cyclic: set[object] = set()
        self._opening: set[ast.expr] = set()
        self._context: dict[Binding, ast.expr] | None = None
        self._candidates: dict[ast.Name, Sequence[Binding]] = {}
        self._all: dict[int, Sequence[Binding]] = {}
        self._shared: dict[int, Values] = {}
        self._sites: dict[Func, tuple[list[Call], bool]] = {}
        self._members: dict[str, list[tuple[Class, list[Binding]]]] = {}
        self._stores: dict[str, list[Store]] = {}
        self._items: dict[tuple[Scope, str], list[Store]] = {}
        self._bases: dict[Class, tuple[set[Class], list[str]]] = {}
        self._starred: list[Star] | None = None
        self._hiding_scopes: dict[ModuleScope, bool] = {}
        self._registered: set[str] | None = None
        self._steps = 0
        self._depth = 0
        self._warm = False
        self.driven = driven
        self.index()
        if not driven and len(self.entries) > 1:
            # A class that is asked for beside other names is there to be used.
            self.driven = any(not self._only_called(name) for name in entries)

    def index(self) -> None:
        """Make the indexes of class members and stores; again after the program took in a text."""
        program = self.program
        self._members = {}
        for cls in program.classes:
            for name, bindings in cls.scope.names.items():
                self._members.setdefault(name, []).append((cls, bindings))
        self._stores = {}
        self._items = {}
        for store in program.stores:
            if store.attr is not None:
                self._stores.setdefault(store.attr, []).append(store)
                if program.linked and (store.key is not None or store.called_on is not None):
                    # heads.table["f"] = mine: the table is known to its module by its own name.
                    for scope in program.modules.values():
                        if scope.names.get(store.attr):
                            self._items.setdefault((scope, store.attr), []).append(store)
            elif store.root is not None and store.root in program.loads:
                home = self.home(store.root)
                if home is not None:
                    for key in self._same_object(home, store.root.id):
                        self._items.setdefault(key, []).append(store)
        self._memo = {}
        self._candidates = {}
        self._all = {}
        self._shared = {}
        self._sites = {}
        self.texts = texts.Texts(self, program.bound_at)
        self._follow_containers()

    def _follow_containers(self) -> None:
        """Know what is put into a container by another name: a = table; a["f"] = mine."""
        program = self.program
        stores = [store for store in program.stores if store.root is not None and self._is_alias(store.root)]
        if not stores:
            return
        homes: dict[ast.expr, list[tuple[Scope, str]]] = {}
        for scope in program.scopes():
            for name, bindings in scope.names.items():
                for item in bindings:
                    if item.kind == "value" and item.value is not None and not item.path:
                        homes.setdefault(item.value, []).append((scope, name))
        for store in stores:
            assert store.root is not None
            for value in self.resolve(store.root):
                for key in homes.get(value.node, ()) if isinstance(value, Container) else ():
                    self._items.setdefault(key, []).append(store)
        self._memo = {}
        self._shared = {}

    def _is_alias(self, node: ast.Name) -> bool:
        """Whether a name may stand for something that was made elsewhere, and not by a call of a function.

        What a function is called with is told apart where it is called: see `Reach`.
        """
        return node in self.program.loads and any(
            item.kind in ("value", "element") and isinstance(item.value, _NAMING)
            for item in self.candidates(node)
        )

    def restart(self) -> None:
        """Forget the answers but keep them as first guesses: names that depend on each other settle."""
        self._memo = {}
        self._shared = {}
        self.dirty = False
        self.lookups = {}

    # --- scopes -----------------------------------------------------------------------------------

    def home(self, node: ast.Name) -> Scope | None:
        """The scope that a read of a name finds it in, None for builtins and starred imports."""
        load = self.program.loads[node]
        return self._home(node.id, load)[0]

    def _home(self, name: str, load: Load) -> tuple[Scope | None, bool]:
        scope: Scope | None = load.scope
        in_order = True
        while scope is not None:
            if name in scope.globals:
                module = scope.home
                return (module if module.names.get(name) else None), in_order and scope is module
            if (
                scope.names.get(name)  # an annotation alone binds nothing
                and name not in scope.nonlocals
                and (scope.kind != "class" or scope is load.scope)
            ):
                return scope, in_order
            in_order = in_order and scope.inline
            scope = scope.parent
        return None, False

    def candidates(self, node: ast.Name) -> Sequence[Binding]:
        """The bindings that a read of a name may see; empty for builtins and starred imports."""
        known = self._candidates.get(node)
        if known is None:
            known = self._candidates[node] = self._find(node)
        return known

    def _find(self, node: ast.Name) -> Sequence[Binding]:
        load = self.program.loads.get(node)
        if load is None:
            return ()
        scope, in_order = self._home(node.id, load)
        if scope is not None and scope.kind == "class" and scope.names[node.id][0].pos > load.pos:
            # A class body reads around itself what it has not bound yet: softmax = softmax.
            around = Load(scope.parent or scope, load.pos, load.block, load.unit)
            scope, in_order = self._home(node.id, around)
        if scope is None:
            return ()
        bindings = scope.names[node.id]
        if len(bindings) == 1:
            only = bindings[0]
            return () if only.block.dead and not load.block.dead else bindings
        if len(bindings) > MOST_BINDINGS:
            return self._everywhere(bindings)
        usable = [item for item in bindings if not item.block.dead or load.block.dead]
        if in_order:
            return _in_order(usable, load, scope)
        if scope.kind == "module":
            return _after_import(usable)
        return usable

    def _everywhere(self, bindings: list[Binding]) -> Sequence[Binding]:
        known = self._all.get(id(bindings))
        if known is None:
            # Among very many bindings of one name, only those that may name a library matter.
            kept = [item for item in bindings if item.kind == "import" or _may_name(item)]
            if len(kept) > MOST_BINDINGS:
                self.exhausted = True
                kept = kept[:MOST_BINDINGS]
            known = self._all[id(bindings)] = kept
        return known

    def module_bindings(self, name: str, scope: ModuleScope | None = None) -> Sequence[Binding]:
        """The bindings of a module-level name that are in force once the module has run.

        Args:
            name: The name.
            scope: The module; the submission's file when left out.
        """
        bindings = (scope or self.program.module).names.get(name, [])
        return _after_import([item for item in bindings if not item.block.dead])

    def _only_called(self, name: str) -> bool:
        """Whether a name that is asked for is surely a plain function."""
        bindings = self.module_bindings(name)
        origins = [other for item in bindings for other in self.origins(item)]
        return all(item.kind == "func" for item in origins)

    def exported(self, scope: ModuleScope, name: str) -> Sequence[Binding]:
        """The bindings of a name in a module that another module may see."""
        if scope.cyclic:
            return [item for item in scope.names.get(name, ()) if not item.block.dead]
        return self.module_bindings(name, scope)

    def origins(self, item: Binding) -> list[Binding]:
        """What a name that was taken from another module of the submission was bound by there."""
        found: dict[Binding, None] = {}
        seen = {item}
        waiting = [item]
        while waiting:
            at = waiting.pop()
            if at.kind != "member" or at.target is None:
                found[at] = None
                continue
            for other in self.exported(at.target, at.lib):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return list(found)

    def star_names(self, scope: ModuleScope, name: str) -> list[str]:
        """The library members that a name in a module may be by starred imports, or by its `__getattr__`."""
        passed = self._passed_on(scope, name)
        if not self.program.stars:
            return passed
        bindings = self.exported(scope, name)
        sure = all(item.kind != "member" or self.origins(item) for item in bindings)
        last = max((item.pos for item in bindings if item.block.parent is None), default=-1) if sure else -1
        found = [
            star.lib
            for star in self._all_stars()
            if star.home is scope and not star.block.dead and (star.pos > last or scope.cyclic)
        ]
        return [*passed, *(f"{library}.{name}" for library in dict.fromkeys(found))]

    def _passed_on(self, scope: ModuleScope, name: str) -> list[str]:
        """The library members that a name which a module may not have is by its `__getattr__`."""
        if GETATTR not in scope.names or name in (GETATTR, "__all__"):
            return []
        if any(not item.block.parent and item.kind != "del" for item in self.exported(scope, name)):
            return []
        return [f"{library}.{name}" for library in self.passing_on(scope)]

    def passing_on(self, scope: ModuleScope) -> list[str]:
        """The libraries that a module passes on whole: `__getattr__ = torch.__getattribute__`."""
        if scope in self._busy:
            return []
        self._busy.add(scope)
        try:
            values = [v for item in self.exported(scope, GETATTR) for v in self.leaves(self.binding(item))]
        finally:
            self._busy.discard(scope)
        found: list[str] = []
        for value in values:
            if isinstance(value, Lib):
                found.extend(_owner(value))
            elif isinstance(value, Partial) and value.args and _gets_members(value):
                given = self._resolve(value.args[0])
                found.extend(item.name for item in given if isinstance(item, Lib))
        return list(dict.fromkeys(found))

    def imports_by_text(self) -> bool:
        """Whether modules may be imported by their names as texts."""
        program = self.program
        return (
            not _IMPORTING.isdisjoint(program.reads)
            or not _IMPORTING.isdisjoint(program.attributes)
            or any(item.lib.split(".")[0] in _IMPORTING for item in program.import_bindings)
            or any(star.lib.split(".")[0] in _IMPORTING for star in program.stars)
        )

    def may_hand_on(self, callee: Value) -> bool:
        """Whether what a call of this gives, or does, with its arguments is not known."""
        if not isinstance(callee, Lib):
            return True
        known = (_LOOKUPS, _HOLDERS, _PASSED_ON, _PLAIN, _HARMLESS)
        return callee.name not in _GETTERS and not any(callee.name in names for names in known)

    def may_hide_in(self, scope: ModuleScope) -> bool:
        """Whether a name of a module may be a banned helper, or lead to one."""
        known = self._hiding_scopes.get(scope)
        if known is None:
            self._hiding_scopes[scope] = False  # modules that import each other add nothing
            known = self._hiding_scopes[scope] = self._may_hide_in(scope)
        return known

    def _may_hide_in(self, scope: ModuleScope) -> bool:
        if any(star.home is scope and self.rules.may_hold(star.lib) for star in self.program.stars):
            return True
        for bindings in scope.names.values():
            for item in bindings:
                if item.kind == "import" and (
                    self.rules.banned(item.lib) is not None or self.rules.may_hold(item.lib)
                ):
                    return True
                if item.target is not None and item.target is not scope and self.may_hide_in(item.target):
                    return True
        return False

    def constants(self, node: ast.expr) -> tuple[list[str], bool]:
        """The texts an expression may be, and whether that is all it may be."""
        try:
            return self.texts.names(node)
        except _TooFarError:
            self._warm_up()
        try:
            return self.texts.names(node)
        except _TooFarError:
            self.exhausted = True
            return [], False

    def members(self, attr: str) -> list[tuple[Class, list[Binding]]]:
        """The classes that define an attribute, with its bindings."""
        return self._members.get(attr, [])

    def stores(self, attr: str) -> list[Store]:
        """What is put into attributes of that name, or into containers that such attributes hold."""
        return self._stores.get(attr, [])

    def items(self, scope: Scope, name: str) -> list[Store]:
        """What is put into the container that a name of a scope holds."""
        if not self.program.linked:
            return self._items.get((scope, name), [])
        keys = self._same_object(scope, name)
        return list(dict.fromkeys(store for key in keys for store in self._items.get(key, ())))

    def _same_object(self, scope: Scope, name: str) -> list[tuple[Scope, str]]:
        """A name with those of other modules that it was taken from."""
        keys = [(scope, name)]
        if self.program.linked:
            for item in scope.names.get(name, ()):
                if item.kind == "member":
                    keys.extend((other.scope, other.name) for other in self.origins(item))
        return list(dict.fromkeys(keys))

    # --- expressions ------------------------------------------------------------------------------

    def resolve(self, node: ast.expr) -> Values:
        """What an expression may stand for."""
        known = self._memo.get(node)
        if known is not None:
            return known
        if self._depth or self._context is not None:
            return self._resolve(node)
        try:
            return self._resolve(node)
        except _TooFarError:
            pass
        self._warm_up()
        try:
            return self._resolve(node)
        except _TooFarError:
            self.exhausted = True
            self._memo[node] = ANYTHING
            return ANYTHING

    def _warm_up(self) -> None:
        # A long chain of assignments, each made from the one before, is short when taken in order.
        if self._warm:
            return
        self._warm = True
        for load in list(self.program.loads):
            try:
                self._resolve(load)
            except _TooFarError:
                continue

    def _resolve(self, node: ast.expr) -> Values:
        known = self._memo.get(node)
        if known is not None:
            return known
        if node in self._busy:
            self._cyclic.add(node)
            return (*self._seeds.get(node, ()), UNKNOWN)
        self._steps += 1
        if self._steps > MOST_STEPS:
            self.exhausted = True
            return ANYTHING
        if self._depth > DEEPEST:
            raise _TooFarError
        self._busy.add(node)
        self._depth += 1
        try:
            values = self._evaluate(node)
        finally:
            self._busy.discard(node)
            self._depth -= 1
        if node in self._cyclic:
            self._settle(node, values)
        self._memo[node] = values
        return values

    def _settle(self, node: object, values: Values) -> None:
        self._cyclic.discard(node)
        before = self._seeds.get(node, ())
        if any(value not in before and not isinstance(value, Result | Unknown | Own) for value in values):
            fresh = [
                value
                for value in values
                if isinstance(value, Named | Function | OwnClass | Instance | Container)
            ]
            if any(value not in before for value in fresh):
                self._seeds[node] = _union([before, tuple(fresh)])
                self.dirty = True

    def _evaluate(self, node: ast.expr) -> Values:
        kind = type(node)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, node)
        if kind in _CONTAINERS:
            return (Container(node),)
        if kind in _OWN_LITERALS:
            return (OWN,)
        return ANYTHING

    def _merge(self, parts: Iterable[Values]) -> Values:
        values = _union(parts)
        self._steps += len(values) >> 2
        if len(values) > MOST_VALUES:
            self.exhausted = True
            return (*values[:MOST_VALUES], UNKNOWN)
        return values

    def _name(self, node: ast.Name) -> Values:
        bindings = self.candidates(node)
        if len(bindings) == 1:
            return self.binding(bindings[0])
        if bindings:
            values = self._shared.get(id(bindings))
            if values is None:
                values = self._merge([self.binding(item) for item in bindings])
                if len(bindings) == MOST_BINDINGS and self._context is None:
                    self._shared[id(bindings)] = values
            if values:
                return values
        return self._unbound(node)

    def _unbound(self, node: ast.Name) -> Values:
        parts = [lib(f"{module}.{node.id}") for module in self.stars(node)]
        if node.id in self._stores:
            parts.extend(self.stored(node.id, None))  # builtins.name = …, sys.modules[__name__].name = …
        if node.id == "__builtins__":
            return (Lib("builtins"),)
        return self._merge(parts) if parts else (Lib(f"builtins.{node.id}"),)

    def stars(self, node: ast.Name) -> list[str]:
        """The modules of starred imports that may provide an unbound name."""
        if not self.program.stars and not self.program.own_stars:
            return []
        load = self.program.loads.get(node)
        dead = load is not None and load.block.dead
        home = load.scope.home if load is not None else None
        return [
            star.lib
            for star in self._all_stars()
            if (home is None or star.home is home) and (dead or not star.block.dead)
        ] + self._starred_through(home)

    def _starred_through(self, home: ModuleScope | None) -> list[str]:
        """The libraries that modules pass on whole whose `__all__` may name what they do not bind."""
        found = [
            library
            for star in self.program.own_stars
            if star.target is not None and (home is None or star.home is home)
            if "__all__" in star.target.names and GETATTR in star.target.names
            for library in self.passing_on(star.target)
        ]
        return list(dict.fromkeys(found))

    def _all_stars(self) -> list[Star]:
        if self._starred is None:
            self._starred = self.program.stars
            if len(self._starred) > MOST_STARS:
                self._starred = [star for star in self._starred if self.rules.may_hold(star.lib)]
                self.exhausted = self.exhausted or len(self._starred) > MOST_STARS
            self._starred = self._starred[:MOST_STARS]
        return self._starred

    def later_stars(self, node: ast.Name) -> list[str]:
        """The modules of starred imports that run after every binding of a module-level name."""
        if not self.program.stars or len(self.program.stars) > MOST_STARS:
            return []
        bindings = self.candidates(node)
        if not bindings or bindings[0].scope.kind != "module":
            return []
        home = bindings[0].scope.home
        load = self.program.loads[node]
        end = load.pos if load.scope is home else 1 << 60
        last = max((item.pos for item in bindings if item.pos < end), default=-1)
        return [
            star.lib
            for star in self.program.stars
            if star.home is home and last < star.pos < end and not star.block.dead
        ]

    def binding(self, item: Binding) -> Values:
        """What a binding may give its name."""
        kind = item.kind
        if kind == "import":
            return lib(item.lib)
        if kind == "func":
            return (Function(item.func),) if item.func is not None else ANYTHING
        if kind == "class":
            return (OwnClass(item.cls),) if item.cls is not None else ANYTHING
        if kind == "del":
            return ()
        if kind == "param":
            return self._parameter(item)
        if item.target is not None:
            return self._linked(item, item.target)
        if item.value is None:
            return ANYTHING
        values = self._resolve(item.value)
        if kind == "aug":
            node = item.node
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                return self._merge([self._resolve(node.target), _computed([values])])
            return ANYTHING
        if kind == "element":
            values = self.elements(values)
        elif kind == "entered":
            values = tuple(UNKNOWN if isinstance(v, Function) else v for v in values)
        for step in item.path:
            values = self._step(values, step)
        return values

    def _linked(self, item: Binding, target: ModuleScope) -> Values:
        """A module of the submission, or a name in it."""
        if item.kind == "module":
            return (Namespace(target),)
        if item in self._busy:
            return ()
        self._busy.add(item)
        try:
            return self.member(Namespace(target), item.lib)
        finally:
            self._busy.discard(item)

    def _step(self, values: Values, step: int | str) -> Values:
        """One step of unpacking a sequence."""
        parts: list[Values] = []
        for value in values:
            if isinstance(value, Container) and isinstance(step, int):
                found = self._element_at(value, step)
                parts.append(self.elements((value,)) if found is None else found)
            elif isinstance(value, Container | Bag):
                parts.append((value,) if step == "*" else self.elements((value,)))
            else:
                parts.append((value,))
        return self._merge(parts)

    def _element_at(self, value: Container, key: object) -> Values | None:
        """The member of a literal container under a constant key, None when that is not certain."""
        node = value.node
        if isinstance(node, ast.List | ast.Tuple):
            if isinstance(key, int) and not any(isinstance(item, ast.Starred) for item in node.elts):
                if -len(node.elts) <= key < len(node.elts):
                    return self._resolve(node.elts[key])
                return ()
        elif isinstance(node, ast.Dict):
            found: list[Values] = []
            for label, item in zip(node.keys, node.values, strict=True):
                if not isinstance(label, ast.Constant):
                    return None
                if label.value == key:
                    found.append(self._resolve(item))
            return self._merge(found)
        return None

    def elements(self, values: Values) -> Values:
        """What iterating over these values may yield, or looking up a key in them."""
        parts: list[Values] = []
        for value in values:
            if isinstance(value, Container):
                if value.node not in self._opening:  # a = [*a, b] holds what it held before
                    self._opening.add(value.node)
                    try:
                        parts.extend(self._members_of(value.node))
                    finally:
                        self._opening.discard(value.node)
            elif isinstance(value, Bag):
                parts.append(value.members)
            elif isinstance(value, Instance | OwnClass | Function | Own):
                parts.append(ANYTHING)
            else:
                parts.append((value,))
        return self._merge(parts)

    def _members_of(self, node: ast.expr) -> list[Values]:
        if isinstance(node, ast.Dict):
            return [
                self._resolve(item) if key is not None else self.elements(self._resolve(item))
                for key, item in zip(node.keys, node.values, strict=True)
            ]
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [
                self.elements(self._resolve(item.value))
                if isinstance(item, ast.Starred)
                else self._resolve(item)
                for item in node.elts
            ]
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return [self._resolve(node.elt)]
        if isinstance(node, ast.DictComp):
            return [self._resolve(node.value)]
        return [ANYTHING]

    def leaves(self, values: Values) -> Values:
        """The values themselves, with containers replaced by their members at any depth."""
        if not any(isinstance(value, Container | Bag) for value in values):
            return values
        # A container may hold itself, so each is opened once.
        found: dict[Value, None] = {}
        opened: set[object] = set()
        waiting = list(reversed(values))
        while waiting:
            value = waiting.pop()
            if isinstance(value, Container | Bag):
                key: object = value.node if isinstance(value, Container) else value
                if key not in opened and len(opened) < MOST_VALUES:
                    opened.add(key)
                    waiting.extend(reversed(self.elements((value,))))
            else:
                found[value] = None
        return self._merge([tuple(found)])

    # --- attributes -------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Values:
        return self._merge([self.member(value, node.attr) for value in self._resolve(node.value)])

    def member(self, value: Value, attr: str) -> Values:
        """What an attribute of a value may be."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            self.exhausted = True
            return ANYTHING
        if isinstance(value, Lib):
            if attr in _WRAPPED or value.name.count(f".{attr}") >= 2:
                return (value,)  # node = node.next in a loop would give ever longer names
            parts = [lib(f"{value.name}.{attr}")]
            if attr in self._stores:
                parts.extend(self.stored(attr, None))
            return self._merge(parts)
        if isinstance(value, Instance | OwnClass):
            return self._own_member(value, attr)
        if isinstance(value, Result):
            if attr in self._stores:
                return self._merge([(value,), *self.stored(attr, None)])
            return (value,)
        if isinstance(value, Namespace):
            return (value,) if attr == "__dict__" else self._module_member(value.scope, attr)
        if isinstance(value, Unknown):
            parts = [self._class_member(bindings) for _, bindings in self._members.get(attr, ())]
            parts.extend(self.stored(attr, None, any_class=True))
            return self._merge([*parts, ANYTHING])
        if isinstance(value, Function | Partial) and attr in _WRAPPED:
            return (value,)
        parts = self.stored(attr, None)
        return self._merge(parts) if parts else (OWN,)

    def _module_member(self, scope: ModuleScope, attr: str) -> Values:
        found = self.exported(scope, attr)
        parts = [self.binding(item) for item in found]
        below = self.program.modules.get(f"{scope.name}.{attr}")
        if below is not None:
            parts.append((Namespace(below),))
        parts.extend(lib(name) for name in self.star_names(scope, attr))
        if not found:
            for item in self.exported(scope, "__getattr__"):
                if item.func is not None:
                    parts.append(self._returns(item.func))
        return self._merge(parts) or ANYTHING

    def _own_member(self, value: Instance | OwnClass, attr: str) -> Values:
        family, libraries = self.family(value.cls)
        parts = [
            self._class_member(bindings) for cls, bindings in self._members.get(attr, ()) if cls in family
        ]
        parts.extend(self.stored(attr, family))
        values = self._merge(parts)
        if values:
            return values
        if attr == "__class__":
            return (OwnClass(value.cls),)
        if libraries:
            if isinstance(value, OwnClass):
                return self._merge([lib(f"{name}.{attr}") for name in libraries])
            return tuple(Result(name) for name in libraries)
        return (OWN,)

    def _class_member(self, bindings: list[Binding]) -> Values:
        # A property is read without a call; what it returns is as good a guess as the function.
        parts: list[Values] = []
        for item in bindings:
            parts.append(self.binding(item))
            if item.func is not None and _is_property(item.func):
                parts.append(self._returns(item.func))
        return self._merge(parts)

    def stored(self, attr: str, family: set[Class] | None, *, any_class: bool = False) -> list[Values]:
        """What an attribute of that name was given by assignment, on objects of these classes."""
        parts: list[Values] = []
        for store in self._stores.get(attr, ()):
            if store.called_on is not None or store.key is not None:
                continue
            if store.cls is None or any_class or (family is not None and store.cls in family):
                parts.extend(self._resolve(item) for item in store.values)
        return parts

    def is_own_attribute(self, attr: str) -> bool:
        """Whether the source itself gives some object an attribute of that name."""
        return attr in self.program.member_names or self.is_registered(attr)

    def is_registered(self, attr: str) -> bool:
        """Whether an object of torch is given a member of that name: self.add_module("relu", mine)."""
        if self._registered is None:
            self._registered = set()
            for call in [call for name in _REGISTERING for call in self.program.calls.get(name, ())]:
                if self.driven and call.args:
                    self._registered.update(self.constants(call.args[0])[0])
        return attr in self._registered

    def family(self, cls: Class) -> tuple[set[Class], list[str]]:
        """A class with its own bases and subclasses, and the library classes among its bases."""
        known = self._bases.get(cls)
        if known is not None:
            return known
        family: set[Class] = {cls}
        libraries: list[str] = []
        self._bases[cls] = found = (family, libraries)
        waiting = list(cls.bases)
        while waiting:
            base = waiting.pop()
            for value in self._resolve(base.value if isinstance(base, ast.Starred) else base):
                if isinstance(value, OwnClass) and value.cls not in family:
                    if len(family) >= LARGEST_FAMILY:
                        self.exhausted = True
                        return found
                    family.add(value.cls)
                    waiting.extend(value.cls.bases)
                elif isinstance(value, Lib | Result) and value.name != "builtins.object":
                    libraries.append(value.name)
        for other in self.program.classes:
            if other is not cls and other.bases and len(self.program.classes) <= 200:
                values = [value for base in other.bases for value in self._resolve(base)]
                if OwnClass(cls) in values:
                    family.add(other)
        return found

    # --- functions --------------------------------------------------------------------------------

    def _returns(self, func: Func) -> Values:
        if func in self._busy:
            self._cyclic.add(func)
            return (*self._seeds.get(func, ()), UNKNOWN)
        self._busy.add(func)
        try:
            values = self._merge([self._resolve(item) for item in func.returns])
        finally:
            self._busy.discard(func)
        if func in self._cyclic:
            self._settle(func, values)
        return values

    def _parameter(self, item: Binding) -> Values:
        if self._context is not None and item in self._context:
            argument = self._context[item]
            saved, self._context = self._context, None
            try:
                return self._resolve(argument)
            finally:
                self._context = saved
        func = item.func
        if func is None or item in self._busy:
            return ANYTHING
        if func.cls is not None and func.static != "staticmethod" and item.name == _first(func):
            if func.static == "classmethod":
                return (OwnClass(func.cls),)
            return (Instance(func.cls), GIVEN) if self.driven else (Instance(func.cls),)
        self._busy.add(item)
        try:
            sites, open_ended = self.call_sites(func)
            parts: list[Values] = [ANYTHING] if open_ended or not sites else []
            for site in sites:
                argument_node = texts.argument_of(site, func, item)
                parts.append(ANYTHING if argument_node is None else self._resolve(argument_node))
            if item.default is not None:
                parts.append(self._resolve(item.default))
            return self._merge(parts)
        finally:
            self._busy.discard(item)

    def call_sites(self, func: Func) -> tuple[list[Call], bool]:
        """The calls of a function, and whether it may be called from elsewhere too."""
        known = self._sites.get(func)
        if known is not None:
            return known
        sites: list[Call] = []
        if isinstance(func.node, ast.Lambda):
            direct = self.program.lambda_calls.get(func.node)
            if direct is not None:
                sites.append(direct)
        name = func.name
        if name == "__init__" and func.cls is not None:
            name = func.cls.name
        open_ended = name in self.entries or (not name and not sites) or (self.driven and is_member(func))
        if name:
            calls = self.program.calls.get(name, [])
            for other in self.program.renamed.get(name, ()):
                calls = [*calls, *self.program.calls.get(other, ())]
            if len(calls) > 4 * MOST_BINDINGS:
                self.exhausted = True
            for call in calls[: 4 * MOST_BINDINGS]:
                if self.program.unit_blocks[call.unit].dead and not func.block.dead:
                    continue
                if isinstance(call.func, ast.Name) and not self._calls(call.func, func):
                    continue
                sites.append(call)
            for read in self.program.reads.get(name, ()):
                if read not in self.program.callees and self.candidates(read):
                    open_ended = True
                    break
            if self.program.many and func.owner is None and func.cls is None:
                # Another module may take it by its name in other ways than by calling it.
                open_ended = open_ended or name in self.program.renamed or name in self.program.loose
                open_ended = open_ended or "getattr" in self.program.reads
        self._sites[func] = sites, open_ended
        return sites, open_ended

    def _calls(self, callee: ast.Name, func: Func) -> bool:
        for binding in self.candidates(callee):
            for item in (binding,) if binding.target is None else self.origins(binding):
                if item.func is func or (item.cls is not None and item.cls is func.cls):
                    return True
                if item.value is not None and item.value is func.node:
                    return True
        return False

    def library_name(self, node: ast.expr) -> str | None:
        """The canonical dotted name of a library member that an expression surely is."""
        values = self._resolve(node)
        if len(values) == 1 and isinstance(values[0], Lib):
            return values[0].name
        return None

    def dotted(self, node: ast.Attribute) -> str:
        """The canonical name that an attribute of a library has, empty when it is none."""
        for value in self.resolve(node.value):
            if isinstance(value, Lib):
                return f"{value.name}.{node.attr}"
        return ""

    def own_function(self, node: ast.expr) -> Func | None:
        """The function of the source that an expression surely is."""
        values = [value for value in self._resolve(node) if value != GIVEN]
        if len(values) == 1 and isinstance(values[0], Function):
            return values[0].func
        return None

    def attribute_values(self, node: ast.Attribute) -> list[ast.expr] | None:
        """The expressions an attribute of the student's own objects was given, None when unknown."""
        receivers = [value for value in self._resolve(node.value) if value != GIVEN]
        if any(isinstance(value, Lib | Result | Table) for value in receivers):
            return None
        found: list[ast.expr] = []
        for value in receivers:
            if isinstance(value, Namespace):
                given = [o for item in self.exported(value.scope, node.attr) for o in self.origins(item)]
                if not given:
                    return None
                for item in given:
                    if item.kind != "value" or item.value is None or item.path:
                        return None
                    found.append(item.value)
        if found:
            return found
        for _, bindings in self._members.get(node.attr, ()):
            for item in bindings:
                if item.kind != "value" or item.value is None or item.path:
                    return None
                found.append(item.value)
        for store in self._stores.get(node.attr, ()):
            found.extend(store.values)
        return found or None

    # --- calls and lookups by text ----------------------------------------------------------------

    def _call(self, node: ast.Call) -> Values:
        args = node.args
        func = node.func
        if isinstance(func, ast.Attribute):
            special = self._method_call(node, func)
            if special is not None:
                return special
        return self._call_values(self._resolve(func), args, node)

    def _method_call(self, node: ast.Call, func: ast.Attribute) -> Values | None:
        attr = func.attr
        if attr in ("__getattribute__", "__getattr__"):
            if len(node.args) == 1:
                return self._getattr(node, [func.value, node.args[0]])
            if len(node.args) == 2:
                return self._getattr(node, node.args)
        receivers = self._resolve(func.value)
        if attr in _CONTAINER_LOOKUPS and node.args:
            if any(isinstance(value, Table | Namespace | Container | Bag) for value in receivers):
                values = self._item(node, func.value, receivers, node.args[0])
                return self._merge([values, *(self._resolve(item) for item in node.args[1:])])
        elif attr in ("values", "items", "keys", "copy") and any(
            isinstance(value, Container | Bag) for value in receivers
        ):
            return (Bag(self.leaves(receivers)),)
        if attr in _LISTINGS:
            for value in receivers:
                if isinstance(value, Namespace) and not value.scope.names.get(attr):
                    self._open_lookup(self._lookup(node), value)
        return None

    def _call_values(self, callees: Values, args: list[ast.expr], node: ast.Call) -> Values:
        parts: list[Values] = []
        for value in callees:
            if isinstance(value, Lib):
                parts.append(self._library_call(value.name, args, node))
            elif isinstance(value, Function):
                parts.append(self._returns(value.func))
            elif isinstance(value, OwnClass):
                parts.append((Instance(value.cls),))
            elif isinstance(value, Instance):
                parts.append(self._instance_call(value))
            elif isinstance(value, Partial):
                parts.append(self._call_values(value.functions, [*value.args, *args], node))
            elif isinstance(value, Getter):
                parts.append(self._apply(value, args, node))
            elif isinstance(value, Result):
                parts.append((value,))
            else:
                parts.append(ANYTHING)
        return self._merge(parts)

    def _instance_call(self, value: Instance) -> Values:
        family, libraries = self.family(value.cls)
        parts: list[Values] = [tuple(Result(name) for name in libraries)]
        for name in ("__call__", "forward", "call"):
            for cls, bindings in self._members.get(name, ()):
                if cls in family:
                    parts.extend(self._returns(item.func) for item in bindings if item.func is not None)
        return self._merge(parts) or ANYTHING

    def _library_call(self, name: str, args: list[ast.expr], node: ast.Call) -> Values:
        if name in _LOOKUPS:
            return self._getattr(node, args)
        if name in _IMPORTERS:
            return self._import(name, node, args)
        if name in _LOCATORS and args:
            return self._locate(node, args[0])
        if name in _GETTERS:
            return (Getter(_GETTERS[name], args),)
        if name == "functools.partial" and args:
            return (Partial(self._resolve(args[0]), args[1:]),)
        if name == "functools.reduce" and len(args) >= 3 and self._is_getattr(args[0]):
            return self._reduce(node, args)
        if name in _TABLES and args:
            return self._merge([_table(value) for value in self._resolve(args[0])])
        if name in _NAMESPACES or name == "builtins.vars":
            return (Namespace(self._home_of(node)),)
        if name == "builtins.super":
            return self._super(node)
        if name == "builtins.type" and len(args) == 1:
            return tuple(OwnClass(v.cls) if isinstance(v, Instance) else v for v in self._resolve(args[0]))
        if name == "builtins.map" and len(args) >= 2:
            return (Bag(self._call_values(self._resolve(args[0]), [], node)),)
        if name in _HOLDERS:
            inputs = [self._resolve(_bare(item)) for item in args]
            inputs.extend(self._resolve(keyword.value) for keyword in node.keywords)
            held = self._merge([self.leaves(item) for item in inputs])
            return (Bag(held),)
        if name in _PASSED_ON:
            inner = [self.leaves(self._resolve(_bare(item))) for item in args]
            return self._merge([*inner, (Result(name),)])
        if name.startswith("builtins.") and name not in _PLAIN:
            return ANYTHING
        return (Result(name),)

    def _home_of(self, node: ast.expr) -> ModuleScope:
        """The module that an expression stands in; a call or a name."""
        unit = self.program.call_units.get(node) if isinstance(node, ast.Call) else None
        if unit is None and isinstance(node, ast.Name) and node in self.program.loads:
            unit = self.program.loads[node].unit
        return unit.home if unit is not None else self.program.module

    def _super(self, node: ast.Call) -> Values:
        load = self.program.loads.get(node.func) if isinstance(node.func, ast.Name) else None
        func = load.scope.func if load is not None else None
        while func is not None and func.cls is None:
            func = func.owner
        if func is None or func.cls is None:
            return ANYTHING
        return (Instance(func.cls),)

    def _is_getattr(self, node: ast.expr) -> bool:
        return any(isinstance(value, Lib) and value.name in _LOOKUPS for value in self._resolve(node))

    def _lookup(self, node: ast.expr) -> Lookup:
        known = self.lookups.get(node)
        if known is None:
            known = self.lookups[node] = Lookup()
        return known

    def _getattr(self, node: ast.Call, args: list[ast.expr]) -> Values:
        if len(args) < 2 or any(isinstance(item, ast.Starred) for item in args[:2]):
            if len(args) == 1 and isinstance(args[0], ast.Starred):
                self._lookup(node).unresolved = "getattr(*…)"
            return ANYTHING
        base, name = args[0], args[1]
        parts: list[Values] = []
        func, bindings = self._parameters_in(base, name)
        sites, open_ended = self.call_sites(func) if func is not None else ([], True)
        if func is not None and sites:
            # Which name goes with which library depends on the call, so each call is looked at alone.
            for site in sites:
                arguments = {
                    item: argument
                    for item in bindings
                    if (argument := texts.argument_of(site, func, item)) is not None
                }
                receivers = self._in_context(base, arguments)
                env: texts.Env = {
                    item: self.texts.values(arguments[item]) if item in arguments else [texts.UNKNOWN]
                    for item in bindings
                }
                parts.append(self._named(node, receivers, self.texts.names(name, env), site.unit))
            if not open_ended:
                return self._merge([*parts, *(self._resolve(item) for item in args[2:3])])
        parts.append(self._named(node, self._resolve(base), self.texts.names(name), None))
        return self._merge([*parts, *(self._resolve(item) for item in args[2:3])])

    def _parameters_in(self, *nodes: ast.expr) -> tuple[Func | None, list[Binding]]:
        for node in nodes:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and inner in self.program.loads:
                    for item in self.candidates(inner):
                        if item.kind == "param" and item.func is not None:
                            if item.func.cls is not None and item.name == _first(item.func):
                                continue
                            return item.func, list(item.func.params.values())
        return None, []

    def _in_context(self, node: ast.expr, arguments: dict[Binding, ast.expr]) -> Values:
        if self._context is not None:
            return self._resolve(node)
        saved_memo, saved_busy = self._memo, self._busy
        self._memo, self._busy = {}, set(saved_busy) - {node}
        self._context = arguments
        try:
            return self._resolve(node)
        finally:
            self._memo, self._busy = saved_memo, saved_busy
            self._context = None

    def _named(
        self, node: ast.expr, receivers: Values, names: tuple[list[str], bool], via: Unit | None
    ) -> Values:
        """What these receivers' members of these names are; what is named is noted at the node."""
        found, complete = names
        lookup = self._lookup(node)
        parts: list[Values] = []
        for value in receivers:
            if not complete:
                self._open_lookup(lookup, value)
                parts.append(ANYTHING)
            for name in found:
                if not name or len(name) > LONGEST_NAME:
                    continue
                if isinstance(value, Lib):
                    self._note(lookup, value.name, name, via)
                elif not isinstance(value, Namespace):
                    last = unmangled(name.rpartition(".")[2])
                    lookup.attrs.add(last)
                    lookup.methods[last] = _union([lookup.methods.get(last, ()), (value,)])
                values: Values = (value,)
                for part in map(unmangled, name.split(".")):
                    if not isinstance(value, Lib):
                        self._note_parts(lookup, values, part, via)
                    values = self._merge([self.member(item, part) for item in values])
                parts.append(values)
        return self._merge(parts) or ANYTHING

    def _note_parts(self, lookup: Lookup, values: Values, name: str, via: Unit | None) -> None:
        """Note what is looked up by its name in modules of the submission, and in what they hold."""
        for value in values:
            if isinstance(value, Namespace):
                lookup.globals.add((value.scope, name))
                for full in self.star_names(value.scope, name):
                    self._note(lookup, "", full, via)
            elif isinstance(value, Lib):
                self._note(lookup, value.name, name, via)

    def _note(self, lookup: Lookup, library: str, name: str, via: Unit | None) -> None:
        full = f"{library}.{name}" if library else name
        if via is None or lookup.libs.get(full, ()) is None:
            lookup.libs[full] = None
        else:
            units = lookup.libs.setdefault(full, [])
            if units is not None:
                units.append(via)

    def _open_lookup(self, lookup: Lookup, value: Value) -> None:
        if isinstance(value, Lib | Table):
            if not value.name or self.rules.may_hold(value.name):
                lookup.unresolved = value.name or "sys.modules"
        elif isinstance(value, Result):
            if value.name.split(".")[0] in self.rules.array_libraries:
                lookup.unresolved = f"the result of {value.name}"
        elif isinstance(value, Namespace):
            lookup.any_global.add(value.scope)
            if self.may_hide_in(value.scope):
                lookup.unresolved = value.scope.name or "the file itself"
        else:
            lookup.any_attr = True

    def _import(self, name: str, node: ast.Call, args: list[ast.expr]) -> Values:
        lookup = self._lookup(node)
        target = args[0] if args else next((k.value for k in node.keywords if k.arg == "name"), None)
        if target is None:
            return ANYTHING
        if isinstance(target, ast.Name) and target.id == "__name__":
            return (Namespace(self._home_of(target)),)
        names, complete = self.texts.names(target)
        package: list[str] = []
        for item in (*args[1:2], *(k.value for k in node.keywords if k.arg == "package")):
            package = self.texts.names(item)[0]
        if not complete:
            lookup.unresolved = "an import"
        parts: list[Values] = [] if complete else [ANYTHING]
        for module in names:
            full = module
            if module.startswith(".") and package:
                around = ModuleScope(package[0], package=True)
                full = absolute(module, around) or module
            # __import__("a.b") gives a, unless it is asked for members of b.
            whole = (
                name == "importlib.import_module"
                or len(args) > 3
                or any(keyword.arg == "fromlist" for keyword in node.keywords)
            )
            wanted = full if whole else full.split(".")[0]
            own = self._own_module(wanted)
            parts.append(own)
            if own and not self.program.is_real(full):
                continue
            self.imported.append((full, node))
            parts.append(lib(wanted))
        return self._merge(parts)

    def _own_module(self, name: str) -> Values:
        scope = self.program.modules.get(name)
        return (Namespace(scope),) if scope is not None else ()

    def _locate(self, node: ast.Call, target: ast.expr) -> Values:
        names, complete = self.texts.names(target)
        lookup = self._lookup(node)
        if not complete:
            lookup.unresolved = "an import"
        parts: list[Values] = [] if complete else [ANYTHING]
        for name in names:
            dotted = name.replace(":", ".")
            root, *rest = dotted.split(".")
            own = self._own_module(root)
            if own:
                if rest:
                    own = self._named(node, own, ([".".join(rest)], True), None)
                parts.append(own)
                if not self.program.is_real(root):
                    continue
            self._note(lookup, "", dotted, None)
            self.imported.append((name.split(":")[0].split(".")[0], node))
            parts.append(lib(dotted))
        return self._merge(parts)

    def _reduce(self, node: ast.Call, args: list[ast.expr]) -> Values:
        chains: list[str] = []
        complete = True
        for value in self.texts.values(args[1]):
            if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
                chains.append(".".join(str(item) for item in value))
            elif isinstance(value, str):
                chains.append(".".join(value))
            else:
                complete = False
        return self._named(node, self._resolve(args[2]), (chains, complete), None)

    def _apply(self, getter: Getter, args: list[ast.expr], node: ast.Call) -> Values:
        if not getter.args or not args:
            return ANYTHING
        if getter.kind == "item":
            return self._item(node, args[0], self._resolve(args[0]), getter.args[0])
        receivers = self._resolve(args[0])
        wanted = getter.args if getter.kind == "attr" else getter.args[:1]
        values = self._merge([self._named(node, receivers, self.texts.names(item), None) for item in wanted])
        if getter.kind == "method":
            return tuple(Result(value.name) if isinstance(value, Named) else UNKNOWN for value in values)
        return values

    # --- items ------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Values:
        receivers = self._resolve(node.value)
        if isinstance(node.slice, ast.Slice):
            return receivers
        return self._item(node, node.value, receivers, node.slice)

    def _item(self, node: ast.expr, base: ast.expr, receivers: Values, key: ast.expr) -> Values:
        parts: list[Values] = []
        for value in receivers:
            if isinstance(value, Table):
                self.consumed.add(base)
                parts.append(self._table_item(node, value, key))
            elif isinstance(value, Namespace):
                parts.append(self._named(node, (value,), self.texts.names(key), None))
            elif isinstance(value, Container):
                found = None
                for constant in self.texts.keys(key):
                    found = None if constant is texts.UNKNOWN else self._element_at(value, constant)
                    if found is None:
                        break
                    parts.append(found)
                if found is None:
                    parts.append(self.elements((value,)))
            elif isinstance(value, Bag):
                parts.append(value.members)
            elif isinstance(value, Lib):
                # A library object that is looked up by text, as torch.ops.aten["gelu"].
                names, complete = self.texts.names(key)
                parts.append((Result(value.name),) if names else (Result(value.name), value))
                if names and complete and (value.name == "builtins" or self.rules.may_hold(value.name)):
                    parts.append(self._named(node, (value,), (names, True), None))
            elif isinstance(value, Result):
                parts.append((value,))
                if self.driven and any(isinstance(v, Result) and v.name.endswith("Dict") for v in receivers):
                    continue  # a torch.nn.ModuleDict, whose keys are of the student's choosing
                for name in self.texts.names(key)[0]:
                    self._lookup(node).methods[name] = (value,)  # type(t).__dict__["softmax"]
            elif isinstance(value, OwnClass | Instance):
                names, complete = self.texts.names(key)
                if isinstance(value, OwnClass):
                    parts.append(self._named(node, (value,), (names, complete), None))
                parts.append(ANYTHING)
            else:
                parts.append(ANYTHING)
        parts.extend(self._stored_items(base))
        return self._merge(parts)

    def _stored_items(self, base: ast.expr) -> list[Values]:
        """What was put into the container that an expression names."""
        stores: list[Store] = []
        if isinstance(base, ast.Name) and base in self.program.loads:
            home = self.home(base)
            if home is not None:
                stores = self.items(home, base.id)
        elif isinstance(base, ast.Attribute):
            stores = [s for s in self._stores.get(base.attr, ()) if s.key is not None or s.called_on]
            if self.program.linked:
                for value in self._resolve(base.value):
                    if isinstance(value, Namespace):
                        stores.extend(self.items(value.scope, base.attr))
        parts: list[Values] = []
        for store in stores[: 4 * MOST_BINDINGS]:
            for item in store.values:
                values = self._resolve(item)
                parts.append(self.leaves(values) if store.called_on is not None else values)
        return parts

    def _table_item(self, node: ast.expr, table: Table, key: ast.expr) -> Values:
        if not table.name and isinstance(key, ast.Name) and key.id == "__name__":
            return (Namespace(self._home_of(key)),)
        names, complete = self.texts.names(key)
        lookup = self._lookup(node)
        if not complete:
            self._open_lookup(lookup, table)
        parts: list[Values] = [] if complete else [ANYTHING]
        for name in names:
            if len(name) > LONGEST_NAME:
                continue
            own = self._own_module(name) if not table.name else ()
            parts.append(own)
            if own and not self.program.is_real(name):
                continue
            self._note(lookup, table.name, name, None)
            parts.append(lib(f"{table.name}.{name}" if table.name else name))
        return self._merge(parts)

    # --- other expressions ------------------------------------------------------------------------

    def _bin_op(self, node: ast.BinOp) -> Values:
        parts = [node.right]
        left = node.left
        while isinstance(left, ast.BinOp):
            parts.append(left.right)
            left = left.left
        parts.append(left)
        return _computed([self._resolve(part) for part in reversed(parts)])

    def _unary(self, node: ast.UnaryOp) -> Values:
        return _computed([self._resolve(node.operand)])

    def _either(self, node: ast.IfExp) -> Values:
        return self._merge([self._resolve(node.body), self._resolve(node.orelse)])

    def _any_of(self, node: ast.BoolOp) -> Values:
        return self._merge([self._resolve(item) for item in node.values])

    def _inner(self, node: ast.NamedExpr | ast.Starred | ast.Await) -> Values:
        return self._resolve(node.value)

    def _lambda(self, node: ast.Lambda) -> Values:
        return (Function(self.program.lambdas[node]),) if node in self.program.lambdas else ANYTHING


class _TooFarError(Exception):
    """The chain of definitions behind an expression is longer than one may follow at once."""


_CONTAINERS = frozenset(
    {ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)
_NAMING = (ast.Name, ast.Attribute, ast.IfExp, ast.BoolOp, ast.NamedExpr)
_OWN_LITERALS = frozenset({ast.Constant, ast.JoinedStr})
# Builtins that never return what they are given.
_PLAIN = words(
    """
    builtins.len builtins.range builtins.int builtins.float builtins.str builtins.print builtins.isinstance
    builtins.abs builtins.round builtins.bool builtins.bytes builtins.repr builtins.any builtins.all
    """
)
_HARMLESS = words(
    """
    builtins.vars builtins.dir builtins.setattr builtins.delattr builtins.hasattr builtins.type builtins.id
    builtins.map builtins.callable builtins.issubclass functools.partial functools.reduce importlib.reload
    inspect.getsource inspect.getfile inspect.getdoc builtins.help builtins.super
    """
)
_HANDLERS: dict[type[ast.expr], Callable[..., Values]] = {
    ast.Name: Resolver._name,
    ast.Attribute: Resolver._attribute,
    ast.Call: Resolver._call,
    ast.Subscript: Resolver._subscript,
    ast.BinOp: Resolver._bin_op,
    ast.UnaryOp: Resolver._unary,
    ast.IfExp: Resolver._either,
    ast.BoolOp: Resolver._any_of,
    ast.NamedExpr: Resolver._inner,
    ast.Starred: Resolver._inner,
    ast.Await: Resolver._inner,
    ast.Lambda: Resolver._lambda,
}


def lib(name: str) -> Values:
    """The value of a library member; namespaces are told apart from what they hold."""
    if name == "sys.modules":
        return (Table(""),)
    if name.endswith(".__dict__"):
        return (Table(name.removesuffix(".__dict__")),)
    if name.endswith(".__globals__"):
        return (Table(name.removesuffix(".__globals__").rpartition(".")[0]),)
    if name.startswith("builtins.__builtins__"):
        return (Lib("builtins" + name.removeprefix("builtins.__builtins__")),)
    return (Lib(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME]),)


def _gets_members(value: Partial) -> bool:
    return any(isinstance(f, Lib) and f.name.rpartition(".")[2] in GETTING for f in value.functions)


def _owner(value: Lib) -> list[str]:
    """The library whose members a function of it gives."""
    owner, _, last = value.name.rpartition(".")
    return [owner] if owner and last in ("__getattr__", "__getattribute__") else []


def _union(parts: Iterable[Values]) -> Values:
    listed = [part for part in parts if part]
    if not listed:
        return ()
    if len(listed) == 1:
        return listed[0]
    return tuple(dict.fromkeys(value for part in listed for value in part))


def _computed(parts: Sequence[Values]) -> Values:
    """What arithmetic on values gives: an array when one of them is, a container when they all are."""
    kept: list[Value] = []
    for part in parts:
        for value in part:
            if isinstance(value, Result | Container | Bag | Unknown | Getter):
                kept.append(value)
            elif isinstance(value, Instance):
                kept.append(UNKNOWN)
    return tuple(dict.fromkeys(kept)) or (OWN,)


def _table(value: Value) -> Values:
    if isinstance(value, Lib):
        return (Table(value.name),)
    if isinstance(value, Namespace):
        return (value,)
    return ANYTHING


def _bare(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def is_member(func: Func) -> bool:
    """Whether a class has a function as a member: a method, or a lambda that a name of the class holds."""
    return func.cls is not None or (func.scope.parent is not None and func.scope.parent.kind == "class")


def _first(func: Func) -> str | None:
    return next(iter(func.params), None)


def _is_property(func: Func) -> bool:
    node = func.node
    return not isinstance(node, ast.Lambda) and any(
        "property" in (item.id if isinstance(item, ast.Name) else getattr(item, "attr", ""))
        for item in node.decorator_list
    )


def _may_name(item: Binding) -> bool:
    """Whether a binding may give its name a library member or a function of one."""
    return item.kind != "value" or not isinstance(item.value, ast.Constant | ast.BinOp | ast.JoinedStr)


def _contains(outer: Block, inner: Block) -> bool:
    at: Block | None = inner
    while at is not None:
        if at is outer:
            return True
        at = at.parent
    return False


def _in_order(bindings: list[Binding], load: Load, scope: Scope) -> Sequence[Binding]:
    """The bindings that reach a read in the same run of a scope: the last sure one, and any unsure since."""
    sure: Binding | None = None
    for item in bindings:
        if item.pos < load.pos and item.owner is scope.func and _contains(item.block, load.block):
            sure = item
    start = sure.pos if sure is not None else -1
    loop: Loop | None = load.block.loop
    outermost: Loop | None = None
    while loop is not None:
        if loop.start > start:
            outermost = loop
        loop = loop.parent
    end = outermost.end if outermost is not None else load.pos
    found = [
        item for item in bindings if start <= item.pos < end or item.owner is not scope.func or item.late
    ]
    return found or bindings


def _after_import(bindings: list[Binding]) -> Sequence[Binding]:
    """The module-level bindings in force once the module has run: a later, unconditional one wins."""
    sure: Binding | None = None
    for item in bindings:
        if item.owner is None and item.block.parent is None:
            sure = item
    if sure is None:
        return bindings
    return [item for item in bindings if item.pos >= sure.pos or item.owner is not None]
