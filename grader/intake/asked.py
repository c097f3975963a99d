"""What an exercise asks for, as far as the intake needs to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """The function that is asked for.

    Attributes:
        entry: Its name.
        packages: What a submission may import beside the standard library.
        parameters: The names of its parameters, in order; empty when they are not known.
        others: Other names that are asked for beside it.
    """

    entry: str
    packages: Sequence[str] = ()
    parameters: Sequence[str] = ()
    others: Sequence[str] = ()

    @property
    def names(self) -> str | tuple[str, ...]:
        """The name, or all where there are several."""
        return (self.entry, *self.others) if self.others else self.entry
