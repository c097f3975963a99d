"""Signs for terminals and files that know fewer than Unicode has."""

from __future__ import annotations

import codecs

# The words beside them say the same.
PLAIN = {
    "✓": "+",
    "✗": "x",
    "–": "-",
    "−": "-",
    "×": "x",
    "·": ".",
    "…": "...",
    "→": "->",
    "█": "#",
    "│": "|",
    "─": "-",
    "┼": "+",
    "≤": "<=",
    "≥": ">=",
    "’": "'",
    "“": '"',
    "”": '"',
}
ERRORS = "grader.signs"


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(PLAIN.get(sign, "?") for sign in unknown), error.end


def register() -> str:
    """Make it known how signs are written that an encoding lacks; gives the name for ``errors=``."""
    codecs.register_error(ERRORS, _plain)
    return ERRORS
