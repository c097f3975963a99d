"""After a failure: which small calls are made, and what they show of the submission.

The number of calls has a bound; nothing hangs on seconds, so that a submission gets the same report on every
machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import arrays_of
from grader.exercise.fingerprints import fingerprint, is_finite
from grader.exercise.follow_up import Example, FollowUp
from grader.exercise.influence import read_map
from grader.exercise.pack import Pack
from grader.judge.answers import Refusal, read_answer
from grader.judge.details import describe_inputs, example_snippet, plain
from grader.judge.failures import STATE_VERDICTS, call_message, ended_in_arithmetic
from grader.outcomes import StepOutcome
from grader.positions import Positions
from grader.result import Result, Verdict

# How many examples are run beside the influence map.
MOST_EXAMPLES = 24
# Blocks of calls that are kept for the next submission with the same mistake.
MOST_KEPT = 64
# An answer is wrong when it is off by more than this share of the right one's magnitude; examples are made so
# that their mistakes do much more.
WRONG = 1e-4
# After these nothing more is run: it would take as long again.
ENDED = ("timed_out", "out_of_memory", "crashed")

Array = NDArray[Any]


@dataclass(frozen=True)
class FollowUpCalls:
    """The calls to make for one submission.

    Attributes:
        block: Their block: the influence map's, then one for each example.
        examples: Numbers of the examples, the smallest first.
        answer_bytes, answers_bytes: Size of the largest expected answer, and of all of them.
    """

    block: bytes
    examples: tuple[int, ...]
    answer_bytes: int
    answers_bytes: int


def choose(pack: Pack, result: Result) -> FollowUpCalls | None:
    """What to run for a submission; None when there is nothing to learn from it."""
    failed = [case for case in result.cases if case.failed]
    # Extra credit, or what a teacher gave, may make it pass all the same.
    judged = result.status in ("passed", "failed")
    if not judged or not failed or any(case.verdict in ENDED for case in failed):
        return None
    follow = pack.follow_up
    if follow is None:
        return None
    named = {name for diagnosis in result.diagnoses for name in diagnosis["ids"]}
    wanted = [n for n, e in enumerate(follow.examples) if e.misconception in named]
    if not wanted or any(len(diagnosis["ids"]) > 1 for diagnosis in result.diagnoses):
        clauses = result.broken_clauses()[:2]
        same = [n for n, e in enumerate(follow.examples) if e.clause in clauses and n not in wanted]
        same = sorted(same, key=lambda n: (follow.examples[n].numbers, n))
        ladder = [n for n, e in enumerate(follow.examples) if not e.misconception]
        wanted += same[: max(0, MOST_EXAMPLES - len(wanted) - len(ladder))] + ladder
    chosen = tuple(sorted(wanted[:MOST_EXAMPLES], key=lambda n: (follow.examples[n].numbers, n)))
    kept: dict[tuple[int, ...], FollowUpCalls] = pack.texts.setdefault(("follow_up", "", 0), {})
    if chosen not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[chosen] = _calls(follow, chosen)
    return kept[chosen]


def _calls(follow: FollowUp, chosen: tuple[int, ...]) -> FollowUpCalls:
    sizes = [8 * max(1, len(follow.examples[n].expected)) for n in chosen]
    if follow.influence is not None:
        # What the map's calls return is not larger than what their arguments hold.
        steps = [step for step in follow.plan[: follow.influence.calls] if not isinstance(step, int)]
        lengths = [array.length for step in steps for array in arrays_of(step)]
        sizes += [max(lengths, default=8)] * follow.influence.calls
    return FollowUpCalls(follow.part(chosen), chosen, 2 * max(sizes), 2 * sum(sizes))


def complete(
    pack: Pack, result: Result, calls: FollowUpCalls, outcomes: Sequence[StepOutcome], filename: str
) -> Result:
    """The result with the influence map and the smallest example on which the submission is wrong.

    Args:
        pack: The pack.
        result: What was decided; points and verdicts stay.
        calls: What was run.
        outcomes: The outcome of each call.
        filename: The submission's file name, for the text to paste; a live function has none.
    """
    follow = pack.follow_up
    assert follow is not None
    count = follow.influence.calls if follow.influence is not None else 0
    filename = filename if result.submission.digest else ""
    return replace(
        result,
        influence=_influence(follow, outcomes[:count]),
        counterexample=_counterexample(pack, follow, result, calls, outcomes[count:], filename),
    )


def _influence(follow: FollowUp, outcomes: Sequence[StepOutcome]) -> dict[str, Any] | None:
    right = follow.influence
    if right is None:
        return None
    obtained = read_map(right, [_matrix(outcome) for outcome in outcomes])
    pairs = [
        (one, other)
        for line, wanted in zip(obtained, right.expected, strict=True)
        for one, other in zip(line, wanted, strict=True)
    ]
    if all(one == "?" for one, _ in pairs):
        return None
    missing = sum(one == "0" and other == "1" for one, other in pairs)
    extra = sum(one == "1" and other == "0" for one, other in pairs)
    return {
        "argument": right.argument,
        "shape": list(right.shape),
        "axes": list(right.axes),
        "obtained": list(obtained),
        "expected": list(right.expected),
        "message": _influence_message(right.argument, missing, extra, sum(one == "?" for one, _ in pairs)),
    }


def _influence_message(argument: str, missing: int, extra: int, unknown: int) -> str:
    if unknown and not missing and not extra:
        return f"Some changes of {argument} give no answer to look at; the others move what they should."
    if not missing and not extra:
        return f"Every element of {argument} moves the rows that it should move, and no others."
    said = []
    if missing:
        said.append(f"{missing} times a row stays as it is though it should change")
    if extra:
        said.append(f"{extra} times a row changes though it should stay as it is")
    return f"When an element of {argument} is changed, {' and '.join(said)}."


def _matrix(outcome: StepOutcome) -> Array | None:
    value = outcome.value
    shape = getattr(value, "shape", ())
    if outcome.state != "returned" or getattr(value, "data", None) is None:
        return None
    answer = read_answer(outcome, shape, ("float64", "float32"))
    return None if isinstance(answer, Refusal) else np.atleast_1d(answer.astype(np.float64))


def _counterexample(
    pack: Pack,
    follow: FollowUp,
    result: Result,
    calls: FollowUpCalls,
    outcomes: Sequence[StepOutcome],
    filename: str,
) -> dict[str, Any] | None:
    """The smallest example that shows what was diagnosed; without a diagnosis, what fails in the same way."""
    positions = result.submission.positions
    ran = [(n, follow.examples[n], o) for n, o in zip(calls.examples, outcomes, strict=True)]
    verdicts = {n: _verdict(pack, example, outcome) for n, example, outcome in ran}
    wrong = [row for row in ran if verdicts[row[0]] != "passed"]
    named = {name for diagnosis in result.diagnoses for name in diagnosis["ids"]}
    for number, example, outcome in wrong:
        if example.misconception in named and _is(pack, example, outcome):
            return _record(pack, follow, number, example, outcome, filename, positions, named=True)
    if any(d["of"] and len(d["ids"]) == 1 for d in result.diagnoses) or _unrepeatable(result):
        # What is shown has to be what was named, and has to come out the same when it is run alone.
        return None
    same = _same_failures(result)
    for number, example, outcome in wrong:
        if (example.clause, verdicts[number]) in same:
            return _record(pack, follow, number, example, outcome, filename, positions, named=False)
    kinds = {verdict for _, verdict in same}
    for number, example, outcome in wrong:
        if verdicts[number] in kinds:
            return _record(pack, follow, number, example, outcome, filename, positions, named=False)
    return None


def _unrepeatable(result: Result) -> bool:
    told = any(diagnosis["told_by"] == "unrepeatable" for diagnosis in result.diagnoses)
    return told or any(case.verdict == "not_repeatable" for case in result.cases)


def _same_failures(result: Result) -> set[tuple[str, Verdict]]:
    """Clause and verdict of what failed in the clauses that hold least."""
    clauses = result.broken_clauses()[:2]
    return {(case.clause, case.verdict) for case in result.cases if case.failed and case.clause in clauses}


def _verdict(pack: Pack, example: Example, outcome: StepOutcome) -> Verdict:
    if outcome.state != "returned":
        return STATE_VERDICTS[outcome.state]
    answer = _read(pack, example, outcome)
    if isinstance(answer, Refusal):
        return answer.verdict
    if outcome.overwritten or outcome.reshaped:
        return "input_mutated"
    if outcome.aliased:
        return "output_aliases_input"
    return "passed" if _is_right(answer, example) else "wrong_value"


def _read(pack: Pack, example: Example, outcome: StepOutcome) -> Array | Refusal:
    """The answer to an example's call: an array, or the vector of its numbers."""
    call = pack.exercise.calls[example.call]
    if not example.leaves:
        return read_answer(outcome, example.shape, call.dtypes)
    from grader.judge.structured import leaves_of, read_like

    answer = read_like(outcome, call.form, leaves_of(example.leaves))
    return answer if isinstance(answer, Refusal) else answer.numbers


def _is_right(answer: Array, example: Example) -> bool:
    expected = example.answer()
    if example.leaves:
        from grader.exercise.structure import scales
        from grader.judge.structured import leaves_of

        with np.errstate(all="ignore"):
            return bool(
                (np.abs(answer - expected) <= WRONG * scales(leaves_of(example.leaves), expected)).all()
            )
    scale = float(np.max(np.abs(expected), initial=0.0)) or 1.0
    with np.errstate(all="ignore"):
        return bool(np.allclose(answer, expected, rtol=0, atol=WRONG * scale))


def _is(pack: Pack, example: Example, outcome: StepOutcome) -> bool:
    """Whether an outcome is that of the example's mistake."""
    wrong = example.wrong
    if wrong is None:
        return False
    if ended_in_arithmetic(outcome):
        return not is_finite(wrong.kind)
    form = pack.exercise.calls[example.call].lenient_form
    found = fingerprint(outcome, pack.known.raising, form)
    scale = max(found.scale, wrong.scale) or 1.0
    return found.kind == wrong.kind and bool(
        np.max(np.abs(found.values - wrong.values), initial=0.0) <= WRONG * scale
    )


def _record(
    pack: Pack,
    follow: FollowUp,
    number: int,
    example: Example,
    outcome: StepOutcome,
    filename: str,
    positions: Positions,
    *,
    named: bool,
) -> dict[str, Any]:
    names = pack.exercise.calls[example.call].parameters
    arguments = list(zip(names, follow.arguments(number), strict=True))
    answer = _read(pack, example, outcome) if outcome.value is not None else None
    read = None if answer is None or isinstance(answer, Refusal) else answer
    changed = [names[n] for n in sorted(outcome.overwritten | outcome.reshaped)] if read is not None else []
    shared = [names[n] for n in sorted(outcome.aliased)] if read is not None else []
    message = ""
    if outcome.state != "returned":
        message = call_message(outcome, pack.exercise, positions, example.call)
    elif isinstance(answer, Refusal):
        message = answer.message
    elif changed:
        message = f"{' and '.join(changed)} {'is' if len(changed) == 1 else 'are'} changed by the call."
    elif shared:
        message = "The answer shares memory with an argument."
    # Two answers that are alike say nothing: what is wrong is something else.
    right = bool(message) and read is not None and _is_right(read, example)
    return {
        "misconception": example.misconception if named else "",
        "clause": example.clause,
        "title": example.title if named else "",
        "dims": dict(example.dims),
        "inputs": describe_inputs(arguments),
        **_answers(example, read, outcome, right=right),
        "message": f"{message} The answer is right." if right else message,
        "snippet": ""
        if example.leaves or pack.exercise.calls[example.call].driven
        else example_snippet(
            pack.exercise.called(example.call),
            filename,
            arguments,
            None if right else example.answer(),
            changed,
            shared if right and not changed else [],
        ),
        "trace": example.part if named else None,
    }


def _answers(example: Example, read: Array | None, outcome: StepOutcome, *, right: bool) -> dict[str, Any]:
    """Both answers; those that are no arrays as texts."""
    if example.leaves:
        from grader.exercise.written import written

        texts = [["Obtained", written(outcome.value)]] if outcome.value is not None else []
        texts.append(["Expected", example.answer_text])
        return {"obtained": None, "expected": None, "texts": texts if not right else []}
    return {
        "obtained": plain(read) if read is not None and not right else None,
        "expected": plain(example.answer()) if not right else None,
    }
