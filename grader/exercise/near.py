"""Near misses, named."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """``; did you mean 'points'?`` when a known word is near, else the list of known words."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(known)}"


def near_misses(word: str, names: Sequence[str]) -> list[str]:
    """Names that are likely meant to be ``word``, the nearest first."""

    def folded(name: str) -> str:
        return name.replace("_", "").lower()

    alike = [name for name in names if folded(name) == folded(word)]
    return alike + [n for n in difflib.get_close_matches(word, names, n=3, cutoff=0.7) if n not in alike]
