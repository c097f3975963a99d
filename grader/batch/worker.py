"""A worker process: a judge with its own servers, fed one job at a time.

Messages are bytes over the pipes that were its standard streams: first the settings (see
`grader.batch.process`), then the pack's bytes, then jobs, each answered by its results; see
`grader.batch.jobs`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from grader.batch.jobs import Graded, Job, answer_to_bytes
from grader.batch.messages import receive, send
from grader.batch.runner import Runner
from grader.exercise import pack as packs
from grader.exercise.pack import Pack
from grader.report import files
from grader.report.html import student_page, teacher_page
from grader.report.submission_page.view import Memo
from grader.result import Result
from grader.summary import Record

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Settings:
    """How a worker works.

    Attributes:
        reports: A run's folder, where pages are written.
        pages: ``write`` the pages there, ``return`` them in the answer, or ``none``.
        weak_isolation: Submissions are run also where they can't be confined fully.
    """

    reports: str | None = None
    pages: Literal["write", "return", "none"] = "none"
    weak_isolation: bool = True

    @staticmethod
    def to_folder(reports: Path | None, *, weak_isolation: bool = True) -> Settings:
        """Pages are written into a folder, if there is one."""
        return Settings(str(reports) if reports else None, "write" if reports else "none", weak_isolation)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Settings:
        """Settings from plain data. Raises TypeError or ValueError."""
        settings = Settings(**data)
        if settings.pages not in ("write", "return", "none") or (settings.pages == "write") > bool(
            settings.reports
        ):
            raise ValueError(f"a worker can't work with the settings {dict(data)}")
        return settings


def main() -> None:
    """Serve until the parent closes the pipe or ends."""
    requests, answers = _take_streams()
    if sys.platform == "linux":
        import ctypes

        # A parent that is killed takes its workers with it at once, and they their fork servers.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(sys.argv[1]):
            return
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    settings = Settings.from_dict(json.loads(waiting.get()))
    runner = Runner(packs.loads(waiting.get()), weak_isolation=settings.weak_isolation)
    while True:
        graded = grade(runner, Job.from_bytes(waiting.get()), settings)
        try:
            send(answers, answer_to_bytes(graded))
        except OSError:
            # Its servers see the end of their pipes.
            os._exit(0)


def _take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes from and to the parent, out of the way of everything that prints."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return requests, answers


def _listen(requests: IO[bytes], waiting: queue.SimpleQueue[bytes]) -> None:
    """Hand on what the parent sends; without a parent nobody wants what is being worked on."""
    try:
        while True:
            waiting.put(receive(requests))
    except (EOFError, OSError):
        os._exit(0)


def grade(runner: Runner, job: Job, settings: Settings) -> list[Graded]:
    """The results of a job's submissions in their order, and their pages."""
    try:
        results, execution = runner.grade_job(job)
    except Exception as error:
        # A fault of ours costs the students nothing.
        results = [runner.fault(one, f"{type(error).__name__}: {error}") for one in job.submissions]
        execution = None
    return _answered(job, results, execution, settings)


def faults(pack: Pack, job: Job, message: str, settings: Settings) -> list[Graded]:
    """The results that say that the grader itself failed on a job, and their pages."""
    runner = Runner(pack)
    return _answered(job, [runner.fault(one, message) for one in job.submissions], None, settings)


def _answered(
    job: Job, results: Sequence[Result], execution: bytes | None, settings: Settings
) -> list[Graded]:
    graded = []
    for number, result in enumerate(results):
        one = Graded(Record.of(result), None if number else execution)
        graded.append(_with_pages(one, result, settings) if job.reports else one)
    return graded


def _with_pages(graded: Graded, result: Result, settings: Settings) -> Graded:
    """Pages are beside the grading: what goes wrong with them costs no result."""
    try:
        if settings.pages == "return":
            return replace(graded, pages=pages_of(result))
        if settings.pages == "write" and settings.reports is not None:
            files.write_pages(Path(settings.reports), result)
    except Exception as error:
        said = f"the pages of {result.submission.id} can't be written: {error or type(error).__name__}"
        return replace(graded, warning=said)
    return graded


def pages_of(result: Result) -> dict[str, bytes]:
    """The pages of one submission by their path below a run's folder."""
    student, teacher = files.page_paths(result.submission.id)
    memo = Memo()
    return {student: student_page(result, memo).encode(), teacher: teacher_page(result, memo).encode()}
