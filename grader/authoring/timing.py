"""What the reference needs: the processor time of each case's calls, in workloads.

Measured in a process of its own, in which numpy and torch have one thread as they have where submissions run.
What the first call of a process takes beside its own work (torch's optimizers import half of torch) is kept
apart: where submissions run, any call may be the first.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from grader.errors import ExerciseError, Problem
from grader.exercise.assemble import assemble
from grader.exercise.frozen import Descriptor, Frozen
from grader.exercise.reference import load_entries
from grader.exercise.right_answers import call_reference
from grader.exercise.source import ExerciseSource, PlacedCase, load
from grader.sandbox import workload
from grader.sandbox.allowance import two_digits_up
from grader.sandbox.environment import THREAD_LIMITS

# So often every case is timed, and less often, but at least so often, where that takes long.
ROUNDS, LEAST_ROUNDS = 7, 3
LONG_SECONDS = 60.0
# A case that takes less is grouped with the next ones between two workloads.
GROUP_SECONDS = 0.5
# Below that part of a workload a time tells no limit, and is mostly chance.
SMALLEST = 0.01
# The same for what a process does at its first call; a part of that call's own time is chance.
SMALLEST_START, CHANCE = 1.0, 0.25
# An older figure stands while the new one is within this factor of it: it would change with every freeze.
KEPT_FACTOR = 1.5

Clock = Callable[[], float]
Work = Callable[[], object]


@dataclass(frozen=True)
class Timed:
    """What was measured of one piece of work.

    Attributes:
        seconds: Processor time on this machine.
        workloads: The same in workloads that were timed beside it; a number that hangs little on the machine.
    """

    seconds: float
    workloads: float


NO_TIME = Timed(0.0, 0.0)


@dataclass(frozen=True)
class Times:
    """What was measured of several works.

    Attributes:
        start: What the first call in the process took longer than the same call later.
        works: Each work by its name.
    """

    start: Timed
    works: Mapping[str, Timed]


def time_side_by_side(
    works: Mapping[str, Work],
    *,
    clock: Clock = time.process_time,
    unit: Clock = workload.measure,
    rounds: int = ROUNDS,
    long_seconds: float = LONG_SECONDS,
) -> Times:
    """Time each piece of work by turns with the workload, several times.

    What slows a machine down for a while slows both: the ratio is taken within each round, against the
    workloads just before and just after, and the median over the rounds counts, of two the lower one.

    Args:
        works: What is timed, by name.
        clock: Processor seconds of this process.
        unit: Times one workload.
        rounds: How often; three times, or fewer where that is asked for, when it takes ``long_seconds``.
        long_seconds: Of processor time.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    ratios: dict[str, list[float]] = {name: [] for name in works}
    begin = clock()
    for number in range(rounds):
        if number >= LEAST_ROUNDS and clock() - begin > long_seconds:
            break
        before = unit()
        group: dict[str, float] = {}
        for position, (name, work) in enumerate(works.items(), start=1):
            since = clock()
            work()
            group[name] = clock() - since
            if sum(group.values()) >= GROUP_SECONDS or position == len(works):
                after = unit()
                for one, took in group.items():
                    seconds[one].append(took)
                    ratios[one].append(2 * took / (before + after))
                before, group = after, {}
    low = statistics.median_low
    found = {name: Timed(low(seconds[name]), low(ratios[name])) for name in works}
    first = next(iter(works))
    longer = Timed(seconds[first][0] - found[first].seconds, ratios[first][0] - found[first].workloads)
    by_chance = longer.workloads <= max(0.0, CHANCE * found[first].workloads) or longer.seconds <= 0
    return Times(NO_TIME if by_chance else longer, found)


def steady(before: float | None, workloads: float, least: float = SMALLEST) -> float:
    """The figure that is frozen: the older one while it is about right, else the new one, rounded up.

    Args:
        before: What was frozen earlier, if anything.
        workloads: What was measured now.
        least: What counts as the smallest.
    """
    now = two_digits_up(max(workloads, least))
    if before is not None and now <= KEPT_FACTOR * before and before <= KEPT_FACTOR * now:
        return before
    return now


def time_reference(
    source: ExerciseSource, batches: Mapping[str, list[Descriptor]], *, rounds: int = ROUNDS
) -> Times:
    """The reference timed on the calls of each case, by the case's id.

    Args:
        source: The exercise.
        batches: The members of its random batches.
        rounds: How often, at most; one tells nothing of the first call.

    Raises:
        ExerciseError: The reference fails on a case.
    """
    task = {
        "folder": str((source.root / "cases" / source.name).resolve()),
        "batches": {name: [asdict(d) for d in members] for name, members in batches.items()},
        "rounds": rounds,
    }
    one_thread = dict.fromkeys(THREAD_LIMITS, "1")
    with tempfile.TemporaryDirectory(prefix="grader-timing-") as folder:
        out = Path(folder, "times.json")
        done = subprocess.run(
            # Without -P the current folder's modules would come before the installed ones.
            [sys.executable, "-P", "-m", __name__, str(out)],
            input=json.dumps(task),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **one_thread},
            check=False,
        )
        if done.returncode or not out.is_file():
            said = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
            said = said.removeprefix("grader.errors.ExerciseError: ")
            message = f"the reference can't be timed: {said}"
            place = source.root / "cases" / source.name / "exercise.yaml"
            raise ExerciseError([Problem(str(place), 0, "limits.times_reference", message)])
        found = json.loads(out.read_text("utf-8"))
    works = {name: Timed(**timed) for name, timed in found["works"].items()}
    return Times(Timed(**found["start"]), works)


def with_times(frozen: Frozen, before: Frozen | None, times: Times) -> Frozen:
    """What is frozen, with the reference's times.

    Args:
        frozen: What an author's run found, without times.
        before: What an earlier run froze; a time in it stands where the case's inputs are the same.
        times: What the reference needs now.
    """
    cases = {}
    for name, one in frozen.cases.items():
        old = before.cases.get(name) if before is not None else None
        kept = old.reference_time if old is not None and old.inputs == one.inputs else None
        cases[name] = replace(one, reference_time=steady(kept, times.works[name].workloads))
    earlier = before.reference_start if before is not None else None
    start = steady(earlier, times.start.workloads, SMALLEST_START)
    return replace(frozen, cases=cases, reference_start=start)


def main(arguments: Sequence[str]) -> None:
    """What the other process does."""
    task = json.loads(sys.stdin.read())
    source = load(Path(task["folder"]))
    batches = {name: [Descriptor(**d) for d in members] for name, members in task["batches"].items()}
    entries = load_entries(source.reference_folder, "model", source.exercise)

    def work(placed: PlacedCase) -> Work:
        assembled = assemble(source.exercise, placed)
        return lambda: call_reference(entries, assembled, source.exercise)

    works = {placed.case.id: work(placed) for placed in source.cases(batches)}
    timed = time_side_by_side(works, rounds=task["rounds"])
    Path(arguments[0]).write_text(json.dumps(asdict(timed)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
