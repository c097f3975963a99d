"""Recording what torch runs, in two ways at once.

A function mode sees names that are gone below (``torch.rms_norm`` is six allowed operators to the
dispatcher); a dispatch mode sees operators, however they were reached. At each operator the stack is also
searched for torch's own Python functions, so that ``torch.nn.functional.normalize`` is found where function
modes are off.
"""

import bisect
import dataclasses
import re
import sys
import types
from typing import Any

from grader.policy.rules import Rule, Rules
from grader.sandbox.inside.recorder_findings import Findings, Helper

_getframe = sys._getframe
# Where torch's overridable functions live, the names that students know first.
NAMESPACES = (
    *("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.nn.init"),
    *("torch._C._nn", "torch._C._special", "torch._C._linalg", "torch._VF", "torch._C._VariableFunctions"),
)
# Where a node of a TorchScript graph comes from, as the graph prints it.
SCRIPTED = re.compile(r"# [^\n]*torch/nn/functional\.py:([0-9]{1,6}):")
MOST_SCRIPTS = 200


class TorchRecorder:
    """The two modes, and the tables that they look things up in."""

    def __init__(self, torch: types.ModuleType, rules: Rules, findings: Findings) -> None:
        self.torch = torch
        # Its own memory of names, as for the wrappers.
        self.rules = dataclasses.replace(rules, _known={})
        self.findings = findings
        self._inside = 0  # calls of a function mode that are running
        self._hidden = 0  # of these, calls of a banned helper: what it does inside is one finding
        self._operators = self._banned_operators()
        self._functions = self._banned_functions()
        self._scripts: dict[int, tuple[object, list[Helper]]] = {}
        self._lines = self._lines_of_functions()
        core = torch._C
        self._function_stack = (
            core._len_torch_function_stack,
            core._pop_torch_function_stack,
            core._push_on_torch_function_stack,
            core._get_function_stack_at,
        )
        self._dispatch_stack = (
            core._len_torch_dispatch_stack,
            lambda: core._pop_torch_dispatch_stack(None),
            core._push_on_torch_dispatch_stack,
            core._get_dispatch_stack_at,
        )
        self._all_disabled = core._is_torch_function_all_disabled
        self.function_mode, self.dispatch_mode = self._modes()
        self._watch_scripts()
        self._handlers = self._current_handlers()
        self._warm_up()

    def _warm_up(self) -> None:
        """Use once what torch sets up for its modes."""
        one = self.torch.ones(1)
        self.start()
        try:
            one + one
        finally:
            self.stop()

    # --- tables -----------------------------------------------------------------------------------

    def _banned_operators(self) -> dict[str, Helper]:
        """By ``namespace::name``; a student's own operators are not among them, whatever their names."""
        found: dict[str, Helper] = {}
        for operator in {full.partition(".")[0] for full in self.torch._C._dispatch_get_all_op_names()}:
            name = f"torch.ops.{operator.replace('::', '.')}"
            rule = self.rules.banned(name)
            if rule is not None:
                found[operator] = Helper(rule, self._known_as(name, rule), operator)
        return found

    def _known_as(self, name: str, rule: Rule) -> str:
        """The function by which students know an operator, where there is one of that name."""
        if name in self.rules.aliases:
            return self.rules.canonical(name)
        last = name.rpartition(".")[2]
        for space, home in (("torch.nn.functional", self.torch.nn.functional), ("torch", self.torch)):
            if hasattr(home, last) and self.rules.banned(f"{space}.{last}") is rule:
                return f"{space}.{last}"
        return name

    def _banned_functions(self) -> dict[int, tuple[object, Helper]]:
        """By id; the function beside it is kept, so that no other object gets its id."""
        found: dict[int, tuple[object, Helper]] = {}
        allowed: set[int] = set()

        def take(name: str, value: object, rule: Rule | None) -> None:
            if self.rules.allows(name):
                allowed.add(id(value))
            elif rule is not None and id(value) not in found:
                found[id(value)] = value, Helper(rule, self.rules.canonical(name), name)

        for space in NAMESPACES:
            home: Any = self.torch
            for part in space.split(".")[1:]:
                home = getattr(home, part, None)
            for name in dir(home):
                value = getattr(home, name, None)
                if callable(value) and not isinstance(value, type):
                    take(f"{space}.{name}", value, self.rules.banned(f"{space}.{name}"))
        for name in dir(self.torch.Tensor):
            value = getattr(self.torch.Tensor, name, None)
            full = f"torch.Tensor.{name}"
            take(full, value, self.rules.banned(full) or self.rules.method(name))
        for key in allowed:
            found.pop(key, None)
        return found

    # --- modes ------------------------------------------------------------------------------------

    def _modes(self) -> tuple[Any, Any]:
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        recorder = self
        note_function, note_operator = self._note_function, self._note_operator

        def __torch_function__(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            hides = note_function(func)
            recorder._inside += 1
            recorder._hidden += hides
            try:
                return func(*args, **kwargs) if kwargs else func(*args)
            finally:
                recorder._inside -= 1
                recorder._hidden -= hides

        def __torch_dispatch__(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note_operator(func)
            return func(*args, **kwargs) if kwargs else func(*args)

        function_mode = type("FunctionMode", (TorchFunctionMode,), {"__torch_function__": __torch_function__})
        dispatch_mode = type(
            "DispatchMode",
            (TorchDispatchMode,),
            {
                "__torch_dispatch__": __torch_dispatch__,
                # Otherwise torch's compiler is imported at the first operator.
                "_should_skip_dynamo": classmethod(lambda cls: False),
                # Otherwise an operator that takes functions, such as a custom backward under vmap, raises.
                "supports_higher_order_operators": True,
            },
        )
        return function_mode(), dispatch_mode()

    def _note_function(self, func: Any) -> bool:
        """Whether a function that the function mode sees is a banned helper, which is noted."""
        try:
            known = self._functions.get(id(func))
            helper = known[1] if known is not None else self._operator_of(func)
            if helper is None or self._hidden:
                return False
            called = helper.operator.replace("::", ".").rpartition(".")[2]
            place = self.findings.place(_getframe(2), "torch", called)
            if place.allowed:
                return False
            self._add(place.helper, helper, place.line)
        except Exception as error:
            self.findings.fail("function mode", error)
            return False
        return True

    def _operator_of(self, func: Any) -> Helper | None:
        """The helper that an operator of ``torch.ops`` is, None for any other object."""
        kind = type(func)
        if kind is self.torch._ops.OpOverload:
            return self._operators.get(func._schema.name)
        if kind is self.torch._ops.OpOverloadPacket:
            return self._operators.get(func._qualified_op_name)
        return None

    def _note_operator(self, func: Any) -> None:
        """Note an operator that the dispatcher runs, when it is a helper or runs inside of one."""
        if self._hidden:
            return
        try:
            schema = getattr(func, "_schema", None)
            helper = None if schema is None else self._operators.get(schema.name)
            place = self.findings.place(_getframe(2), "torch")
            self._watch(place.line)
            allowed = place.allowed or (place.backward and schema is not None and _of_gradients(schema.name))
            if not allowed and (helper is not None or place.helper is not None):
                self._add(place.helper, helper, place.line)
        except Exception as error:
            self.findings.fail("dispatch mode", error)

    def _add(self, outer: Helper | None, inner: Helper | None, line: int) -> None:
        if outer is not None and inner is not None:
            outer = Helper(outer.rule, outer.name, inner.operator)
        helper = outer or inner
        if helper is not None:
            self.findings.add(helper, line)

    def _watch(self, line: int) -> None:
        """An operator outside of all function calls, with the function mode off: somebody took it away."""
        if self._all_disabled() or (
            not self._inside and not _holds(self._function_stack, self.function_mode)
        ):
            self.findings.tamper("function mode", line)

    # --- TorchScript ------------------------------------------------------------------------------

    def _lines_of_functions(self) -> list[tuple[int, Helper | None]]:
        """The first line of each function of torch.nn.functional, in order, and the helper that it is."""
        space = self.torch.nn.functional
        found: list[tuple[int, Helper | None]] = []
        for name, value in vars(space).items():
            code = getattr(value, "__code__", None)
            if code is not None and code.co_filename == space.__file__:
                full = f"{space.__name__}.{name}"
                rule = self.rules.banned(full)
                found.append((code.co_firstlineno, Helper(rule, full, "TorchScript") if rule else None))
        return sorted(found, key=lambda pair: pair[0])

    def _watch_scripts(self) -> None:
        """Scripted functions run without Python, so what they were compiled from is looked at instead."""
        findings, note = self.findings, self._note_script
        for kind in (self.torch._C.ScriptFunction, self.torch._C.ScriptMethod):
            kind.__call__ = _watched(kind.__call__, findings, note)

    def _note_script(self, script: Any) -> None:
        try:
            # Torch's own functions call no script by a name; a submission's is its own.
            place = self.findings.place(_getframe(2), "torch", "")
            if not place.allowed and not self._hidden:
                for helper in self._scripted(script):
                    self._add(place.helper, helper, place.line)
        except Exception as error:
            self.findings.fail("TorchScript", error)

    def _scripted(self, script: Any) -> list[Helper]:
        """The helpers of torch.nn.functional that a script's graph was made from."""
        known = self._scripts.get(id(script))
        if known is not None:
            return known[1]
        graph = script.graph.copy()
        self.torch._C._jit_pass_inline(graph)
        met: dict[str, Helper] = {}
        for line in {int(number) for number in SCRIPTED.findall(str(graph))}:
            at = bisect.bisect_right(self._lines, line, key=lambda pair: pair[0]) - 1
            helper = self._lines[at][1] if at >= 0 else None
            if helper is not None:
                met[helper.name] = helper
        if len(self._scripts) < MOST_SCRIPTS:
            self._scripts[id(script)] = script, list(met.values())
        return list(met.values())

    # --- on and off -------------------------------------------------------------------------------

    def start(self) -> None:
        """Push both modes."""
        self._inside = self._hidden = 0
        self.function_mode.__enter__()
        try:
            self.dispatch_mode.__enter__()
        except BaseException:
            self.function_mode.__exit__(None, None, None)
            raise

    def stop(self) -> None:
        """Take both modes away; modes that the student left above them stay."""
        if self._all_disabled():
            self.findings.tamper("function mode")
        if self._current_handlers() != self._handlers:
            self.findings.tamper("handlers")
        for what, stack, mode in (
            ("dispatch mode", self._dispatch_stack, self.dispatch_mode),
            ("function mode", self._function_stack, self.function_mode),
        ):
            _size, pop, push, _at = stack
            above: list[Any] = []
            if _holds(stack, mode):
                while (top := pop()) is not mode:
                    above.append(top)
            else:
                self.findings.tamper(what)
            push(mode)
            mode.__exit__(None, None, None)
            for other in reversed(above):
                push(other)

    def _current_handlers(self) -> tuple[Any, ...]:
        function, dispatch = type(self.function_mode), type(self.dispatch_mode)
        return (
            function.__dict__.get("__torch_function__"),
            dispatch.__dict__.get("__torch_dispatch__"),
            self.function_mode.__dict__.get("__torch_function__"),
            self.dispatch_mode.__dict__.get("__torch_dispatch__"),
            self.torch._C.ScriptFunction.__call__,
            self.torch._C.ScriptMethod.__call__,
        )


def _of_gradients(operator: str) -> bool:
    """Whether autograd's engine may run an operator for its own sake: what else runs there, hooks run."""
    return operator.endswith("_") or "backward" in operator


def _holds(stack: tuple[Any, ...], mode: Any) -> bool:
    size, _pop, _push, at = stack
    return any(at(number) is mode for number in range(size()))


def _watched(call: Any, findings: Findings, note: Any) -> Any:
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if findings.active:
            note(self)
        return call(self, *args, **kwargs)

    return __call__
