from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from beside import Beside
from corpus import IMPATIENT, MORE, PATIENT
from support.packs import mlm_forward
from support.small import RIGHT, small_pack
from world import World

from grader.batch.runner import Runner
from grader.exercise import pack as pack_files
from grader.exercise.pack import Pack
from grader.intake.submission import Submission


def limited(pack: Pack, limits: dict[str, Any]) -> Pack:
    """The pack with other limits."""
    return replace(pack, exercise=replace(pack.exercise, limits=limits))


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture(scope="session")
def exercise_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small exercise's root folder, with its pack in a file."""
    root = tmp_path_factory.mktemp("attacked")
    (root / "row_scale.pack").write_bytes(small_pack(root, more=MORE).data)
    return root


@pytest.fixture(scope="session")
def packs(exercise_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pack]:
    """By exercise."""
    return {
        "row_scale": pack_files.loads((exercise_root / "row_scale.pack").read_bytes()),
        "mlm_forward": mlm_forward(tmp_path_factory),
    }


@pytest.fixture(scope="session")
def aims(world: World, exercise_root: Path) -> dict[str, Any]:
    """What attacks are told."""
    return world.values(
        machine=platform.machine(),
        more={
            "pack": str(exercise_root / "row_scale.pack"),
            "model": str(exercise_root / "reference" / "row_scale" / "model.py"),
            "cases": str(exercise_root / "cases" / "row_scale" / "checks.yaml"),
        },
    )


@pytest.fixture(scope="session")
def honest(world: World) -> Submission:
    """A right solution that holds a secret of its author's."""
    source = f"# {world.secret('other')}\n{RIGHT}"
    return Submission("honest", "Honest", "honest.py", "sha256:0", source, "", ("honest",))


@pytest.fixture(scope="session")
def runners(world: World, packs: dict[str, Pack]) -> Iterator[dict[tuple[str, str], Runner]]:
    """By exercise and limits, each with a fork server of its own."""
    made = {
        (name, limits): Runner(limited(pack, PATIENT if limits == "patient" else IMPATIENT))
        for name, pack in packs.items()
        for limits in ("patient", "impatient")
    }
    yield made
    for runner in made.values():
        runner.close()


@pytest.fixture(scope="session")
def beside(world: World, packs: dict[str, Pack], honest: Submission) -> Iterator[Beside]:
    """An honest submission that is graded while attacks run."""
    with Beside(limited(packs["row_scale"], PATIENT), honest) as made:
        yield made
