"""How steady the workload is, by which time limits follow the reference: alone, and beside busy neighbours.

    python benchmarks/workload.py                    # ten measurements of each kind, about a minute
    python benchmarks/workload.py --times 20

Prints the processor time of one workload, that of some work of other kinds, and their ratio, which is what is
frozen: with its median and its spread, the largest over the smallest of the measurements.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# As where submissions run; numpy looks when it is imported.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.authoring.timing import time_side_by_side  # noqa: E402
from grader.sandbox import workload  # noqa: E402


def numbers() -> int:
    """A loop in plain Python."""
    total = 0
    for number in range(3_000_000):
        total += number & 7
    return total


def matrices() -> object:
    """Products of matrices of a middling size."""
    a = np.ones((300, 300))
    for _ in range(60):
        a = (a @ a) * 1e-3
    return a


def training() -> object:
    """A small network trained for some steps in torch."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(64, 32)
    for _ in range(150):
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


def busy() -> None:
    """A neighbour that always works."""
    while True:
        workload.work()


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """So many busy processes beside this one."""
    others = [multiprocessing.Process(target=busy, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def line(name: str, values: list[float], unit: str) -> str:
    """Median and spread of some measurements."""
    spread = max(values) / min(values)
    return f"  {name:24} {statistics.median(values):10.4g} {unit:10} spread {spread:5.2f} ×"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=10, metavar="N", help="measurements of each kind")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds of each measurement")
    chosen = parser.parse_args()
    works: dict[str, Callable[[], object]] = {"plain Python": numbers, "matrices": matrices}
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        print("torch is not installed; its part is left out")
    else:
        works["training in torch"] = training
    for work in works.values():
        work()
    cores = os.cpu_count() or 1
    for title, count in (("alone", 0), (f"beside {cores} busy processes on {cores} cores", cores)):
        with neighbours(count):
            # They take a moment to begin.
            time.sleep(1.0 if count else 0.0)
            units = [workload.measure() for _ in range(chosen.times)]
            found = [time_side_by_side(works, rounds=chosen.rounds).works for _ in range(chosen.times)]
        print(title)
        print(line("one workload", [1e3 * unit for unit in units], "ms"))
        for name in works:
            print(line(name, [1e3 * one[name].seconds for one in found], "ms"))
            print(line("  as a ratio", [one[name].workloads for one in found], "workloads"))


if __name__ == "__main__":
    main()
