"""Making ``frozen.json``: batches drawn, noise measured, tolerances set, counterexamples searched for."""

from __future__ import annotations

import math
from collections.abc import Callable

from grader.authoring.calibrate import HonestRuns, measure_case
from grader.authoring.counterexamples import Search
from grader.authoring.strategies import draw_batch
from grader.authoring.timing import time_reference, with_times
from grader.errors import ExerciseError, Problem
from grader.exercise.assemble import assemble
from grader.exercise.build import call_reference
from grader.exercise.frozen import Descriptor, Frozen, Measured
from grader.exercise.misconceptions import load_misconceptions, load_model
from grader.exercise.models import RandomCases
from grader.exercise.reference import Entry, load_entry
from grader.exercise.source import Entry as SourceEntry
from grader.exercise.source import ExerciseSource, PlacedCase, drawn_case

# Looser than this, a tolerance of a drawn case tells too little apart to be worth its place.
WELL_CONDITIONED = 1e-4


def freeze(
    source: ExerciseSource, progress: Callable[[str], None] = lambda what: None, *, anew: bool = False
) -> Frozen:
    """Find everything that ``frozen.json`` holds.

    Args:
        source: The exercise.
        progress: Told the id of each case before it is measured, and what is searched for.
        anew: Search for all counterexamples, also where those that are there still tell their mistakes.

    Raises:
        ExerciseError: Faults of cases, all that were found.
        GraderError: Hypothesis, torch or a module of the reference is missing.
    """
    entry_point = load_entry(source.reference_folder, "model", source.exercise.entry)
    runs = HonestRuns(source.reference_folder)
    measurer = _Measurer(source, entry_point, runs, progress)
    batches = {
        entry.spec.id: measurer.choose(entry)
        for entry in source.entries
        if isinstance(entry.spec, RandomCases)
    }
    measured: dict[str, Measured] = {}
    problems: list[Problem] = []
    for placed in source.cases(batches):
        try:
            measured[placed.case.id] = measurer.measure(placed)
        except ExerciseError as error:
            problems += error.problems
    if problems:
        raise ExerciseError(problems)
    calls = [
        (placed.case.dims, call)
        for placed in source.cases(batches)
        for call in assemble(source.exercise, placed).calls
    ]
    model = load_model(source.reference_folder)
    misconceptions = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    search = Search(source.exercise, entry_point, model, misconceptions, calls, runs)
    found = search.run(None if anew else source.frozen, progress)
    frozen = Frozen(
        sources=source.digest,
        batches=batches,
        cases=measured,
        search=found.search,
        counterexamples=found.counterexamples,
        ladder=found.ladder,
    )
    if source.exercise.limits.times_reference is None:
        return frozen
    progress("how long the reference takes")
    return with_times(frozen, None if anew else source.frozen, time_reference(source, batches))


class _Measurer:
    def __init__(
        self, source: ExerciseSource, entry_point: Entry, runs: HonestRuns, progress: Callable[[str], None]
    ) -> None:
        self.source = source
        self.entry_point = entry_point
        self.runs = runs
        self.progress = progress

    def measure(self, placed: PlacedCase) -> Measured:
        """What is frozen of a case. Raises ExerciseError."""
        self.progress(placed.case.id)
        assembled = assemble(self.source.exercise, placed)
        return measure_case(self.runs, assembled, call_reference(self.entry_point, assembled))

    def choose(self, entry: SourceEntry) -> list[Descriptor]:
        """A batch's members: drawn ones on which honest runs differ much are replaced by the next drawn.

        Nobody chose the numbers of a drawn case, so some make honest float32 lose most of its digits (two
        features that are nearly equal); the tolerance that follows would let mistakes through.
        """
        spec = entry.spec
        assert isinstance(spec, RandomCases)
        count = spec.random.count
        drawn = draw_batch(self.source.exercise, entry, spares=2 * count)
        kept: list[Descriptor] = []
        poor: list[tuple[float, int]] = []
        for number, descriptor in enumerate(drawn):
            if len(kept) == count:
                break
            case = drawn_case(spec, len(kept) + 1, descriptor)
            place = (entry.group, entry.file, entry.line)
            try:
                tolerance = self.measure(
                    PlacedCase(case, *place, dtype=descriptor.dtype, drawn=True, item=entry.item)
                ).tolerance
            except ExerciseError:
                tolerance = math.inf
            if tolerance is None or tolerance <= WELL_CONDITIONED:
                kept.append(descriptor)
            else:
                poor.append((tolerance, number))
        # Where too few are left, the best of the others are taken, and what is wrong with them is told.
        return kept + [drawn[number] for _, number in sorted(poor)[: count - len(kept)]]
