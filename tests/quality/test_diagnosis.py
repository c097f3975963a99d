"""The mistake that a submission has is named, whatever its style; what is not sure is not claimed."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from patched import (
    HERE,
    STYLES,
    SUBMISSIONS,
    Outcomes,
    differing,
    entry_of,
    outcomes_of,
    patched,
    patches,
    right,
    submission,
)
from snippets import Snippets
from support.commands import ROOT, grader
from support.packs import shared_cache

from grader.batch.runner import Runner
from grader.exercise.fingerprints import fingerprint
from grader.exercise.misconceptions import Misconceptions, StepModel, compose
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import rehearse
from grader.judge.diagnosis import Finding, diagnose
from grader.result import Result

# Their names are needed before any fixture: the tests are named by them.
SMALL = (
    "gelu_scale_rounded",
    "gelu_coefficient_rounded",
    "epsilon_slightly_off",
    "softmax_denominator_padded",
    "norm_denominator_padded",
    "scale_rounded",
    "logits_temperature",
)
PATCHES = [
    pytest.param(style, name, marks=[pytest.mark.slow] if style == "torch" else [], id=f"{style}-{name}")
    for style in STYLES
    for name in patches(style)
]
LARGE = [p for p in PATCHES if p.values[1] not in SMALL]
SMALL_ONES = [p for p in PATCHES if p.values[1] in SMALL]
# Numbers of float16 are no matter of the style that works with Python's own.
NOT_IN_STYLE = {"loops": {"half_precision"}, "einsum": set[str](), "torch": set[str]()}
# On the smallest example these may be right: rounding, or what Python's own numbers raise, decides there.
NOT_ON_THE_EXAMPLE = {("torch", "variance_one_pass"), ("loops", "scores_normalized_without_exp")}
# numpy prints arrays without elements alike.
ALIKE_IN_PRINT = "empty_selection_flat"
OUTSIDE = yaml.safe_load((HERE / "outside.yaml").read_text("utf-8"))
HONEST = yaml.safe_load((HERE / "honest.yaml").read_text("utf-8"))
RIGHT = sorted(path.stem for path in SUBMISSIONS.glob("right_*.py"))

# Several hundred submissions are graded.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def snippets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snippets]:
    made = Snippets(tmp_path_factory.mktemp("snippets"), "numpy")
    yield made
    made.close()


@pytest.fixture(scope="session")
def torch_snippets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snippets]:
    made = Snippets(tmp_path_factory.mktemp("torch_snippets"), "numpy", "torch")
    yield made
    made.close()


def named(result: Result, library: Misconceptions) -> list[list[str]]:
    """The ids of known mistakes that a record claims; explanations of verdicts are no claims."""
    known = {one.id for one in library}
    return [d["ids"] for d in result.diagnoses if known.issuperset(d["ids"])]


def claims(findings: Sequence[Finding]) -> list[list[str]]:
    return [[one.id for one in finding.mistakes] for finding in findings]


def answers(pack: Pack, model: StepModel, library: Misconceptions, names: Sequence[str]) -> Outcomes:
    """What the reference with these mistakes answers."""
    changes = compose([library[name] for name in names])
    assert changes is not None
    return outcomes_of(pack, model.entry(changes))


# --- known mistakes ---------------------------------------------------------------------------


def test_every_known_mistake_is_there_in_every_style(library: Misconceptions) -> None:
    assert {one.id for one in library if one.small} == set(SMALL)
    for style in STYLES:
        assert {one.id for one in library} - set(patches(style)) == NOT_IN_STYLE[style], style


@pytest.mark.parametrize(("style", "name"), LARGE)
def test_a_known_mistake_is_named(
    request: pytest.FixtureRequest, runner: Runner, library: Misconceptions, style: str, name: str
) -> None:
    source = patched(style, patches(style)[name])
    result = runner.grade(submission(source))
    assert result.status == "failed" and result.score is not None and result.score < result.max_score
    assert result.undiagnosed == ""
    assert not any("no rounding" in note for note in result.notes)
    found = named(result, library)
    if len(found) == 1:
        assert found == [[name]]
        assert result.diagnoses[0]["ids"] == [name], "nothing stands before it"
    else:
        assert [name] in found
        assert all("can't tell it from" in d["message"] for d in result.diagnoses[: len(found)])
    first = next(d for d in result.diagnoses if d["ids"] == [name])
    assert first["clause"] == library[name].clause
    assert first["title"] == library[name].title
    assert first["pages"][0]["instead"] == library[name].page.instead
    assert first["fits"] == first["of"], "a single mistake explains every case, or it is not named"
    _check_example(request, runner.pack, library, result, source, style, name)


def _check_example(
    request: pytest.FixtureRequest,
    pack: Pack,
    library: Misconceptions,
    result: Result,
    source: str,
    style: str,
    name: str,
) -> None:
    """The example tells this mistake, and pasting its text shows what the record says."""
    assert pack.follow_up is not None
    example = result.counterexample
    examples = {e.misconception for e in pack.follow_up.examples}
    if example is None:
        assert name not in examples or (style, name) in NOT_ON_THE_EXAMPLE
        return
    assert (example["misconception"], example["clause"]) == (name, library[name].clause)
    out, error = request.getfixturevalue("torch_snippets" if style == "torch" else "snippets").run(
        source, example["snippet"]
    )
    if example["message"].endswith(" The answer is right."):
        assert (example["obtained"], example["expected"], error) == (None, None, "")
        changed, told, _ = example["message"].partition(" is changed by the call")
        if told:
            (given,) = (i for i in example["inputs"] if i["name"] == changed)
            before = np.array(given["values"], given["dtype"]).reshape(given["shape"])
            assert out.startswith(f"{changed} now:\n")
            assert out.endswith(f"expected:\n{before}\nholds: False\n")
        else:
            assert out.startswith("shares memory with ") and out.endswith(": True\n")
        return
    right_answer = f"expected:\n{np.array(example['expected'], float).reshape(_shape(pack, name))}\n"
    if example["obtained"] is not None:
        obtained = np.array(example["obtained"], float)
        if obtained.size:
            assert out == f"{obtained}\n{right_answer}"
        else:
            assert out == f"[]\n{right_answer}"
        assert error == "" or "Warning" in error
        wrong = example["obtained"] != example["expected"]
        told = "is changed by the call", "shares memory with an argument"
        assert wrong or any(words in example["message"] for words in told)
    elif example["message"].startswith("It raised "):
        kind, _, said = example["message"].removeprefix("It raised ").partition(":")
        assert out == ""
        assert kind.split()[0] in error
        assert said.strip().removesuffix("….").removesuffix(".") in " ".join(error.split())
    else:
        assert example["message"].startswith(("It returned ", "The answer has the shape "))
        assert out.endswith(right_answer) and error == ""
        same = f"{right_answer.removeprefix('expected:').lstrip()}{right_answer}"
        assert out != same or name == ALIKE_IN_PRINT


def _shape(pack: Pack, name: str) -> tuple[int, ...]:
    assert pack.follow_up is not None
    return next(e.shape for e in pack.follow_up.examples if e.misconception == name)


def test_all_but_few_mistakes_have_an_example(pack: Pack, library: Misconceptions) -> None:
    assert pack.follow_up is not None
    shown = {e.misconception for e in pack.follow_up.examples}
    missing = {one.id for one in library if not one.small and not one.stateful} - shown
    assert not missing


@pytest.mark.parametrize(("style", "name"), SMALL_ONES)
def test_a_slip_within_the_tolerances_costs_nothing_and_its_clause_is_noted(
    runner: Runner, library: Misconceptions, style: str, name: str
) -> None:
    result = runner.grade(submission(patched(style, patches(style)[name])))
    assert (result.status, result.score, result.diagnoses, result.undiagnosed) == ("passed", 100, (), "")
    (note,) = [note for note in result.notes if "no rounding" in note]
    assert f"the clause {runner.pack.exercise.clauses[library[name].clause]['title']} is at work" in note
    assert library[name].title in note
    assert "costs nothing" in note


# --- right answers ----------------------------------------------------------------------------


def claims_nothing(result: Result) -> None:
    assert (result.status, result.score) == ("passed", 100), result.message
    assert (result.diagnoses, result.undiagnosed) == ((), "")
    assert (result.influence, result.counterexample) == (None, None)
    assert not any("no rounding" in note for note in result.notes), result.notes


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_submission_gets_no_diagnosis_and_no_note(runner: Runner, name: str) -> None:
    claims_nothing(runner.grade(submission((SUBMISSIONS / f"{name}.py").read_text("utf-8"))))


@pytest.mark.parametrize("name", HONEST)
def test_single_precision_gets_no_diagnosis_and_no_note(runner: Runner, name: str) -> None:
    result = runner.grade(submission(patched(name.partition("_")[0], HONEST[name])))
    errors = [c.error.max_rel for c in result.cases if c.error and c.error.max_rel is not None]
    assert max(errors) > 1e-9, "it is another precision"
    claims_nothing(result)


# --- mistakes that nobody knows ---------------------------------------------------------------


def test_there_are_enough_mistakes_outside_the_library(library: Misconceptions) -> None:
    assert len(OUTSIDE) >= 20
    assert not set(OUTSIDE) & {one.id for one in library}


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_wrong_is_claimed_of_an_unknown_mistake(
    runner: Runner, pack: Pack, model: StepModel, library: Misconceptions, name: str
) -> None:
    source = patched("einsum", OUTSIDE[name])
    result = runner.grade(submission(source))
    assert result.status == "failed"
    mine = outcomes_of(pack, entry_of(source))
    for ids in named(result, library):
        assert differing(pack, mine, answers(pack, model, library, ids)) == [], ids
    # Either something is said, or it is said that nothing is known.
    assert result.undiagnosed or result.diagnoses
    example = result.counterexample
    assert example is None or example["misconception"] in {"", *itertools.chain(*named(result, library))}


# --- several mistakes at once -----------------------------------------------------------------


def test_two_mistakes_at_once_are_both_named(pack: Pack, model: StepModel, library: Misconceptions) -> None:
    ids = [one.id for one in pack.known.mistakes]
    sample = random.Random(2).sample([tuple(map(int, pair)) for pair in pack.known.pairs], 60)
    missed: list[Any] = []
    for pair in sample:
        names = [ids[number] for number in pair]
        mine = answers(pack, model, library, names)
        found = claims([f for f in diagnose(pack, mine) if f.told_by == "values"])
        if names in found:
            continue  # beside others that what is kept of pairs can't tell from it
        missed.append((names, found))
        if len(found) == 1 and len(found[0]) == 1 and found[0][0] in names:
            continue  # where one of them hides the other on too many checks, it is named alone
        for other in found:
            assert not differing(pack, mine, answers(pack, model, library, other)), (names, other)
    assert len(missed) <= len(sample) // 10, missed


@pytest.mark.parametrize(
    "pair",
    [
        ("epsilon_1e_6", "scaled_by_model_width"),
        ("epsilon_1e_6", "gelu_erf"),
        ("epsilon_1e_6", "no_attention_residual"),
        ("epsilon_outside_root", "scaled_by_model_width"),
    ],
    ids="-".join,
)
def test_a_mistake_that_shows_on_few_checks_is_named_beside_one_that_shows_on_many(
    pack: Pack, model: StepModel, library: Misconceptions, pair: tuple[str, str]
) -> None:
    found = claims(diagnose(pack, answers(pack, model, library, pair)))
    assert [sorted(names) for names in found] == [sorted(pair)]


@pytest.mark.slow
def test_most_pairs_of_mistakes_are_recognized(pack: Pack, model: StepModel, library: Misconceptions) -> None:
    chance = random.Random(77)
    choice = [one for one in library if not one.small and not one.stateful and one.id != "half_precision"]
    missed, tried = [], 0
    while tried < 150:
        pair = sorted(one.id for one in chance.sample(choice, 2))
        if compose([one for one in choice if one.id in pair]) is None:
            continue
        tried += 1
        found = claims(diagnose(pack, answers(pack, model, library, pair)))
        # What one of them does to its arguments is told apart from what the other does to values.
        if not set(itertools.chain(*found)).issuperset(pair):
            missed.append((pair, found))
    assert len(missed) <= tried // 5, missed


def test_of_three_mistakes_at_once_nothing_else_is_claimed(
    pack: Pack, model: StepModel, library: Misconceptions
) -> None:
    chance = random.Random(3)
    choice = [one for one in library if not one.small and not one.stateful and one.id != "half_precision"]
    tried, claimed, wrong = 0, 0, []
    while tried < 60:
        three = chance.sample(choice, 3)
        changes = compose(three)
        if changes is None:
            continue
        tried += 1
        mine = outcomes_of(pack, model.entry(changes))
        for found in claims(diagnose(pack, mine)):
            claimed += 1
            if not {one.id for one in three}.issuperset(found):
                off = differing(pack, mine, answers(pack, model, library, found))
                wrong += [([one.id for one in three], found, off)] if off else []
    assert claimed, "it does claim something where a mistake hides the others"
    # Of a pair little is kept: two that differ only where both of their mistakes show look alike.
    assert len(wrong) <= 1, wrong


# --- a known mistake beside something unknown -------------------------------------------------


def _no_single_position(c: Any, tokens: Any) -> Any:
    if tokens.shape[1] == 1:
        raise IndexError("one position")
    return tokens + c.pos_embed


# Changes of one step that nobody knows: they show on a few checks, or on many.
UNKNOWN_STEPS: dict[str, tuple[str, Callable[..., Any]]] = {
    "single_row_flat": ("finish_rows", lambda c, rows: rows[0] if len(rows) == 1 else rows),
    "many_rows_turned": ("finish_rows", lambda c, rows: rows[::-1] if len(rows) > 3 else rows),
    "nothing_without_rows": ("finish_rows", lambda c, rows: rows if len(rows) else None),
    "first_row_zero": ("finish_rows", lambda c, rows: np.concatenate([0 * rows[:1], rows[1:]])),
    "no_single_position": ("add_positions", _no_single_position),
    "two_blocks_at_most": ("block_order", lambda c: list(range(min(2, len(c.blocks_weights))))),
    "gelu_tail": ("gelu", lambda c, u: 0.5 * u * (1 + np.tanh(0.8 * u)) * np.where(u > 2, 1.02, 1.0)),
    "scores_bounded": (
        "shift_scores",
        lambda c, s: np.clip(s - s.max(axis=-1, keepdims=True), -5, None),
    ),
    "logits_bounded": ("finish_logits", lambda c, logits: np.clip(logits, -2, 2)),
}


def test_a_mistake_beside_something_unknown_is_named_and_no_other_one(
    pack: Pack, model: StepModel, library: Misconceptions
) -> None:
    chance = random.Random(5)
    choice = [one for one in library if not one.small and not one.stateful and one.id != "half_precision"]
    right, wrong, tried = 0, [], 0
    for other, (step, function) in UNKNOWN_STEPS.items():
        for one in chance.sample(choice, 10):
            changes = compose([one])
            if changes is None or step in changes:
                continue
            tried += 1
            mine = outcomes_of(pack, model.entry({**changes, step: function}))
            found = [f for f in diagnose(pack, mine) if f.partly]
            right += [one.id] in claims(found)
            wrong += [(one.id, other, names) for names in claims(found) if names != [one.id]]
            # What is said of the answers holds of those of the reference with that mistake alone.
            for finding in found:
                (named_one,) = finding.mistakes
                off = differing(pack, mine, answers(pack, model, library, [named_one.id]))
                assert set(off) <= finding.left, (one.id, other)
    assert tried >= 70 and right >= tried // 5, (right, tried)
    assert wrong == []


def _raises(*arguments: Any) -> Any:
    raise ValueError("always")


EVERYWHERE: dict[str, Callable[..., Any]] = {
    "raises": _raises,
    "zeros": lambda rows: 0 * rows,
    "ones": lambda rows: 0 * rows + 1,
    "nan": lambda rows: rows * np.nan,
    "infinite": lambda rows: rows / 0.0,
    "nothing": lambda rows: None,
    "a list": lambda rows: rows.tolist(),
    "one number": lambda rows: rows.sum(),
    "whole numbers": lambda rows: rows.astype(int),
    "no rows": lambda rows: rows[:0],
    "one row": lambda rows: rows[:1],
    "another axis": lambda rows: rows[np.newaxis],
    "rounded": lambda rows: rows.round(1),
    "doubled": lambda rows: 2 * rows,
    "negative": lambda rows: -rows,
}


@pytest.mark.parametrize("kind", EVERYWHERE)
def test_where_every_answer_is_wrong_in_one_way_no_other_mistake_is_named(
    pack: Pack, model: StepModel, kind: str
) -> None:
    """As it is with unfinished submissions; some of these are known mistakes, which explain everything."""
    right, change = model.entry({}), EVERYWHERE[kind]
    with np.errstate(all="ignore"):
        found = diagnose(pack, outcomes_of(pack, lambda *given: change(right(*given))))
    assert not any(f.partly for f in found), claims(found)


def test_where_everything_is_unknown_no_mistake_is_named_beside_it(pack: Pack, model: StepModel) -> None:
    for names in itertools.combinations(UNKNOWN_STEPS, 2):
        changes = dict(UNKNOWN_STEPS[name] for name in names)
        found = diagnose(pack, outcomes_of(pack, model.entry(changes)))
        assert not any(f.partly for f in found), names


# --- the students' pack -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in patches("einsum") if n not in SMALL])
def test_the_public_cases_name_the_same_mistake(student_pack: Pack, name: str) -> None:
    entry = entry_of(patched("einsum", patches("einsum")[name]))
    found = claims(diagnose(student_pack, outcomes_of(student_pack, entry)))
    assert [name] in found
    assert len(found) <= 4


@pytest.mark.parametrize("style", ["einsum", "loops"])
@pytest.mark.parametrize("name", ["causal_mask", "variance_unbiased", "returns_list", "ids_overwritten"])
def test_a_students_own_check_names_the_mistake_and_shows_it(
    student_runner: Runner, library: Misconceptions, style: str, name: str
) -> None:
    result = student_runner.grade(submission(patched(style, patches(style)[name])))
    assert named(result, library) == [[name]]
    assert result.counterexample is not None and result.counterexample["misconception"] == name
    assert {case.visibility for case in result.cases} == {"public"}


def test_the_command_makes_the_same_students_pack(
    tmp_path: Path, student_pack: Pack, tmp_path_factory: pytest.TempPathFactory
) -> None:
    command = ["pack", "mlm_forward", "--student", "--out", tmp_path / "m.pack"]
    done = grader(*command, cwd=ROOT, GRADER_CACHE=str(shared_cache(tmp_path_factory)))
    assert done.status == 0, done.err
    assert (tmp_path / "m.pack").read_bytes() == student_pack.data


def test_a_students_own_check_says_nothing_of_a_right_submission(student_runner: Runner) -> None:
    for style in ("einsum", "loops"):
        result = student_runner.grade(submission(right(style)))
        assert (result.status, result.diagnoses, result.undiagnosed) == ("passed", (), "")


def test_the_students_pack_holds_no_fingerprint_of_a_hidden_step(
    pack: Pack, student_pack: Pack, library: Misconceptions
) -> None:
    assert set(student_pack.known.phases) == {"public"} and set(pack.known.phases) == {"public", "hidden"}
    public, hidden = student_pack.known.phases["public"], pack.known.phases["hidden"]
    assert len(public.starts) - 1 == len(student_pack.plans["public"])
    assert (public.pair_steps[public.pair_steps != 0xFFFF] < len(student_pack.plans["public"])).all()
    mine = {row.tobytes() for row in (*public.rows, *public.pair_rows.reshape(-1, 8))}
    answers = []
    for step in range(len(hidden.starts) - 1):
        # What remembers earlier calls answers a hidden one with a public answer.
        told = {
            int(n)
            for n, one in zip(hidden.index[:, step], pack.known.mistakes, strict=True)
            if not library[one.id].stateful
        }
        rows = [hidden.starts[step] + number for number in {0} | told - {0xFFFF}]
        answers += [(hidden.row_kinds[row], hidden.rows[row]) for row in rows]
    kept = hidden.pair_steps != 0xFFFF
    answers += zip(hidden.pair_kinds[kept], hidden.pair_rows[kept], strict=True)
    # Numbers of rows and the like, and round ones, are the same in many answers.
    secret = {
        row.tobytes()
        for kind, row in answers
        if "float" in hidden.kinds[kind] and (row * 1024 % 1 != 0).any()
    }
    assert len(secret) > 1000
    assert not secret & mine


def test_what_the_students_pack_knows_is_of_public_cases_alone(pack: Pack, student_pack: Pack) -> None:
    known = [bytes(data) for data in (*student_pack.known_data.values(), *student_pack.follow_data.values())]
    texts = [student_pack.data, *map(zlib.decompress, known)]
    hidden = [case for case in pack.cases if case.visibility == "hidden"]
    assert hidden
    for case in hidden:
        assert not any(case.id.encode() in text for text in texts)
        secrets = [value for _, value in pack.arguments(case) if isinstance(value, np.ndarray)]
        secrets += [pack.expected(case)] if case.check == "compare" else []
        for array in secrets:
            # A few round numbers are in every file.
            if array.dtype.kind == "f" and np.count_nonzero(array % 1) >= 4:
                raw = np.ascontiguousarray(array).tobytes()
                assert not any(raw in text for text in texts), case.id


def test_the_students_fingerprints_are_those_of_the_whole_pack(pack: Pack, student_pack: Pack) -> None:
    """What is known of the public cases does not hang on the hidden ones."""
    mine, whole = student_pack.known.phases["public"], pack.known.phases["public"]
    assert [one.id for one in student_pack.known.mistakes] == [one.id for one in pack.known.mistakes]
    assert np.array_equal(mine.index, whole.index)
    assert np.array_equal(mine.touched, whole.touched)
    assert np.array_equal(mine.rows, whole.rows)
    assert np.array_equal(mine.widths, whole.widths)
    assert np.array_equal(mine.small, whole.small)


# --- the pack ---------------------------------------------------------------------------------


def test_the_fingerprints_of_the_right_answers_are_the_references(pack: Pack, model: StepModel) -> None:
    for name, prints in pack.known.phases.items():
        right_ones = rehearse(model.entry({}), pack.blocks[name], pack.plans[name])
        for step, outcome in enumerate(right_ones):
            row = prints.starts[step]
            made = fingerprint(outcome)
            assert prints.kinds[prints.row_kinds[row]] == made.kind
            assert np.array_equal(prints.rows[row], made.values.astype(np.float32))


def test_every_known_mistake_shows_on_a_case(pack: Pack) -> None:
    for number, one in enumerate(pack.known.mistakes):
        shows = any((p.index[number] != 0).any() for p in pack.known.phases.values())
        assert shows or one.overwritten or one.aliased or one.half, one.id
