"""Recording calls of plain functions, which no dispatcher sees: scipy.special.softmax and the like.

Each banned function of a loaded library is replaced, under all its names, by one that notes the call. A
module that is imported later is treated as soon as it has run.
"""

import dataclasses
import importlib.abc
import importlib.machinery
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from grader.policy.rules import Rules
from grader.sandbox.inside.recorder_findings import Findings, Helper

_getframe = sys._getframe
# torch's functions are seen by its modes; a wrapper would be in the way of its compilers.
SEEN_OTHERWISE = frozenset({"torch"})


class Watched:
    """One library function that is replaced, and all names under which it was met."""

    __slots__ = ("_helper", "_judged", "folder", "names", "original", "replacement", "root")

    def __init__(self, original: Any, root: str) -> None:
        self.original = original
        self.replacement: Any = None
        self.root = root
        self.names: list[str] = []
        module = sys.modules.get(root)
        paths = list(getattr(module, "__path__", ()) or ())
        self.folder = os.path.join(str(paths[0]), "") if paths else ""
        self._judged = False
        self._helper: Helper | None = None

    def helper(self, rules: Rules) -> Helper | None:
        """The helper that it is; None when one of its names is allowed."""
        if not self._judged:
            # Decided at the first recorded call, when the packages that show it under other names are loaded.
            shown = [
                f"{name}.{key}"
                for name, module in list(sys.modules.items())
                if name.partition(".")[0] == self.root
                for key, value in list(getattr(module, "__dict__", {}).items())
                if value is self.replacement
            ]
            names = sorted({*self.names, *shown}, key=lambda n: (n.count("._"), n.count("."), n))
            if not any(rules.allows(name) for name in names):
                for name in names:
                    rule = rules.banned(name)
                    if rule is not None:
                        self._helper = Helper(rule, rules.canonical(name), name)
                        break
            self._judged = True
        return self._helper

    def used_inside(self, frame: types.FrameType) -> bool:
        """Whether the caller is the library's own code, which names the function itself.

        A library function that was handed it as a callback runs it for somebody else.
        """
        code = frame.f_code
        if not self.folder or not code.co_filename.startswith(self.folder):
            return False
        replacement, space = self.replacement, frame.f_globals
        own = getattr(self.original, "__name__", "")
        return any(name == own or space.get(name) is replacement for name in code.co_names + code.co_freevars)


class Wrappers:
    """All functions that are watched."""

    def __init__(self, rules: Rules, findings: Findings) -> None:
        # Thousands of names are looked at once; the policy check's own memory stays free for its names.
        self.rules = dataclasses.replace(rules, _known={})
        self.findings = findings
        self.roots = frozenset(root for root in rules.roots if root.isidentifier()) - SEEN_OTHERWISE
        self._watched: dict[int, Watched] = {}
        self._replacements: dict[int, Watched] = {}
        self._placed: list[tuple[dict[str, Any], str, Any]] = []
        self._finder = LateModules(self)
        self.wrap(list(sys.modules.items()))
        sys.meta_path.insert(0, self._finder)

    def wrap(self, modules: Iterable[tuple[str, Any]]) -> None:
        """Replace the banned functions in these modules, by name."""
        modules = [
            (name, space)
            for name, module in modules
            if type(name) is str and type(space := getattr(module, "__dict__", None)) is dict
        ]
        ours = [(name, space) for name, space in modules if name.partition(".")[0] in self.roots]
        for name, space in ours:
            for key, value in list(space.items()):
                self._look_at(f"{name}.{key}", value, name.partition(".")[0])
        if not self._watched:
            return
        for name, space in modules:
            if name.partition(".")[0] == "grader":
                continue
            for key, value in list(space.items()):
                watched = self._watched.get(id(value))
                if watched is not None and watched.original is value:
                    space[key] = watched.replacement
                    self._placed.append((space, key, watched.replacement))

    def _look_at(self, name: str, value: Any, root: str) -> None:
        if (
            isinstance(value, type | types.ModuleType)
            or not callable(value)
            or id(value) in self._replacements
        ):
            return
        watched = self._watched.get(id(value))
        if watched is None:
            if not self._names_a_helper(name) or not self._belongs(value, root):
                return
            watched = Watched(value, root)
            watched.replacement = replacement_of(value, self._note_for(watched), self.findings)
            self._watched[id(value)] = watched
            self._replacements[id(watched.replacement)] = watched
        watched.names.append(name)

    def _names_a_helper(self, name: str) -> bool:
        """Whether a rule bans this name for its own sake.

        In a private module whose name matches (scipy.special._logsumexp) every name would be banned.
        """
        if self.rules.banned(name) is None:
            return False
        module, _, _last = name.rpartition(".")
        private = any(part.startswith("_") for part in module.split("."))
        return not (private and self.rules.banned(f"{module}.x") is not None)

    def _belongs(self, value: Any, root: str) -> bool:
        module = getattr(value, "__module__", None)
        return module is None or (type(module) is str and module.partition(".")[0] == root)

    def _note_for(self, watched: Watched) -> Callable[[], None]:
        findings, rules = self.findings, self.rules

        def note() -> None:
            try:
                helper = watched.helper(rules)
                caller = _getframe(2)
                if helper is not None and not watched.used_inside(caller):
                    findings.add(helper, findings.place(caller, watched.root).line)
            except Exception as error:
                findings.fail("wrapper", error)

        return note

    def in_place(self) -> bool:
        """Whether every replaced name, and the finder of later modules, is as it was left."""
        return self._finder in sys.meta_path and all(
            space.get(key) is replacement for space, key, replacement in self._placed
        )


def replacement_of(original: Any, note: Callable[[], None], findings: Findings) -> Any:
    """A callable that notes its call while recording is on and is otherwise like ``original``."""
    if type(original) is types.FunctionType:
        return _function_like(original, note, findings)
    return RecordedCallable(original, note, findings)


def _function_like(original: types.FunctionType, note: Callable[[], None], findings: Findings) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if findings.active:
            note()
        return original(*args, **kwargs)

    wrapper.__dict__.update(original.__dict__)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        setattr(wrapper, name, getattr(original, name))
    inner = wrapper.__dict__.get("__wrapped__")
    if type(inner) is types.FunctionType:
        wrapper.__dict__["__wrapped__"] = _function_like(inner, note, findings)
    try:
        wrapper.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        pass
    return wrapper


class RecordedCallable:
    """Stands for a callable that is no Python function: a ufunc, or what a compiler made of a function.

    It says to be an instance of the same class and has the same members, so ``isinstance``, ``reduce``,
    ``out=`` and pickling by name work as before.
    """

    __slots__ = ("__recorded__", "__weakref__", "_findings", "_note")

    def __init__(self, original: Any, note: Callable[[], None], findings: Findings) -> None:
        object.__setattr__(self, "__recorded__", original)
        object.__setattr__(self, "_note", note)
        object.__setattr__(self, "_findings", findings)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._findings.active:
            self._note()
        return self.__recorded__(*args, **kwargs)

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        return getattr(self.__recorded__, "__module__", None)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__recorded__.__doc__

    @property
    def __class__(self) -> Any:
        return type(self.__recorded__)

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ can't be assigned")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__recorded__, name)
        if name in _UFUNC_METHODS and isinstance(self.__recorded__, np.ufunc):
            return RecordedCallable(value, self._note, self._findings)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__recorded__, name, value)

    def __dir__(self) -> Iterable[str]:
        return dir(self.__recorded__)

    def __repr__(self) -> str:
        return repr(self.__recorded__)

    def __hash__(self) -> int:
        return hash(self.__recorded__)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__recorded__

    def __reduce__(self) -> str:
        return str(self.__recorded__.__name__)


_UFUNC_METHODS = frozenset({"reduce", "accumulate", "reduceat", "outer", "at"})


class LateModules(importlib.abc.MetaPathFinder):
    """Lets modules of the watched libraries be wrapped when they are imported later."""

    def __init__(self, wrappers: Wrappers) -> None:
        self._wrappers = wrappers

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that Python would find, with a loader that wraps; None for other libraries."""
        if name.partition(".")[0] not in self._wrappers.roots:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = LateLoader(spec.loader, self._wrappers)
        return spec


class LateLoader(importlib.abc.Loader):
    """Runs a module by its own loader, then wraps what is banned in it."""

    def __init__(self, loader: Any, wrappers: Wrappers) -> None:
        self._loader = loader
        self._wrappers = wrappers

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        """The module that the own loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module; afterwards it knows its own loader only."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            self._wrappers.wrap([(module.__name__, module)])
        except Exception as error:
            self._wrappers.findings.fail("late import", error)
