"""Nothing that decides about marks can be found in a child, in its files or in the fork server."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from memory_walk import memory_of, walk_source
from sandbox_runs import EVERY_LAYER, configured, phase, run, said
from support.small import small_pack

from grader.batch.runner import Runner
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.sandbox.levels import WITHOUT
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

PATIENT = Limits(seconds_per_call=60.0, seconds=240.0, memory=512 << 20, output=16 << 10)
ID, HINT, TITLE = "zq7_case_of_the_judge", "zq7 hint for the one who fails", "zq7 title of a case"
HIDDEN_ID, HIDDEN_HINT = "zq7_case_unseen", "zq7 unseen hint → with an arrow"
TOLERANCE, POINTS, HIDDEN_POINTS = 3.1415927410125732e-05, 7.0372, 11.0478
VISIBLE_INPUT = 0.80901700258255
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of such a process")


@dataclass(frozen=True)
class Walked:
    """What was found of each needle.

    Attributes:
        public: Its places, as a submission saw them in the last public call.
        hidden: The same in the last hidden call.
        server: Whether the fork server's memory held it afterwards.
    """

    public: dict[str, Any]
    hidden: dict[str, Any]
    server: dict[str, bool]


def exact(value: float) -> bytes:
    return np.float64(value).tobytes()


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    dims = {"N": 2, "D": 3, "K": 2, "factor": 1}
    more = [
        {
            "id": ID,
            "title": TITLE,
            "hint": HINT,
            "clause": "product",
            "points": POINTS,
            "tolerance": TOLERANCE,
            "dims": dims,
            "arrays": {"x": {"edits": [{"at": [0, 0], "to": VISIBLE_INPUT}]}},
        },
        {
            "id": HIDDEN_ID,
            "hint": HIDDEN_HINT,
            "clause": "scale",
            "points": HIDDEN_POINTS,
            "visibility": "hidden",
            "dims": dims,
        },
    ]
    exercise = {"limits": {"seconds_per_call": 60, "seconds": 240, "memory": "512 MiB", "output": "64 KiB"}}
    return small_pack(tmp_path_factory.mktemp("secret"), more=more, exercise=exercise)


def secrets(pack: Pack) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    texts = {"id": ID, "hint": HINT, "title": TITLE, "hidden id": HIDDEN_ID, "hidden hint": HIDDEN_HINT}
    texts |= {"tolerance": repr(TOLERANCE), "pack": pack.id.removeprefix("sha256:")}
    texts |= {"frozen": "grader.pack/1", "points": repr(POINTS), "hidden points": repr(HIDDEN_POINTS)}
    found |= {name: text.encode() for name, text in texts.items()}
    # A text with a sign beyond Latin-1 takes two bytes a character in memory.
    found["hidden hint in memory"] = HIDDEN_HINT.encode("utf-16-le")
    for name, number in (("tolerance", TOLERANCE), ("points", POINTS), ("hidden points", HIDDEN_POINTS)):
        found[f"{name} as a number"] = exact(number)
    for number, case in enumerate(c for c in pack.cases if c.id in (ID, HIDDEN_ID)):
        for n, value in enumerate(pack.expected(case).flat):
            found[f"expected value {n} of case {number}"] = exact(value)
    return found


def marker_input(pack: Pack) -> float:
    (case,) = [c for c in pack.cases if c.id == ID]
    value = float(dict(pack.arguments(case))["x"][0, 0])
    assert abs(value - VISIBLE_INPUT) < 1e-6
    return value


@pytest.fixture(scope="module")
def walked(pack: Pack) -> Iterator[Walked]:
    """What a submission finds that is graded with the whole pack."""
    needles = secrets(pack) | {"control": exact(marker_input(pack))}
    source = walk_source(needles) + (
        "\ncalls = 0\n"
        "def row_scale(x, w, factor):\n"
        "    global calls\n"
        "    calls += 1\n"
        f"    if calls in ({len(pack.plans['public'])}, {sum(map(len, pack.plans.values()))}):\n"
        "        print('<' + repr(walk()) + '>')\n"
        "    return x\n"
    )
    submission = Submission("walker", "Walker", "walker.py", "sha256:0", source)
    # Confined, it could not even begin to look.
    with mock.patch.dict(os.environ, {WITHOUT: EVERY_LAYER}), Runner(pack) as runner:
        result = runner.grade(submission)
        assert result.isolation.level == "none"
        held = memory_of(runner.start().pid)
    reports = [ast.literal_eval(text) for text in _reports(result.output.stdout)]
    later = [ast.literal_eval(text) for text in _reports(result.hidden_output.stdout)]
    assert len(reports) == 1 and len(later) == 1, result.message
    yield Walked(reports[0], later[0], {name: needle in held for name, needle in needles.items()})


def _reports(text: str) -> list[str]:
    return [line[1:-1] for line in text.splitlines() if line.startswith("<")]


def test_the_search_finds_what_is_there(walked: Walked) -> None:
    for report in (walked.public, walked.hidden):
        assert "memory" in report["control"]


@pytest.mark.parametrize("phase_name", ["public", "hidden"])
def test_what_decides_about_marks_is_not_in_the_child(walked: Walked, phase_name: str) -> None:
    report = dict(getattr(walked, phase_name))
    report.pop("control", None)
    assert report.pop("modules") == []
    assert report == {}


def test_the_memory_of_the_fork_server_is_closed_to_its_children(walked: Walked) -> None:
    for report in (walked.public, walked.hidden):
        assert not [place for place in report["control"] if "parent" in place]


@needs_root
def test_the_fork_server_holds_neither_what_decides_about_marks_nor_inputs(walked: Walked) -> None:
    assert {name for name, held in walked.server.items() if held} == set()


@needs_root
def test_the_search_in_a_fork_server_finds_what_is_there() -> None:
    # Every server holds the names of its own settings, and so does a child forked from it.
    word = "zq7_a_package_of_the_exercise"
    server = configured(packages=["numpy", word], without=EVERY_LAYER)
    try:
        source = walk_source({"word": word.encode()}) + "\ndef f(x): return repr(walk())\n"
        (outcome,) = run(server, source, limits=PATIENT).steps["public"]
        places = ast.literal_eval(said(outcome))["word"]
        assert word.encode() in memory_of(server.pid)
    finally:
        server.close()
    assert "memory" in places and not [place for place in places if "parent" in place]


def test_a_confined_submission_sees_no_list_of_its_own_memory(server: ForkServer) -> None:
    source = (
        walk_source({"own": b"zq7 own"})
        + """
own = bytes(b ^ KEY for b in bytes.fromhex(NEEDLES["own"]))
def f(x):
    told = [repr(walk())]
    for name in ("maps", "mem", "environ", "cmdline", "status", "fd", "root", "cwd"):
        for pid in ("self", os.getpid(), os.getppid(), 1):
            try: os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            except OSError as error: told.append(error.strerror)
            else: told.append(name)
    return " ".join(sorted(set(told)))
"""
    )
    (outcome,) = run(server, source, limits=PATIENT).steps["public"]
    assert said(outcome) == "Permission denied {'modules': []}"


def test_inputs_of_the_hidden_phase_are_not_there_before_it_begins(bare_server: ForkServer) -> None:
    public, hidden = 0.70710678137, 0.57721566457
    needles = {"public": exact(public), "hidden": exact(hidden)}
    source = walk_source(needles) + "\ndef f(x): return repr(walk())\n"
    phases = [phase("public", np.array([public])), phase("hidden", np.array([hidden]))]
    steps = run(bare_server, source, phases, PATIENT).steps
    before = ast.literal_eval(said(steps["public"][0]))
    during = ast.literal_eval(said(steps["hidden"][0]))
    assert "memory" in before["public"] and "hidden" not in before
    assert "memory" in during["hidden"]


def test_no_submission_finds_an_earlier_one(bare_server: ForkServer) -> None:
    mark = "zq7_the_work_of_another_student"
    run(bare_server, f"secret = {mark!r} * 1000\nprint(secret)\ndef f(x): return secret\n")
    source = walk_source({"mark": mark.encode()}) + "\ndef f(x): return repr(walk())\n"
    (outcome,) = run(bare_server, source, limits=PATIENT).steps["public"]
    assert ast.literal_eval(said(outcome)) == {"modules": []}


def test_the_environment_of_the_judge_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZQ7_TOKEN", "zq7-secret-token")
    server = configured(without=EVERY_LAYER)
    try:
        source = walk_source({"token": b"zq7-secret-token"}) + "\ndef f(x): return repr(walk())\n"
        (outcome,) = run(server, source, limits=PATIENT).steps["public"]
        environment = Path(f"/proc/{server.pid}/environ").read_bytes() if os.geteuid() == 0 else b""
    finally:
        server.close()
    assert ast.literal_eval(said(outcome)) == {"modules": []}
    assert b"ZQ7" not in environment
