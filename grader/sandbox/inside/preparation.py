"""What a process does before it takes a submission, whether it is forked or started for one."""

import importlib
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.policy.rules import Rules

if TYPE_CHECKING:
    from grader.sandbox.inside.recorder import Recorder


def load(names: Iterable[str]) -> str:
    """Import modules; why the last one that can't be had is missing, or an empty text."""
    failed = ""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed = f"{name} can't be imported: {error}"
    return failed


def use_libraries() -> None:
    """Use what numpy and torch set up lazily, so that no submission pays for it."""
    a = np.ones((2, 2))
    np.einsum("ij,jk->ik", a, a @ a)
    np.tanh(np.exp(a)).mean(axis=-1, keepdims=True).var()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
        # There is one thread and there can be no more: a library that is told to start some ends the process.
        for name in ("set_num_threads", "set_num_interop_threads"):
            setattr(torch, name, _ignore_threads)
        t = torch.ones(2, 2, dtype=torch.float64)
        torch.einsum("ij,jk->ik", t, torch.tanh(torch.exp(t @ t)))


def _ignore_threads(count: int) -> None:
    """In the place of torch's function of that purpose."""


def make_recorder(rules: Rules, settings: Mapping[str, Any]) -> "Recorder | None":
    """What finds banned helpers while they run; None where no library is loaded that has any."""
    here = set(settings["packages"]) - set(settings["other_kinds"])
    if not here & rules.roots and all(root.isidentifier() for root in rules.roots):
        return None
    from grader.sandbox.inside.recorder import Recorder

    return Recorder(rules)


def hide_grader(path: str) -> None:
    """Let a submission find no module of the grader by name.

    Args:
        path: The folder from which the grader is imported.
    """
    for name in [n for n in sys.modules if n == "grader" or n.startswith("grader.")]:
        del sys.modules[name]
    sys.path[:] = [p for p in sys.path if p != path]
    sys.dont_write_bytecode = True


def seed() -> None:
    """The same submission gets the same random numbers in every run."""
    np.random.seed(0)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)
