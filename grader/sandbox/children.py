"""What the judge needs of a sandbox: a server that starts children, and what is heard and seen of a child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grader.sandbox.clock import Reading
from grader.sandbox.inside.confinement import Level


class SandboxError(Exception):
    """The sandbox failed; a fault of the grader, not of a submission."""


class PackageMissingError(SandboxError):
    """A package that submissions may use is not installed on this machine."""


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        code: Its exit code, negative for a signal.
        cpu_s: Processor time.
        out_of_memory: It was ended because it used too much memory.
    """

    code: int
    cpu_s: float
    out_of_memory: bool = False


class Memory(Protocol):
    """Memory of fixed size that the judge shares with one child."""

    size: int

    def read(self, at: int, length: int) -> bytes:
        """A copy of a part, read once: what is checked in it is what is used."""

    def write(self, at: int, data: bytes) -> None:
        """Fill a part."""

    def close(self) -> None:
        """Give it back."""


class Child(Protocol):
    """A child: what the judge hears from it, tells it, and sees of it from outside."""

    def wait(self, seconds: float) -> tuple[bytes, bool]:
        """What the child says next (nothing if it says nothing), and whether it has ended."""

    def tell(self, message: bytes) -> None:
        """Say something to the child; one that has ended doesn't hear it."""

    def hang_up(self) -> None:
        """Tell the child that nothing more comes."""

    def kill(self) -> None:
        """End it now."""

    def read_clock(self) -> Reading:
        """The time that it has used."""

    def reap(self) -> Ended:
        """How it ended; waits for its end."""

    def close(self) -> None:
        """End it if it lives, and give back what it holds here."""


class Server(Protocol):
    """Starts children.

    Attributes:
        level: The isolation level of its children: ``full``, ``partial`` or ``none``; known once it is ready.
        layers: What that level is made of.
    """

    kind: str
    level: Level
    layers: tuple[str, ...]

    def configure(self, packages: Sequence[str], policy: Mapping[str, Any]) -> None:
        """Tell the server, once, what submissions may import and the rules of the policy check."""

    def wait_ready(self) -> None:
        """Wait until it can start children. Raises SandboxError when it can't."""

    def memory(self, size: int) -> Any:
        """Memory to share with a child."""

    def start(self, job: Mapping[str, Any], memory: Any) -> Child:
        """Start a child. Raises SandboxError."""

    def close(self) -> None:
        """End the server and its children."""
