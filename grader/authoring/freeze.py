"""Making ``frozen.json``: batches drawn, noise measured, tolerances set, counterexamples searched for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.authoring.adequacy import Suite
from grader.authoring.calibrate import HonestRuns, measure_case
from grader.authoring.counterexamples import search_all
from grader.authoring.strategies import draw_batch
from grader.authoring.timing import time_reference, with_times
from grader.errors import ExerciseError, Problem
from grader.exercise import pack as packs
from grader.exercise.assemble import assemble
from grader.exercise.build import build_pack
from grader.exercise.frozen import Descriptor, Frozen, Measured
from grader.exercise.misconceptions import Misconceptions, StepModel, load_misconceptions, load_model
from grader.exercise.models import RandomCases
from grader.exercise.reference import Entry, load_entries
from grader.exercise.right_answers import call_reference, hangs_on_chance
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
    folder, exercise = source.reference_folder, source.exercise
    entries = load_entries(folder, "model", exercise)
    runs = {name: HonestRuns(folder, exercise, name) for name in exercise.call_names}
    measurer = _Measurer(source, entries, runs, progress)
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
        (exercise.call_named(placed.case.call), placed.case.dims, call)
        for placed in source.cases(batches)
        for call in assemble(exercise, placed).calls[:2]
    ]
    model = load_model(folder, exercise.call_names)
    misconceptions = load_misconceptions(folder, list(exercise.clauses))
    found = search_all(
        exercise, entries, model, misconceptions, calls, runs, None if anew else source.frozen, progress
    )
    frozen = Frozen(
        sources=source.digest,
        batches=batches,
        cases=measured,
        search=found.search,
        counterexamples=found.counterexamples,
        ladder=found.ladder,
    )
    if exercise.limits.times_reference is not None:
        progress("how long the reference takes")
        frozen = with_times(frozen, None if anew else source.frozen, time_reference(source, batches))
    if model is None or not any(hangs_on_chance(exercise, p.case.call) for p in source.cases(batches)):
        return frozen
    return replace(
        frozen, patterns=_patterns(source, frozen, model, misconceptions, measurer.longest, progress)
    )


def _patterns(
    source: ExerciseSource,
    frozen: Frozen,
    model: StepModel,
    misconceptions: Misconceptions,
    longest: float,
    progress: Callable[[str], None],
) -> dict[str, tuple[str, ...]]:
    """The cases that fail with each known mistake: where answers hang on chance, nothing else tells it."""
    suite = Suite(packs.loads(build_pack(source, frozen)))
    suite.give(longest)
    patterns: dict[str, tuple[str, ...]] = {}
    for one in misconceptions:
        if not one.small:
            progress(f"what fails with {one.id}")
            patterns[one.id] = suite.trial(one.id, model.entry(one.make())).killed
    return patterns


class _Measurer:
    def __init__(
        self,
        source: ExerciseSource,
        entries: Mapping[str, Entry],
        runs: Mapping[str, HonestRuns],
        progress: Callable[[str], None],
    ) -> None:
        self.source = source
        self.entries = entries
        # Processor time of the reference on the case on which it takes longest.
        self.longest = 0.0
        self.runs = runs
        self.progress = progress

    def measure(self, placed: PlacedCase) -> Measured:
        """What is frozen of a case. Raises ExerciseError."""
        self.progress(placed.case.id)
        exercise = self.source.exercise
        assembled = assemble(exercise, placed)
        begin = time.process_time()
        answers = [right.answer for right in call_reference(self.entries, assembled, exercise)]
        self.longest = max(self.longest, time.process_time() - begin)
        runs = self.runs[exercise.call_named(placed.case.call)]
        return measure_case(runs, assembled, answers, chance=hangs_on_chance(exercise, placed.case.call))

    def choose(self, entry: SourceEntry) -> list[Descriptor]:
        """A batch's members: drawn ones on which honest runs differ much are replaced by the next drawn.

        Nobody chose the numbers of a drawn case, so some make honest float32 lose most of its digits (two
        features that are nearly equal); the tolerance that follows would let mistakes through.
        """
        spec = entry.spec
        assert isinstance(spec, RandomCases)
        count = spec.random.count
        drawn = draw_batch(self.source.exercise.view(spec.call), entry, spares=2 * count)
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
