"""Grading the case suite itself: does it accept every right answer and catch the known wrong ones?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.authoring.answers import outcomes_of, trivial_answers
from grader.authoring.calibrate import FACTOR
from grader.authoring.worked import Worked, disagreements, read_worked, unknown_names
from grader.batch.runner import Runner
from grader.errors import ExerciseError, OwnFaultError, Problem
from grader.exercise import pack as packs
from grader.exercise.assemble import AssembledCase, assemble, plain_call
from grader.exercise.build import build_pack, call_reference
from grader.exercise.expressions import evaluate
from grader.exercise.models import Relation
from grader.exercise.pack import Pack, PackCase
from grader.exercise.reference import load_entry
from grader.exercise.source import ExerciseSource, PlacedCase, shown
from grader.intake.folders import collect
from grader.judge.cases import judge_case
from grader.outcomes import StepOutcome
from grader.result import CaseResult, Result
from grader.validation import KillMatrix, Validation, Weakness

CROSSCHECK = 1e-12
TRIVIAL_SHARE = 0.02

Array = NDArray[Any]


class Validator:
    """Checks one exercise.

    Args:
        source: The exercise, frozen from these very sources.
        progress: Told what is being checked.

    Raises:
        GraderError: ``frozen.json`` is missing or stale, or the exercise is at fault.
    """

    def __init__(self, source: ExerciseSource, progress: Callable[[str], None] = lambda what: None) -> None:
        self.source = source
        self.progress = progress
        self.frozen = source.require_fresh_frozen()
        self.placed = {p.case.id: p for p in source.cases(self.frozen.batches)}
        self.data = build_pack(source, self.frozen)
        self.pack = packs.loads(self.data)
        self.weaknesses: list[Weakness] = []

    def weak(self, code: str, message: str, case: str | None = None) -> None:
        """Note a weakness at a case, or at the exercise as a whole."""
        if case is not None:
            placed = self.placed[case]
            self.weaknesses.append(Weakness(placed.file, placed.line, code, f"{case}: {message}"))
        else:
            file = shown(self.source.root / "cases" / self.source.name / "exercise.yaml")
            self.weaknesses.append(Weakness(file, 1, code, message))

    def run(self, *, fast: bool = False) -> Validation:
        """Check everything; ``fast`` leaves out the worked submissions.

        Raises:
            GraderError: The cross-check or the reference can't be run.
        """
        self.progress("pack")
        self._pack()
        self._clauses()
        self._work()
        self.progress("reference and cross-check")
        for placed in self.placed.values():
            self._reference(placed)
        self.progress("trivial answers")
        self._trivial()
        matrix = KillMatrix()
        if not fast:
            matrix = self._worked()
        public = [c for c in self.pack.cases if c.visibility == "public"]
        counts = {
            "total": len(self.pack.cases),
            "public": len(public),
            "hidden": len(self.pack.cases) - len(public),
            "points": self.pack.max_score,
            "public_points": sum(c.points for c in public),
        }
        return Validation(self.source.name, tuple(sorted(self.weaknesses)), counts, matrix, fast)

    # --- the pack -------------------------------------------------------------------------

    def _pack(self) -> None:
        if build_pack(self.source, self.frozen) != self.data:
            self.weak("pack_not_reproducible", "two packs built one after the other differ")
        student = packs.loads(build_pack(self.source, self.frozen, student=True))
        named = {name for case in student.cases for name in (case.id, *case.requires)} | set(student.tensors)
        told = " ".join(f"{case.title} {case.hint}" for case in student.cases)
        for case in self.pack.cases:
            # An id of one plain word may stand in a text by chance.
            distinct = "_" in case.id and re.search(rf"\b{case.id}\b", told)
            if case.visibility == "hidden" and (case.id in named or "hidden" in student.blocks or distinct):
                self.weak("student_pack_reveals", "its id is in the student's pack", case.id)

    def _clauses(self) -> None:
        for clause in self.pack.exercise.clauses:
            cases = [c for c in self.pack.cases if c.clause == clause]
            if not cases:
                self.weak("clause_without_case", f"no case tests the clause {clause}")
            elif not any(c.visibility == "public" for c in cases):
                self.weak("clause_without_public_case", f"no public case tests the clause {clause}")

    def _work(self) -> None:
        work = self.source.exercise.work
        if work is None:
            return
        total = 0.0
        for case in self.pack.cases:
            placed = self.placed[case.id]
            symbols = {s: 0 for s in self.source.exercise.returns.shape if isinstance(s, str)}
            one = float(evaluate(work.expression, symbols | dict(placed.case.dims)))
            calls = sum(not isinstance(self.pack.plans[case.visibility][s], int) for s in case.steps)
            if one > work.per_case:
                self.weak(
                    "too_much_work", f"needs {one:,.0f} multiply-adds, {work.per_case:,} are allowed", case.id
                )
            total += one * calls
        if total > work.in_all:
            self.weak(
                "too_much_work", f"all calls need {total:,.0f} multiply-adds, {work.in_all:,} are allowed"
            )

    # --- right answers --------------------------------------------------------------------

    def _reference(self, placed: PlacedCase) -> None:
        """The reference passes, the cross-check agrees, and relations hold with margin."""
        exercise = self.source.exercise
        case = next(c for c in self.pack.cases if c.id == placed.case.id)
        assembled = assemble(exercise, placed)
        entry = load_entry(self.source.reference_folder, "model", exercise.entry)
        answers = call_reference(entry, assembled)
        for dtype in exercise.returns.dtype:
            judgement = judge_case(self.pack, case, outcomes_of(case, [a.astype(dtype) for a in answers]), {})
            if judgement.verdict != "passed":
                self.weak("reference_fails", f"the reference in {dtype}: {judgement.message}", case.id)
        self._crosscheck(assembled, answers)
        measured = self.frozen.cases[case.id]
        if case.tolerance is not None and measured.noise is not None and case.tolerance < 2 * measured.noise:
            self.weak(
                "tolerance_below_noise",
                f"its tolerance {case.tolerance:.1g} is below twice the honest noise {measured.noise:.1g}",
                case.id,
            )
        check = placed.case.check
        if isinstance(check, Relation) and check.relation == "differs":
            stricter = {**case.options, "at_least": FACTOR * check.at_least}
            tightened = PackCase(**{**vars(case), "options": stricter})
            if judge_case(self.pack, tightened, outcomes_of(case, answers), {}).verdict != "passed":
                self.weak(
                    "relation_margin", f"the reference changes by less than {FACTOR:g} × at_least", case.id
                )

    def _crosscheck(self, assembled: AssembledCase, answers: Sequence[Array]) -> None:
        other = load_entry(self.source.reference_folder, "crosscheck", self.source.exercise.entry)
        measured = self.frozen.cases[assembled.case.id]
        allowed = max(CROSSCHECK, FACTOR * (measured.float64_noise or 0.0))
        for call, answer in zip(assembled.calls, answers, strict=True):
            try:
                with np.errstate(all="ignore"):
                    got = np.asarray(other(*plain_call(call)))
            except Exception as failure:
                message = f"the cross-check fails on it: {type(failure).__name__}: {failure}"
                self.weak("crosscheck_disagrees", message, assembled.case.id)
                return
            if got.shape != answer.shape:
                self.weak(
                    "crosscheck_disagrees", f"shape {got.shape}, expected {answer.shape}", assembled.case.id
                )
                continue
            scale = float(np.max(np.abs(answer), initial=0.0)) or 1.0
            error = float(np.max(np.abs(got - answer), initial=0.0)) / scale
            if not error <= allowed:
                message = f"cross-check and reference differ by {error:.1g}, {allowed:.1g} is allowed"
                self.weak("crosscheck_disagrees", message, assembled.case.id)

    # --- wrong answers --------------------------------------------------------------------

    def _trivial(self) -> None:
        """Answers without any computation earn next to nothing."""
        for name, outcomes in trivial_answers(self.pack).items():
            points = _points(self.pack, outcomes)
            if points > TRIVIAL_SHARE * self.pack.max_score:
                share = f"{points:g} of {self.pack.max_score:g} points"
                cases = ", ".join(c.id for c in _passed_cases(self.pack, outcomes))
                message = f"an answer of {name} gets {share}, from {cases}; let them require a value case"
                self.weak("trivial_answer_scores", message)

    def _worked(self) -> KillMatrix:
        folder = self.source.root / "submissions" / self.source.name
        problems: list[Problem] = []
        worked = list(read_worked(folder, problems)) if folder.is_dir() else []
        if problems:
            raise ExerciseError(problems)
        if not any(_is_mistake(one) for one in worked):
            self.weak("no_worked_mistake", f"{shown(folder)} holds no worked wrong submission to catch")
        killed: dict[str, tuple[str, ...]] = {}
        margin: dict[str, tuple[str, ...]] = {}
        with Runner(self.pack) as runner:
            for one in worked:
                self.progress(one.path.name)
                intake = collect([one.path], self.pack.exercise.entry)
                result = runner.grade(intake.submissions[0])
                if result.status == "grader_fault":
                    raise OwnFaultError(f"{one.file}: {result.message}")
                for what in (*unknown_names(one.expected, self.pack), *disagreements(one.expected, result)):
                    self.weaknesses.append(Weakness(one.file, 1, "worked_submission", what))
                if _is_mistake(one):
                    name = one.path.stem
                    killed[name] = tuple(c.id for c in result.cases if c.failed)
                    margin[name] = _with_margin(result)
        for name in killed:
            if not killed[name]:
                path = shown(folder / f"{name}.py")
                self.weaknesses.append(Weakness(path, 1, "mistake_survives", "no case catches this mistake"))
            elif not margin[name]:
                path = shown(folder / f"{name}.py")
                message = f"no case catches this mistake at {FACTOR:g} × its tolerance"
                self.weaknesses.append(Weakness(path, 1, "mistake_without_margin", message))
        matrix = KillMatrix(tuple(killed), tuple(c.id for c in self.pack.cases), killed, margin)
        for case_id in matrix.summary()["cases_that_kill_nothing"]:
            self.weak("case_kills_nothing", "no worked wrong submission fails it", case_id)
        return matrix


def _is_mistake(worked: Worked) -> bool:
    return worked.expected.status == "failed" and worked.expected.policy.status != "violated"


def _with_margin(result: Result) -> tuple[str, ...]:
    def clear(case: CaseResult) -> bool:
        if not case.failed:
            return False
        error = case.error
        return error is None or error.max_rel is None or error.max_rel >= FACTOR * error.tolerance

    return tuple(c.id for c in result.cases if clear(c))


def _points(pack: Pack, outcomes: Mapping[str, list[StepOutcome]]) -> float:
    return sum(case.points for case in _passed_cases(pack, outcomes))


def _passed_cases(pack: Pack, outcomes: Mapping[str, list[StepOutcome]]) -> list[PackCase]:
    """The cases that these outcomes get points for."""
    passed = {c.id for c in pack.cases if judge_case(pack, c, outcomes[c.id], {}).verdict == "passed"}
    cases = {c.id: c for c in pack.cases}

    def counts(case: PackCase) -> bool:
        return case.id in passed and all(counts(cases[name]) for name in case.requires)

    return [c for c in pack.cases if counts(c)]
