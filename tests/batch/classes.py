"""Small classes of submissions, for tests of the batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.small import MUTATES, RIGHT, WRONG

from grader.batch.jobs import Graded, Job
from grader.intake.collect import Asked, collect
from grader.intake.submission import Submission
from grader.result import Result
from grader.summary import Record

SOURCES = {
    "ann": RIGHT,
    "bob": WRONG,
    "cem": MUTATES,
    "dot": "def row_scale(x: \n",
    "eve": "import os\ndef row_scale(x, w, factor): os._exit(1)\n",
    "fay": "print('hello')\ndef row_scale(x, w, factor): raise ValueError(x.shape)\n",
    "gil": RIGHT.replace("(x @ w)", "np.einsum('nd,dk->nk', x, w)"),
    "hal": "import numpy as np\ndef row_scale(x, w, factor): return np.zeros((len(x), w.shape[1]))\n",
}


def write_class(folder: Path, sources: dict[str, str] | None = None) -> list[Submission]:
    """A folder of submissions, and what the intake makes of it."""
    folder.mkdir(exist_ok=True)
    for name, source in (SOURCES if sources is None else sources).items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    return submissions_in(folder)


def submissions_in(folder: Path) -> list[Submission]:
    return list(collect([folder], Asked("row_scale")).submissions)


def told(result: Result) -> dict[str, Any]:
    """The record without what differs from run to run."""
    data = result.to_dict()
    data.pop("timing")
    return data


def jobs_of(submissions: Iterable[Submission], **options: Any) -> list[Job]:
    """A job for each submission."""
    return [Job((one,), **options) for one in submissions]


def whole(result: Result | Record | Graded) -> Result:
    """The result, read where a worker sent its text."""
    if isinstance(result, Graded):
        result = result.record
    return result.result if isinstance(result, Record) else result


def by_id(results: Iterable[Result | Record | Graded]) -> dict[str, dict[str, Any]]:
    """The records without what differs from run to run."""
    return {found.submission.id: told(found) for found in map(whole, results)}


class Counted(Sequence[Job]):
    """Jobs that are made when they are asked for, as those of a class are."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self.asked = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def __getitem__(self, number: Any) -> Any:
        job = self._jobs[number]
        self.asked += 1
        return job
