"""A server started ahead of everything else, so that it imports numpy while the rest is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.sandbox.children import Server

server: Server | None = None


def start() -> None:
    """Start one; without it the command starts its own."""
    global server
    from grader.sandbox.children import SandboxError
    from grader.sandbox.servers import make_server

    try:
        server = make_server()
    except (SandboxError, OSError):
        server = None


def stop() -> None:
    """End it, if no runner has taken it over."""
    if server is not None:
        server.close()
