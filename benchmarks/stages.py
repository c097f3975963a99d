"""The time of each stage of one submission, taken from outside at what judge and child say to each other."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import classes

sys.path.insert(0, str(classes.ROOT))

from grader.batch import runner as running
from grader.batch.asking import asked_of
from grader.exercise.resolve import resolve_pack
from grader.intake.collect import collect
from grader.judge import submission as judging
from grader.report.files import write_pages
from grader.sandbox import analyst, levels, server
from grader.sandbox.inside import protocol

ROUNDS = 5
SAID = {
    protocol.CONFINED: "fork and lockdown",
    protocol.LOADED: "load",
    protocol.PHASE_DONE: "calls",
}
ORDER = (
    "policy check",
    "fork and lockdown",
    "load",
    "calls",
    "end",
    "reap",
    "compare",
    "pages",
    "json",
    "whole",
)


class _Stages:
    """Times of one submission after another."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self._last = 0.0
        self._current: dict[str, float] = defaultdict(float)

    def begin(self) -> None:
        """A submission begins."""
        self._current = defaultdict(float)

    def mark(self) -> None:
        """A stage begins now."""
        self._last = time.perf_counter()

    def ends(self, stage: str) -> None:
        """A stage ends now, and the next one begins."""
        now = time.perf_counter()
        self._current[stage] += now - self._last
        self._last = now

    def add(self, stage: str, seconds: float) -> None:
        """Count seconds to a stage."""
        self._current[stage] += seconds

    def timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, whose time goes to the stage."""

        def timed(*arguments: Any, **named: Any) -> Any:
            begin = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self._current[stage] += time.perf_counter() - begin

        return timed

    def close(self) -> None:
        """A submission is done."""
        for stage, taken in self._current.items():
            self.times[stage].append(taken)

    def medians(self) -> dict[str, float]:
        """Median microseconds of each stage."""
        return {stage: 1e6 * statistics.median(taken) for stage, taken in self.times.items()}


def measure(kind: str, without: str = "") -> dict[str, float]:
    """Median microseconds of the stages over the right worked submissions of a kind.

    Args:
        kind: ``numpy`` or ``torch``.
        without: Confinement layers to leave out.
    """
    seen = _Stages()
    wait, start, reap = server.ForkedChild.wait, server.ForkServer.start, server.ForkedChild.reap
    analyze, judge = analyst.Analyst.analyze, judging.judge

    def timed_start(self: Any, *arguments: Any) -> Any:
        seen.mark()
        return start(self, *arguments)

    def timed_wait(self: Any, limit: float) -> tuple[bytes, bool]:
        message, ended = wait(self, limit)
        if message in SAID:
            seen.ends(SAID[message])
        elif ended and not message:
            seen.ends("end")
        return message, ended

    before = os.environ.get(levels.WITHOUT)
    os.environ[levels.WITHOUT] = without
    server.ForkServer.start = timed_start  # type: ignore[method-assign]
    server.ForkedChild.wait = timed_wait  # type: ignore[method-assign]
    server.ForkedChild.reap = seen.timed("reap", reap)  # type: ignore[method-assign]
    analyst.Analyst.analyze = seen.timed("policy check", analyze)  # type: ignore[method-assign]
    judging.judge = seen.timed("compare", judge)
    try:
        with TemporaryDirectory() as name:
            _run(kind, seen, Path(name))
    finally:
        server.ForkServer.start, server.ForkedChild.wait = start, wait  # type: ignore[method-assign]
        server.ForkedChild.reap = reap  # type: ignore[method-assign]
        analyst.Analyst.analyze, judging.judge = analyze, judge  # type: ignore[method-assign]
        if before is None:
            del os.environ[levels.WITHOUT]
        else:
            os.environ[levels.WITHOUT] = before
    return seen.medians()


def _run(kind: str, seen: _Stages, out: Path) -> None:
    pack = resolve_pack("mlm_forward", classes.ROOT)
    texts = set(classes.texts(kind))
    intake = collect([classes.EXAMPLES], asked_of(pack))
    chosen = [s for s in intake.submissions if s.id.startswith("right_") and s.source in texts]
    (out / "students").mkdir()
    (out / "teacher").mkdir()
    with running.Runner(pack) as runner:
        for number in range(ROUNDS + 1):
            for submission in chosen:
                seen.begin()
                begin = time.perf_counter()
                result = runner.grade(submission)
                seen.timed("pages", write_pages)(out, result)
                seen.timed("json", result.to_json)()
                seen.add("whole", time.perf_counter() - begin)
                if number:
                    seen.close()


def show(kind: str) -> None:
    """Print the stages of a kind."""
    confined = measure(kind)
    bare = measure(kind, "landlock,seccomp,namespaces")
    lockdown = max(0.0, confined["fork and lockdown"] - bare["fork and lockdown"])
    print(f"\n{kind}: microseconds of one right submission, medians")
    for stage in ORDER:
        if stage == "fork and lockdown":
            print(f"    {'fork':14} {confined[stage] - lockdown:8.0f}")
            print(f"    {'lockdown':14} {lockdown:8.0f}   (against a run without the layers)")
        else:
            print(f"    {stage:14} {confined[stage]:8.0f}")
