"""Building packs from an exercise's sources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, Problem
from grader.exercise import pack as packs
from grader.exercise.assemble import AssembledCase, assemble, plain_call
from grader.exercise.cache import remembered
from grader.exercise.calls import ArrayArgument, PhaseBuilder
from grader.exercise.examples import make_example
from grader.exercise.expressions import evaluate
from grader.exercise.fingerprinting import PhaseCalls, fingerprint_known
from grader.exercise.follow_up import FollowUp
from grader.exercise.frozen import Frozen
from grader.exercise.influence_calls import influence_calls, right_map
from grader.exercise.known import NOTHING_KNOWN, Known, from_tensors, to_tensors
from grader.exercise.misconceptions import load_misconceptions, load_model
from grader.exercise.models import Exercise, Relation
from grader.exercise.pack import PackCase, PackExercise
from grader.exercise.reference import Entry, load_entry
from grader.exercise.source import ExerciseSource, case_ids, shown
from grader.exercise.weights import Worth, course_points

# What an answer may be off by, in rounding noise, before it is another one.
NOISE_FACTOR = 10.0
# The same where no noise was measured, since no values are compared.
UNMEASURED = 1e-5


def call_reference(entry: Entry, assembled: AssembledCase) -> list[NDArray[Any]]:
    """The reference's answer to each call of a case.

    Raises:
        ExerciseError: The reference fails on it, or the case's relation names rows that there are not.
    """
    answers = []
    for call in assembled.calls:
        try:
            with np.errstate(all="ignore"):
                answers.append(np.asarray(entry(*plain_call(call))))
        except Exception as error:
            placed = assembled.placed
            message = f"{placed.case.id}: the reference fails on it: {type(error).__name__}: {error}"
            raise ExerciseError([Problem(placed.file, placed.line, "", message)]) from error
    _check_rows(assembled, answers)
    return answers


def _check_rows(assembled: AssembledCase, answers: list[NDArray[Any]]) -> None:
    """Raises ExerciseError when a relation names rows that an answer doesn't have."""
    check, placed = assembled.case.check, assembled.placed
    if not isinstance(check, Relation) or check.relation not in ("equals", "differs"):
        return
    lengths = []
    named = {"rows": check.rows, "other_rows": check.other_rows}
    for (key, rows), answer in zip(named.items(), answers, strict=True):
        size = len(answer) if answer.ndim else 0
        wrong = [row for row in rows or [] if not -size <= row < size]
        if wrong:
            message = f"names row {wrong[0]} of an answer with {size} rows"
            where = f"{assembled.case.id}.check.{key}"
            raise ExerciseError([Problem(placed.file, placed.at("check", key), where, message)])
        lengths.append(size if rows is None else len(rows))
    if len(lengths) == 2 and lengths[0] != lengths[1]:
        message = f"holds {lengths[0]} rows against {lengths[1]}; name them with rows and other_rows"
        where = f"{assembled.case.id}.check"
        raise ExerciseError([Problem(placed.file, placed.at("check"), where, message)])


def answer_shape(
    exercise: Exercise, assembled: AssembledCase, answer: NDArray[Any], call: int = 0
) -> tuple[int, ...]:
    """The reference's shape, checked against the exercise's ``returns``.

    A relation's second call may have other dims (it takes some rows, say): there only the axes are counted.

    Raises:
        ExerciseError: A dim of ``returns`` that the case fixes has another value.
    """
    dims = assembled.case.dims
    symbols = exercise.returns.shape
    fixed = [
        None if isinstance(s, str) and s.isidentifier() and s not in dims else evaluate(s, dims)
        for s in symbols
    ]
    matches = len(fixed) == answer.ndim and all(
        call > 0 or f is None or f == n for f, n in zip(fixed, answer.shape, strict=True)
    )
    if not matches:
        placed = assembled.placed
        message = f"{placed.case.id}: the reference returns the shape {answer.shape}, expected {symbols}"
        raise ExerciseError([Problem(placed.file, placed.line, "", message)])
    return answer.shape


def build_pack(
    source: ExerciseSource, frozen: Frozen, *, student: bool = False, remember: bool = True
) -> bytes:
    """The bytes of an exercise's pack.

    Args:
        source: The exercise.
        frozen: What was found when it was frozen.
        student: Leave the hidden cases out.
        remember: Take the fingerprints of known mistakes from the cache when they are there.

    Raises:
        ExerciseError: A case can't be made, or its arrays are not the ones that were frozen.
    """
    entry = load_entry(source.reference_folder, "model", source.exercise.entry)
    builders = {name: PhaseBuilder() for name in packs.PHASES}
    points = _points(source, frozen)
    scaled = source.exercise.limits.times_reference is not None
    cases: list[PackCase] = []
    expected: dict[str, NDArray[np.float64]] = {}
    for placed in source.cases(frozen.batches):
        case = placed.case
        if student and case.visibility == "hidden":
            continue
        assembled = assemble(source.exercise, placed)
        measured = frozen.cases.get(case.id)
        if measured is None or measured.inputs != assembled.inputs_digest:
            command = f"grader validate {source.name} --write"
            message = f"{case.id}: its arrays are not those of frozen.json; run: {command}"
            raise ExerciseError([Problem(placed.file, placed.line, "", message)])
        answers = call_reference(entry, assembled)
        shapes = [answer_shape(source.exercise, assembled, a, n) for n, a in enumerate(answers)]
        steps, step_shapes = _add_steps(builders[case.visibility], assembled, shapes)
        check, options = case.check, {}
        if isinstance(check, Relation):
            options = check.model_dump(exclude={"relation", "change"}, exclude_none=True)
            check = check.relation  # type: ignore[assignment]
        scale = float(np.max(np.abs(answers[0]), initial=0.0)) if answers[0].size else 0.0
        if check == "compare":
            expected[case.id] = answers[0].astype(np.float64)
        cases.append(
            PackCase(
                id=case.id,
                group=placed.group,
                title=case.title,
                clause=case.clause,
                points=points[case.id],
                visibility=case.visibility,
                requires=tuple(case.requires),
                hint=case.hint,
                check=str(check),
                options=options,
                steps=tuple(steps),
                shapes=tuple(step_shapes),
                tolerance=measured.tolerance,
                dims=dict(case.dims),
                scale=scale if np.isfinite(scale) and scale > 0 else 1.0,
                drawn=placed.drawn,
                extra=case.id in source.extra_credit,
                reference_time=measured.reference_time if scaled else None,
            )
        )
    blocks = {name: builder.finish() for name, builder in builders.items() if len(builder)}
    exercise = _pack_exercise(source, frozen, student=student)
    known = _known(source, frozen, cases, blocks, remember=remember)
    follow = _follow_up(source, frozen, entry)
    return packs.dump(
        exercise, cases, blocks, expected, known, follow, student=student, sources=source.digest
    )


def _points(source: ExerciseSource, frozen: Frozen) -> dict[str, float]:
    """What each case is worth, by id; the same with and without the hidden cases."""
    worths = [
        Worth(p.case.id, p.group, p.case.points, p.case.id in source.extra_credit)
        for p in source.cases(frozen.batches)
    ]
    return course_points(worths, source.exercise.grading)


def _follow_up(source: ExerciseSource, frozen: Frozen, entry: Entry) -> FollowUp | None:
    """The calls of the influence map and the small examples; None where there are neither."""
    exercise, folder = source.exercise, source.reference_folder
    misconceptions = load_misconceptions(folder, list(exercise.clauses))
    builder = PhaseBuilder()
    influence = None
    if exercise.influence is not None:
        place = shown(source.root / "cases" / source.name / "exercise.yaml"), source.influence_line
        calls = influence_calls(exercise, exercise.influence, *place)
        influence = right_map(entry, calls, exercise, exercise.influence, *place)
        for call in calls:
            builder.add_call(call)
    examples = []
    model = load_model(folder)
    for found in (*frozen.counterexamples.values(), *frozen.ladder):
        examples.append(make_example(entry, model, misconceptions, found, list(exercise.dims)))
        builder.add_call([ArrayArgument(a) if isinstance(a, np.ndarray) else a for a in found.call()])
    return FollowUp(builder.finish(), influence, tuple(examples)) if len(builder) else None


def _known(
    source: ExerciseSource,
    frozen: Frozen,
    cases: list[PackCase],
    blocks: dict[str, bytes],
    *,
    remember: bool,
) -> Known:
    """The fingerprints of the known mistakes on these cases."""
    misconceptions = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    tolerances: dict[str, dict[int, float]] = {name: {} for name in blocks}
    whole: dict[str, list[int]] = {name: [] for name in blocks}
    drawn: dict[str, list[int]] = {name: [] for name in blocks}
    for case in cases:
        noise = frozen.cases[case.id].noise
        tolerance = case.tolerance or (NOISE_FACTOR * noise if noise else UNMEASURED)
        if case.check == "compare":
            whole[case.visibility] += case.steps
            drawn[case.visibility] += case.steps if case.drawn else ()
        for step in case.steps:
            tolerances[case.visibility][step] = math.inf if case.check == "finite" else tolerance
    phases = {
        name: PhaseCalls(
            block, [tolerances[name][step] for step in sorted(tolerances[name])], whole[name], drawn[name]
        )
        for name, block in blocks.items()
    }
    if not len(misconceptions):
        return NOTHING_KNOWN

    def make() -> dict[str, NDArray[Any]]:
        model = load_model(source.reference_folder)
        return to_tensors(fingerprint_known(model, misconceptions, phases, list(source.exercise.parameters)))

    if not remember:
        return from_tensors({name: a.tobytes() for name, a in make().items()})
    texts = [path.read_bytes() for path in sorted(source.reference_folder.rglob("*.py"))]
    parts = [repr((name, p)).encode() for name, p in phases.items()] + [
        repr(source.exercise.model_copy(update={"grading": None})).encode(),
        *texts,
    ]
    return from_tensors(remembered(b"\0".join(parts), make))


def _add_steps(
    builder: PhaseBuilder, assembled: AssembledCase, shapes: list[tuple[int, ...]]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Append a case's steps; the relation decides which."""
    check = assembled.case.check
    relation = check.relation if isinstance(check, Relation) else check
    steps = [builder.add_call(call) for call in assembled.calls]
    step_shapes = list(shapes)
    if relation == "same_on_repeat":
        steps.append(builder.add_call(assembled.calls[0]))
        step_shapes.append(shapes[0])
    elif relation == "earlier_answer_kept":
        steps.append(builder.add_reread(steps[0]))
        step_shapes.append(shapes[0])
    return steps, step_shapes


def _grading(source: ExerciseSource, *, student: bool) -> dict[str, Any]:
    """The course's policies; a student's pack names no hidden case there and no group of hidden cases."""
    grading = source.exercise.grading
    if grading is None:
        return {}
    if student:
        public = [entry for entry in source.entries if entry.spec.visibility == "public"]
        ids = {name for entry in public for name in case_ids(entry.spec)}
        grading = grading.naming_only({entry.group for entry in public}, ids)
    return grading.model_dump(exclude_none=True)


def _pack_exercise(source: ExerciseSource, frozen: Frozen, *, student: bool) -> PackExercise:
    exercise = source.exercise
    limits = exercise.limits.model_dump(exclude_none=True)
    if exercise.limits.times_reference is not None:
        limits["reference_start"] = frozen.reference_start
    return PackExercise(
        name=source.name,
        title=exercise.title,
        entry=exercise.entry,
        packages=tuple(exercise.packages),
        parameters=tuple(exercise.parameters),
        dtypes=tuple(exercise.returns.dtype),
        limits=limits,
        clauses={name: {"title": c.title, "text": c.text} for name, c in exercise.clauses.items()},
        policy=source.policy.model_dump(exclude_none=True),
        grading=_grading(source, student=student),
    )
