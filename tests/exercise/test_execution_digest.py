"""The digest of what running a submission hangs on: no more than that, and no less."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.small import small_pack

from grader.exercise import pack as packs
from grader.exercise.pack import Pack


def with_exercise(pack: Pack, **changes: Any) -> Pack:
    return replace(pack, exercise=replace(pack.exercise, **changes))


def with_call(pack: Pack, **changes: Any) -> Pack:
    return with_exercise(pack, calls={"": replace(pack.exercise.first, **changes)})


def with_first_case(pack: Pack, **changes: Any) -> Pack:
    return replace(pack, cases=(replace(pack.cases[0], **changes), *pack.cases[1:]))


def other_policy(pack: Pack) -> Pack:
    rules = pack.exercise.policy["rules"]
    return with_exercise(
        pack, policy={**pack.exercise.policy, "rules": [{**rules[0], "names": ["numpy.dot"]}, *rules[1:]]}
    )


def test_it_is_the_same_for_the_same_pack(pack: Pack) -> None:
    assert packs.loads(pack.data).execution_digest == pack.execution_digest
    assert pack.execution_digest.startswith("sha256:") and pack.execution_digest != pack.id


RUN_BY = {
    "entries": lambda pack: with_exercise(pack, entries=("rows",)),
    "driver": lambda pack: with_exercise(pack, driver="def row_scale(module, *x): return module.f(*x)\n"),
    "packages": lambda pack: with_exercise(pack, packages=("numpy", "scipy")),
    "parameters": lambda pack: with_call(pack, parameters=("a", "w", "factor")),
    "driven": lambda pack: with_call(pack, driven=True),
    "calls": lambda pack: with_exercise(pack, calls={"row_scale": pack.exercise.first}),
    "limits": lambda pack: with_exercise(pack, limits={**pack.exercise.limits, "seconds": 7}),
    "policy": other_policy,
    "inputs": lambda pack: replace(pack, blocks={**pack.blocks, "hidden": pack.blocks["hidden"] + b"\0"}),
    "phases": lambda pack: replace(pack, blocks={"public": pack.blocks["public"]}),
    "sizes": lambda pack: with_first_case(pack, shapes=((7, 7),)),
    "student": lambda pack: replace(pack, student=True),
}


@pytest.mark.parametrize("name", RUN_BY)
def test_it_changes_with_what_a_submission_is_run_by(pack: Pack, name: str) -> None:
    assert RUN_BY[name](pack).execution_digest != pack.execution_digest


def test_it_changes_with_the_version_of_the_grader(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "EXECUTION_VERSION", packs.EXECUTION_VERSION + 1)
    assert replace(pack).execution_digest != pack.execution_digest


JUDGED_BY = {
    "hint": {"hint": "Another hint."},
    "title": {"title": "Another title", "group": "others", "clause": "rows"},
    "points": {"points": 17.0, "extra": True},
    "tolerance": {"tolerance": 0.5, "scale": 3.0},
    "requires": {"requires": ("no_rows",)},
}


def with_pages(pack: Pack) -> list[dict[str, Any]]:
    """The policy's rules with what only their pages show."""
    return [{**rule, "what": "Said.", "looks": "np.einsum(x)"} for rule in pack.exercise.policy["rules"]]


@pytest.mark.parametrize("name", JUDGED_BY)
def test_it_stays_when_a_case_is_judged_otherwise(pack: Pack, name: str) -> None:
    assert with_first_case(pack, **JUDGED_BY[name]).execution_digest == pack.execution_digest


def test_it_stays_when_the_exercise_is_told_or_counted_otherwise(pack: Pack) -> None:
    clauses = {name: {"title": "Other", "text": "Other."} for name in pack.exercise.clauses}
    for changed in (
        with_exercise(pack, title="Other", clauses=clauses, grading={"max_score": 10}),
        with_call(pack, returns={"shape": ["N", "K"], "dtype": ["float64"]}),
        with_exercise(pack, policy={**pack.exercise.policy, "effect": {"note": True}}),
        with_exercise(pack, policy={**pack.exercise.policy, "rules": with_pages(pack)}),
        replace(pack, id="sha256:0", known_data={}, follow_data={}, sources="sha256:1"),
        replace(pack, tensors={name: tensor + 1 for name, tensor in pack.tensors.items()}),
    ):
        assert changed.execution_digest == pack.execution_digest


def test_it_is_told_by_the_author_s_files_too(pack: Pack, tmp_path: Path) -> None:
    same = small_pack(
        tmp_path / "same",
        change={"ones_row": {"points": 5, "hint": "Another hint."}},
        policy={"effect": {"cap": 1}},
    )
    assert same.id != pack.id and same.execution_digest == pack.execution_digest
    other = small_pack(tmp_path / "other", change={"ones_row": {"arrays": {"x": {"values": "zeros"}}}})
    assert other.execution_digest != pack.execution_digest
