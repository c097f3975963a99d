"""Grading the case suite itself: does it accept every right answer and catch the known wrong ones?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from grader.authoring.adequacy import (
    MutantTrial,
    Suite,
    Trial,
    agreement_of,
    fate_of,
    indistinguishable,
    mutant_survivor,
    smallest_set,
    tally,
    try_mutants,
    with_margin,
)
from grader.authoring.answers import outcomes_like, outcomes_of, trivial_answers
from grader.authoring.calibrate import FACTOR, HIGH_NOISE, HonestRuns, advise
from grader.authoring.demo import demonstration_of
from grader.authoring.mutants import Mutants
from grader.authoring.power import look_at_test
from grader.authoring.rebuild import Rebuild
from grader.authoring.samples import COUNT as SAMPLES
from grader.authoring.samples import Samples, classes_asked, loose_arguments
from grader.authoring.secrecy import revealed
from grader.authoring.time_limits import figures, tight
from grader.authoring.timing import LEAST_ROUNDS, time_reference
from grader.authoring.worked import Worked, disagreements, read_worked, unknown_names
from grader.batch.asking import asked_of
from grader.batch.limits import allowed_here
from grader.batch.runner import Runner
from grader.errors import ExerciseError, OwnFaultError, Problem, ToolMissingError
from grader.exercise import pack as packs
from grader.exercise import yaml_source
from grader.exercise.answers import answer_of
from grader.exercise.assemble import AssembledCase, assemble, plain_call
from grader.exercise.build import build_pack
from grader.exercise.cached import cached_pack
from grader.exercise.checks import Relation, Statistic
from grader.exercise.expressions import evaluate
from grader.exercise.memory import limited_memory
from grader.exercise.misconceptions import Misconception, load_misconceptions, load_model
from grader.exercise.pack import Pack, PackCase
from grader.exercise.reference import Entry, load_entries
from grader.exercise.rehearsal import Functions
from grader.exercise.rehearsal import call as rehearsed
from grader.exercise.right_answers import RightAnswer, call_reference
from grader.exercise.roots import DEMO
from grader.exercise.source import ExerciseSource, PlacedCase, shown
from grader.exercise.structure import UnfitError
from grader.exercise.yaml_source import Document
from grader.handout.kept_back import told_of_hidden
from grader.handout.starter import starter, starter_text
from grader.handout.statement import read_statement, statement_path
from grader.intake.collect import collect
from grader.judge.cases import judge_case
from grader.judge.scoring import rounded
from grader.outcomes import StepOutcome
from grader.sandbox import workload
from grader.validation import (
    CaseInfo,
    CaseMargin,
    KillMatrix,
    MistakeInfo,
    MutantTally,
    PublicShare,
    StatisticalTest,
    Survivor,
    TimeLimits,
    Validation,
    Weakness,
)

CROSSCHECK = 1e-12
TRIVIAL_SHARE = 0.02
PUBLIC_SHARE = 0.9

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
        self.folder = source.reference_folder
        self.library = load_misconceptions(self.folder, list(source.exercise.clauses))
        self.weaknesses: list[Weakness] = []
        self.worked_mistakes: list[MistakeInfo] = []
        self.statistics: list[StatisticalTest] = []
        self.seconds: dict[str, float] = {}

    pack: Pack

    @cached_property
    def document(self) -> Document:
        """``exercise.yaml`` with its lines."""
        path = self.source.root / "cases" / self.source.name / "exercise.yaml"
        return yaml_source.load(path, shown(path))

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """The model's functions by the calls' names."""
        return load_entries(self.folder, "model", self.source.exercise)

    @cached_property
    def runs(self) -> Mapping[str, HonestRuns]:
        """The honest orders of the arithmetic of each call."""
        exercise = self.source.exercise
        return {name: HonestRuns(self.folder, exercise, name) for name in exercise.call_names}

    @cached_property
    def samples(self) -> Mapping[str, Samples]:
        """The generated inputs of each call that survivors are held against."""
        exercise = self.source.exercise
        count = SAMPLES // len(exercise.call_names)
        return {
            name: Samples(
                exercise.view(name),
                entry,
                self.runs[name],
                count=count,
                loose=loose_arguments(self.source, name),
                classes=classes_asked(self.source, name),
            )
            for name, entry in self.entries.items()
        }

    def weak(self, code: str, message: str, case: str, *key: str) -> None:
        """Note a weakness at a case, or at one of its keys."""
        placed = self.placed[case]
        line = placed.at(*key) if key else placed.line
        self.weaknesses.append(Weakness(placed.file, line, code, f"{case}: {message}"))

    def weak_exercise(self, code: str, message: str, *key: str) -> None:
        """Note a weakness at a key of ``exercise.yaml``, or of the exercise as a whole."""
        self.weaknesses.append(Weakness(self.document.file, self.document.line(key), code, message))

    def run(self, *, fast: bool = False) -> Validation:
        """Check everything.

        Args:
            fast: Leave out what takes long: mutants, worked submissions, and whether the pack is the same
                when built twice and tells a student nothing. A pack of these sources is taken from the cache.

        Raises:
            GraderError: The cross-check or the reference can't be run.
        """
        if fast:
            return self._run(None)
        with Rebuild(self.source) as rebuild:
            return self._run(rebuild)

    def _run(self, rebuild: Rebuild | None) -> Validation:
        fast = rebuild is None
        self.progress("pack")
        if fast:
            self.pack = cached_pack(self.source.root, self.source.name)
        else:
            self.pack = packs.loads(build_pack(self.source, self.frozen))
        suite = Suite(self.pack)
        self._clauses()
        self._statement()
        self._demo()
        self._work()
        self.progress("reference and cross-check")
        for placed in self.placed.values():
            self._reference(placed)
        suite.give(max(self.seconds.values(), default=0.0))
        suite.spare(self.seconds)
        time_limits = self._time_limits(fast=fast)
        self.progress("trivial answers")
        self._trivial(suite)
        trials = self._known_mistakes(suite)
        tried = [] if fast else self._mutants(suite)
        if rebuild is not None:
            self._pack(rebuild, [trial.answers for trial in trials.values()])
        worked = KillMatrix() if fast else self._worked(set(trials))
        matrix = self._matrix(trials, worked)
        if not fast:
            for case_id in matrix.summary()["cases_that_kill_nothing"]:
                what = "no known mistake and no worked wrong submission fails it"
                self.weak("case_kills_nothing", what, case_id)
        public = self._public(matrix, tried)
        small = [one for one in self.library if one.small]
        margins = self._margins(trials, advice=not fast)
        return Validation(
            exercise=self.source.name,
            weaknesses=tuple(sorted(self.weaknesses)),
            cases=self._counts(),
            matrix=matrix,
            fast=fast,
            library=len(self.library),
            small=len(small),
            mutants=tally(tried) if tried else MutantTally(),
            survivors=self._survivors(trials, tried),
            public=public,
            smallest_set=smallest_set(_kills(matrix, tried), matrix.cases),
            indistinguishable=indistinguishable(self.pack, [trials[m.id] for m in self._mistakes()]),
            margins=margins,
            statistics=tuple(self.statistics),
            title=self.source.exercise.title,
            clauses={name: clause.title for name, clause in self.source.exercise.clauses.items()},
            suite=tuple(
                CaseInfo(c.id, c.title, c.clause, c.group, c.visibility, c.points) for c in self.pack.cases
            ),
            mistakes=(*map(_info, self._mistakes()), *self.worked_mistakes),
            time_limits=time_limits,
        )

    def _counts(self) -> dict[str, Any]:
        public = [c for c in self.pack.cases if c.visibility == "public"]
        return {
            "total": len(self.pack.cases),
            "public": len(public),
            "hidden": len(self.pack.cases) - len(public),
            "points": self.pack.max_score,
            "public_points": sum(c.points for c in public if not c.extra),
        }

    def _mistakes(self) -> list[Misconception]:
        """The known mistakes that the cases have to catch."""
        return [one for one in self.library if not one.small]

    # --- the pack -------------------------------------------------------------------------

    def _pack(self, rebuild: Rebuild, answers: Sequence[Mapping[str, Sequence[StepOutcome]]]) -> None:
        """The pack is the same when built again, and a student's tells nothing of hidden cases."""
        self.progress("pack, built again")
        full, student_data = rebuild.packs()
        if full != self.pack.data:
            self.weak_exercise("pack_not_reproducible", "two packs built one after the other differ")
        self.progress("student's pack")
        student = packs.loads(student_data)
        for case, what in revealed(self.placed, self.pack, student, answers):
            if case is None:
                self.weak_exercise("student_pack_reveals", f"the student's pack: {what}")
            else:
                self.weak("student_pack_reveals", what, case)

    def _clauses(self) -> None:
        for clause in self.pack.exercise.clauses:
            cases = [c for c in self.pack.cases if c.clause == clause]
            if not cases:
                message = f"no case tests the clause {clause}"
                self.weak_exercise("clause_without_case", message, "clauses", clause)
            elif not any(c.visibility == "public" for c in cases):
                message = f"no public case tests the clause {clause}"
                self.weak_exercise("clause_without_public_case", message, "clauses", clause)

    def _statement(self) -> None:
        """What would stop `grader release` in the statement; without a statement there is none to check."""
        path = statement_path(self.source)
        if path.is_file():
            statement = read_statement(path.read_bytes(), shown(path))
            told = told_of_hidden(statement, starter_text(self.source), self.placed.values())
            for problem in [*statement.problems, *told]:
                self.weaknesses.append(Weakness(problem.file, problem.line, "statement", problem.message))

    def _demo(self) -> None:
        """The author's examples can be shown; where there are none, nothing can be at fault."""
        path = self.source.reference_folder / DEMO
        if not path.is_file():
            return
        self.progress(path.name)
        try:
            demonstration_of(self.source)
        except ExerciseError as error:
            for problem in error.problems:
                file = shown(Path(problem.file))
                self.weaknesses.append(Weakness(file, problem.line, "demo_fails", problem.message))
        except ToolMissingError as error:
            self.weaknesses.append(Weakness(shown(path), 0, "demo_fails", str(error)))

    def _work(self) -> None:
        total, most = 0.0, 0
        for case in self.pack.cases:
            placed = self.placed[case.id]
            view = self.source.exercise.view(placed.case.call)
            work = view.work
            if work is None:
                continue
            most = max(most, work.in_all)
            symbols = dict.fromkeys(view.form.free({}), 0)
            one = float(evaluate(work.expression, symbols | dict(placed.case.dims)))
            calls = sum(not isinstance(self.pack.plans[case.visibility][s], int) for s in case.steps)
            if one > work.per_case:
                message = f"needs {one:,.0f} multiply-adds, {work.per_case:,} are allowed"
                self.weak("too_much_work", message, case.id, "random" if placed.drawn else "dims")
            total += one * calls
        if total > most:
            message = f"all calls need {total:,.0f} multiply-adds, {most:,} are allowed"
            self.weak_exercise("too_much_work", message, "work")

    # --- right answers --------------------------------------------------------------------

    def _reference(self, placed: PlacedCase) -> None:
        """The reference passes, the cross-check agrees, and relations hold with margin."""
        exercise = self.source.exercise
        case = next(c for c in self.pack.cases if c.id == placed.case.id)
        assembled = assemble(exercise, placed)
        begin = time.process_time()
        right = call_reference(self.entries, assembled, exercise)
        self.seconds[case.id] = time.process_time() - begin
        call = self.pack.call(case)
        if call.is_array and not case.chance and case.check != "raises":
            answers = [one.array for one in right]
            given = [outcomes_of(case, [a.astype(dtype) for a in answers]) for dtype in call.dtypes]
        else:
            given = [outcomes_like(case, [one.outcome for one in right])]
        for dtype, outcomes in zip(call.dtypes, given, strict=False):
            judgement = judge_case(self.pack, case, outcomes, {})
            if judgement.verdict != "passed":
                told = f" in {dtype}" if len(given) > 1 else ""
                self.weak("reference_fails", f"the reference{told}: {judgement.message}", case.id)
        if case.check == "statistic":
            self._statistic(case, [one.outcome for one in right])
        self._crosscheck(assembled, case, right)
        measured = self.frozen.cases[case.id]
        if case.tolerance is not None and measured.noise is not None and case.tolerance < 2 * measured.noise:
            self.weak(
                "tolerance_below_noise",
                f"its tolerance {case.tolerance:.1g} is below twice the honest noise {measured.noise:.1g}",
                case.id,
                "tolerance",
            )
        check = placed.case.check
        if isinstance(check, Relation) and check.relation == "differs":
            stricter = {**case.options, "at_least": FACTOR * check.at_least}
            tightened = PackCase(**{**vars(case), "options": stricter})
            outcomes = outcomes_like(case, [one.outcome for one in right])
            if judge_case(self.pack, tightened, outcomes, {}).verdict != "passed":
                message = f"the reference changes by less than {FACTOR:g} × at_least"
                self.weak("relation_margin", message, case.id, "check", "at_least")

    def _statistic(self, case: PackCase, outcomes: Sequence[StepOutcome]) -> None:
        """A statistical test tells what it has to tell, and the reference is nowhere near failing it."""
        check = self.placed[case.id].case.check
        stated = isinstance(check, Statistic) and check.least_trials is not None
        test, faults = look_at_test(self.pack, case, outcomes, stated=stated)
        if test is not None:
            self.statistics.append(test)
        for code, message, *key in faults:
            self.weak(code, message, case.id, *key)

    def _time_limits(self, *, fast: bool) -> TimeLimits | None:
        """The limits leave room for whoever is slower than the reference."""
        allowed = allowed_here(self.pack)
        seconds, start = self.seconds, 0.0
        follow = self.source.exercise.limits.times_reference is not None
        if follow or tight(self.pack, allowed, seconds):
            # Once in passing, with as many threads as there are cores, is no measurement.
            self.progress("how long the reference takes")
            rounds = LEAST_ROUNDS - 1 if fast else LEAST_ROUNDS
            times = time_reference(self.source, self.frozen.batches, rounds=rounds)
            seconds = {name: one.seconds for name, one in times.works.items()}
            start = times.start.seconds
        for need in tight(self.pack, allowed, seconds, start):
            self.weak_exercise("time_limit_tight", str(need), "limits", need.key)
        return figures(self.pack, allowed, seconds, start, workload.seconds()) if follow else None

    def _crosscheck(self, assembled: AssembledCase, case: PackCase, right: Sequence[RightAnswer]) -> None:
        """The cross-check gives what the reference gives; where chance decides, what the case asks for."""
        name = assembled.case.call
        call = self.source.exercise.call_named(name)
        other = self.crosschecks[call]
        form = self.source.exercise.view(name).form
        measured = self.frozen.cases[case.id]
        allowed = max(CROSSCHECK, FACTOR * (measured.float64_noise or 0.0))
        found = [rehearsed(other, plain_call(arguments)) for arguments in assembled.calls]

        def disagree(message: str) -> None:
            self.weak("crosscheck_disagrees", message, case.id)

        if case.check == "raises" or case.chance:
            judgement = judge_case(self.pack, case, outcomes_like(case, found), {})
            if judgement.verdict != "passed":
                disagree(f"the cross-check: {judgement.message}")
            return
        for outcome, wanted in zip(found, right, strict=True):
            if (failure := outcome.failure) is not None:
                disagree(f"the cross-check fails on it: {failure.type}: {failure.message}")
                return
            try:
                got = answer_of(outcome.value, form)
            except UnfitError as error:
                disagree(f"the cross-check: {error.message}")
                return
            if unlike := wanted.answer.unlike(got):
                disagree(unlike)
                continue
            off = wanted.answer.error(got)
            if not off <= allowed:
                disagree(f"cross-check and reference differ by {off:.1g}, {allowed:.1g} is allowed")

    @cached_property
    def crosschecks(self) -> Mapping[str, Entry]:
        """The cross-check's functions by the calls' names."""
        return load_entries(self.folder, "crosscheck", self.source.exercise)

    # --- wrong answers --------------------------------------------------------------------

    def _trivial(self, suite: Suite) -> None:
        """The model as it runs gets full marks; answers without any computation earn next to nothing."""
        full = suite.trial("reference", _alone(self.entries))
        known = {w.message.partition(":")[0] for w in self.weaknesses if w.code == "reference_fails"}
        for case_id in full.killed:
            if case_id not in known:
                self.weak(
                    "reference_fails", "the reference fails it when all calls are made in turn", case_id
                )
        for name, steps in trivial_answers(self.pack).items():
            self._earns(suite, f"an answer of {name}", steps, TRIVIAL_SHARE, "trivial_answer_scores")
        outcomes = suite.outcomes(starter(self.source))
        self._earns(suite, "a function that is not written yet", outcomes, 0.0, "starter_scores")

    def _earns(
        self, suite: Suite, who: str, outcomes: Mapping[str, list[StepOutcome]], share: float, code: str
    ) -> None:
        """Raise a weakness, at the first case that gives points, when there are more than the share."""
        result = suite.judged(outcomes)
        points = result.score or 0.0
        if points <= share * self.pack.max_score:
            return
        cases = [c.id for c in result.cases if c.points]
        got = f"{points:g} of {self.pack.max_score:g} points"
        message = f"{who} gets {got}, from {', '.join(cases)}; let them require a value case"
        place = self.placed[cases[0]]
        self.weaknesses.append(Weakness(place.file, place.line, code, message))

    def _known_mistakes(self, suite: Suite) -> dict[str, Trial]:
        """Every known mistake loses marks, and a case of its clause fails it."""
        model = load_model(self.folder, self.source.exercise.call_names)
        trials: dict[str, Trial] = {}
        for one in self.library:
            assert model is not None
            self.progress(f"mistake {one.id}")
            trials[one.id] = suite.trial(one.id, model.entry(one.make()), keep=True)
        for one in self._mistakes():
            trial = trials[one.id]
            place = (shown(Path(one.file)), one.line)
            if set(trial.verdicts) <= {"raised", "skipped"}:
                # A slip in the library itself would else count as a mistake that every case catches.
                told = next(
                    (o.failure for o in trial.answers.get("public", ()) if o.failure is not None), None
                )
                said = f"{told.type}: {told.message}" if told is not None else "an exception"
                self._mistake("mistake_fails", f"{one.id}: every call of it raises {said}", place)
            elif not trial.killed:
                self._mistake("mistake_survives", f"{one.id}: no case catches this mistake", place)
            elif not trial.with_margin:
                self._mistake("mistake_without_margin", f"{one.id}: {_near(trial, self.pack)}", place)
            if trial.killed and trial.score >= rounded(self.pack.most_points):
                self._mistake("mistake_keeps_full_marks", f"{one.id}: {_kept(trial, self.pack)}", place)
        for clause in self.pack.exercise.clauses if len(self.library) else ():
            broken = [one for one in self._mistakes() if one.clause == clause]
            cases = {c.id for c in self.pack.cases if c.clause == clause}
            if not broken:
                message = f"no known mistake breaks the clause {clause}"
                self.weak_exercise("clause_without_mistake", message, "clauses", clause)
            elif not any(cases.intersection(trials[one.id].killed) for one in broken):
                message = f"no case of the clause {clause} fails when that clause alone is broken"
                self.weak_exercise("clause_not_caught", message, "clauses", clause)
        return trials

    def _mistake(self, code: str, message: str, place: tuple[str, int]) -> None:
        self.weaknesses.append(Weakness(*place, code, message))

    def _mutants(self, suite: Suite) -> list[MutantTrial]:
        """Mutants of the reference are killed, or no more than rounding, or the same function."""
        self.progress("mutants")
        exercise = self.source.exercise
        names = {call: call or exercise.entries[0] for call in exercise.call_names}
        mutants = Mutants(self.folder, names if exercise.calls else exercise.entries[0])
        tried = try_mutants(suite, mutants, self.samples, self.progress)
        for one in tried:
            if one.fate == "open_hole":
                message = f"no case catches the mutant {one.mutant.change}: {one.figures}"
                self._mistake("mutant_survives", message, (shown(one.mutant.file), one.mutant.line))
        return tried

    def _survivors(self, trials: Mapping[str, Trial], tried: Sequence[MutantTrial]) -> tuple[Survivor, ...]:
        """The known mistakes and mutants that no case kills, with the reason."""
        found: list[Survivor] = []
        model = load_model(self.folder, self.source.exercise.call_names)
        for one in self._mistakes():
            trial = trials[one.id]
            if trial.caught:
                continue
            assert model is not None
            fate, figures = fate_of(trial, agreement_of(model.entry(one.make()), self.samples))
            place = (shown(Path(one.file)), one.line)
            found.append(Survivor(one.id, "misconception", fate, one.title, figures, *place))
        return (
            *found,
            *(mutant_survivor(m, shown(m.mutant.file)) for m in tried if m.fate != "killed"),
        )

    def _worked(self, taken: set[str]) -> KillMatrix:
        """Every worked submission gets the result beside it, and every wrong one fails a case."""
        folder = self.source.root / "submissions" / self.source.name
        problems: list[Problem] = []
        worked = list(read_worked(folder, problems)) if folder.is_dir() else []
        if problems:
            raise ExerciseError(problems)
        if not any(_is_mistake(one) for one in worked):
            message = f"{shown(folder)} holds no worked wrong submission to catch"
            self.weak_exercise("no_worked_mistake", message)
        killed: dict[str, tuple[str, ...]] = {}
        margin: dict[str, tuple[str, ...]] = {}
        with Runner(self.pack) as runner:
            for one in worked:
                self.progress(one.path.name)
                intake = collect([one.path], asked_of(self.pack))
                result = runner.grade(intake.submissions[0])
                if result.status == "grader_fault":
                    raise OwnFaultError(f"{one.file}: {result.message}")
                for what in (*unknown_names(one.expected, self.pack), *disagreements(one.expected, result)):
                    place = (one.file, one.item.line(*what.key))
                    self.weaknesses.append(Weakness(*place, "worked_submission", what.message))
                if not _is_mistake(one):
                    continue
                name = one.path.name if one.path.stem in taken else one.path.stem
                killed[name] = tuple(c.id for c in result.cases if c.failed)
                margin[name] = tuple(c.id for c in result.cases if with_margin(c))
                place = (shown(one.path), 1)
                self.worked_mistakes.append(MistakeInfo(name, "worked", "", "", *place))
                if not killed[name]:
                    self._mistake("mistake_survives", "no case catches this mistake", place)
                elif not margin[name]:
                    message = f"no case catches this mistake at {FACTOR:g} × its tolerance"
                    self._mistake("mistake_without_margin", message, place)
        return KillMatrix(tuple(killed), tuple(c.id for c in self.pack.cases), killed, margin)

    # --- what the kills say ---------------------------------------------------------------

    def _matrix(self, trials: Mapping[str, Trial], worked: KillMatrix) -> KillMatrix:
        known = [trials[one.id] for one in self._mistakes()]
        return KillMatrix(
            mistakes=(*(t.name for t in known), *worked.mistakes),
            cases=tuple(c.id for c in self.pack.cases),
            killed={t.name: t.killed for t in known} | dict(worked.killed),
            with_margin={t.name: t.with_margin for t in known} | dict(worked.with_margin),
        )

    def _public(self, matrix: KillMatrix, tried: Sequence[MutantTrial]) -> PublicShare:
        """What the public cases kill alone: nearly everything."""
        public = tuple(c.id for c in self.pack.cases if c.visibility == "public")
        alone = matrix.restricted(public)
        wanted = [one for one in tried if one.fate in ("killed", "open_hole")]
        survivors = [
            one.mutant.id
            for one in wanted
            if not one.trial.broken and not set(public).intersection(one.trial.killed)
        ]
        kills = _kills(alone, wanted)
        share = PublicShare(
            matrix=alone,
            mutants=len(wanted),
            mutants_killed=len(wanted) - len(survivors),
            mutant_survivors=tuple(survivors),
            smallest_set=smallest_set(
                {name: [c for c in cases if c in public] for name, cases in kills.items()}, public
            ),
        )
        known = {one.id for one in self._mistakes()}
        caught = sum(bool(alone.killed[name]) for name in known)
        for what, killed, total in (
            ("known mistakes", caught, len(known)),
            ("mutants", share.mutants_killed, share.mutants),
        ):
            if killed < PUBLIC_SHARE * total:
                message = (
                    f"the public cases alone kill {killed} of {total} {what}, at least {PUBLIC_SHARE:.0%}"
                )
                self.weak_exercise("public_cases_kill_too_few", f"{message} is wanted", "groups")
        return share

    def _margins(self, trials: Mapping[str, Trial], *, advice: bool) -> tuple[CaseMargin, ...]:
        """For each case with an expected answer its noise, tolerance and nearest mistake."""
        model = load_model(self.folder, self.source.exercise.call_names)
        margins: list[CaseMargin] = []
        for case in self.pack.cases:
            noise = self.frozen.cases[case.id].noise
            if case.check != "compare" or case.tolerance is None or noise is None:
                continue
            errors = [
                (error, one)
                for one in self._mistakes()
                if one.clause == case.clause and case.id in trials[one.id].killed
                if (error := trials[one.id].errors.get(case.id)) is not None
            ]
            error, nearest = min(errors, key=lambda each: each[0], default=(None, None))
            words = ""
            poor = error is not None and error < FACTOR * case.tolerance
            if nearest is not None and advice and (poor or noise > HIGH_NOISE):
                assert model is not None
                self.progress(f"margin of {case.id}")
                placed = self.placed[case.id]
                name = self.source.exercise.call_named(placed.case.call)
                call = plain_call(assemble(self.source.exercise, placed).calls[0])
                wrong = model.function(name, nearest.make())
                view = self.source.exercise.view(name)
                with limited_memory(self.source.exercise.limits.memory):
                    words = advise(self.runs[name], view, call, self.entries[name], wrong, nearest.id)
            elif poor or noise > HIGH_NOISE:
                words = "the margin is small"
            margins.append(
                CaseMargin(
                    case=case.id,
                    clause=case.clause,
                    noise=noise,
                    tolerance=case.tolerance,
                    nearest=nearest.id if nearest is not None else "",
                    error=error,
                    advice=words,
                )
            )
        return tuple(margins)


def _alone(entries: Mapping[str, Entry]) -> Functions:
    """The only function, or all by the calls' names."""
    return entries[""] if list(entries) == [""] else entries


def _kept(trial: Trial, pack: Pack) -> str:
    """Why a mistake that is killed gets all that a right submission gets."""
    worth = sum(case.points for case in pack.cases if case.id in trial.killed)
    why = "rounding gives back what it loses in" if worth else "nothing is lost by failing"
    got = f"it gets {trial.score:g} points, as a right submission does"
    return f"{got}, since {why} {', '.join(trial.killed)}"


def _near(trial: Trial, pack: Pack) -> str:
    """The largest error over tolerance of a mistake that is killed, but only just."""
    tolerances = {c.id: c.tolerance for c in pack.cases}
    shares = [
        (error / tolerance, case)
        for case in trial.killed
        if (error := trial.errors.get(case)) is not None and (tolerance := tolerances[case])
    ]
    share, case = max(shares)
    return f"no case catches this mistake at {FACTOR:g} × its tolerance; {case} does at {share:.2g} ×"


def _kills(matrix: KillMatrix, tried: Sequence[MutantTrial]) -> dict[str, Sequence[str]]:
    """Killing cases by mistake and mutant."""
    return {**matrix.killed, **{one.mutant.id: one.trial.killed for one in tried}}


def _info(one: Misconception) -> MistakeInfo:
    return MistakeInfo(one.id, "misconception", one.title, one.clause, shown(Path(one.file)), one.line)


def _is_mistake(worked: Worked) -> bool:
    return worked.expected.status == "failed" and worked.expected.policy.status != "violated"
