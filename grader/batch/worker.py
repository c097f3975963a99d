"""A worker process: a judge with its own fork servers, fed one submission at a time.

Messages are bytes of JSON over a socket that the parent passes on: first the settings, then the pack's
bytes, then submissions, each answered by its Result record.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from grader.batch.runner import Runner
from grader.exercise import pack as packs
from grader.intake.submission import Submission
from grader.report.files import write_pages
from grader.result import Result

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until the parent closes the connection."""
    # A parent that is killed takes its workers with it, and they their fork servers.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    connection = Connection(int(sys.argv[1]))
    if os.getppid() != int(sys.argv[2]):
        return
    reports = json.loads(connection.recv_bytes())["reports"]
    runner = Runner(packs.loads(connection.recv_bytes()))
    try:
        while True:
            fields = json.loads(connection.recv_bytes())
            submission = Submission(**fields | {k: tuple(fields[k]) for k in ("members", "notes")})
            result = grade(runner, submission, Path(reports) if reports else None)
            connection.send_bytes(result.to_json().encode())
    except (EOFError, BrokenPipeError):
        pass
    finally:
        runner.close()


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
