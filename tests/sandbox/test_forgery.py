"""A submission that attacks the way in which its outcomes travel harms nothing but itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sandbox_runs import IMPATIENT, REREAD, X, phase, run

from grader.outcomes import ArrayValue, Execution, StepOutcome
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

MAPS = """
import gc, mmap, os, random, socket, struct
def maps(): return [o for o in gc.get_objects() if isinstance(o, mmap.mmap)]
"""
STATES = {"returned", "raised", "out_of_memory", "timed_out", "crashed", "not_run"}
SECRET = 0.31830988618


def assert_complete(execution: Execution, **counts: int) -> None:
    """Every step has an outcome of the right form, whatever it says."""
    assert {name: len(steps) for name, steps in execution.steps.items()} == counts
    for steps in execution.steps.values():
        for outcome in steps:
            assert isinstance(outcome, StepOutcome) and outcome.state in STATES
            (outcome.stdout + outcome.stderr + outcome.detail).encode()


def assert_still_right(server: ForkServer) -> None:
    (outcome,) = run(server, "def f(x): return x + 1").steps["public"]
    assert isinstance(outcome.value, ArrayValue)
    np.testing.assert_array_equal(outcome.value.array(), X + 1)


@pytest.mark.parametrize("seed", range(12))
def test_random_bytes_over_all_shared_memory_do_no_harm(server: ForkServer, seed: int) -> None:
    what = ["import sys", "return x", "os._exit(1)", "raise ValueError(n)"][seed % 4]
    source = f"""
{MAPS}
def f(x, n):
    if n == {random.Random(seed).randrange(4)}:
        r = random.Random({seed})
        for m in maps():
            if {seed} < 6:
                m[:] = r.randbytes(len(m))
            else:
                for _ in range(2000): m[r.randrange(len(m))] = r.randrange(256)
        {what}
    return x
"""
    limits = Limits(seconds_per_call=0.3, seconds=2.0, memory=256 << 20, output=4096)
    phases = [phase("public", (X, 0), (X, 1), REREAD), phase("hidden", (X, 2), (X, 3))]
    result = run(server, source, phases, limits)
    assert_complete(result, public=3, hidden=2)
    assert_still_right(server)


def test_overwritten_inputs_are_seen_however_they_are_overwritten(server: ForkServer) -> None:
    source = f"{MAPS}\ndef f(x):\n    for m in maps(): m[-64:] = b'\\xff' * 64\n    return 1\n"
    result = run(server, source, [phase("public", X, X)])
    assert_complete(result, public=2)
    assert any(0 in outcome.overwritten for outcome in result.steps["public"])


# Finds the slots, and writes an answer of its own over one of them.
FORGE = (
    MAPS
    + """
import json
HEADER = struct.Struct("<IIQQQIIQQ")
def out(): return max(maps(), key=len)
def slot_at(number, slot_size):
    return 64 + (256 << 10) + (number - 1) * slot_size
def forge(number, value, slot_size):
    text = json.dumps({"kind": "float", "value": float(value).hex()}).encode()
    at = slot_at(number, slot_size)
    out()[at : at + HEADER.size + len(text)] = HEADER.pack(2, len(text), 0, 0, 0, 0, 0, 0, 0) + text
"""
)


def _slot_size(answer_bytes: int) -> int:
    return -(-(2 * answer_bytes + (8 << 10)) // 4096) * 4096


def values(steps: list[StepOutcome]) -> list[object]:
    return [getattr(outcome.value, "value", None) for outcome in steps]


def test_outcomes_of_the_public_phase_cannot_be_altered_in_the_hidden_one(server: ForkServer) -> None:
    size = _slot_size(1024)
    source = f"""
{FORGE}
def f(n):
    if n >= 2:
        for number in range(1, 6): forge(number, 99.0, {size})
        for m in maps(): m[:64] = bytes(64)
    return float(n)
"""
    result = run(server, source, [phase("public", (0,), (1,)), phase("hidden", (2,), (3,))])
    assert values(result.steps["public"]) == [0.0, 1.0]
    assert_complete(result, public=2, hidden=2)


def test_the_forging_of_these_tests_works_where_nothing_forbids_it(server: ForkServer) -> None:
    size = _slot_size(1024)
    source = f"{FORGE}\ndef f(n):\n    if n == 1: forge(2, 99.0, {size})\n    return float(n)\n"
    result = run(server, source, [phase("public", (0,), (1,))])
    assert values(result.steps["public"]) == [99.0, 1.0]


# What an honest child says when it has loaded and when a phase is over.
MESSAGES = {"analyzed": b"A", "loaded": b"L", "phase_done": b"E"}


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("place", ["module", "call"])
def test_no_message_out_of_turn_brings_hidden_inputs_before_the_public_phase_is_read(
    server: ForkServer, message: str, place: str
) -> None:
    send = f"os.write(6, {MESSAGES[message]!r})"
    source = f"""
import os, socket, time, mmap, numpy as np
{send if place == "module" else ""}
def steal():
    s = socket.socket(fileno=os.dup(6))
    s.settimeout(0.3)
    try: text, handles, _, _ = socket.recv_fds(s, 4096, 1)
    except OSError: return []
    return [os.pread(h, 1 << 20, 0) for h in handles]
stolen = []
def f(x, n):
    if n == 0:
        {send if place == "call" else "pass"}
        stolen.extend(steal())
    for data in stolen:
        if np.float64({SECRET!r}).tobytes() in data:
            print("STOLEN")
            return {SECRET!r}
    return 1.0
"""
    hidden = np.array([SECRET])
    limits = Limits(seconds_per_call=1.0, seconds=20.0, memory=256 << 20, output=4096)
    phases = [phase("public", (X, 0), (X, 1), (X, 2)), phase("hidden", (hidden, 3))]
    result = run(server, source, phases, limits)
    for outcome in result.steps["public"]:
        assert "STOLEN" not in outcome.stdout and getattr(outcome.value, "value", None) != SECRET
    if result.load is not None:
        assert "STOLEN" not in result.load.stdout
    assert_still_right(server)


@pytest.mark.parametrize("message", [b"", b"A", b"L", b"E", b"G", b"LE", b"\xff" * 64, b"E" * 3])
@pytest.mark.parametrize("place", ["module", "call", "hidden"])
def test_a_message_out_of_turn_costs_no_one_else(server: ForkServer, message: bytes, place: str) -> None:
    send = f"import socket; socket.socket(fileno=__import__('os').dup(6)).send({message!r})"
    when = {"module": "False", "call": "n == 0", "hidden": "n == 2"}[place]
    source = (
        f"{send if place == 'module' else ''}\ndef f(x, n):\n    if {when}:\n        {send}\n    return n\n"
    )
    phases = [phase("public", (X, 0), (X, 1)), phase("hidden", (X, 2), (X, 3))]
    limits = Limits(seconds_per_call=0.1, seconds=1.0, memory=256 << 20, output=4096)
    result = run(server, source, phases, limits)
    if result.load is not None and result.load.callable:
        assert_complete(result, public=2, hidden=2)
        if message in (b"A", b"G", b"LE", b"\xff" * 64, b"E" * 3):
            assert values(result.steps["public"] + result.steps["hidden"]) == [0, 1, 2, 3]
    assert_still_right(server)


def test_a_flood_of_messages_does_not_keep_the_judge_from_its_clock(server: ForkServer) -> None:
    source = "import os\ndef f(x):\n    while True: os.write(6, b'E' * 60)\n"
    result = run(server, source, limits=IMPATIENT)
    assert_complete(result, public=1)
    assert result.steps["public"][0].state == "timed_out"


def test_an_answer_forged_through_the_frames_of_the_child_is_only_an_answer(server: ForkServer) -> None:
    source = """
    import sys
    def f(x):
        frame = sys._getframe(1)
        child = frame.f_locals["self"]
        child.answers.clear()
        child.slots.finish(frame.f_locals["slot"], 3, b'{"type": "E", "message": "forged"}')
        child.job.clear()
        return x
    """
    result = run(server, source, [phase("public", X, X, REREAD)])
    assert_complete(result, public=3)
    assert result.report is not None and not result.report.get("violations")


def test_the_policy_report_is_read_before_the_students_code_runs(server: ForkServer) -> None:
    source = f"""
{MAPS}
for m in maps():
    m[64:320] = bytes(256)
def f(x): return eval("x")
"""
    honest = run(server, source.replace("m[64:320] = bytes(256)", "pass"))
    forged = run(server, source)
    assert honest.report is not None and honest.report["suspicious"]
    assert forged.report is not None
    assert len(forged.report["suspicious"]) == len(honest.report["suspicious"])
