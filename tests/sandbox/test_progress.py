"""How far a long call is: told by code in the child, believed no further than a number from 0 to 1."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_runs import LIMITS, phase, said

from grader.sandbox.execution import Program, Reached, execute
from grader.sandbox.inside import slots
from grader.sandbox.inside.progress import Progress
from grader.sandbox.server import ForkServer

SIZE = 4096


def after(done: Any, total: Any, before: int = 77) -> tuple[bytes, int]:
    """The memory without the field, and the field, after one word of progress."""
    memory = mmap.mmap(-1, SIZE)
    slots.PROGRESS.pack_into(memory, 0, 5, before)
    Progress(memory)(done, total)
    number, parts = slots.PROGRESS.unpack_from(memory)
    assert number == 5
    return memory[slots.PROGRESS.size :], parts


class Hostile(float):
    """A number whose own methods must not run."""

    def __float__(self) -> float:
        raise SystemExit

    __truediv__ = __rtruediv__ = __lt__ = __bool__ = __float__  # type: ignore[assignment]


class Raises:
    def __getattr__(self, name: str) -> Any:
        raise KeyboardInterrupt


numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.integers(10**300, 10**310),
    st.booleans().map(int),
    st.floats(width=32).map(np.float32),
    st.integers(-(2**63), 2**63 - 1).map(np.int64),
)
no_numbers = st.one_of(
    st.none(),
    st.text(),
    st.binary(),
    st.lists(st.integers()),
    st.complex_numbers(),
    st.sampled_from([Hostile(0.5), Raises(), np.ones(3), np.ones(1), np.array(1), object, True]),
)


@given(done=numbers | no_numbers, total=numbers | no_numbers)
def test_any_arguments_do_no_harm(done: Any, total: Any) -> None:
    rest, parts = after(done, total)
    assert rest == bytes(SIZE - slots.PROGRESS.size) and 0 <= parts <= slots.WHOLE


@given(done=no_numbers, total=numbers | no_numbers)
def test_what_is_no_number_is_not_told(done: Any, total: Any) -> None:
    assert after(done, total)[1] == after(total, done)[1] == 77


@given(total=st.integers(1, 10**9), data=st.data())
def test_a_share_is_told_to_a_thousandth(total: int, data: st.DataObject) -> None:
    done = data.draw(st.integers(0, total))
    assert after(done, total)[1] == pytest.approx(slots.WHOLE * done / total, abs=1)
    assert after(np.float64(done), np.int64(total))[1] == after(done, total)[1]


@pytest.mark.parametrize(
    ("done", "total", "parts"),
    [
        (0, 500, 0),
        (500, 500, 1000),
        (501, 500, 1000),
        (-1, 500, 0),
        (math.inf, 1, 1000),
        (-math.inf, 1, 0),
        (3, math.inf, 0),
        (1, -1, 0),
        (10**400, 1, 77),
        (math.nan, 1, 77),
        (1, math.nan, 77),
        (math.inf, math.inf, 77),
        (1, 0, 77),
        (np.float64(1), np.float64(0), 77),
    ],
)
def test_what_lies_outside_is_none_or_all_and_what_is_no_fraction_is_nothing(
    done: Any, total: Any, parts: int, recwarn: pytest.WarningsRecorder
) -> None:
    assert after(done, total)[1] == parts
    assert not recwarn.list


def test_the_next_call_begins_at_nothing() -> None:
    memory = mmap.mmap(-1, 1 << 16)
    writer = slots.Slots(memory, 8192, 1024, 1 << 16)
    writer.start(2, 0, 0)
    Progress(memory)(1, 2)
    assert slots.PROGRESS.unpack_from(memory) == (2, slots.WHOLE // 2)
    writer.start(3, 0, 0)
    assert slots.PROGRESS.unpack_from(memory) == (3, 0)


# --- as the judge hears it ------------------------------------------------------------------------

# What student code can do that goes and looks for the memory: it has all rights over what it says.
FIND = """
import struct, sys, time
def memory():
    frame = sys._getframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        if hasattr(owner, "slots"):
            return owner.memory
        frame = frame.f_back
"""


def told_by(server: ForkServer, body: str, calls: int = 1) -> tuple[list[Reached], Any]:
    """What the judge is told while calls run, and what came of them."""
    heard: list[Reached] = []
    program = Program(FIND + body, "solution.py", "solution", "f")
    arrays = [np.full(2, float(number)) for number in range(calls)]
    found = execute(server, program, [phase("public", *arrays)], LIMITS, tell=heard.append)
    return heard, found


def test_a_call_that_tells_is_heard(server: ForkServer) -> None:
    body = f"""
def f(x):
    for done in range(3):
        struct.pack_into("<I", memory(), {slots.FRACTION_AT}, 250 * (done + 1))
        time.sleep(0.4)
    return "done"
"""
    heard, found = told_by(server, body)
    assert said(found.steps["public"][0]) == "done"
    shares = [reached.fraction for reached in heard]
    assert shares == sorted(shares) and {0.25, 0.5, 0.75} >= set(shares) - {0.0} != set()
    assert {(reached.phase, reached.step) for reached in heard} == {("public", 0)}


@pytest.mark.parametrize("number", [0, 1, 9, 2**40, 2**64 - 1])
@pytest.mark.parametrize("parts", [0, 1001, 2**32 - 1])
def test_whatever_is_written_there_is_a_known_step_and_a_share(
    bare_server: ForkServer, number: int, parts: int
) -> None:
    body = f"""
def f(x):
    if x[0] == 1:
        struct.pack_into("<QI", memory(), 0, {number}, {parts})
        time.sleep(0.3)
    return "done"
"""
    heard, found = told_by(bare_server, body, calls=3)
    assert [said(outcome) for outcome in found.steps["public"]] == ["done"] * 3
    for reached in heard:
        assert reached.phase == "public" and 0 <= reached.step < 3 and 0 <= reached.fraction <= 1


def test_a_child_that_talks_out_of_turn_changes_nothing(bare_server: ForkServer) -> None:
    body = """
import os
def f(x):
    for _ in range(50):
        os.write(4, b"?")
    struct.pack_into("<QI", memory(), 0, 2**63, 7)
    time.sleep(0.2)
    return "done"
"""
    heard, found = told_by(bare_server, body)
    assert said(found.steps["public"][0]) == "done"
    assert all(reached.step == 0 and 0 <= reached.fraction <= 1 for reached in heard)
