"""What a worker is asked and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.intake.submission import Submission
from grader.result import Adjustment
from grader.summary import Record


@dataclass(frozen=True)
class Job:
    """Submissions with the same text: it is run once, and each of them is judged.

    Attributes:
        submissions: At least one; text, file name and parts are the same in all of them.
        adjustments: What a teacher gave or took by hand, by the submission's id.
        execution: What running them gave, as an earlier answer told it; then nothing is run.
        reports: Their pages are made.
    """

    submissions: tuple[Submission, ...]
    adjustments: Mapping[str, tuple[Adjustment, ...]] = field(default_factory=dict)
    execution: bytes | None = None
    reports: bool = True

    def to_bytes(self) -> bytes:
        """For a pipe or a network; see `from_bytes`."""
        about = {
            "submissions": [s.to_dict() for s in self.submissions],
            "adjustments": {name: [vars(a) for a in given] for name, given in self.adjustments.items()},
            "ran": self.execution is not None,
            "reports": self.reports,
        }
        return join([json.dumps(about).encode(), self.execution or b""])

    @staticmethod
    def from_bytes(data: bytes) -> Job:
        """What `to_bytes` gave."""
        text, execution = split(data)
        about = json.loads(text)
        return Job(
            tuple(Submission.from_dict(s) for s in about["submissions"]),
            {name: tuple(Adjustment(**a) for a in given) for name, given in about["adjustments"].items()},
            execution if about["ran"] else None,
            about["reports"],
        )


@dataclass(frozen=True)
class Graded:
    """The result of one submission.

    Attributes:
        record: Its record as text, with the summary.
        execution: What running it gave, for a later `Job`; None where nothing was run, and with all but the
            first of a job's submissions, which share it.
        pages: Its pages' bytes by their path below the run's folder, where the one who asked has to write
            them.
        warning: What went wrong beside the grading: its pages could not be written.
    """

    record: Record
    execution: bytes | None = None
    pages: Mapping[str, bytes] = field(default_factory=dict)
    warning: str = ""


def answer_to_bytes(graded: Sequence[Graded]) -> bytes:
    """The results of a job as one message; see `answer_from_bytes`."""
    parts = [b""]
    about = []
    for one in graded:
        about.append({"ran": one.execution is not None, "pages": list(one.pages), "warning": one.warning})
        parts += [one.record.to_bytes(), one.execution or b"", *one.pages.values()]
    parts[0] = json.dumps(about).encode()
    return join(parts)


def answer_from_bytes(data: bytes) -> list[Graded]:
    """What `answer_to_bytes` was given."""
    text, *parts = split(data)
    graded = []
    for about in json.loads(text):
        record, execution, *rest = parts[: 2 + len(about["pages"])]
        del parts[: 2 + len(about["pages"])]
        graded.append(
            Graded(
                Record.from_bytes(record),
                execution if about["ran"] else None,
                dict(zip(about["pages"], rest, strict=True)),
                about["warning"],
            )
        )
    return graded


def join(parts: Sequence[bytes]) -> bytes:
    """Several messages as one."""
    sizes = json.dumps([len(part) for part in parts]).encode()
    return b"".join([len(sizes).to_bytes(4, "little"), sizes, *parts])


def split(data: bytes) -> list[bytes]:
    """The messages of which one was made. Raises ValueError where it was not."""
    at = 4 + int.from_bytes(data[:4], "little")
    sizes = json.loads(data[4:at])
    parts = []
    if not isinstance(sizes, list) or not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError("a message does not begin with the sizes of its parts")
    for size in sizes:
        parts.append(data[at : at + size])
        at += size
    if at != len(data):
        raise ValueError("a message is cut short")
    return parts
