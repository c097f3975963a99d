"""The kind of server that this machine allows."""

from __future__ import annotations

from grader.sandbox.children import Server
from grader.sandbox.levels import forks


def make_server(kind: str = "numpy") -> Server:
    """Start a server: one that forks confined children, or one that starts a process for each.

    Args:
        kind: ``numpy``, ``scipy`` or ``torch``: what its children have loaded.

    Raises:
        PackageMissingError: The kind's package, or one that watches processes here, is not installed.
        SandboxError: It can't be started.
    """
    # Each can be imported only where it works.
    if forks():
        from grader.sandbox.server import ForkServer

        return ForkServer(kind)
    from grader.sandbox.spawned import SpawnServer

    return SpawnServer(kind)
