"""Making ``frozen.json``: batches drawn, noise measured, tolerances set."""

from __future__ import annotations

from collections.abc import Callable

from grader.authoring.calibrate import HonestRuns, measure_case
from grader.authoring.strategies import draw_batch
from grader.errors import ExerciseError, Problem
from grader.exercise.assemble import assemble
from grader.exercise.build import call_reference
from grader.exercise.frozen import Frozen, Measured
from grader.exercise.models import RandomCases
from grader.exercise.reference import load_entry
from grader.exercise.source import ExerciseSource


def freeze(source: ExerciseSource, progress: Callable[[str], None] = lambda case: None) -> Frozen:
    """Find anew everything that ``frozen.json`` holds.

    Args:
        source: The exercise.
        progress: Told the id of each case before it is measured.

    Raises:
        ExerciseError: Faults of cases, all that were found.
        GraderError: Hypothesis, torch or a module of the reference is missing.
    """
    batches = {
        entry.spec.id: draw_batch(source.exercise, entry)
        for entry in source.entries
        if isinstance(entry.spec, RandomCases)
    }
    entry_point = load_entry(source.reference_folder, "model", source.exercise.entry)
    runs = HonestRuns(source.reference_folder)
    measured: dict[str, Measured] = {}
    problems: list[Problem] = []
    for placed in source.cases(batches):
        progress(placed.case.id)
        try:
            assembled = assemble(source.exercise, placed)
            answers = call_reference(entry_point, assembled)
            measured[placed.case.id] = measure_case(runs, assembled, answers)
        except ExerciseError as error:
            problems += error.problems
    if problems:
        raise ExerciseError(problems)
    return Frozen(sources=source.digest, batches=batches, cases=measured)
