"""Reach: which code a use of the entry points can run.

Reach follows references, not calls: what live code names is live. A module-level value is live when its
name is, a method when its class and its name are, a stored attribute when some live code reads one of
that name. So a self-test, a demo and a function that nothing names stay out.

Where the exercise's author uses what the entry points give, every member of a live class is live, whether
the submission reads its name or not, and so is what is put into attributes of live objects. A class that
live code does not name stays out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from grader.policy.names import MOST_BINDINGS, Lookup, Resolver
from grader.policy.scopes import Binding, Call, Class, Func, ModuleScope, Scope, Store, Unit
from grader.policy.values import (
    GIVEN,
    Bag,
    Container,
    Function,
    Instance,
    Lib,
    Namespace,
    OwnClass,
    Partial,
    Result,
    Table,
    Unknown,
    Value,
)

# What a library calls by itself on a class made from one of its own.
_CALLED_BACK = frozenset({"forward", "call", "build", "setup", "backward", "setup_context", "compute_output"})
_BINDING_BY_TEXT = frozenset({"exec", "eval", "globals", "locals", "setattr", "modules"})
_CONTAINER_MAKERS = (
    *(
        "builtins.",
        "collections.",
        "concurrent.futures.Future",
        "queue.",
        "contextvars.",
        "weakref.",
        "functools.",
    ),
    *("contextlib.", "types."),
)
# What is given to these is called later, by Python or a library itself.
_CALLED_LATER = frozenset(
    {
        *("gc.callbacks.append", "gc.callbacks.insert", "gc.callbacks.extend", "gc.callbacks.__iadd__"),
        *("signal.signal", "sys.addaudithook", "sys.settrace", "sys.setprofile", "sys.set_asyncgen_hooks"),
        *("sys.monitoring.register_callback", "threading.settrace", "threading.setprofile"),
        *("weakref.finalize", "weakref.ref", "weakref.proxy", "weakref.WeakMethod"),
        *("codecs.register", "codecs.register_error", "copyreg.pickle", "copyreg.constructor"),
        *("numpy.seterrcall", "numpy.set_printoptions", "numpy.set_string_function"),
        *("sys.meta_path.append", "sys.meta_path.insert", "sys.path_hooks.append", "sys.path_hooks.insert"),
    }
)
# By these a torch module's calls are met by functions that are given once for all modules.
_ALL_MODULES = frozenset(
    f"torch.nn.modules.module.register_module_{event}"
    for event in ("forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook")
) | {"torch.nn.modules.module.register_module_module_registration_hook"}
_SETTING = frozenset(
    {
        *("builtins.setattr", "builtins.type.__setattr__", "builtins.object.__setattr__"),
        "functools.update_wrapper",
    }
)
_BY_VALUE = frozenset({"__setattr__", "update_wrapper"})
# By these an exception is met without a handler's name.
_CAUGHT = frozenset(
    {"exc_info", "exception", "last_value", "last_exc", "__context__", "__cause__", "__exit__"}
)

# By these annotations are read, also those that are texts.
_ANNOTATING = frozenset({"get_type_hints", "get_annotations", "signature", "__annotations__"})
_BUILTINS = Lib("builtins")
# What Python calls with a class that is being made.
_MAKING = frozenset({"__init__", "__new__", "__init_subclass__", "__prepare__"})


class Reach:
    """The live code from some starting points, as a fixed point."""

    def __init__(self, resolver: Resolver, *, hiding: bool, at_import: bool = False) -> None:
        self.resolver = resolver
        self.program = resolver.program
        self.units: set[Unit] = set()
        self.nodes: set[ast.expr] = set()  # live by themselves, in a unit that is not
        self.imports: set[Binding] = set()  # reached without a read of their name
        self.attrs: set[str] = set()
        self._any_global: set[ModuleScope] = set()
        self._wholes: set[ModuleScope] = set()
        self._classes: set[Class] = set()
        self._done: set[tuple[Binding, object]] = set()
        self._crowds: set[int] = set()
        self._named: set[tuple[Scope, str, str | None]] = set()
        self._stored: set[Store] = set()
        self._passed: set[Func] = set()
        self._waiting: list[Unit] = []
        self._hiding = hiding
        self._at_import = at_import
        self._executed: set[Func] | None = None
        self._met = False  # an exception
        self._driven = resolver.driven and not at_import
        self.any_attr = self._driven
        self._postponed: dict[Func, dict[Binding, None]] = {}  # bound by functions that have not run yet
        self._parents: set[ast.expr] | None = None

    # --- starting points --------------------------------------------------------------------------

    def from_entries(self, entries: Iterable[str]) -> None:
        """Everything a call of the entry points can run; where they are driven, every use of them."""
        found = [self.resolver.module_bindings(entry) for entry in entries]
        bindings = [binding for some in found for binding in some]
        for binding in (*bindings, *self.resolver.module_bindings("__getattr__")):
            self._indirect(binding)
        if self._driven:
            for binding in bindings:
                if binding.kind == "module" and binding.target is not None:
                    self._whole(binding.target)
        for scope in self.program.modules.values():
            for binding in self.resolver.exported(scope, "__getattr__"):
                self._indirect(binding)
        if not all(found):
            self._from_elsewhere()
        for store in self.program.stores:
            # Python or a library looks these up by itself: __defaults__, __call__, forward.
            attr = store.attr or ""
            if attr in _CALLED_BACK or (attr.startswith("__") and attr.endswith("__")):
                self._store(store)
            elif not self.resolver.exhausted and self._in_library(store):
                self._store(store)
                for value in store.values:
                    self._given(value)
        self._called_later()
        if self._driven:
            self._set_by_value()
        self._run()

    def _set_by_value(self) -> None:
        """What is put into objects by a `setattr` that goes by another name, is passed on, or gets *these."""
        program = self.program
        loose = any(node not in program.callees for node in program.reads.get("setattr", ()))
        starred = any(map(_is_starred, program.calls.get("setattr", ())))
        if not loose and not starred and _BY_VALUE.isdisjoint(program.attributes | program.calls.keys()):
            return
        for call, unit in list(program.call_units.items()):
            if unit.dead or (unit.func is not None and not self._ran(unit.func)):
                continue
            if isinstance(call.func, ast.Name) and call.func.id == "setattr" and not _is_starred(call):
                continue  # see `Program._stored`
            given = [item.value if isinstance(item, ast.Starred) else item for item in call.args]
            if any(
                self._sets(value) for node in (call.func, *given) for value in self.resolver.resolve(node)
            ):
                self._alone(call)

    def _sets(self, value: Value) -> bool:
        if isinstance(value, Partial):
            return any(map(self._sets, value.functions))
        return isinstance(value, Lib) and value.name in _SETTING

    def _in_library(self, store: Store) -> bool:
        """Whether a value is put into a module or class of a library, where anything may use it."""
        if store.into is None or store.unit.dead:
            return False
        values = self.resolver.resolve(store.into)
        if store.called_on is not None:
            return any(isinstance(value, Table) or value == _BUILTINS for value in values)
        return any(isinstance(value, Lib | Table) for value in values)

    def _called_later(self) -> None:
        """What was given to Python or to a library to be called at some time."""
        names = _CALLED_LATER | _ALL_MODULES if self._driven else _CALLED_LATER
        for last in {name.rpartition(".")[2] for name in names} & self.program.calls.keys():
            for call in self.program.calls[last]:
                func = call.unit.func
                if call.unit.dead or (func is not None and not self._ran(func)):
                    continue
                values = self.resolver.resolve(call.func)
                if any(isinstance(value, Lib) and value.name in names for value in values):
                    if call.decorated is not None:
                        self._indirect(call.decorated)
                    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                        self._alone(argument)
                        self._given(argument)

    def _given(self, node: ast.expr) -> None:
        """What is given to a library: of an object of the submission it may use any member."""
        for value in self.resolver.leaves(self.resolver.resolve(node)):
            if isinstance(value, Instance | OwnClass):
                self._class(value.cls)
                self._members(value.cls, value.cls.scope.names)

    def _from_elsewhere(self) -> None:
        """The entry point may still come into being in a way that has no name in the source."""
        program = self.program
        dynamic = not _BINDING_BY_TEXT.isdisjoint(program.reads) or "modules" in program.attributes
        starred = any(not star.block.dead for star in program.stars)
        if dynamic or starred:
            for scope in {program.module, *program.modules.values()}:
                self._every_global(scope)

    def from_module(self) -> None:
        """Everything that importing the module can run."""
        loaded = self.program.loaded()
        if self.resolver.imports_by_text():
            loaded |= set(self.program.modules.values())
        for unit in self.program.units:
            if unit.func is None and not unit.dead and unit.home in loaded:
                self._unit(unit)
        self._run()

    def executed(self) -> set[Func]:
        """The functions that importing the module may call."""
        if self._executed is None:
            walk = Reach(self.resolver, hiding=self._hiding, at_import=True)
            walk.from_module()
            if self._driven:
                # A function of which only a stored value was reached did not run.
                self._executed = {func for func in self.program.funcs if func.body in walk.units}
            else:
                self._executed = {unit.func for unit in walk.units if unit.func is not None}
        return self._executed

    def store_unnamed(self, store: Store) -> None:
        """A value stored under a name that cannot be told may be what any attribute reads."""
        self._store(store)
        self._run()

    def add(self, unit: Unit) -> None:
        """One more live unit."""
        self._unit(unit)
        self._run()

    # --- the fixed point --------------------------------------------------------------------------

    def _run(self) -> None:
        while self._waiting:
            unit = self._waiting.pop()
            for child in unit.children:
                self._unit(child)
            for node in unit.items:
                self._node(node)
            if unit.func is not None and unit.func in self._postponed:
                for binding in self._postponed.pop(unit.func):
                    self._binding(binding)
            if self._driven and not self._waiting:
                self._met_elsewhere()

    def _met_elsewhere(self) -> None:
        """What is a member of live classes and objects without being named by live code."""
        for store in self.program.stores:
            named = store.attr is not None or store.attr_expr is not None
            if named and store not in self._stored and self._is_met(store):
                self._store(store)
        for cls in self.program.classes:
            if cls not in self._classes and self._is_registered(cls):
                self._class(cls)

    def _is_met(self, store: Store) -> bool:
        """Whether the object that a value is put into may be live."""
        receiver = store.receiver if store.receiver is not None else store.into
        if receiver is None:
            return True
        values = [value for value in self.resolver.resolve(receiver) if value != GIVEN]
        for value in values:
            if isinstance(value, Instance | OwnClass):
                if not self._classes.isdisjoint(self.resolver.family(value.cls)[0]):
                    return True
            elif not isinstance(value, Function) or value.func.body in self.units:
                return True
        return not values

    def _is_registered(self, cls: Class) -> bool:
        """Whether live code gets to know of a class as it is made: by a decorator, a hook, its metaclass."""
        func = cls.header.func
        if cls.header.dead or (func is not None and not self._ran(func)):
            return False
        if func is not None and func.body in self.units and (cls.decorated or cls.node.keywords):
            return True
        if not cls.bases:
            return False
        known = self.resolver.family(cls)[0] & self._classes
        if known and "__subclasses__" in self.program.attributes:
            return True
        return any("__init_subclass__" in other.scope.names or self._has_own_type(other) for other in known)

    def _has_own_type(self, cls: Class) -> bool:
        """Whether a class has a metaclass that is no library's."""
        types = [keyword.value for keyword in cls.node.keywords if keyword.arg in ("metaclass", None)]
        return any(
            not isinstance(value, Lib | Result) for node in types for value in self.resolver.resolve(node)
        )

    def _made_by(self, maker: Class, *, by_hook: bool) -> Iterator[Class]:
        """The classes that a class gets to know as they are made: subclasses, or those it is the type of."""
        makers = {OwnClass(other) for other in self.resolver.family(maker)[0]}
        for cls in self.program.classes:
            family = self.resolver.family(cls)[0]
            types = [keyword.value for other in family for keyword in other.node.keywords]
            if by_hook:
                if maker in family:
                    yield cls
            elif any(not makers.isdisjoint(self.resolver.resolve(node)) for node in types):
                yield cls

    def _whole(self, scope: ModuleScope) -> None:
        """A module of the submission that someone else may have as an object."""
        if scope in self._wholes:
            return
        self._wholes.add(scope)
        for name in list(scope.names):
            self._global(scope, name)

    def _is_whole(self, node: ast.expr) -> bool:
        """Whether an expression is used for itself, and not only for one of its members."""
        if self._parents is None:
            self._parents = self.program.looked_into()
        return node not in self._parents and node not in self.program.members_tested

    def _unit(self, unit: Unit) -> None:
        if unit not in self.units and not unit.dead:
            self.units.add(unit)
            self._waiting.append(unit)

    def _node(self, node: ast.expr) -> None:
        if self._driven and self._hiding and self._is_whole(node):
            for value in self.resolver.resolve(node):
                if isinstance(value, Namespace):
                    self._whole(value.scope)
        if isinstance(node, ast.Name):
            self._read(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif self._hiding and isinstance(node, ast.Call | ast.Subscript):
            self.resolver.resolve(node)
            lookup = self.resolver.lookups.get(node)
            if lookup is not None:
                self._lookup(lookup)
            if isinstance(node, ast.Call) and self._lists_attributes(node):
                self._every_attribute()

    def _lists_attributes(self, node: ast.Call) -> bool:
        named = isinstance(node.func, ast.Name) and node.func.id in ("vars", "dir")
        return named and bool(node.args) and self._is_own(node.args[0])

    def _read(self, node: ast.Name) -> None:
        bindings = self.resolver.candidates(node)
        if any(item.kind == "import" and item.lib.rpartition(".")[2] in _ANNOTATING for item in bindings):
            self._attr("__annotations__")
        if not bindings:
            for store in self.resolver.stores(node.id):  # put into builtins or into the module itself
                self._store(store)
            return
        if len(bindings) >= MOST_BINDINGS:
            if id(bindings) in self._crowds:
                return
            self._crowds.add(id(bindings))
        keyed = node in self.program.keyed
        key = self.program.keyed.get(node)
        for binding in bindings:
            if keyed and binding.parts:
                self._part(binding, key)
            else:
                self._binding(binding)
        home = bindings[0].scope
        # Of a dictionary that is written as one, an item of another name is another item.
        named = key if isinstance(key, str) and all(map(_is_dictionary, bindings)) else None
        if (home, node.id, named) not in self._named:
            self._named.add((home, node.id, named))
            for store in self.resolver.items(home, node.id):
                stored = store.key.value if isinstance(store.key, ast.Constant) else None
                other = isinstance(store.into, ast.Name) and isinstance(stored, str) and stored != named
                if named is None or not other:
                    self._store(store)

    def _part(self, binding: Binding, key: object) -> None:
        unit = binding.parts.get(key)
        if unit is not None:
            self._unit(unit)

    def _binding(self, binding: Binding) -> None:
        if (binding, None) in self._done:
            return
        self._done.add((binding, None))
        owner = binding.owner
        if owner is not None and owner is not binding.scope.func:
            if not self._ran(owner):
                if self._driven:
                    self._done.discard((binding, None))
                    self._postponed.setdefault(owner, {})[binding] = None
                return
            if binding.value is not None and self._kept_at_import(owner, [binding.value]):
                self._passed_in(owner)
        for unit in binding.units:
            self._unit(unit)
        met_in = binding.func.name if binding.func is not None else ""
        if isinstance(binding.node, ast.ExceptHandler) or met_in in _CAUGHT:
            self._raised()
        if binding.func is not None and binding.kind == "func":
            self._unit(binding.func.header)
            self._unit(binding.func.body)
        if binding.cls is not None:
            self._class(binding.cls)
        if binding.kind == "member" and binding.target is not None:
            self._global(binding.target, binding.lib)

    def _raised(self) -> None:
        """What exceptions hold, once one of them may be met."""
        if self._met:
            return
        self._met = True
        for unit in self.program.raised:
            # With a function that is live comes what it raises.
            if unit.func is None or (not self._at_import and self._ran(unit.func)):
                self._unit(unit)

    def _indirect(self, binding: Binding) -> None:
        """A binding that is reached by its name as a text, or as a member."""
        if binding.kind == "import":
            self.imports.add(binding)
        self._binding(binding)
        for store in self.resolver.items(binding.scope, binding.name):
            self._store(store)

    def _ran(self, func: Func) -> bool:
        return self._at_import or func.body in self.units or func in self.executed()

    # --- classes and attributes -------------------------------------------------------------------

    def _class(self, cls: Class) -> None:
        if cls in self._classes:
            return
        self._classes.add(cls)
        self._unit(cls.header)
        self._unit(cls.body)
        if self._driven:
            for unit in self.program.class_stores.get(cls, ()):
                self._unit(unit)
        _, libraries = self.resolver.family(cls)
        called_back = False
        for library in libraries:
            root = library.split(".")[0]
            if root in self.resolver.rules.array_libraries or root in self.resolver.rules.roots:
                called_back = True
            elif library not in ("abc.ABC", "typing.Protocol", "typing.Generic"):
                # A thread, an enumeration, a visitor: its library may use any member.
                self._members(cls, cls.scope.names)
                return
        for name in cls.scope.names:
            special = name.startswith("__") and name.endswith("__")
            if special or self.any_attr or name in self.attrs or (called_back and name in _CALLED_BACK):
                self._members(cls, [name])

    def _members(self, cls: Class, names: Iterable[str]) -> None:
        for name in names:
            for binding in cls.scope.names[name]:
                self._indirect(binding)

    def _attribute(self, node: ast.Attribute) -> None:
        attr = node.attr
        if attr in _CAUGHT:
            self._raised()
        if attr in _ANNOTATING:
            self._attr("__annotations__")
        if attr == "__match_args__" and self.resolver.members(attr):
            self._every_attribute()
        resolver = self.resolver
        if not self._hiding and not resolver.members(attr) and not resolver.stores(attr):
            if attr == "__annotations__":
                self._attr(attr)
            return
        values = resolver.resolve(node.value)
        if attr == "__dict__" and self._is_own(node.value):
            self._every_attribute()
        for value in values:
            if isinstance(value, Namespace):
                self._global(value.scope, attr)
        if attr in self.attrs:
            return
        if values and all(isinstance(value, Lib | Result) for value in values):
            # A library's own attribute; only what the source stored there is of interest.
            for store in self.resolver.stores(attr):
                self._store(store)
            return
        self._attr(attr)

    def _attr(self, attr: str) -> None:
        if attr in self.attrs:
            return
        self.attrs.add(attr)
        for cls, bindings in self.resolver.members(attr):
            if cls in self._classes:
                for binding in bindings:
                    self._indirect(binding)
        for store in self.resolver.stores(attr):
            self._store(store)
        if attr == "__annotations__":
            for unit in self.program.annotations:
                self._unit(unit)

    def _every_attribute(self) -> None:
        if self.any_attr:
            return
        self.any_attr = True
        for cls in list(self._classes):
            self._members(cls, cls.scope.names)
        for store in self.program.stores:
            if store.attr is not None:
                self._store(store)

    def _is_own(self, node: ast.expr) -> bool:
        return not any(isinstance(value, Lib | Result | Namespace) for value in self.resolver.resolve(node))

    # --- lookups by text --------------------------------------------------------------------------

    def _lookup(self, lookup: Lookup) -> None:
        for scope, name in lookup.globals:
            self._global(scope, name)
        for attr in lookup.attrs:
            self._attr(attr)
        for full in lookup.libs:
            for store in self.resolver.stores(full.rpartition(".")[2]):
                self._store(store)
        if lookup.any_attr:
            self._every_attribute()
        for scope in lookup.any_global:
            self._every_global(scope)

    def _global(self, scope: ModuleScope, name: str) -> None:
        bindings = self.resolver.exported(scope, name)
        if not bindings:  # locals()["f"]
            bindings = [item for func in self.program.funcs for item in func.scope.names.get(name, ())]
        for binding in bindings:
            self._indirect(binding)
        for store in self.resolver.stores(name):
            self._store(store)

    def _every_global(self, scope: ModuleScope) -> None:
        if scope in self._any_global:
            return
        self._any_global.add(scope)
        for name, bindings in scope.names.items():
            if any(binding.kind not in ("import", "module", "member") for binding in bindings):
                self._global(scope, name)

    # --- what is put into attributes and containers -----------------------------------------------

    def _store(self, store: Store) -> None:
        if store in self._stored or store.unit.dead:
            return
        func = store.unit.func
        if func is not None and not self._ran(func):
            return
        if store.called_on is not None and not self._keeps(store.called_on):
            return
        self._stored.add(store)
        self._unit(store.unit)
        if func is not None and (func.body not in self.units or self._kept_at_import(func, store.values)):
            self._passed_in(func)

    def _keeps(self, receiver: ast.expr) -> bool:
        """Whether a method called on this may keep its arguments: a container, a model, who knows what."""
        for value in self.resolver.resolve(receiver):
            if isinstance(value, Container | Bag | Table | Unknown) or value == _BUILTINS:
                return True
            if isinstance(value, Function) and getattr(value.func.node, "decorator_list", None):
                return True  # functools.singledispatch, or another decorator, may have given it methods
            if isinstance(value, Instance) and self.resolver.family(value.cls)[1]:
                return True
            if isinstance(value, Result):
                root = value.name.split(".")[0]
                if root in self.resolver.rules.array_libraries or value.name.startswith(_CONTAINER_MAKERS):
                    return True
        return False

    def _kept_at_import(self, func: Func, values: Iterable[ast.expr]) -> bool:
        """Whether what importing the module gave a live function may be among what it keeps."""
        if not self._driven or func not in self.executed():
            return False
        own = next(iter(func.params), None) if func.cls is not None else None
        return any(isinstance(n, ast.Name) and n.id != own for value in values for n in ast.walk(value))

    def _passed_in(self, func: Func) -> None:
        """What a function that ran at import stored may be what it was called with."""
        at: Func | None = func
        while at is not None and at not in self._passed:
            self._passed.add(at)
            name = at.cls.name if at.cls is not None and at.name == "__init__" else at.name
            if self._driven and at.cls is not None and at.name in _MAKING:
                for cls in self._made_by(at.cls, by_hook=at.name == "__init_subclass__"):
                    self._class(cls)
            for call in self.program.calls.get(name, ()):
                if self.program.unit_blocks[call.unit].dead:
                    continue
                caller = call.unit.func
                if self._driven and caller is not None and not self._ran(caller):
                    continue
                if call.decorated is not None:
                    self._indirect(call.decorated)
                for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                    self._alone(argument)
            at = at.owner

    def _alone(self, node: ast.expr) -> None:
        """One expression of a unit that is not live as a whole."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.expr) and inner not in self.nodes:
                self.nodes.add(inner)
                if not isinstance(inner, ast.Name) or inner in self.program.loads:
                    self._node(inner)


def _is_starred(call: Call | ast.Call) -> bool:
    return any(isinstance(item, ast.Starred) for item in call.args)


def _is_dictionary(binding: Binding) -> bool:
    """Whether a name is bound to a dictionary as such."""
    value = binding.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return binding.kind == "value" and not binding.path and value.func.id == "dict"
    return binding.kind == "value" and not binding.path and isinstance(value, ast.Dict)
