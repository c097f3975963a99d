"""An autograder for exercises in which a student writes a numeric function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.api import check, grade

__version__ = "0.1.0"
__all__ = ["__version__", "check", "grade"]


def __getattr__(name: str) -> Any:
    # The command line imports this package at every start; what it doesn't need stays out.
    if name in ("check", "grade"):
        from grader import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
