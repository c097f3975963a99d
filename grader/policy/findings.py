"""Findings: the helpers that an expression names, and the ways of running code that hide them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.policy.names import GETTING, Lookup, Resolver
from grader.policy.rules import ARGUMENTS, Rule
from grader.policy.scopes import Binding, Unit
from grader.policy.texts import argument_of
from grader.policy.values import (
    ANYTHING,
    Bag,
    Container,
    Function,
    Getter,
    Instance,
    Lib,
    Namespace,
    Own,
    OwnClass,
    Partial,
    Result,
    Table,
    Unknown,
    Values,
)

UNRESOLVED = "unresolved_lookup"
DYNAMIC = "dynamic_code"
NATIVE = "native_code"
TOO_COMPLEX = "too_complex"

_EXECUTORS = frozenset({"builtins.exec", "builtins.eval", "builtins.compile"})
_NATIVE_ROOTS = frozenset({"ctypes", "_ctypes", "cffi", "_cffi_backend"})
_NATIVE = frozenset({"numpy.ctypeslib", "torch.utils.cpp_extension", "torch.ops.load_library"})
_DYNAMIC = frozenset(
    {
        "sys._getframe",
        "sys._current_frames",
        "sys.settrace",
        "sys.setprofile",
        "threading.settrace",
        "threading.setprofile",
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "importlib.reload",
        "importlib.util.module_from_spec",
        "importlib.util.spec_from_file_location",
        "importlib.util.spec_from_loader",
        "importlib.machinery.ExtensionFileLoader",
        "importlib.machinery.FileFinder",
        "importlib.machinery.PathFinder",
        "importlib.machinery.SourceFileLoader",
        "importlib.machinery.SourcelessFileLoader",
        "inspect.currentframe",
        "inspect.getclosurevars",
        "inspect.getinnerframes",
        "inspect.getouterframes",
        "inspect.stack",
        "inspect.trace",
        "inspect.unwrap",
        "traceback.walk_stack",
        "traceback.walk_tb",
        "sys.meta_path",
        "sys.path_hooks",
        "sys.path_importer_cache",
        "pickle.load",
        "pickle.loads",
        "pickle.Unpickler",
        "_pickle.load",
        "_pickle.loads",
        "_pickle.Unpickler",
        "cloudpickle.load",
        "cloudpickle.loads",
        "dill.load",
        "dill.loads",
        "joblib.load",
        "shelve.open",
        "marshal.load",
        "marshal.loads",
        "types.CodeType",
        "runpy.run_path",
        "runpy.run_module",
        "torch.load",
        "torch.hub.load",
        "torch.jit.CompilationUnit",
        "torch.jit.load",
        "torch.export.load",
        "timeit.Timer",
        "timeit.timeit",
        "timeit.repeat",
        "code.InteractiveInterpreter",
        "subprocess.Popen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "os.system",
        "os.popen",
    }
)
# What these run is told by what they are called with, where that is known.
_BY_ARGUMENT = frozenset({"importlib.reload", "timeit.timeit", "timeit.repeat", "timeit.Timer"})
# These run the examples in docstrings.
_DOCTESTS = frozenset(
    f"doctest.{name}"
    for name in ("testmod", "run_docstring_examples", "DocTestRunner", "DocTestSuite", "debug")
)
# Parts of torch below its public functions, where the watch over library calls can be turned off or evaded.
_BELOW = frozenset({"overrides", "library", "_C", "_ops", "_decomp", "_prims", "_prims_common", "_refs"})
_BELOW_UTILS = frozenset(
    {"torch.utils._python_dispatch", "torch.utils._mode_utils", "torch.nn.modules.module"}
)
# These hold ordinary functions, banned and allowed ones.
_ORDINARY = (
    "torch._C._nn",
    "torch._C._VariableFunctions",
    "torch._C._special",
    "torch._C._linalg",
    "torch._C._fft",
)
_REVEALING = frozenset(
    {
        *("__subclasses__", "__globals__", "__code__", "__closure__", "cell_contents", "__recorded__"),
        *("f_globals", "f_locals", "f_back", "f_builtins", "tb_frame", "gi_frame", "cr_frame", "ag_frame"),
        *("redispatch", "redispatch_boxed", "py_kernels"),
    }
)
# Who asks for these wants to know whether calls are watched; no exercise needs any.
WATCHING = frozenset(
    {
        *("_get_current_function_mode_stack", "_get_current_function_mode", "_len_torch_function_stack"),
        *("_get_function_stack_at", "_is_torch_function_mode_enabled", "_is_torch_function_enabled"),
        *("_get_current_dispatch_mode_stack", "_get_current_dispatch_mode", "_len_torch_dispatch_stack"),
        *("_get_dispatch_stack_at", "_python_dispatch", "_mode_utils", "_pop_mode", "_push_mode"),
        *("_pop_torch_function_stack", "_push_on_torch_function_stack", "gettrace", "getprofile"),
        *("_pop_torch_dispatch_stack", "_push_on_torch_dispatch_stack", "BaseTorchFunctionMode"),
        *("DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "TorchDispatchMode"),
        *("get_tool", "sys.gettrace", "sys.getprofile", "sys.monitoring", "torch.overrides"),
    }
)
# What Python itself calls for a statement.
BUILDING = frozenset({"__import__", "__build_class__"})
_EDITING = frozenset({"pop", "popitem", "setdefault", "update", "clear", "__setitem__", "__delitem__"})
_ARRAYS = {
    "numpy": "numpy.ndarray",
    "torch": "torch.Tensor",
    "jax": "jax.Array",
    "tensorflow": "tensorflow.Tensor",
}
# Libraries whose objects are no tensors, or have attributes of the student's choosing.
_NOT_ARRAYS = frozenset({"types", "collections", "enum", "argparse", "numpy", "scipy", "math", "re", "json"})
_BY_TEXT = frozenset({"activation", "recurrent_activation", "hidden_act", "nonlinearity"})


@dataclass(frozen=True)
class Finding:
    """One place that names a banned helper, or hides what it runs."""

    rule: str
    helper: str
    node: ast.AST
    via: tuple[Unit, ...] | None = None  # the calls it depends on, None when on none
    at_end: bool = False  # the place is the last name of the node
    banned: Rule | None = None
    detail: str = ""


class Inspector:
    """Looks at single expressions."""

    def __init__(self, resolver: Resolver, *, hiding: bool) -> None:
        self.resolver = resolver
        self._hiding = hiding
        self.rules = resolver.rules
        self.program = resolver.program
        self.used: set[Binding] = set()
        self.texts: list[tuple[ast.Call, list[str]]] = []
        self.examples: list[ast.Call] = []  # calls that run the examples in docstrings
        self._flagged: set[ast.expr] = set()
        modules = [module for module, _ in self.program.imports]
        modules.extend(module for module, _ in resolver.imported)
        roots = {module.split(".")[0] for module in modules}
        # Where lookups by text may bring in any library, every attribute has to be looked at.
        self._last_names = None if hiding else self.rules.last_names(self.program.mentioned())
        self.arrays = sorted((roots | {ARGUMENTS}) & self.rules.array_libraries)

    # --- helpers ----------------------------------------------------------------------------------

    def helpers(self, node: ast.expr) -> Iterator[Finding]:
        """The banned helpers that an expression names itself."""
        if isinstance(node, ast.Name):
            yield from self._name(node)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Call | ast.Subscript):
            lookup = self.resolver.lookups.get(node)
            if lookup is not None:
                yield from self._looked_up(node, lookup)
            if isinstance(node, ast.Call):
                if self._hiding:
                    yield from self._getter(node)
                if node.keywords:
                    yield from self._by_text(node)

    def _name(self, node: ast.Name) -> Iterator[Finding]:
        bindings = self.resolver.candidates(node)
        names: list[str] = []
        for binding in bindings:
            if binding.kind == "import":
                names.append(binding.lib)
                self.used.add(binding)
            elif binding.kind == "member" and binding.target is not None:
                names.extend(self.resolver.star_names(binding.target, binding.lib))
        starred = self.resolver.later_stars(node) if bindings else self.resolver.stars(node)
        names.extend(f"{module}.{node.id}" for module in starred)
        for name in dict.fromkeys(names):
            rule = self.rules.banned(name)
            if rule is not None:
                self._flagged.add(node)
                yield Finding(rule.id, name, node, banned=rule)

    def _attribute(self, node: ast.Attribute) -> Iterator[Finding]:
        if node.value in self._flagged:
            self._flagged.add(node)
            return
        if self._last_names is not None and not self._last_names.match(node.attr):
            return
        values = self.resolver.resolve(node.value)
        for value in values:
            if isinstance(value, Namespace):
                for name in self.resolver.star_names(value.scope, node.attr):
                    if (rule := self.rules.banned(name)) is not None:
                        self._flagged.add(node)
                        yield Finding(rule.id, name, node, banned=rule)
                        return
            if not isinstance(value, Lib):
                continue
            name = f"{value.name}.{node.attr}"
            rule = self.rules.helper(name)
            if rule is not None:
                self._flagged.add(node)
                yield Finding(rule.id, name, node, self._given_by(node.value, value), banned=rule)
                return
        rule = self._method(node.attr, values)
        if rule is not None:
            self._flagged.add(node)
            yield Finding(rule.id, self._method_name(node.attr, values), node, at_end=True, banned=rule)

    def _given_by(self, node: ast.expr, value: Lib) -> tuple[Unit, ...] | None:
        """The calls that give a parameter this library: a self-test's call is no use by the entry point."""
        bindings = self.resolver.candidates(node) if isinstance(node, ast.Name) else ()
        units: list[Unit] = []
        for binding in bindings:
            if binding.kind != "param" or binding.func is None:
                return None
            if binding.default is not None and value in self.resolver.resolve(binding.default):
                return None
            for site in self.resolver.call_sites(binding.func)[0]:
                argument = argument_of(site, binding.func, binding)
                if argument is not None and value in self.resolver.resolve(argument):
                    units.append(site.unit)
        return tuple(units) or None

    def _method(self, attr: str, values: Values) -> Rule | None:
        """The rule for a method of that name, when the receiver may be an array of an array library."""
        rule = self.rules.method(attr)
        if rule is None or not self.arrays:
            return None
        own = self.resolver.is_own_attribute(attr)
        for value in values:
            if isinstance(value, Result):
                root = value.name.split(".")[0]
                if root in self.rules.array_libraries:
                    return rule
                if root not in _NOT_ARRAYS and not own:
                    return rule
            elif isinstance(value, Instance | OwnClass):
                if self._inherits(value, attr):
                    return rule
            elif not own and not isinstance(
                value, Lib | Function | Own | Container | Bag | Table | Partial | Getter | Namespace
            ):
                return rule
        return None

    def _inherits(self, value: Instance | OwnClass, attr: str) -> bool:
        """Whether an object of the student's class has this method from an array library's class."""
        family, libraries = self.resolver.family(value.cls)
        if any(cls in family for cls, _ in self.resolver.members(attr)) or self.resolver.stores(attr):
            return False
        if self.resolver.is_registered(attr):
            return False
        return any(name.split(".")[0] in self.rules.array_libraries for name in libraries)

    def _method_name(self, attr: str, values: Values) -> str:
        roots = [value.name.split(".")[0] for value in values if isinstance(value, Result)]
        root = next((root for root in roots if root in self.rules.array_libraries), self.arrays[0])
        return f"{_ARRAYS.get(root, root)}.{attr}"

    def _looked_up(self, node: ast.expr, lookup: Lookup) -> Iterator[Finding]:
        for name, units in lookup.libs.items():
            rule = self.rules.helper(name)
            if rule is not None:
                self._flagged.add(node)
                yield Finding(rule.id, name, node, None if units is None else tuple(units), banned=rule)
        for attr, values in lookup.methods.items():
            rule = self._method(attr, values)
            if rule is not None:
                self._flagged.add(node)
                yield Finding(rule.id, self._method_name(attr, values), node, banned=rule)

    def _getter(self, node: ast.Call) -> Iterator[Finding]:
        """attrgetter and methodcaller, judged where they are made: what they meet may stay unknown."""
        for value in self.resolver.resolve(node):
            if not isinstance(value, Getter) or value.kind == "item" or value.args is not node.args:
                continue
            wanted = value.args if value.kind == "attr" else value.args[:1]
            for item in wanted:
                for name in self.resolver.constants(item)[0]:
                    attr = name.rpartition(".")[2]
                    rule = self._method(attr, ANYTHING)
                    if rule is not None:
                        yield Finding(
                            rule.id, self._method_name(attr, ()), node, banned=rule, detail="getter"
                        )

    def _by_text(self, node: ast.Call) -> Iterator[Finding]:
        """Dense(activation="softmax"): a helper that a library looks up by its name."""
        for keyword in node.keywords:
            if keyword.arg not in _BY_TEXT:
                continue
            roots = [
                value.name
                for value in self.resolver.resolve(node.func)
                if isinstance(value, Lib) and self.rules.may_hold(value.name)
            ]
            if not roots:
                continue
            for name in self.resolver.constants(keyword.value)[0]:
                rule = self.rules.method(name)
                if rule is not None:
                    yield Finding(rule.id, f"{roots[0]}({keyword.arg}={name!r})", keyword.value, banned=rule)

    # --- code that hides what it runs -------------------------------------------------------------

    def suspicions(self, node: ast.expr) -> Iterator[Finding]:
        """The ways of an expression to run code that reading the source does not show."""
        if isinstance(node, ast.Name):
            yield from self._suspicious_name(node)
        elif isinstance(node, ast.Attribute):
            yield from self._suspicious_attribute(node)
        elif isinstance(node, ast.Call):
            yield from self._executed(node)
        lookup = self.resolver.lookups.get(node)
        if lookup is not None and lookup.unresolved is not None:
            yield Finding(UNRESOLVED, lookup.unresolved, node)
        if node not in self.resolver.consumed and node not in self.program.members_tested:
            for value in self.resolver.resolve(node):
                if isinstance(value, Table) and (not value.name or self.rules.may_hold(value.name)):
                    yield Finding(UNRESOLVED, value.name or "sys.modules", node, detail="table")

    def watches(self, node: ast.expr) -> Iterator[Finding]:
        """Names that tell whether calls are watched, on whatever object they are looked up."""
        name = ""
        if isinstance(node, ast.Attribute):
            name = node.attr if node.attr in WATCHING else self.resolver.dotted(node)
        elif isinstance(node, ast.Name):
            imported = [item.lib for item in self.resolver.candidates(node) if item.kind == "import"]
            last = [part for lib in imported for part in (lib, lib.rpartition(".")[2]) if part in WATCHING]
            name = last[0] if last else ""
        elif (lookup := self.resolver.lookups.get(node)) is not None:
            named = {
                *lookup.attrs,
                *(part for full in lookup.libs for part in (full, full.rpartition(".")[2])),
            }
            name = min(named & WATCHING, default="")
        if name in WATCHING:
            yield Finding(DYNAMIC, name, node, detail="tells whether library calls are watched")

    def _suspicious_attribute(self, node: ast.Attribute) -> Iterator[Finding]:
        values = self.resolver.resolve(node.value)
        if node.attr in GETTING and node not in self.program.callees:
            for value in values:
                if isinstance(value, Lib) and (
                    value.name.startswith(("builtins.", "types.")) or self.rules.may_hold(value.name)
                ):
                    yield Finding(UNRESOLVED, f"{value.name}.{node.attr}", node)
        for value in values:
            if isinstance(value, Lib):
                yield from self._suspicious_library(f"{value.name}.{node.attr}", node)
            elif isinstance(value, Table) and not value.name and node.attr in _EDITING:
                if node.attr == "pop" and node in self.program.callees:
                    continue  # see _executed
                yield Finding(DYNAMIC, "sys.modules", node, detail="is edited here")
        own = bool(values) and all(
            isinstance(value, Function | Own | OwnClass | Instance) for value in values
        )
        if node.attr in _REVEALING or (node.attr == "__wrapped__" and not own):
            yield Finding(DYNAMIC, node.attr, node, at_end=True, detail="reaches behind the source")

    def _suspicious_name(self, node: ast.Name) -> Iterator[Finding]:
        bindings = self.resolver.candidates(node)
        for binding in bindings:
            if binding.kind == "import":
                yield from self._suspicious_library(binding.lib, node)
                if binding.lib.rpartition(".")[2] in GETTING and self.rules.may_hold(binding.lib):
                    yield Finding(UNRESOLVED, binding.lib, node)
        if not bindings and node.id in ("__loader__", "__spec__"):
            yield Finding(DYNAMIC, node.id, node, detail="may import what the source does not show")
        if bindings or node in self.program.callees:
            return
        if node.id in ("exec", "eval", "compile", "__import__"):
            yield Finding(DYNAMIC, node.id, node, detail="is passed on and may run code from a text")
        elif node.id == "getattr" and any(map(self.rules.may_hold, self.arrays)):
            yield Finding(UNRESOLVED, "getattr", node)

    def _suspicious_library(self, name: str, node: ast.expr) -> Iterator[Finding]:
        if name.split(".")[0] in _NATIVE_ROOTS or name in _NATIVE:
            yield Finding(NATIVE, name, node, detail="runs native code")
        elif name in _BY_ARGUMENT and node in self.program.callees:
            return  # see _executed
        elif name in _DYNAMIC:
            yield Finding(DYNAMIC, name, node, detail="may run or reach code that the source does not show")
        elif self._below(name):
            yield Finding(
                DYNAMIC, name, node, detail="may hide library calls from the check that watches them"
            )

    def _below(self, name: str) -> bool:
        """Whether a name is of those parts of torch that students have no need for."""
        parts = name.split(".")
        if parts[0] != "torch" or len(parts) < 2 or not self.rules.may_hold("torch"):
            return False
        if parts[1] in _BELOW:
            return len(parts) > 2 and not name.startswith(_ORDINARY) and self.rules.banned(name) is None
        return len(parts) > 3 and ".".join(parts[:-1]) in _BELOW_UTILS and parts[-1] != "Module"

    def _executed(self, node: ast.Call) -> Iterator[Finding]:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and node.args:
            names, complete = self.resolver.constants(node.args[0])
            own = complete and all(name in self.program.modules for name in names)
            if not own and Table("") in self.resolver.resolve(node.func.value):
                yield Finding(DYNAMIC, "sys.modules", node.func, detail="is edited here")
        for value in self.resolver.resolve(node.func):
            if isinstance(value, Lib) and value.name == "numpy.load" and _unpickles(node):
                yield Finding(DYNAMIC, value.name, node, detail="unpickles what the source does not show")
            if isinstance(value, Lib) and value.name in _BY_ARGUMENT and not self._told(node, value.name):
                detail = "may run or reach code that the source does not show"
                yield Finding(DYNAMIC, value.name, node, detail=detail)
            if isinstance(value, Lib) and value.name in _DOCTESTS:
                self.examples.append(node)
            if isinstance(value, Lib) and value.name in _EXECUTORS:
                name = value.name.removeprefix("builtins.")
                if node.args:
                    found, complete = self.resolver.constants(node.args[0])
                    if found:
                        self.texts.append((node, found))
                    detail = "runs code from a text" if complete else "runs code from a text made as it runs"
                    yield Finding(DYNAMIC, name, node, detail=detail)

    def _told(self, node: ast.Call, name: str) -> bool:
        """Whether a call reloads a module of the submission, or times functions rather than texts."""
        kinds = (Namespace,) if name == "importlib.reload" else (Function, Partial, Lib)
        given = [*node.args[:2], *(k.value for k in node.keywords if k.arg in ("stmt", "setup", None))]
        values = [value for item in given for value in self.resolver.resolve(item)]
        return bool(values) and all(isinstance(value, kinds) for value in values)

    def handed_out(self, node: ast.expr) -> Iterator[Finding]:
        """A library's module that an entry point is or returns: its helpers can be used in its place."""
        for value in self.resolver.leaves(self.resolver.resolve(node)):
            if isinstance(value, Lib) and self.rules.is_owner(value.name):
                yield Finding(UNRESOLVED, value.name, node, detail="handed on")

    def handed_on(self, node: ast.expr) -> Iterator[Finding]:
        """A module of the submission given to a library that may do anything with it."""
        if not self.program.linked or not isinstance(node, ast.Call):
            return
        callees = self.resolver.resolve(node.func)
        if not any(isinstance(v, Lib | Result | Unknown) and self.resolver.may_hand_on(v) for v in callees):
            return
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            for value in self.resolver.leaves(self.resolver.resolve(inner)):
                if isinstance(value, Namespace) and self.resolver.may_hide_in(value.scope):
                    name = value.scope.name or "the file itself"
                    yield Finding(UNRESOLVED, name, node, detail="handed on")


def _unpickles(node: ast.Call) -> bool:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "allow_pickle"]
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in given)
