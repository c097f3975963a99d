"""The Result record of one submission, made from what its execution gave."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from grader.excerpt import SourceLine, excerpt
from grader.exercise.pack import Pack, PackCase
from grader.judge.cases import judge_case
from grader.judge.details import case_details, file_named
from grader.judge.diagnosis import EXPLAINED, NOTHING_FITS, as_record, diagnose
from grader.judge.explanations import entry, explain
from grader.judge.failures import call_cause, load_cause, load_failure, load_message, load_notes, says_all
from grader.judge.phases import PhaseJudge, Ruling, ruling_of
from grader.judge.raising import as_asked
from grader.judge.scoring import BANNED, adjust, how_it_counts, rounded
from grader.judge.small_errors import small_error_note
from grader.outcomes import Execution, StepOutcome
from grader.result import (
    Adjustment,
    CaseError,
    CaseResult,
    Isolation,
    Output,
    PolicyResult,
    Result,
    Status,
    SubmissionInfo,
    Timing,
    Violation,
    rank_broken,
    referred_lines,
)

MAX_DETAILED = 3
NO_HINT = ("passed", "timed_out", "crashed", "skipped")
# Of these no value was held against the right one.
NOT_COMPARED = ("raised", "out_of_memory", "wrong_shape", "wrong_type")
NEARLY_ALL = 0.9
MAX_DIGEST = 80
# Checks that are named in a sentence.
MAX_NAMED = 3


@dataclass(frozen=True)
class Context:
    """What is known of a submission beside its execution.

    Attributes:
        notes: For the student, on how the files were read.
        adjustments: What a teacher gave or took by hand.
        source: The submission's text; empty where it is not at hand.
        prints: Tell of every public case what its calls printed, also where it passed.
    """

    pack: Pack
    submission: SubmissionInfo
    isolation: Isolation
    notes: tuple[str, ...] = ()
    adjustments: tuple[Adjustment, ...] = ()
    source: str = ""
    prints: bool = False


@dataclass(frozen=True)
class _Known:
    """What is the same for every submission.

    Attributes:
        judges: The judge of each phase.
        cases: The cases by id.
        passed, skipped: What each gets when it passes or is not counted, without figures and words.
        exercise: As in the record.
        maximum: Full marks.
    """

    judges: Mapping[str, PhaseJudge]
    cases: Mapping[str, PackCase]
    passed: Mapping[str, CaseResult]
    skipped: Mapping[str, CaseResult]
    exercise: Mapping[str, Any]
    maximum: float


def _known(pack: Pack) -> _Known:
    """What is known of a pack, made once."""
    key = ("known", "", 0)
    if key not in pack.texts:
        clauses = {name: clause["title"] for name, clause in pack.exercise.clauses.items()}
        skipped = {case.id: _unjudged(case, "skipped") for case in pack.cases}
        pack.texts[key] = _Known(
            judges={name: PhaseJudge(pack, name) for name in dict.fromkeys(c.visibility for c in pack.cases)},
            cases={case.id: case for case in pack.cases},
            passed={c.id: replace(skipped[c.id], verdict="passed", points=c.points) for c in pack.cases},
            skipped=skipped,
            exercise={
                "name": pack.exercise.name,
                "pack": pack.id,
                "title": pack.exercise.title,
                "clauses": clauses,
                "counting": how_it_counts(pack.exercise.grading, skipped.values()),
                # Where hidden checks are no part of the pack.
                **({"visible_only": True} if pack.student else {}),
            },
            maximum=rounded(math.fsum(case.points for case in pack.cases if not case.extra)),
        )
    known: _Known = pack.texts[key]
    return known


def judge(context: Context, execution: Execution) -> Result:
    """Decide everything about one submission; how long it took on the clock is left open."""
    pack = context.pack
    report = execution.report or {}
    alike = replace(context.submission, alike=str(report.get("alike", ""))[:MAX_DIGEST])
    context = replace(context, submission=alike)
    policy, notes = _policy(report)
    notes = context.notes + notes
    positions = context.submission.positions
    problem = load_message(execution.load, report, pack.exercise, positions)
    if problem is not None:
        cases = _all_skipped(pack)
        loading = load_failure(execution.load, report)
        told = entry("not_loadable", "", problem, load_cause(execution.load, report))
        result = _finish(context, execution, cases, policy, notes, "not_loadable", problem)
        result = replace(result, diagnoses=(told,), loading=loading)
        return replace(result, excerpt=_excerpt(context, result))
    notes += load_notes(execution.load, report, positions)
    changed = _changed_arguments(pack, execution)
    cases = _judge_cases(context, execution, changed)
    result = _finish(context, execution, cases, policy, notes, None, "")
    left: Collection[str] = ()
    try:
        result, left = _with_diagnosis(pack, result, execution)
    except Exception as error:
        result = undiagnosed(result, error)
    raising = {case.id for case in pack.cases if case.check == "raises"}
    hinted = _with_hints(result, left, _causes(pack, execution)[1], raising)
    cases = _with_details(context, execution, hinted, changed)
    if context.prints:
        cases = tuple([_with_prints(pack, case, execution) for case in cases])
    result = replace(result, cases=cases)
    return replace(result, excerpt=_excerpt(context, result))


def undiagnosed(result: Result, error: Exception) -> Result:
    """A result whose mistakes could not be looked for, through a fault of ours: its marks stay."""
    # The error's own text may hold what a student must not see.
    said = f"The search for the mistake failed ({type(error).__name__}); marks do not hang on it."
    return replace(result, undiagnosed=said)


def _with_diagnosis(pack: Pack, result: Result, execution: Execution) -> tuple[Result, Collection[str]]:
    """The result with the mistakes that explain what failed, or with a note on small errors.

    Beside it the ids of the failing cases that a mistake leaves open which explains the others.
    """
    if not any(case.failed for case in result.cases):
        note = small_error_note(pack, result.cases, execution.steps)
        return (replace(result, notes=(*result.notes, note)) if note else result), ()
    failed = [case.id for case in result.cases if case.failed]
    findings = diagnose(pack, execution.steps, failed)
    by_values = [f for f in findings if f.told_by == "values"]
    alike = [f for f in findings if f.told_by in ("values", "checks")]
    records = [as_record(f, len(alike) if f in alike else 1) for f in findings]
    told = {verdict for f in findings for verdict in EXPLAINED[f.told_by]}
    left = frozenset.intersection(*(f.left for f in by_values)) if by_values else frozenset()
    causes, exact = _causes(pack, execution)
    # What an exception says of itself no known mistake has told.
    explained = explain(pack, result.cases, told, left | exact, causes)
    open_values = [c for c in result.cases if c.verdict in ("wrong_value", "relation_violated")]
    # Chance and half precision explain wrong values; what happens to arguments does not.
    values_told = any(f.told_by in ("values", "unrepeatable", "half", "checks") for f in findings)
    # What is not written yet, or misspelled, comes first; that no mistake was found beside it says nothing.
    if any(c.visibility == "public" and c.id in exact for c in result.cases):
        open_values = []
    undiagnosed = NOTHING_FITS if open_values and pack.known.mistakes and not values_told else ""
    partly = any(f.partly for f in findings)
    if partly:
        undiagnosed = _rest_unknown([c for c in open_values if c.id in left])
    # A mistake that explains everything, or most of it, says more than the clause that suffers most from it.
    if len(records) == 1 and result.score is not None and (partly or not (explained or undiagnosed)):
        title = str(records[0]["title"])
        message = _sentence(
            pack,
            result.cases,
            result.policy,
            result.score,
            result.max_score,
            result.adjustments,
            _named(title, findings[0].told_by, partly=partly),
        )
        result = replace(result, message=message)
    told_of = replace(result, diagnoses=(*records, *explained), undiagnosed=undiagnosed)
    return told_of, left if partly else ()


def _named(title: str, told_by: str, *, partly: bool) -> str:
    """The mistake that was found, in a sentence that says no more than is known."""
    if told_by == "checks":
        return f"What fails is what fails with this mistake: {title}."
    return f"One mistake: {title}; something else is wrong too." if partly else f"The mistake: {title}."


def _rest_unknown(cases: Sequence[CaseResult]) -> str:
    """What is said of wrong values that a mistake beside something unknown does not explain."""
    if not cases:
        return ""
    public = [c.id for c in cases if c.visibility == "public"]
    if not public:
        return "No known mistake was found to explain the rest, which only hidden checks show."
    shown = public[:MAX_NAMED]
    more = len(public) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"No known mistake was found to explain the rest, which {listed} {'show' if first else 'shows'}."


def _causes(pack: Pack, execution: Execution) -> tuple[dict[str, str], frozenset[str]]:
    """The cause of the first call that gave no answer, by the id of its case; the ids where that says all."""
    found, exact = {}, set()
    for case in pack.cases:
        steps = execution.steps.get(case.visibility)
        if steps is not None:
            gave = [steps[step] for step in case.steps]
            ended = next((o for o in gave if o.state != "returned" and not as_asked(case, o)), None)
            cause = call_cause(ended) if ended is not None else ""
            if case.check == "raises" and not cause:
                said = any(as_asked(case, outcome) for outcome in gave)
                cause = "not_mentioned" if said else "not_raised" if ended is None else "other_exception"
            if cause:
                found[case.id] = cause
                if ended is not None and says_all(ended):
                    exact.add(case.id)
    return found, frozenset(exact)


def not_loadable(context: Context, message: str) -> Result:
    """The record of a file that could not even be read."""
    cases = _all_skipped(context.pack)
    nothing = Execution(report=None, load=None, steps={})
    return _finish(context, nothing, cases, PolicyResult(), context.notes, "not_loadable", message)


def grader_fault(context: Context, message: str) -> Result:
    """The record of a submission on which the grader itself failed: no score, to be run again."""
    cases = tuple([_unjudged(case, "grader_fault") for case in context.pack.cases])
    nothing = Execution(report=None, load=None, steps={})
    said = f"The grader failed; this costs nothing, and the submission has to be run again. ({message})"
    return _finish(context, nothing, cases, PolicyResult(), (), "grader_fault", said)


def _unjudged(case: PackCase, verdict: Literal["skipped", "grader_fault"]) -> CaseResult:
    return CaseResult(
        id=case.id,
        group=case.group,
        title=case.title,
        clause=case.clause,
        visibility=case.visibility,
        verdict=verdict,
        points=0.0,
        max_points=case.points,
        drawn=case.drawn,
        extra=case.extra,
    )


def _changed(result: CaseResult, **changes: Any) -> CaseResult:
    # As dataclasses.replace, in a fifth of the time: this is done for every case of every submission.
    made = object.__new__(CaseResult)
    vars(made).update(vars(result), **changes)
    return made


def _all_skipped(pack: Pack) -> tuple[CaseResult, ...]:
    """The cases of a file that could not be loaded."""
    skipped = _known(pack).skipped
    return tuple([_changed(skipped[c.id], message="The file could not be loaded.") for c in pack.cases])


def _changed_arguments(pack: Pack, execution: Execution) -> dict[str, str]:
    """The names of the arguments that some call changed, with the visibility of such a call."""
    changed: dict[str, str] = {}
    for visibility in ("hidden", "public"):  # a public call that changed an argument is named first
        outcomes = execution.steps.get(visibility, [])
        for placed, outcome in zip(pack.plans.get(visibility, ()), outcomes, strict=False):
            numbers = outcome.overwritten | outcome.reshaped
            if numbers and not isinstance(placed, int):
                names = pack.exercise.calls[placed.call].parameters
                changed |= {names[n]: visibility for n in numbers if n < len(names)}
    return changed


def _judge_cases(
    context: Context, execution: Execution, changed: Mapping[str, str]
) -> tuple[CaseResult, ...]:
    pack, positions = context.pack, context.submission.positions
    known = _known(pack)
    rulings: dict[str, Ruling] = {}
    for visibility, judge in known.judges.items():
        if visibility in execution.steps:
            outcomes = execution.steps[visibility]
            decided = judge.decide(outcomes, changed)
            for case in judge.cases:
                if case.id not in decided:
                    own = [outcomes[s] for s in case.steps]
                    decided[case.id] = ruling_of(judge_case(pack, case, own, changed, positions))
            rulings |= decided
    failed = {name for name, ruling in rulings.items() if ruling.verdict != "passed"}
    results: list[CaseResult] = []
    for case in pack.cases:
        ruling = rulings.get(case.id)
        if ruling is None:
            continue
        missing = _first_missing(case, known.cases, failed) if failed and case.requires else None
        if missing is not None:
            message = f"Not counted, since {missing} did not pass."
            results.append(_changed(known.skipped[case.id], message=message))
        else:
            results.append(_case_result(case, ruling, known))
    return tuple(results)


def _with_hints(
    result: Result, left: Collection[str], exact: Collection[str], raising: Collection[str] = ()
) -> Result:
    """The result with those hints alone that can help.

    A hint tells the usual mistake of its clause. Where it is known that the mistake belongs to another, where
    an exception says itself what is wrong, and where calls of several clauses give no answer that could be
    compared, it leads astray.

    Args:
        result: The record.
        left: Ids of cases that the mistakes which are known leave open.
        exact: Ids of cases in which an exception says all.
        raising: Ids of cases that ask for an exception: an answer of another kind is what they tell.
    """
    failed = [c for c in result.cases if c.failed]
    mute = {c.id for c in failed if c.verdict in NOT_COMPARED and c.id not in raising}
    told = bool(result.diagnoses) and (bool(left) or not result.undiagnosed)
    clauses = result.diagnosed_clauses() if told else ()
    several = len({c.clause for c in failed if c.id in mute}) > 2

    def helps(case: CaseResult) -> bool:
        if case.id in exact:
            return False
        if clauses:
            return case.clause in clauses or case.id in left
        return not (several and case.id in mute)

    cases = [c if not c.hint or helps(c) else _changed(c, hint="") for c in result.cases]
    return replace(result, cases=tuple(cases)) if failed else result


def _excerpt(context: Context, result: Result) -> tuple[SourceLine, ...]:
    """The lines that the record refers to; what it costs to have them comes first."""
    lines = referred_lines(result.policy.violations, result.cases, result.loading)
    return excerpt(context.source, lines + [v.line for v in result.policy.suspicions if v.line])


def _with_details(
    context: Context, execution: Execution, result: Result, changed: Mapping[str, str]
) -> tuple[CaseResult, ...]:
    """The cases with details on the first failing public ones of the clauses that hold least."""
    pack, positions, results = context.pack, context.submission.positions, result.cases
    failing = [r for r in results if r.visibility == "public" and r.failed]
    if not failing:
        return results
    ranks = {clause: n for n, clause in enumerate(result.broken_clauses())}
    chosen = {r.id for r in sorted(failing, key=lambda r: (r.drawn, ranks[r.clause]))[:MAX_DETAILED]}
    cases = _known(pack).cases
    filename = file_named(context.submission)

    def details(case: PackCase) -> dict[str, Any]:
        outcomes = [execution.steps[case.visibility][s] for s in case.steps]
        judgement = judge_case(pack, case, outcomes, changed, positions)
        return case_details(pack, case, outcomes, judgement, filename)

    return tuple([_changed(r, details=details(cases[r.id])) if r.id in chosen else r for r in results])


def _with_prints(pack: Pack, result: CaseResult, execution: Execution) -> CaseResult:
    """The result of a public case with what each of its calls printed."""
    if result.visibility != "public":
        return result
    case, plan = _known(pack).cases[result.id], pack.plans["public"]
    # A second look at an answer is no call.
    calls = [step for step in case.steps if not isinstance(plan[step], int)]
    outcomes = [execution.steps["public"][step] for step in calls]
    printed = [
        {"call": number, "of": len(outcomes), "stdout": outcome.stdout, "stderr": outcome.stderr}
        for number, outcome in enumerate(outcomes, 1)
        if outcome.stdout or outcome.stderr
    ]
    return _changed(result, details={**result.details, "printed": printed}) if printed else result


def _first_missing(case: PackCase, cases: Mapping[str, PackCase], failed: set[str]) -> str | None:
    """A case that this one requires, directly or through others, and that did not pass."""
    for name in case.requires:
        if name in failed:
            return name
        if name in cases and (missing := _first_missing(cases[name], cases, failed)):
            return missing
    return None


def _case_result(case: PackCase, ruling: Ruling, known: _Known) -> CaseResult:
    error = None
    if ruling.error is not None and case.tolerance is not None:
        max_abs, max_rel = ruling.error
        finite = math.isfinite(max_rel)
        error = CaseError(max_abs if finite else None, max_rel if finite else None, case.tolerance)
    if ruling.verdict == "passed":
        passed = known.passed[case.id]
        return passed if error is None else _changed(passed, error=error)
    return _changed(
        known.skipped[case.id],
        verdict=ruling.verdict,
        error=error,
        message=ruling.message,
        # A hint is about a wrong answer, or one that is too large; it misleads where there may be none.
        hint="" if ruling.verdict in NO_HINT else case.hint,
    )


def _policy(report: Mapping[str, Any]) -> tuple[PolicyResult, tuple[str, ...]]:
    violations = tuple(_violation(v) for v in _rows(report, "violations"))
    suspicions = tuple(_violation(v) for v in _rows(report, "suspicious"))
    notes = tuple(str(n.get("message", ""))[:500] for n in _rows(report, "notes"))
    if violations:
        return PolicyResult("violated", violations, suspicions), notes
    return PolicyResult("suspicious" if suspicions else "clean", (), suspicions), notes


def _rows(report: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = report.get(key)
    return [r for r in rows[:200] if isinstance(r, Mapping)] if isinstance(rows, list) else []


def _violation(row: Mapping[str, Any]) -> Violation:
    def number(key: str) -> int:
        value = row.get(key)
        return value if type(value) is int and value >= 0 else 0

    def text(key: str, limit: int) -> str:
        return str(row.get(key, ""))[:limit]

    return Violation(
        text("rule", 64),
        text("helper", 200),
        number("line"),
        number("column"),
        text("found", 16),
        text("message", 500),
    )


def _finish(
    context: Context,
    execution: Execution,
    cases: Sequence[CaseResult],
    policy: PolicyResult,
    notes: tuple[str, ...],
    status: Status | None,
    message: str,
) -> Result:
    pack = context.pack
    points = rounded(math.fsum([case.points for case in cases]))
    adjustments = adjust(pack, cases, policy, context.submission, context.adjustments)
    score = rounded(points + math.fsum([a.points for a in adjustments]))
    maximum = _known(pack).maximum
    if status is None:
        status = "passed" if score >= maximum else "failed"
    fault = status == "grader_fault"
    return Result(
        exercise=_known(pack).exercise,
        submission=context.submission,
        status=status,
        score=None if fault else score,
        max_score=maximum,
        message=message or _sentence(pack, cases, policy, score, maximum, adjustments),
        isolation=context.isolation,
        adjustments=adjustments,
        policy=policy,
        cases=tuple(cases),
        notes=notes,
        demands=_demands(pack, cases),
        output=_output(execution, "public"),
        hidden_output=_output(execution, "hidden"),
        timing=Timing(
            cpu_s=round(execution.cpu_s, 6),
            calls_s=round(execution.call_cpu_s, 6),
            public_s=round(_public_seconds(execution), 6),
        ),
    )


def _demands(pack: Pack, cases: Sequence[CaseResult]) -> dict[str, str]:
    """What the statement says in the clauses in which a check failed."""
    broken = {case.clause for case in cases if case.failed}
    clauses = pack.exercise.clauses.items()
    return {name: text for name, clause in clauses if name in broken and (text := clause.get("text"))}


def _public_seconds(execution: Execution) -> float:
    """Processor time of loading and of the public calls, as the child reports it."""
    loading = execution.load.cpu_s if execution.load is not None else 0.0
    return loading + math.fsum(step.cpu_s for step in execution.steps.get("public", ()))


def _output(execution: Execution, visibility: str) -> Output:
    steps: Sequence[StepOutcome] = execution.steps.get(visibility, [])
    stdout = "".join([s.stdout for s in steps])
    stderr = "".join([s.stderr for s in steps])
    if visibility == "public" and execution.load is not None:
        stdout, stderr = execution.load.stdout + stdout, execution.load.stderr + stderr
    cut = visibility in execution.truncated or (visibility == "public" and "load" in execution.truncated)
    return Output(stdout, stderr, cut)


def _sentence(
    pack: Pack,
    cases: Sequence[CaseResult],
    policy: PolicyResult,
    score: float,
    maximum: float,
    adjustments: Sequence[Adjustment],
    mistake: str = "",
) -> str:
    """The verdict in a sentence or two; ``mistake`` is the one that names what explains what failed."""
    hidden = any(case.visibility == "hidden" for case in pack.cases)
    for one in adjustments:
        if one.reason.startswith(BANNED):
            reason = f"{one.reason[:1].upper()}{one.reason[1:]}"
            cost = "all points" if one.points and not score else "points"
            return f"{reason}; this costs {cost}." if one.points else f"{reason}."
    counted = [c for c in cases if c.failed]
    if all(c.verdict == "passed" for c in cases):
        taken = [one.reason for one in adjustments if one.points < 0]
        costs = f" Points are taken: {'; '.join(taken)}." if taken and score < maximum else ""
        if pack.student:
            return f"All visible checks passed; hidden checks were not run here.{costs}"
        return f"All checks passed, the hidden ones too.{costs}" if hidden else f"All checks passed.{costs}"
    if not counted:
        return "Some checks were not run."
    passed = sum(c.verdict == "passed" for c in cases)
    full = "Full marks, but " if score >= maximum else ""
    full += f"{passed} of {len(cases)} {'visible checks' if pack.student else 'checks'} passed"
    if mistake:
        return f"{full}. {mistake}"
    public = [c for c in counted if c.visibility == "public"]
    if len(counted) > NEARLY_ALL * (len(counted) + passed) and public and len(cases) > 1:
        if public[0].verdict != "wrong_value":
            # A call that gives no answer, or one of another kind, says more than a clause does.
            return f"{full}; nearly every check fails. {public[0].message}"
        said = "nearly every check fails, so look for something that all of them need"
        return f"{full}; {said}, and begin with {public[0].id}."
    clause = rank_broken(cases, pack.exercise.clauses)[0]
    told = pack.exercise.clauses.get(clause, {})
    said = f"{full}; what holds least: {told.get('title', clause)}."
    return f"{said} {told['text']}" if told.get("text") else said
