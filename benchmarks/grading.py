"""How fast grading is, measured in one run: ``python benchmarks/grading.py``.

Prints, each with the ratios that say whether it is good:

- the seconds of ``grader check`` from the shell beside those of a bare ``import numpy``;
- the microseconds of each stage of one submission, for numpy and for torch;
- submissions a second of ``grader grade`` with reports and gradebook, by size of the class and number of
  workers, and the largest process's memory;
- what the grader adds to the students' own code: against (a) the same files run bare, each in a fork of a
  warm process, and (b) one pytest process a submission on the same cases.

Machines differ and so does one machine from minute to minute: compare figures of one run only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import baselines
import classes
import stages

SOLUTION = classes.EXAMPLES / "right_einsum.py"


def seconds(command: list[str], runs: int) -> float:
    """Median wall seconds of a command over several runs after one warm-up."""
    taken = []
    for number in range(runs + 1):
        begin = time.perf_counter()
        subprocess.run(command, cwd=classes.ROOT, capture_output=True, check=False)
        if number:
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def grade(folder: Path, size: int, workers: int) -> tuple[float, float, float]:
    """Grade a class: submissions a second, seconds of the whole command, and MiB of the largest process."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        command = [sys.executable, "-m", "grader", "grade", str(folder), "--out", str(out), "--json"]
        command += ["--workers", str(workers), "--root", str(classes.ROOT), "--allow-weak-isolation"]
        begin = time.perf_counter()
        with (Path(name) / "said").open("w+") as file, (Path(name) / "errors").open("w") as errors:
            process = subprocess.Popen(command, stdout=file, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            file.seek(0)
            said = json.load(file)
        wall = time.perf_counter() - begin
        assert process.returncode == 0, process.returncode
        with (out / "results.jsonl").open("rb") as file:
            assert sum(1 for _ in file) == size, "a result was lost"
        assert not said["faults"], said["faults"]
    return size / said["seconds"], wall, usage.ru_maxrss / 1024


def check_times(runs: int) -> None:
    """Print the time of ``grader check``."""
    check = seconds([sys.executable, "-m", "grader", "check", str(SOLUTION)], runs)
    bare = seconds([sys.executable, "-c", "import numpy"], runs)
    print(f"grader check {SOLUTION.name}, median of {runs}   {check:.3f} s")
    print(f"python -c 'import numpy'                   {bare:.3f} s   ratio {check / bare:.1f}")


def rates(kind: str, sizes: list[int]) -> None:
    """Print how many submissions a second are graded, and what that is against the baselines."""
    cores = len(os.sched_getaffinity(0))
    alone = baselines.alone(kind)
    print(f"\n{kind}: (a) the same files run bare, each in a fork of a warm process: {1000 * alone:.1f} ms")
    one_process: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            classes.write(Path(name), size, kind)
            for workers in (1, cores):
                rate, wall, largest = grade(Path(name), size, workers)
                each = workers / rate
                print(
                    f"{kind}: {size} submissions, {workers} worker{'s' if workers > 1 else ' '}  "
                    f"{rate:6.1f} a second, whole command {wall:.1f} s, largest process {largest:.0f} MiB"
                )
                if workers == 1:
                    one_process[size] = rate
                    added = 1000 * (each - alone)
                    print(f"    {1000 * each:.1f} ms each: {each / alone:.2f} x (a), {added:.1f} ms added")
                else:
                    print(f"    {rate / one_process[size]:.2f} x one worker")
    if len(sizes) > 1:
        small, large = sizes[0], sizes[-1]
        ratio = (large / one_process[large]) / (small / one_process[small])
        print(f"    {large} take {ratio:.1f} x as long as {small}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="runs of each command line")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 2000], help="submissions in the class")
    parser.add_argument("--torch-sizes", type=int, nargs="+", default=[100], help="the same with torch")
    parser.add_argument("--no-torch", action="store_true", help="leave torch out")
    chosen = parser.parse_args()
    kinds = ["numpy"] if chosen.no_torch else ["numpy", "torch"]
    print(f"cores: {len(os.sched_getaffinity(0))}\n")
    check_times(chosen.runs)
    for kind in kinds:
        stages.show(kind)
    rates("numpy", chosen.sizes)
    if "torch" in kinds:
        rates("torch", chosen.torch_sizes)
    print()
    baselines.show_pytest()


if __name__ == "__main__":
    main()
