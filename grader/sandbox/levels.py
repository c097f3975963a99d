"""How well this machine can keep submissions apart from everything else."""

from __future__ import annotations

import os
import sys

from grader.errors import GraderError
from grader.sandbox.inside import confinement

LEVELS = (confinement.NONE, confinement.PARTIAL, confinement.FULL)
# Names of confinement layers to leave out, for tests and measurements; every report says what is left.
WITHOUT = "GRADER_SANDBOX_WITHOUT"
# One more name: children are not forked but started one by one, as where the kernel is another one.
FORK = "fork"
# What is left there.
WATCHED = ("processes", "time and memory watched")
SYSTEMS = {"darwin": "macOS", "win32": "Windows"}


def left_out() -> tuple[str, ...]:
    """The confinement layers that the environment says to leave out."""
    return tuple(name for name in os.environ.get(WITHOUT, "").split(",") if name)


def forks() -> bool:
    """Whether children are forked and confined here."""
    return sys.platform == "linux" and FORK not in left_out()


def probe() -> tuple[confinement.Level, tuple[str, ...]]:
    """The isolation level to be had here and its layers, asked of the kernel without starting anything."""
    if not forks():
        return confinement.NONE, WATCHED
    layers = ("processes", "resource limits", *confinement.available(confinement.load_libc(), left_out()))
    return confinement.level(layers), layers


def why_not_full() -> str:
    """What is missing for the level ``full``, as the end of a sentence."""
    if sys.platform != "linux":
        return f"confinement needs Linux, and this is {SYSTEMS.get(sys.platform, sys.platform)}"
    if not forks():
        return f"the fork server is switched off by {WITHOUT}"
    _level, layers = probe()
    present = {layer.partition(" ")[0] for layer in layers}
    missing = [name for name in (confinement.LANDLOCK, confinement.SECCOMP) if name not in present]
    switched_off = [name for name in missing if name in left_out()]
    lacking = [name for name in missing if name not in switched_off]
    said = []
    if switched_off:
        verb = "are" if len(switched_off) > 1 else "is"
        said.append(f"{' and '.join(switched_off)} {verb} switched off by {WITHOUT}")
    if lacking:
        said.append(f"this kernel has no {' and no '.join(lacking)}")
    return ", and ".join(said)


def require(level: str, otherwise: str) -> None:
    """Raise GraderError when this machine can't keep submissions apart that well.

    Args:
        level: One of `LEVELS`.
        otherwise: What a user may do all the same.
    """
    found, _layers = probe()
    if LEVELS.index(found) < LEVELS.index(level):
        raise GraderError(
            f"submissions can't be confined here as they should be: the isolation level is {found}, "
            f"{level} is asked for; {why_not_full()}\n{otherwise}"
        )
