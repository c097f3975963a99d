"""What diagnosis and follow-up calls cost: ``python benchmarks/diagnosis.py``.

Grades the worked submissions that use numpy alone, with and without diagnosis, in turn and in one run, and
prints milliseconds and ratios.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import classes

sys.path.insert(0, str(classes.ROOT))

from grader.batch import runner as running
from grader.batch.asking import asked_of
from grader.exercise.resolve import resolve_pack
from grader.intake.collect import collect
from grader.intake.submission import Submission
from grader.judge import submission as judging
from grader.result import Result

ROUNDS = 5


class _Clock:
    """Seconds spent in functions that are called while submissions are graded."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)

    def watch(self, module: Any, name: str, stage: str) -> None:
        """Time a function of a module."""
        function: Callable[..., Any] = getattr(module, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.spent[stage] += time.perf_counter() - begin

        setattr(module, name, timed)


def _grade(
    runner: running.Runner, submission: Submission, clock: _Clock
) -> tuple[Result, float, float, float]:
    """The result, and milliseconds: in all, of diagnosis, of the follow-up."""
    clock.spent.clear()
    begin = time.perf_counter()
    result = runner.grade(submission)
    whole = time.perf_counter() - begin
    return result, 1e3 * whole, 1e3 * clock.spent["diagnosis"], 1e3 * clock.spent["follow-up"]


def main() -> None:
    """Measure and print."""
    pack = resolve_pack("mlm_forward", classes.ROOT)
    folder = classes.ROOT / "submissions" / "mlm_forward"
    paths = [
        p for p in sorted(folder.glob("*.py")) if "torch" not in p.read_text() and "banned" not in p.name
    ]
    submissions = collect(paths, asked_of(pack)).submissions
    clock = _Clock()
    clock.watch(judging, "_with_diagnosis", "diagnosis")
    clock.watch(running.Runner, "_follow_up", "follow-up")
    rows: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    with running.Runner(pack) as runner:
        for submission in submissions:
            runner.grade(submission)
        for _ in range(ROUNDS):
            for submission in submissions:
                result, *figures = _grade(runner, submission, clock)
                rows[result.status].append((figures[0], figures[1], figures[2]))
    print(f"{len(submissions)} submissions, {ROUNDS} rounds; milliseconds, median (90th percentile)\n")
    print(f"{'':10}{'in all':>18}{'diagnosis':>18}{'follow-up':>18}{'without both':>16}")
    for status, figures in sorted(rows.items()):
        columns = list(zip(*figures, strict=True))
        cells = "".join(f"{_middle(column):>18}" for column in columns)
        rest = statistics.median(whole - told - more for whole, told, more in figures)
        print(f"{status:10}{cells}{rest:>16.1f}")
    for status in ("failed", "passed"):
        added = statistics.median((told + more) / (whole - told - more) for whole, told, more in rows[status])
        print(f"\n{status}: both add {added:.2f} of the time that grading takes without them")


def _middle(values: tuple[float, ...]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.1f} ({ordered[int(0.9 * len(ordered))]:.1f})"


if __name__ == "__main__":
    main()
