"""Hypothesis strategies derived from an exercise's dims and constraints, and batches drawn from them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.errors import ExerciseError, Problem, ToolMissingError
from grader.exercise.cache import cache_folder
from grader.exercise.expressions import ExpressionError, evaluate, names
from grader.exercise.frozen import Descriptor
from grader.exercise.models import Exercise, RandomBatch, RandomCases
from grader.exercise.source import Entry

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


def allowed_values(exercise: Exercise, name: str, batch: RandomBatch) -> list[int]:
    """The values of a dim in the batch's range that the exercise's bound allows."""
    span = batch.dims[name]
    bound = exercise.dims[name]
    return [n for n in range(span.from_, span.to + 1) if evaluate(f"{name} {bound}", {name: n})]


def descriptors(exercise: Exercise, batch: RandomBatch) -> SearchStrategy[Descriptor]:
    """A strategy for `Descriptor`: dims within the bounds that fulfil the constraints, seed, dtype, layouts.

    Constraints are fulfilled by construction where a dim can be chosen so that they hold, so that few draws
    are thrown away.

    Args:
        exercise: Gives dims, bounds, constraints and array parameters.
        batch: Gives the ranges and the dtypes and layouts to draw from.
    """
    from hypothesis import assume
    from hypothesis import strategies as st

    arrays = [name for name, p in exercise.slots.items() if p.shape is not None]

    @st.composite
    def draw_one(draw: DrawFn) -> Descriptor:
        dims: dict[str, int] = {}
        for name in exercise.dims:
            values = [
                n for n in allowed_values(exercise, name, batch) if _possible(exercise, {**dims, name: n})
            ]
            assume(values)
            dims[name] = draw(st.sampled_from(values))
        if exercise.work is not None:
            known = dict.fromkeys(exercise.form.free(dims), 0)
            assume(evaluate(exercise.work.expression, known | dims) <= exercise.work.per_case)
        return Descriptor(
            dims=dims,
            seed=draw(st.integers(0, 2**31 - 1)),
            dtype=draw(st.sampled_from(batch.dtypes)),
            layouts={name: draw(st.sampled_from(batch.layouts)) for name in arrays},
            read_only=draw(st.booleans()) if batch.read_only else False,
        )

    return draw_one()


def _possible(exercise: Exercise, dims: dict[str, int]) -> bool:
    """Whether every constraint whose dims are all chosen holds; none does that can't be computed."""
    try:
        return all(evaluate(c, dims) for c in exercise.constraints if names(c) <= dims.keys())
    except ExpressionError:
        return False


def _member_seed(seed: int, number: int) -> int:
    digest = hashlib.sha256(f"{seed} {number}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _mostly_minimal(descriptor: Descriptor, batch: RandomBatch) -> bool:
    """Whether more than half of the dims that could be larger have their smallest value.

    Hypothesis likes such draws, as they make short counterexamples; as cases they tell little apart.
    """
    free = {name for name, span in batch.dims.items() if span.to > span.from_}
    return 2 * sum(descriptor.dims[name] == batch.dims[name].from_ for name in free) > len(free)


def draw_batch(exercise: Exercise, entry: Entry, *, spares: int = 0) -> list[Descriptor]:
    """The batch's descriptors: as many as asked for; no two of the same dims, and none with mostly the
    smallest dims, while others are left. Up to ``spares`` further ones follow, to take the place of some.

    The same seed gives the same batch with the same version of Hypothesis; what was drawn is frozen, so
    that no later version matters.

    Raises:
        ExerciseError: The ranges and constraints leave nothing to draw.
    """
    # What Hypothesis keeps goes into no folder of the author's.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_folder() / "hypothesis"))
    try:
        from hypothesis import HealthCheck, Phase, given, seed, settings
        from hypothesis.errors import Unsatisfiable
    except ModuleNotFoundError:
        raise ToolMissingError(
            "drawing random batches needs Hypothesis; install mlm-grader[author]"
        ) from None

    spec = entry.spec
    assert isinstance(spec, RandomCases)
    batch = spec.random
    drawn: list[Descriptor] = []

    @seed(batch.seed)
    @settings(
        max_examples=max(20 * batch.count, 100),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(descriptors(exercise, batch))
    def collect(descriptor: Descriptor) -> None:
        drawn.append(descriptor)

    try:
        collect()
    except Unsatisfiable:
        drawn.clear()
    if not drawn:
        message = f"{spec.id}: the ranges of its dims leave nothing that fulfils the constraints"
        raise ExerciseError([Problem(entry.file, entry.at("random", "dims"), "random.dims", message)])
    seen: set[str] = set()
    fresh: list[Descriptor] = []
    spare: list[Descriptor] = []
    for descriptor in drawn:
        key = repr((sorted(descriptor.dims.items()), descriptor.dtype))
        (spare if key in seen or _mostly_minimal(descriptor, batch) else fresh).append(descriptor)
        seen.add(key)
    # Hypothesis likes small numbers, draws some twice, and takes others from the modules that happen to be
    # loaded: such seeds would give related arrays, and others in another process.
    chosen = [
        replace(descriptor, seed=_member_seed(batch.seed, number))
        for number, descriptor in enumerate((fresh + spare)[: batch.count + spares], start=1)
    ]
    if len(chosen) < batch.count:
        message = f"{spec.id}: only {len(chosen)} of {batch.count} cases could be drawn; widen the ranges"
        raise ExerciseError([Problem(entry.file, entry.at("random", "count"), "random.count", message)])
    return chosen
