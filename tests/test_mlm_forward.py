"""The exercise mlm_forward: its worked submissions, and that its README is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.authoring.worked import read_worked
from grader.exercise.cached import cached_pack
from grader.exercise.models import RandomCases
from grader.exercise.source import ExerciseSource, load

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "cases" / "mlm_forward"


@pytest.fixture(scope="module")
def source() -> ExerciseSource:
    return load(CASES)


def test_there_are_enough_worked_submissions_of_each_kind() -> None:
    worked = [one.path.stem for one in read_worked(ROOT / "submissions" / "mlm_forward", [])]
    kinds = [name.partition("_")[0] for name in worked]
    assert kinds.count("right") >= 8 and kinds.count("wrong") >= 20 and kinds.count("banned") >= 10


def test_there_are_enough_cases_with_every_clause_public(source: ExerciseSource) -> None:
    pack = cached_pack(ROOT, "mlm_forward")
    assert len(pack.cases) >= 60
    public = {case.clause for case in pack.cases if case.visibility == "public"}
    assert public == set(source.exercise.clauses)
    assert pack.max_score == 100


def test_the_readme_names_every_case_and_no_other(source: ExerciseSource) -> None:
    """Its table says which cases test which sentence of the statement."""
    rows = [line for line in (CASES / "README.md").read_text("utf-8").splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z][a-z0-9_]+)`", row)}
    ids = {entry.spec.id for entry in source.entries}
    clauses = set(source.exercise.clauses)
    # A batch is named by its members, drawn_NN.
    batches = {entry.spec.id for entry in source.entries if isinstance(entry.spec, RandomCases)}
    readme = " ".join(rows)
    assert {i for i in batches if f"`{i}_NN`" not in readme} == set()
    assert ids - batches - named == set()
    unknown = named - ids - clauses - set(source.exercise.parameters)
    # Matrices and the members of batches are named too.
    assert {n for n in unknown if not n.startswith(("w_", "drawn_"))} == set()


def test_tolerances_follow_the_measured_noise_alone(source: ExerciseSource) -> None:
    frozen = source.require_fresh_frozen()
    judged = [m for m in frozen.cases.values() if m.tolerance is not None]
    assert len(judged) > 50
    for measured in judged:
        assert measured.noise is not None and measured.tolerance is not None
        assert measured.tolerance == pytest.approx(10 * measured.noise, rel=0.06)
        assert measured.tolerance < 1e-4
