"""How fast this machine is: the processor time of a fixed amount of work that no exercise has to do with.

A limit that is stated in seconds is too little on a slow machine and too much on a fast one. The reference's
time is therefore kept in *workloads*, as so many times what this work takes on the same machine, and a limit
that follows from it is found again on the machine that grades.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache

import numpy as np

# So often the work is done; the time of one of them, the median, is the unit.
RUNS = 5
# Matrices that numpy's libraries multiply in one thread, however many they may use.
SIZE = 48
PRODUCTS = 550
ELEMENTS = 4_096
ELEMENTWISE = 210
LOOPS = 40_000

Clock = Callable[[], float]


def work() -> float:
    """Small matrix products, elementwise work and a loop in plain Python, about a third of the time each.

    Returns:
        A number in which all of it ends up.
    """
    a = np.linspace(-1.0, 1.0, SIZE * SIZE).reshape(SIZE, SIZE)
    b = a
    for _ in range(PRODUCTS):
        b = a @ b
        b = b / (1.0 + abs(float(b[0, 0])))
    x = np.linspace(-3.0, 3.0, ELEMENTS)
    y = x
    for _ in range(ELEMENTWISE):
        y = np.tanh(y + x) * 0.5 + np.exp(-x * x)
    total, seen = 0, [0] * 16
    for number in range(LOOPS):
        total = (total * 31 + number) % 65_521
        seen[total & 15] += 1
    return float(b.sum() + y.sum()) + max(seen)


def measure(work: Callable[[], object] = work, clock: Clock = time.thread_time) -> float:
    """Processor seconds that the work takes now: the median of a few runs.

    Args:
        work: What is done.
        clock: Seconds of processor time of the thread that asks, so that other threads don't count.
    """
    work()
    times = []
    for _ in range(RUNS):
        begin = clock()
        work()
        times.append(clock() - begin)
    return statistics.median(times)


@cache
def seconds() -> float:
    """Processor seconds of one workload on this machine, found once by each process."""
    return measure()
