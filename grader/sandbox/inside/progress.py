"""How far a long call is, told to the judge by code that runs in the child."""

import mmap
from typing import Any

import numpy as np

from grader.sandbox.inside import slots

_type = type
_float, _int, _min, _max = float, int, min, max
_pack_into = slots.FRACTION.pack_into
_NUMBERS = frozenset({int, float, np.int32, np.int64, np.float32, np.float64})
_FAILS = (ArithmeticError, ValueError)


class Progress:
    """Tells how much of the call being made is done; nothing else comes of it.

    Args:
        memory: The memory that is shared with the judge.

    Example:
        >>> memory = mmap.mmap(-1, 4096)
        >>> Progress(memory)(45, 100)
        >>> slots.PROGRESS.unpack_from(memory)
        (0, 450)
    """

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory

    def __call__(self, done: Any, total: Any) -> None:
        """Say that ``done`` of ``total`` is done.

        It may be called at every step of a loop. What is below 0 or above the total is told as none or all of
        it; what is no fraction (a total of 0, NaN, no number) is not told. It never raises anything.
        """
        # By type alone: no method of a value that student code made runs here.
        if _type(done) not in _NUMBERS or _type(total) not in _NUMBERS:
            return
        try:
            share = _min(_max(_float(done) / _float(total), 0.0), 1.0)
            # NaN, which both leave as it is, is no whole number.
            _pack_into(self._memory, slots.FRACTION_AT, _int(slots.WHOLE * share))
        except _FAILS:
            pass
