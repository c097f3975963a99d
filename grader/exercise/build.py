"""Building packs from an exercise's sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ExerciseError, Problem
from grader.exercise import pack as packs
from grader.exercise.assemble import AssembledCase, assemble, changed_dims
from grader.exercise.cache import remembered
from grader.exercise.calls import PhaseBuilder, grouped
from grader.exercise.checks import Holds, Raises, Relation, Statistic, change_of, check_name
from grader.exercise.examples import make_example
from grader.exercise.fingerprinting import PhaseCalls, fingerprint_known
from grader.exercise.follow_up import FollowUp
from grader.exercise.forms import Form
from grader.exercise.frozen import Frozen
from grader.exercise.influence_calls import influence_calls, right_map
from grader.exercise.known import NOTHING_KNOWN, Known, from_tensors, to_tensors
from grader.exercise.misconceptions import load_misconceptions, load_model
from grader.exercise.pack import PackCall, PackCase, PackExercise
from grader.exercise.reference import Entry, load_entries
from grader.exercise.right_answers import RightAnswer, answer_shape, call_reference, hangs_on_chance
from grader.exercise.roots import reference_files
from grader.exercise.sending import bytes_needed
from grader.exercise.source import ExerciseSource, case_ids, shown
from grader.exercise.structure import Leaf, scales
from grader.exercise.trials import FLOOR_SHARE, hangs_on_answer, least_trials
from grader.exercise.weights import Worth, course_points
from grader.exercise.written import written

# What an answer may be off by, in rounding noise, before it is another one.
NOISE_FACTOR = 10.0
# The same where no noise was measured, since no values are compared.
UNMEASURED = 1e-5
# The chance that a right submission fails any of an exercise's statistical tests.
FAMILY_LEVEL = 1e-9
# Numbers that an answer which hangs on chance may hold beyond four times those of the reference's.
ROOM = 1024


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
    entries = load_entries(source.reference_folder, "model", source.exercise)
    builders = {name: PhaseBuilder() for name in packs.PHASES}
    points = _points(source, frozen)
    levels = log_levels(source)
    scaled = source.exercise.limits.times_reference is not None
    cases: list[PackCase] = []
    expected: dict[str, NDArray[Any]] = {}
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
        answers = call_reference(entries, assembled, source.exercise)
        chance = hangs_on_chance(source.exercise, case.call)
        if chance and case.check == "compare":
            message = f"{case.id}: the answer hangs on chance and can't be compared; use holds or statistic"
            raise ExerciseError([Problem(placed.file, placed.at("check"), "check", message)])
        shapes = [answer_shape(source.exercise, assembled, a, n) for n, a in enumerate(answers)]
        if chance:
            # Another right answer may be longer.
            shapes = [(4 * answer.array.size + ROOM,) for answer in answers]
        call = source.exercise.call_named(case.call)
        steps, order = _add_steps(builders[case.visibility], assembled, call)
        check = check_name(case.check)
        options: dict[str, Any] = {}
        if isinstance(case.check, Relation):
            options = case.check.model_dump(exclude={"relation", "change"}, exclude_none=True)
        elif isinstance(case.check, Raises):
            options = {"raises": list(case.check.types), "mentions": case.check.mentions}
        elif isinstance(case.check, Holds):
            options = case.check.model_dump(exclude={"change", "let"}) | {"let": list(case.check.let.items())}
        elif isinstance(case.check, Statistic):
            options = case.check.model_dump(exclude={"calls", "let", "level"}, exclude_none=True) | {
                "let": list(case.check.let.items()),
                **_levels(source, entries, assembled, levels[case.id]),
            }
        if chance and change_of(case.check):
            # Which sizes the second answer must have: the right one's may hang on chance.
            second = changed_dims(source.exercise.view(case.call), assembled)
            options |= {} if second == case.dims else {"changed_dims": second}
        options |= _room(answers, source.exercise.view(case.call).form, chance=chance)
        first = answers[0]
        # Of an answer of several parts the largest of those that are no matter of equal or not.
        magnitudes = first.array if first.leaves is None else scales(first.leaves, first.array)
        scale = float(np.max(np.abs(magnitudes), initial=0.0))
        if check == "compare":
            # Whole numbers stay as they are: they are compared exactly, those beyond 2**53 too.
            whole = first.array.dtype.kind in "iub"
            expected[case.id] = first.array.astype(np.int64 if whole else np.float64)
        leaves: tuple[Any, ...] = ()
        if first.leaves is not None and not chance:
            each = [answer.leaves or () for answer in answers]
            leaves = tuple([[*map(_leaf, each[n])] for n in order])
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
                check=check,
                options=options,
                steps=tuple(steps),
                shapes=tuple([shapes[n] for n in order]),
                tolerance=measured.tolerance,
                dims=dict(case.dims),
                scale=scale if np.isfinite(scale) and scale > 0 else 1.0,
                drawn=placed.drawn,
                extra=case.id in source.extra_credit,
                call=call,
                leaves=leaves,
                answer=written(first.outcome.value) if check == "compare" and leaves else "",
                chance=chance,
                reference_time=measured.reference_time if scaled else None,
            )
        )
    blocks = {name: builder.finish() for name, builder in builders.items() if len(builder)}
    exercise = _pack_exercise(source, frozen, student=student)
    known = _known(source, frozen, cases, blocks, remember=remember)
    if known.mistakes and frozen.patterns:
        shown_cases = {case.id for case in cases}
        patterns = {
            name: tuple(case for case in failing if case in shown_cases)
            for name, failing in frozen.patterns.items()
        }
        known = replace(known, patterns=patterns)
    follow = _follow_up(source, frozen, entries)
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


def _follow_up(source: ExerciseSource, frozen: Frozen, entries: Mapping[str, Entry]) -> FollowUp | None:
    """The calls of the influence map and the small examples; None where there are neither."""
    exercise, folder = source.exercise, source.reference_folder
    misconceptions = load_misconceptions(folder, list(exercise.clauses))
    builder = PhaseBuilder()
    influence = None
    if exercise.influence is not None:
        place = shown(source.root / "cases" / source.name / "exercise.yaml"), source.influence_line
        name = exercise.call_named(exercise.influence.call)
        view = exercise.view(name)
        calls = influence_calls(view, exercise.influence, *place)
        influence = right_map(entries[name], calls, view, exercise.influence, *place)
        for arguments in calls:
            builder.add_call(arguments, name)
    examples = []
    model = load_model(folder, exercise.call_names)
    for found in (*frozen.counterexamples.values(), *frozen.ladder):
        name = exercise.call_named(found.call_name)
        view = exercise.view(name)
        examples.append(make_example(entries[name], model, misconceptions, found, view))
        builder.add_call(grouped(found.slots()), name)
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
    raising = sorted({name for case in cases for name in case.options.get("raises", ())})
    for case in cases:
        noise = frozen.cases[case.id].noise
        tolerance = case.tolerance or (NOISE_FACTOR * noise if noise else UNMEASURED)
        if case.check == "compare":
            whole[case.visibility] += case.steps
            drawn[case.visibility] += case.steps if case.drawn else ()
        for step in case.steps:
            says_nothing = case.check == "finite" or case.chance
            tolerances[case.visibility][step] = math.inf if says_nothing else tolerance
    silent = {
        name: [s for c in cases if c.chance and c.visibility == name for s in c.steps] for name in blocks
    }
    phases = {
        name: PhaseCalls(
            block,
            [tolerances[name][step] for step in sorted(tolerances[name])],
            whole[name],
            drawn[name],
            silent[name],
        )
        for name, block in blocks.items()
    }
    if not len(misconceptions):
        return NOTHING_KNOWN

    views = {name: source.exercise.view(name) for name in source.exercise.call_names}
    parameters = {name: list(view.parameters) for name, view in views.items()}
    forms = {name: view.form for name, view in views.items() if view.form.lenient}
    memory = source.exercise.limits.memory

    def make() -> dict[str, NDArray[Any]]:
        model = load_model(source.reference_folder, source.exercise.call_names)
        known = fingerprint_known(model, misconceptions, phases, parameters, raising, memory, forms)
        return to_tensors(known)

    if not remember:
        return from_tensors({name: a.tobytes() for name, a in make().items()})
    texts = [path.read_bytes() for path in reference_files(source.reference_folder)]
    parts = [repr((name, p)).encode() for name, p in phases.items()] + [
        repr(source.exercise.model_copy(update={"grading": None})).encode(),
        repr(raising).encode(),
        *texts,
    ]
    return from_tensors(remembered(b"\0".join(parts), make))


def _add_steps(builder: PhaseBuilder, assembled: AssembledCase, call: str) -> tuple[list[int], list[int]]:
    """Append a case's steps, as its check asks for them; for each the number of the right answer to it."""
    check = check_name(assembled.case.check)
    steps = [builder.add_call(arguments, call) for arguments in assembled.calls]
    order = list(range(len(steps)))
    if check == "same_on_repeat":
        steps.append(builder.add_call(assembled.calls[0], call))
        order.append(0)
    elif check == "earlier_answer_kept":
        steps.append(builder.add_reread(steps[0]))
        order.append(0)
    return steps, order


def _levels(
    source: ExerciseSource, entries: Mapping[str, Entry], assembled: AssembledCase, log_level: float
) -> dict[str, Any]:
    """The log level of a case's test, and the floor of its trials where they hang on the answer.

    They share the level where both can fail a right answer.
    """
    case, exercise = assembled.case, source.exercise
    check = case.check
    assert isinstance(check, Statistic)
    parameters = list(exercise.view(case.call).parameters)
    if check.least_trials is not None or not hangs_on_answer(check, parameters):
        return {"log_level": log_level}
    log_floor_level = log_level + math.log(FLOOR_SHARE)
    least = least_trials(
        assembled, exercise, log_floor_level, lambda others: call_reference(entries, others, exercise)
    )
    if not least:
        return {"log_level": log_level, "least_trials": 0}
    return {
        "log_level": log_level + math.log1p(-FLOOR_SHARE),
        "log_floor_level": log_floor_level,
        "least_trials": least,
    }


def _room(answers: Sequence[RightAnswer], form: Form, *, chance: bool) -> dict[str, int]:
    """The bytes of the largest answer of a case, where its description takes more than any answer may."""
    values = [
        one.outcome.value for one in answers if one.leaves is not None and one.outcome.value is not None
    ]
    # Where answers hang on chance, another right one may be longer.
    needed = (4 if chance else 1) * max([bytes_needed(value, form) for value in values], default=0)
    return {"answer_bytes": needed} if needed > packs.DESCRIBED else {}


def _leaf(leaf: Leaf) -> list[Any]:
    """A leaf as a pack holds it."""
    return [list(leaf.path), list(leaf.shape), leaf.exact, leaf.group]


def log_levels(source: ExerciseSource) -> dict[str, float]:
    """For each statistical test the natural logarithm of its level: the chance that it fails a right answer.

    Tests that state none share what is left of the family's, equally (Bonferroni).
    """
    stated: dict[str, float] = {}
    open_: list[str] = []
    for entry in source.entries:
        if isinstance(entry.spec.check, Statistic):
            for name in case_ids(entry.spec)[1:] or [entry.spec.id]:
                if entry.spec.check.level is None:
                    open_.append(name)
                else:
                    stated[name] = entry.spec.check.level
    left = FAMILY_LEVEL - math.fsum(stated.values())
    if (stated and left < 0) or (open_ and left <= 0):
        first = next(e for e in source.entries if e.spec.id in stated or set(case_ids(e.spec)) & set(stated))
        message = f"the levels of all statistical tests together are above {FAMILY_LEVEL:g}"
        raise ExerciseError([Problem(first.file, first.at("check", "level"), "check.level", message)])
    return {name: math.log(level) for name, level in stated.items()} | {
        name: math.log(left / len(open_)) for name in open_
    }


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
        entry=exercise.entries[0],
        entries=exercise.entries,
        packages=tuple(exercise.packages),
        calls={name: _pack_call(source, name) for name in exercise.call_names},
        driver=source.driver,
        limits=limits,
        clauses={name: {"title": c.title, "text": c.text} for name, c in exercise.clauses.items()},
        policy=source.policy.model_dump(exclude_none=True),
        grading=_grading(source, student=student),
    )


def _pack_call(source: ExerciseSource, name: str) -> PackCall:
    view = source.exercise.view(name)
    return PackCall(
        parameters=tuple(view.parameters),
        returns=view.form.model_dump(exclude_defaults=True, exclude_none=True),
        driven=(name or source.exercise.entries[0]) in source.driven,
    )
