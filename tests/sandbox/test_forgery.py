"""A submission that attacks the way in which its outcomes travel harms nothing but itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest
from sandbox_runs import IMPATIENT, JUDGE, REREAD, Meddled, X, layout_of, phase, run

from grader.outcomes import ArrayValue, Execution, StepOutcome
from grader.sandbox.execution import MAX_FINDINGS, Phase
from grader.sandbox.inside import protocol, slots
from grader.sandbox.memory import SharedMemory
from grader.sandbox.server import ForkedChild, ForkServer
from grader.sandbox.watch import Limits

MAPS = """
import gc, mmap, os, random, select, struct
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
    source = f"{MAPS}\nEND = %9d\ndef f(x):\n    for m in maps(): m[END - 64 : END] = b'\\xff' * 64\n"
    phases = [phase("public", X, X)]
    at, length = layout_of(source % 0, phases).blocks[0]
    result = run(server, source % (at + length), phases)
    assert_complete(result, public=2)
    assert [outcome.overwritten for outcome in result.steps["public"]] == [set(), {0}]


# Writes an answer of its own over the record of a step.
FORGE = (
    MAPS
    + """
RECORD = struct.Struct({record!r})
def forge(number, value):
    text = b'{{"kind": "float", "value": "%s"}}' % float(value).hex().encode()
    (memory,) = maps()
    at = {data} + {size} - 4096
    memory[at : at + len(text)] = text
    entry = {first} + ({first_step} + number) * RECORD.size
    RECORD.pack_into(memory, entry, {done}, 0, 0, 0, at, len(text), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
"""
)


def forging(body: str, phases: Sequence[Phase]) -> str:
    """The source text of a submission that can forge records."""
    text = FORGE + body

    def source(data: int, size: int) -> str:
        return text.format(
            record=slots.RECORD.format,
            first=slots.FIRST,
            first_step=slots.FIRST_STEP,
            done=slots.DONE,
            data=f"{data:9}",
            size=f"{size:9}",
        )

    return source(*layout_of(source(0, 0), phases).data)


def values(steps: list[StepOutcome]) -> list[object]:
    return [getattr(outcome.value, "value", None) for outcome in steps]


def test_outcomes_of_the_public_phase_cannot_be_altered_in_the_hidden_one(server: ForkServer) -> None:
    phases = [phase("public", (0,), (1,)), phase("hidden", (2,), (3,))]
    body = """
def f(n):
    if n >= 2:
        for number in range(4): forge(number, 99.0)
        for m in maps(): m[:64] = bytes(64)
    return float(n)
"""
    result = run(server, forging(body, phases), phases)
    assert values(result.steps["public"]) == [0.0, 1.0]
    assert_complete(result, public=2, hidden=2)


def test_the_forging_of_these_tests_works_where_nothing_forbids_it(server: ForkServer) -> None:
    phases = [phase("public", (0,), (1,))]
    body = "def f(n):\n    if n == 1: forge(0, 99.0)\n    return float(n)\n"
    result = run(server, forging(body, phases), phases)
    assert values(result.steps["public"]) == [99.0, 1.0]


# What an honest child says when it is confined, when it has loaded and when a phase is over.
MESSAGES = {"confined": protocol.CONFINED, "loaded": protocol.LOADED, "phase_done": protocol.PHASE_DONE}
STEAL = (
    MAPS
    + """
import numpy as np
MARK = np.float64({secret!r}).tobytes()
def there(): return MARK in maps()[0][{block} : {block} + {size}]
def steal():
    poll = select.poll()
    poll.register({judge}, select.POLLIN)
    if not there() and poll.poll({wait}): os.read({judge}, 4096)
    return there()
{module}
def f(x, n):
    if n == 0:
        {call}
    if n < 3 and steal():
        print("STOLEN")
        return {secret!r}
    return 1.0
"""
)


def stealing(place: str, message: bytes, wait: int) -> tuple[str, list[Phase]]:
    """A submission that says something out of turn and looks, after ``wait`` ms, for the hidden input."""
    phases = [phase("public", (X, 0), (X, 1), (X, 2)), phase("hidden", (np.array([SECRET]), 3))]
    send = f"os.write({JUDGE}, {message!r})"

    def source(at: int, size: int) -> str:
        return STEAL.format(
            secret=SECRET,
            judge=JUDGE,
            wait=wait,
            block=f"{at:9}",
            size=f"{size:9}",
            module=send if place == "module" else "",
            call=send if place == "call" else "pass",
        )

    return source(*layout_of(source(0, 0), phases).blocks[1]), phases


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("place", ["module", "call"])
def test_no_message_out_of_turn_brings_hidden_inputs_before_the_public_phase_is_read(
    server: ForkServer, message: str, place: str
) -> None:
    source, phases = stealing(place, MESSAGES[message], 200)
    limits = Limits(seconds_per_call=1.0, seconds=20.0, memory=256 << 20, output=4096)
    result = run(server, source, phases, limits)
    for outcome in result.steps["public"]:
        assert "STOLEN" not in outcome.stdout and getattr(outcome.value, "value", None) != SECRET
    if result.load is not None:
        assert "STOLEN" not in result.load.stdout
    if (place, message) in (("module", "confined"), ("call", "confined"), ("call", "loaded")):
        # Not heard at all.
        assert values(result.steps["public"] + result.steps["hidden"]) == [1.0] * 4
    assert_still_right(server)


def test_the_stealing_of_these_tests_finds_what_is_there(server: ForkServer) -> None:
    source, phases = stealing("call", MESSAGES["phase_done"], 10_000)
    log = layout_of(source, phases).log
    printed: list[bytes] = []
    memories: list[SharedMemory] = []

    def hear(child: ForkedChild, message: bytes) -> None:
        printed.append(memories[0].read(*log))

    meddled = Meddled(server, hear, lambda number, job, memory: memories.append(memory))
    limits = Limits(seconds_per_call=30.0, seconds=120.0, output=4096)
    result = run(cast(ForkServer, meddled), source, phases, limits)
    # It said that the public phase was over, and so it was: no answer of it counts any more.
    assert b"STOLEN" in printed[-1]
    assert [o.state for o in result.steps["public"]] == ["crashed"] * 3
    assert not any("STOLEN" in o.stdout for o in result.steps["public"])


@pytest.mark.parametrize("message", [b"", b"A", b"C", b"L", b"E", b"G", b"LE", b"\xff" * 64, b"E" * 3])
@pytest.mark.parametrize("place", ["module", "call", "hidden"])
def test_a_message_out_of_turn_costs_no_one_else(server: ForkServer, message: bytes, place: str) -> None:
    send = f"import os; os.write({JUDGE}, {message!r})"
    when = {"module": "False", "call": "n == 0", "hidden": "n == 2"}[place]
    source = (
        f"{send if place == 'module' else ''}\ndef f(x, n):\n    if {when}:\n        {send}\n    return n\n"
    )
    phases = [phase("public", (X, 0), (X, 1)), phase("hidden", (X, 2), (X, 3))]
    limits = Limits(seconds_per_call=0.1, seconds=1.0, memory=256 << 20, output=4096)
    result = run(server, source, phases, limits)
    if result.load is not None and result.load.callable:
        assert_complete(result, public=2, hidden=2)
        if message not in (b"", b"E") and (message, place) != (b"L", "module"):
            assert values(result.steps["public"] + result.steps["hidden"]) == [0, 1, 2, 3]
    assert_still_right(server)


def test_a_flood_of_messages_does_not_keep_the_judge_from_its_clock(server: ForkServer) -> None:
    source = f"import os\ndef f(x):\n    while True: os.write({JUDGE}, b'E' * 60)\n"
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
    assert_still_right(server)


def test_a_flood_of_findings_costs_the_judge_nothing(server: ForkServer) -> None:
    source = """
    import gc, json, mmap, os
    from types import SimpleNamespace
    def f(x, n):
        for child in gc.get_objects():
            if type(child).__name__ == "Child":
                break
        many = [{"rule": "r", "helper": f"h{n}-{k}", "line": k} for k in range(90)]
        child.slots.finish(1, 2, json.dumps({"findings": many}).encode())
        os._exit(1)
    """
    result = run(server, source, [phase("public", *[(X, n) for n in range(12)], answer_bytes=1 << 16)])
    assert 0 < len(result.findings) <= MAX_FINDINGS
    assert all(f["phase"] == "public" for f in result.findings)


def test_findings_that_are_no_list_are_a_sign(server: ForkServer) -> None:
    source = """
    import gc
    def f(x):
        for child in gc.get_objects():
            if type(child).__name__ == "Child":
                child.slots.finish(1, 2, b'{"findings": "none"}')
        return x
    """
    (sign,) = run(server, source).findings
    assert sign["rule"] == "tampering"
