"""An autograder for exercises in which a student writes a numeric function."""

# Nothing is imported here: ``python -m grader`` begins with this file, in a folder that may hold a typing.py.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from grader.api import check, grade

__version__ = "0.1.0"
__all__ = ["__version__", "check", "grade"]


def __getattr__(name: str) -> object:
    # The command line imports this package at every start; what it doesn't need stays out.
    if name in ("check", "grade"):
        from grader import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
