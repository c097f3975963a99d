"""Of what a result is made, and whether a submission is to be run, to be judged, or left as it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import grader
from grader.exercise.pack import Pack
from grader.gradebook.journal import Known, Made, place_of
from grader.intake.submission import Submission
from grader.result import Adjustment

Need = Literal["run", "judge", "keep"]


def need(
    submission: Submission,
    made: Made,
    before: Known | None,
    stored: Mapping[str, str],
    pack_id: str,
    force: bool = False,
) -> Need:
    """Whether a submission has to be run, to be judged from what running it gave, or is as it should be.

    Args:
        submission: As it is now.
        made: Of what its result would be made now.
        before: Its newest result.
        stored: The texts whose executions are kept, with their execution digests.
        pack_id: The pack by which it would be judged now.
        force: It is to be run whatever is known.
    """
    if force or (before is not None and before.status == "grader_fault"):
        return "run"
    if before is not None and not before.withdrawn and _unchanged(submission, made, before, pack_id):
        return "keep"
    if not made.text or stored.get(made.text) == made.execution_digest:
        return "judge"
    return "run"


def _unchanged(submission: Submission, made: Made, before: Known, pack_id: str) -> bool:
    if before.inputs:
        return (before.text, before.execution_digest, before.inputs) == (
            made.text,
            made.execution_digest,
            made.inputs,
        )
    # An earlier version of the gradebook tells no more.
    now = submission.digest, pack_id, place_of(submission.path)
    return bool(submission.digest) and (before.digest, before.pack, before.place) == now


def made_of(submission: Submission, pack: Pack, given: Sequence[Adjustment], around: str = "") -> Made:
    """Of what a submission's result is made: of what is run, and of all else by which it is judged.

    Args:
        submission: The submission.
        pack: The pack.
        given: What a teacher gave or took by hand.
        around: Of what else running it hangs, see `grader.batch.surroundings`.
    """
    runs = submission.source is not None and not submission.fault
    told = submission.to_dict()
    del told["source"]
    told["absolute"] = place_of(submission.path)
    return Made(
        place=submission.place,
        text=_digest([submission.source, submission.filename, told["parts"]]) if runs else "",
        execution_digest=_digest([pack.execution_digest, around]) if runs else "",
        inputs=inputs_of(told, pack, given),
        submitted=json.dumps(told),
    )


def inputs_of(submitted: Mapping[str, Any], pack: Pack, given: Sequence[Adjustment]) -> str:
    """The digest of all by which a submission is judged beside its text, as `Made.submitted` tells of it."""
    # The path as it is shown hangs on the folder in which the command was run.
    told = {key: value for key, value in submitted.items() if key != "path"}
    return _digest([told, pack.id, grader.__version__, [[a.reason, a.points] for a in given]])


def _digest(value: object) -> str:
    # JSON's escapes make texts of any kind fit for bytes.
    return f"sha256:{hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()}"
