"""One run of Gradescope's autograder: what ``run_autograder`` of a bundle calls.

It runs ``grader check`` in a process of its own and turns the record into ``results/results.json``. Whatever
fails, that file is there at the end; where the grader is at fault it has no score.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from grader.report.exports.base import ExportOptions, save
from grader.report.exports.gradescope import FILE, document, dumps, failed, nothing_handed_in
from grader.result import Result

SETTINGS, PACK = "settings.json", "exercise.pack"
# Of what could be a submission; an archive may hold one.
SUFFIXES = (".py", ".ipynb", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz")
ONE = "handed_in"


def main(root: str) -> int:
    """Grade the submission below a root folder such as ``/autograder``; 1 when the grader failed."""
    top = Path(root)
    try:
        results = _run(top, json.loads((top / "source" / SETTINGS).read_text("utf-8")))
    except Exception:
        # For the teacher, who alone sees what is printed.
        traceback.print_exc()
        results = failed("it ended in an error")
    save(top / "results" / FILE, dumps(results))
    return int("score" not in results)


def _run(top: Path, settings: dict[str, Any]) -> dict[str, Any]:
    submission = top / "submission"
    if not any(path.suffix.lower() in SUFFIXES for path in submission.rglob("*") if path.is_file()):
        return nothing_handed_in(
            "No Python file and no notebook was handed in, so there is nothing to grade."
        )
    with tempfile.TemporaryDirectory() as scratch:
        # One folder is one student's; loose files would be one submission each.
        shutil.copytree(submission, Path(scratch) / ONE, symlinks=True)
        records = _check(top, Path(scratch), settings)
    if isinstance(records, str):
        return failed(records)
    if len(records) != 1:
        return failed(f"{len(records)} submissions were found in one")
    result = Result.from_dict(records[0])
    print(f"{result.status}: score {result.score} of {result.max_score}, isolation {result.isolation.level}")
    return document(result, ExportOptions(hidden=settings["hidden"]))


def _check(top: Path, folder: Path, settings: dict[str, Any]) -> list[dict[str, Any]] | str:
    """The records of ``grader check``, or in words why there are none."""
    source = top / "source"
    launch = f"import sys; sys.path.insert(0, {str(source)!a}); from grader.cli import main; main()"
    command = [sys.executable, "-I", "-X", "utf8", "-c", launch, "check", str(folder), "--json"]
    command += ["--exercise", str(source / PACK), "--require-isolation", settings["isolation"]]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=source,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=settings["seconds"])
    except subprocess.TimeoutExpired:
        # The platform would give a 0 to a run that takes longer than it allows.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        print(f"grader check took longer than {settings['seconds']} s and was ended")
        return f"it took longer than {settings['seconds']} s"
    print(err.decode("utf-8", "replace"), end="")
    try:
        records = json.loads(out)
    except ValueError:
        print(f"grader check ended with status {process.returncode} and left no record")
        return "it left no record"
    if not records:
        print(f"grader check ended with status {process.returncode} and found nothing to grade")
        return "it could not begin"
    return list(records)
