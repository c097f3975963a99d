"""Short programs run in the sandbox, for tests."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np

from grader.exercise.calls import ArrayArgument, PhaseBuilder, read_plan
from grader.exercise.models import Policy
from grader.outcomes import Execution, StepOutcome
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.inside import confinement
from grader.sandbox.layout import Layout
from grader.sandbox.levels import WITHOUT
from grader.sandbox.server import ForkedChild, ForkServer
from grader.sandbox.watch import Limits

LIMITS = Limits(seconds_per_call=2.0, seconds=20.0, memory=256 << 20, output=4 << 10)
IMPATIENT = Limits(seconds_per_call=0.15, seconds=20.0, memory=256 << 20, output=4 << 10)
X = np.arange(6, dtype=np.float64).reshape(2, 3)
REREAD = "reread"
EVERY_LAYER = ",".join(confinement.LAYERS)
# The descriptor by which a child speaks with the judge.
JUDGE = 4


def configured(kind: str = "numpy", packages: Sequence[str] = (), *, without: str = "") -> ForkServer:
    """A fork server that knows no rules.

    Args:
        kind: What it has loaded.
        packages: What submissions may import; by default numpy and what the kind has.
        without: Layers of the confinement that it leaves out, as `grader.sandbox.levels` takes them.
    """
    allowed = list(packages) or list(dict.fromkeys(["numpy", kind]))
    with mock.patch.dict(os.environ, {WITHOUT: without}):
        server = ForkServer(kind)
        server.configure(allowed, Policy().model_dump())
    return server


def phase(name: str, *calls: Any, answer_bytes: int = 1024, read_only: bool = False) -> Phase:
    """A phase of calls, each a tuple of arguments or one array; `REREAD` is a second look at the first."""
    builder = PhaseBuilder()
    for call in calls or (X,):
        if isinstance(call, str):
            builder.add_reread(0)
            continue
        arguments = call if isinstance(call, tuple) else (call,)
        builder.add_call(
            [ArrayArgument(a, "c", read_only) if isinstance(a, np.ndarray) else a for a in arguments]
        )
    block = builder.finish()
    plan = read_plan(block)
    return Phase(name, block, plan, answer_bytes, answer_bytes * len(plan))


def run(
    server: ForkServer,
    source: str,
    phases: Sequence[Phase] = (),
    limits: Limits = LIMITS,
    entry: str = "f",
    report: Mapping[str, Any] | None = None,
) -> Execution:
    """A submission executed; one call with `X` when no phases are named."""
    program = Program(textwrap.dedent(source), "solution.py", "solution", (entry,))
    return execute(server, program, list(phases) or [phase("public")], limits, report=report)


def layout_of(source: str, phases: Sequence[Phase], limits: Limits = LIMITS) -> Layout:
    """How the memory of a submission is laid out."""
    return Layout(
        source=len(Program(textwrap.dedent(source), "solution.py", "solution", ("f",)).to_bytes()),
        blocks=[len(p.block) for p in phases],
        steps=sum(len(p.plan) for p in phases),
        answer=max(p.answer_bytes for p in phases),
        answers=sum(p.answers_bytes for p in phases),
        output=limits.output,
    )


class Meddled:
    """A fork server whose children are tampered with by a test.

    Args:
        server: Which does the work.
        hear: Called with each child and each message (empty ones too) that the judge hears from it.
        start: Called with the number of the child, from 0 on, its job and its memory before it is forked.
    """

    def __init__(
        self,
        server: ForkServer,
        hear: Callable[[ForkedChild, bytes], None] = lambda child, message: None,
        start: Callable[[int, Mapping[str, Any], Any], None] = lambda number, job, memory: None,
    ) -> None:
        self._server = server
        self._hear = hear
        self._start = start
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def start(self, job: Mapping[str, Any], memory: Any) -> Any:
        self._start(self._count, job, memory)
        self._count += 1
        child = self._server.start(job, memory)
        wait = child.wait

        def wait_and_hear(seconds: float) -> tuple[bytes, bool]:
            message, ended = wait(seconds)
            self._hear(child, message)
            return message, ended

        child.wait = wait_and_hear  # type: ignore[method-assign]
        return child


def only_step(execution: Execution) -> StepOutcome:
    """The outcome of an execution's only step."""
    (steps,) = execution.steps.values()
    (outcome,) = steps
    return outcome


def said(outcome: StepOutcome) -> str:
    """The text that a step returned."""
    value: Any = outcome.value
    assert outcome.state == "returned", outcome
    assert value.kind == "str", value
    return str(value.value)
