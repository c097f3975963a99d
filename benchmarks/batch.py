"""How fast a class is graded, here and on a Dask cluster: ``python benchmarks/batch.py``.

Prints for each size of the class, on one worker process, on one a core, and on a Dask cluster of two workers
on this machine, with pages and without:

- submissions a second, and the ratio to one worker;
- what share of the run writing takes. ``results``: the gradebook and the class's files, by the clock of the
  process that writes them. ``pages``: what the run takes longer with pages than without, which says something
  only where the machine does nothing else; and, on one worker, which makes them between submissions, by the
  clock.

Machines differ and so does one machine from minute to minute: compare figures of one run only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import classes

sys.path.insert(0, str(classes.ROOT))

from grader.batch.asking import asked_of
from grader.batch.grading import grade_class
from grader.exercise.pack import Pack
from grader.exercise.resolve import resolve_pack
from grader.gradebook.journal import Gradebook
from grader.intake.collect import collect
from grader.intake.submission import Submission
from grader.report import files

DASK_WORKERS = 2
RESULTS, PAGES = "results", "pages"


class Clock:
    """The seconds that this process spends in some functions; of nested ones the outer counts."""

    def __init__(self) -> None:
        self.seconds = {RESULTS: 0.0, PAGES: 0.0}
        self._inside = False

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the block runs."""
        watched: list[tuple[Any, str, str]] = [
            (Gradebook, "add", RESULTS),
            (Gradebook, "commit", RESULTS),
            (files, "write_gradebook", RESULTS),
            (files, "write_pages", PAGES),
            (files, "write_made_pages", PAGES),
        ]
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in watched]
        for owner, name, kind in watched:
            setattr(owner, name, self._timed(getattr(owner, name), kind))
        try:
            yield
        finally:
            for owner, name, function in before:
                setattr(owner, name, function)

    def _timed(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            if self._inside:
                return function(*arguments, **named)
            self._inside, begin = True, time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[kind] += time.perf_counter() - begin
                self._inside = False

        return timed


def grade(pack: Pack, submissions: Sequence[Submission], **options: Any) -> tuple[float, Clock]:
    """The seconds of a whole run, and what of them was spent on what."""
    clock = Clock()
    with TemporaryDirectory() as name, clock.watching():
        begin = time.perf_counter()
        run = grade_class(pack, submissions, Path(name) / "out", **options)
        seconds = time.perf_counter() - begin
    if run.interrupted:
        sys.exit("interrupted")
    assert run.graded == len(submissions) == len(run.summaries), "a result was lost"
    faults = [summary.message for summary in run.summaries if summary.status == "grader_fault"]
    assert not faults, faults[:3]
    return seconds, clock


@contextlib.contextmanager
def dask_cluster() -> Iterator[str]:
    """A scheduler and two workers with one thread each; gives the scheduler's address."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    here = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    with TemporaryDirectory() as folder, contextlib.ExitStack() as stack:

        def start(what: str, *arguments: str) -> None:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, *here],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(classes.ROOT)},
            )
            stack.callback(process.wait)
            stack.callback(process.kill)

        start("scheduler", "--port", str(port))
        for _ in range(DASK_WORKERS):
            start("worker", address, "--nthreads", "1", "--no-nanny", "--local-directory", folder)
        from distributed import Client

        with Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(DASK_WORKERS, timeout=60)
        yield address


def show(pack: Pack, size: int, places: dict[str, dict[str, Any]]) -> None:
    """Print the figures of a class."""
    with TemporaryDirectory() as name:
        classes.write(Path(name), size, "numpy")
        submissions = list(collect([Path(name)], asked_of(pack)).submissions)
        assert len(submissions) == size
        alone: dict[bool, float] = {}
        for place, options in places.items():
            taken: dict[bool, float] = {}
            for reports in (False, True):
                seconds, clock = grade(pack, submissions, reports=reports, weak_isolation=True, **options)
                taken[reports] = seconds
                alone.setdefault(reports, seconds)
                results = clock.seconds[RESULTS] / seconds
                said = f"{size:6} submissions, {place:22} {'pages' if reports else 'no pages':9}"
                said += f"{size / seconds:7.1f} a second  {alone[reports] / seconds:5.2f} x one worker"
                said += f"  results {results:6.1%}"
                if reports:
                    by_rate, by_clock = 1 - taken[False] / seconds, clock.seconds[PAGES] / seconds
                    said += f"  pages {by_rate:6.1%}"
                    if options.get("workers") == 1:
                        said += f", by the clock {by_clock:.1%}, with results {results + by_clock:.1%}"
                    else:
                        said += f", with results {results + by_rate:.1%}"
                print(said, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1000, 10000], help="submissions in the class"
    )
    parser.add_argument("--no-dask", action="store_true", help="leave the cluster out")
    chosen = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"cores: {cores}\n")
    pack = resolve_pack("mlm_forward", classes.ROOT)
    places: dict[str, dict[str, Any]] = {"1 worker": {"workers": 1}}
    if cores > 1:
        places[f"{cores} workers"] = {"workers": cores}
    with contextlib.ExitStack() as stack:
        if not chosen.no_dask:
            places[f"Dask, {DASK_WORKERS} workers"] = {"scheduler": stack.enter_context(dask_cluster())}
        for size in chosen.sizes:
            show(pack, size, places)


if __name__ == "__main__":
    main()
