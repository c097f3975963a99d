"""A worker process: a judge with its own servers, fed one submission at a time.

Messages are bytes of JSON over the pipes that were its standard streams: first the settings, then the pack's
bytes, then submissions, each answered by its Result record with the summary.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import IO

from grader.batch.messages import receive, send
from grader.batch.runner import Runner
from grader.exercise import pack as packs
from grader.intake.submission import Submission
from grader.report.files import write_pages
from grader.result import Result
from grader.summary import Record

PR_SET_PDEATHSIG = 1


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
    reports = json.loads(waiting.get())["reports"]
    runner = Runner(packs.loads(waiting.get()))
    while True:
        submission = Submission.from_dict(json.loads(waiting.get()))
        result = grade(runner, submission, Path(reports) if reports else None)
        try:
            send(answers, Record.of(result).to_bytes())
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


def grade(runner: Runner, submission: Submission, reports: Path | None) -> Result:
    """The Result record of a submission, its pages written; a fault of ours costs the student nothing."""
    try:
        result = runner.grade(submission)
    except Exception as error:
        return runner.fault(submission, f"{type(error).__name__}: {error}")
    if reports is None:
        return result
    try:
        write_pages(reports, result)
    except Exception as error:
        return runner.fault(submission, f"its pages can't be written: {error}")
    return result
