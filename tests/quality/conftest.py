"""mlm_forward's packs, made once for all tests of this folder and all workers, and runners that stay warm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.packs import mlm_forward

from grader.batch.runner import Runner
from grader.exercise.misconceptions import Misconceptions, StepModel, load_misconceptions, load_model
from grader.exercise.pack import Pack

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "reference" / "mlm_forward"

GetPack = Callable[[bool], Pack]


@pytest.fixture(scope="session")
def get_pack(tmp_path_factory: pytest.TempPathFactory) -> GetPack:
    """Gives the pack, or the student's, built by the first who asks."""
    return lambda student: mlm_forward(tmp_path_factory, student=student)


@pytest.fixture(scope="session")
def pack(get_pack: GetPack) -> Pack:
    return get_pack(False)


@pytest.fixture(scope="session")
def student_pack(get_pack: GetPack) -> Pack:
    return get_pack(True)


@pytest.fixture(scope="session")
def runner(pack: Pack) -> Iterator[Runner]:
    with Runner(pack) as made:
        yield made


@pytest.fixture(scope="session")
def student_runner(student_pack: Pack) -> Iterator[Runner]:
    with Runner(student_pack) as made:
        yield made


@pytest.fixture(scope="session")
def library(pack: Pack) -> Misconceptions:
    return load_misconceptions(REFERENCE, list(pack.exercise.clauses))


@pytest.fixture(scope="session")
def model() -> StepModel:
    found = load_model(REFERENCE)
    assert found is not None
    return found
