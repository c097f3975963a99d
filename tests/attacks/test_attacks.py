"""Each attack of the corpus is refused, gets what it must, and harms neither the machine nor anybody else."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import corpus
import pytest
from beside import Beside
from corpus import MORE, Attack
from support.commands import grader
from support.small import RIGHT, freeze_exercise, write_exercise
from world import World, in_session, soon

from grader.batch.runner import Runner
from grader.intake.submission import Submission
from grader.result import Result
from grader.sandbox.server import ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

ATTACKS = {attack.name: attack for attack in corpus.attacks()}

Runners = dict[tuple[str, str], Runner]


def handed_in(attack: Attack, aims: dict[str, Any]) -> Submission:
    source = corpus.text(attack, aims)
    return Submission(attack.name, "Eve", f"{attack.name}.py", "sha256:0", source, "", ("Eve",))


def server_of(runner: Runner) -> int:
    """The process id of a runner's numpy fork server."""
    server = runner.start()
    assert isinstance(server, ForkServer)
    return server.pid


@pytest.fixture(scope="session")
def level(runners: Runners, honest: Submission) -> str:
    """The isolation level of this machine, as a harmless submission's record names it."""
    result = runners["row_scale", "patient"].grade(honest)
    assert result.status == "passed", result.message
    return result.isolation.level


def test_the_table_tells_of_every_file_of_the_corpus() -> None:
    assert corpus.files() == sorted(ATTACKS)
    for attack in ATTACKS.values():
        assert attack.exercise in ("row_scale", "mlm_forward") and attack.limits in ("patient", "impatient")
        assert attack.needs in corpus.LEVELS


def test_a_world_that_was_harmed_is_seen() -> None:
    world = World()
    try:
        assert world.harm() == []
        (world.folder / "victim" / "a.txt").write_text("b")
        (world.folder / "cwd" / "new").mkdir()
        world.bystander.kill()
        world.bystander.wait()
        told = " ".join(world.harm())
        for word in ("a.txt", "cwd/new", "bystander was killed"):
            assert word in told
    finally:
        world.close()


@pytest.mark.parametrize("name", corpus.named())
def test_an_attack_is_refused(
    name: str,
    level: str,
    world: World,
    aims: dict[str, Any],
    runners: Runners,
    beside: Beside,
    honest: Submission,
) -> None:
    attack = ATTACKS[name]
    if not attack.runs_at(level):
        pytest.skip(f"isolation is {level} on this machine; the attack needs {attack.needs}")
    if attack.machine not in ("", platform.machine()):
        pytest.skip(f"for {attack.machine} only")
    runner = runners[attack.exercise, attack.limits]
    server = server_of(runner)
    if not in_session(server):
        runner.grade(honest)
    lasting = set(in_session(server))
    with beside.graded() as honest_results:
        result = runner.grade(handed_in(attack, aims))
    faults = corpus.faults(attack.at(level), result, world.secrets, level)
    if not soon(lambda: set(in_session(server)) <= lasting):
        faults.append("it left a process behind")
    if server_of(runner) != server or not lasting <= set(in_session(server)):
        faults.append("a process that serves others ended")
    if harm := world.harm():
        faults += harm
        world.repair()
    assert not faults, "\n".join(faults)
    assert honest_results and {r.status for r in honest_results} == {"passed"}
    if attack.exercise == "row_scale":
        assert runner.grade(honest).status == "passed"


@pytest.mark.slow
def test_a_class_of_attackers_is_graded_beside_honest_students(
    level: str, world: World, aims: dict[str, Any], tmp_path: Path
) -> None:
    if level == "none":
        pytest.skip("isolation is none on this machine")
    chosen = [
        attack
        for attack in ATTACKS.values()
        if (attack.exercise, attack.limits) == ("row_scale", "patient") and attack.runs_at(level)
        if attack.machine in ("", platform.machine())
    ]
    limits = {"seconds_per_call": 20, "seconds": 120, "memory": "256 MiB", "output": "64 KiB"}
    write_exercise(tmp_path, exercise={"limits": limits}, more=MORE)
    freeze_exercise(tmp_path)
    folder = tmp_path / "class"
    folder.mkdir()
    for attack in chosen:
        (folder / f"{attack.name}.py").write_text(corpus.text(attack, aims), "utf-8")
    honest = [f"honest_{n}" for n in range(12)]
    for n, name in enumerate(honest):
        # Between the attackers in the order of their names.
        (folder / f"{'eilprx'[n % 6]}_{name}.py").write_text(f"# {world.secret('other')}\n{RIGHT}", "utf-8")
    done = grader("grade", "class", "--out", "out", "--workers", "2", "--allow-weak-isolation", cwd=tmp_path)
    assert done.status == 0, done.err
    lines = (tmp_path / "out" / "results.jsonl").read_text("utf-8").splitlines()
    results = {r.submission.id: r for r in map(Result.from_dict, map(json.loads, lines))}
    told = {name: result.status for name, result in results.items() if "honest_" in name}
    assert len(told) == len(honest) and set(told.values()) == {"passed"}
    faults = {a.name: corpus.faults(a.at(level), results[a.name], world.secrets, level) for a in chosen}
    assert {name: found for name, found in faults.items() if found} == {}
    assert world.harm() == []
