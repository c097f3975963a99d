from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.known import INFLUENCE, write_stepped
from support.packs import mlm_forward
from support.small import build, freeze_exercise, small_pack

from grader.batch.runner import Runner
from grader.exercise.pack import Pack

LIMITS = {"seconds_per_call": 0.25, "seconds": 20, "memory": "256 MiB", "output": "4 KiB"}


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """A small exercise with an impatient clock."""
    return small_pack(tmp_path_factory.mktemp("exercise"), exercise={"limits": LIMITS})


@pytest.fixture(scope="session")
def shared_runner(pack: Pack) -> Iterator[Runner]:
    with Runner(pack) as runner:
        yield runner


@pytest.fixture(scope="session")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The same clock, and everything that is looked at after a failure."""
    root = tmp_path_factory.mktemp("stepped")
    write_stepped(root, exercise={"limits": LIMITS, "influence": INFLUENCE})
    freeze_exercise(root)
    return build(root)


@pytest.fixture(scope="session")
def stepped_runner(stepped: Pack) -> Iterator[Runner]:
    with Runner(stepped) as runner:
        yield runner


@pytest.fixture(scope="session")
def mlm_pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return mlm_forward(tmp_path_factory)


@pytest.fixture(scope="session")
def mlm_runner(mlm_pack: Pack) -> Iterator[Runner]:
    with Runner(mlm_pack) as runner:
        yield runner
