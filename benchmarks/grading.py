"""How long grading takes, measured in one run: ``python benchmarks/grading.py``.

Prints the seconds of ``grader check`` from the shell beside those of a bare ``import numpy``; submissions a
second of ``grader grade`` for a class with reports; and what share of the time is the students' own code:
processor time of loading and calls as the children report it, against the processor time of everything.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "submissions" / "mlm_forward"
SOLUTION = EXAMPLES / "right_einsum.py"


def seconds(command: list[str], runs: int) -> list[float]:
    """Wall seconds of a command over several runs after one warm-up."""
    taken = []
    for number in range(runs + 1):
        begin = time.perf_counter()
        subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if number:
            taken.append(time.perf_counter() - begin)
    return taken


def write_class(folder: Path, size: int) -> None:
    """A class of different files made of the worked submissions that need no torch and no scipy."""
    texts = [path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.py"))]
    plain = [text for text in texts if "torch" not in text and "scipy" not in text]
    for number in range(size):
        text = plain[number % len(plain)]
        (folder / f"s{number:05d}.py").write_text(f"{text}\n# student {number}\n", "utf-8")


def grade(size: int, workers: int) -> dict[str, float]:
    """Figures of one ``grader grade`` of a made-up class."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "class").mkdir()
        write_class(folder / "class", size)
        out = folder / "out"
        command = [sys.executable, "-m", "grader", "grade", str(folder / "class"), "--out", str(out)]
        command += ["--workers", str(workers), "--json", "--allow-weak-isolation", "--root", str(ROOT)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]
        assert len(results) == size, "a result was lost"
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    calls = sum(r["timing"]["calls_s"] for r in results)
    return {
        "wall": wall,
        "grading": json.loads(done.stdout)["seconds"],
        "cpu": used,
        "calls": calls,
        "children": sum(r["timing"]["cpu_s"] for r in results),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=200, help="submissions in the class")
    parser.add_argument("--runs", type=int, default=7, help="runs of each command line")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))

    check = seconds([sys.executable, "-m", "grader", "check", str(SOLUTION)], arguments.runs)
    bare = seconds([sys.executable, "-c", "import numpy"], arguments.runs)
    median, floor = statistics.median(check), statistics.median(bare)
    print(f"cores                                {cores}")
    print(f"grader check, median of {arguments.runs} runs       {median:.3f} s")
    print(f"python -c 'import numpy'             {floor:.3f} s   ratio {median / floor:.1f}")
    for workers in (1, cores):
        figures = grade(arguments.size, workers)
        # What the grader adds: the time of all workers less the students' own.
        own = figures["calls"]
        overhead = (figures["grading"] * workers - own) / arguments.size
        print(f"grade {arguments.size}, {workers} worker{'s' if workers > 1 else ' '}, with reports")
        print(f"    whole command                    {figures['wall']:.2f} s")
        print(f"    submissions a second             {arguments.size / figures['grading']:.1f}")
        print(f"    students' own code               {1000 * own / arguments.size:.1f} ms a submission")
        print(f"    added by the grader              {1000 * overhead:.1f} ms a submission and worker")
        print(f"    students' share of all cpu time  {100 * own / figures['cpu']:.0f} %")


if __name__ == "__main__":
    main()
