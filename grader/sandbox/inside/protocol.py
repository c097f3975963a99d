"""What the judge and a child say to each other, the roles of children, and one exit code."""

from typing import Protocol

# Said by a child: the confinement is on, the module was run, a phase's calls are done.
CONFINED, LOADED, PHASE_DONE = b"C", b"L", b"E"
# Said by an analyst: the report is there.
REPORTED = b"R"

# What a child is for.
SUBMISSION, ANALYST = "submission", "analyst"

# How a child ends whose confinement could not be put on; nothing of the student's has run then.
NOT_CONFINED = 73

# Bytes of the longest message to a child.
LONGEST = 4096


class Judge(Protocol):
    """The judge as a child knows it."""

    def say(self, message: bytes) -> None:
        """Send a message."""

    def hear(self) -> bytes:
        """The next message; empty when nothing more comes."""
