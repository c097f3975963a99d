"""A driver's calls made in this process, for trusted code only: starters and an author's own trials.

For submissions the child does the same (`grader.sandbox.inside.child`); it shares no code with this module,
so that nothing of the trusted side is loaded there.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from grader.exercise.rehearsal import Functions

# The name of a driver's module, and the one by which tracebacks know its text.
DRIVER = "grader_driver"
DRIVER_FILE = "driver"


def bound(
    driver: str, module: types.ModuleType, calls: tuple[str, ...], entry: str, progress: Any = None
) -> Functions:
    """What makes an exercise's calls of a module: its entry point, or functions by the calls' names.

    Args:
        driver: The driver's text; may be empty.
        module: What a submission would be.
        calls: The calls' names; one empty name where there is only one.
        entry: The name of the function that makes the only call.
        progress: What the driver is given to tell how far it is.
    """
    namespace: dict[str, Any] = {"__name__": DRIVER, "progress": progress or _quiet}
    exec(compile(driver, DRIVER_FILE, "exec", dont_inherit=True), namespace)

    def function(name: str) -> Callable[..., Any]:
        if callable(namespace.get(name)):
            return functools.partial(namespace[name], module)
        if callable(own := module.__dict__.get(name)):
            defined: Callable[..., Any] = own
            return defined

        def call(*arguments: Any) -> Any:
            return getattr(module, name)(*arguments)

        return call

    found: Mapping[str, Callable[..., Any]] = {call: function(call or entry) for call in calls}
    return found[""] if calls == ("",) else found


def _quiet(done: float, total: float) -> None:
    """Progress that nobody watches."""
