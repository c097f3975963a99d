"""Short programs run in the sandbox, for tests."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.exercise.calls import ArrayArgument, PhaseBuilder, read_plan
from grader.exercise.models import Policy
from grader.outcomes import Execution, StepOutcome
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

LIMITS = Limits(seconds_per_call=2.0, seconds=20.0, memory=256 << 20, output=4 << 10)
IMPATIENT = Limits(seconds_per_call=0.15, seconds=20.0, memory=256 << 20, output=4 << 10)
X = np.arange(6, dtype=np.float64).reshape(2, 3)
REREAD = "reread"


def configured(kind: str = "numpy") -> ForkServer:
    """A fork server that knows no rules."""
    server = ForkServer(kind)
    server.configure(["numpy", "torch"] if kind == "torch" else ["numpy"], Policy().model_dump())
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
    return Phase(name, block, read_plan(block), answer_bytes)


def run(
    server: ForkServer, source: str, phases: Sequence[Phase] = (), limits: Limits = LIMITS, entry: str = "f"
) -> Execution:
    """A submission executed; one call with `X` when no phases are named."""
    program = Program(textwrap.dedent(source), "solution.py", "solution", entry)
    return execute(server, program, list(phases) or [phase("public")], limits)


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
