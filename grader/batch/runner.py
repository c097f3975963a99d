"""One submission graded: policy, sandbox and judge put together."""

from __future__ import annotations

import contextlib
import hashlib
import math
import random
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from types import TracebackType
from typing import Any

from grader.exercise.calls import PlacedArray, read_plan
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.judge import submission as judging
from grader.judge.follow_up import choose, complete
from grader.outcomes import Execution
from grader.result import Isolation, Result, SubmissionInfo
from grader.sandbox.analyst import Analysis, Analyst
from grader.sandbox.children import PackageMissingError, SandboxError, Server
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.levels import probe
from grader.sandbox.packages import KINDS
from grader.sandbox.servers import make_server
from grader.sandbox.watch import Limits

# How many calls of a phase are recorded where that is slow.
RECORDED_CALLS = 3


class Runner:
    """Grades submissions one after another, with servers that stay warm.

    Args:
        pack: The exercise's pack.
        started: A numpy server that was started ahead and knows nothing yet; the runner ends it.
    """

    def __init__(self, pack: Pack, started: Server | None = None) -> None:
        self.pack = pack
        self._servers: dict[str, Server] = {}
        self._analyst: Analyst | None = None
        self._isolation = Isolation(*probe())
        self._used = KINDS[0]
        if started is not None:
            started.configure(pack.exercise.packages, pack.exercise.policy)
            self._servers[started.kind] = started
        self._phases = [
            Phase(name, block, pack.plans[name], *_answer_sizes(pack, name))
            for name, block in pack.blocks.items()
        ]
        limits = pack.exercise.limits
        self._limits = Limits(
            seconds_per_call=float(limits["seconds_per_call"]),
            seconds=float(limits["seconds"]),
            memory=int(limits["memory"]),
            output=int(limits["output"]),
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self, kind: str = "numpy") -> Server:
        """The server of a kind, started when there is none yet. Raises SandboxError."""
        if kind not in self._servers:
            server = make_server(kind)
            server.configure(self.pack.exercise.packages, self.pack.exercise.policy)
            self._servers[kind] = server
        return self._servers[kind]

    def close(self) -> None:
        """End all servers."""
        if self._analyst is not None:
            with contextlib.suppress(SandboxError):
                self._analyst.close()
            self._analyst = None
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def grade(self, submission: Submission) -> Result:
        """The Result record of one submission; never raises for anything that the submission does."""
        begin = time.perf_counter()
        if submission.source is None:
            return judging.not_loadable(self._context(submission), submission.problem)
        try:
            program = self._program(submission, submission.source)
            execution = self._execute(program)
            result = judging.judge(self._context(submission), execution)
            try:
                result = self._follow_up(program, result)
            except Exception as error:
                result = judging.undiagnosed(result, error)
            timing = replace(result.timing, wall_s=round(time.perf_counter() - begin, 6))
            return replace(result, timing=timing)
        except SandboxError as error:
            return judging.grader_fault(self._context(submission), str(error))
        except Exception as error:
            # Whatever fails here is ours: it must neither cost the student points nor stop the class.
            return judging.grader_fault(self._context(submission), f"{type(error).__name__}: {error}")

    def fault(self, submission: Submission, message: str) -> Result:
        """The record that says that the grader itself failed on a submission."""
        return judging.grader_fault(self._context(submission), message)

    def _context(self, submission: Submission) -> judging.Context:
        return judging.Context(
            pack=self.pack,
            submission=_info(submission),
            isolation=self._isolation,
            notes=submission.notes,
        )

    def _program(self, submission: Submission, source: str) -> Program:
        return Program(source, submission.filename, submission.module, self.pack.exercise.entry)

    def _follow_up(self, program: Program, result: Result) -> Result:
        """The result with what a few small calls show of a submission that failed."""
        calls = choose(self.pack, result)
        if calls is None:
            return result
        plan = read_plan(calls.block)
        phase = Phase("follow_up", calls.block, plan, calls.answer_bytes, calls.answers_bytes)
        # All these calls together get the time of one: what hangs only here is not worth more.
        limits = replace(self._limits, seconds=self._limits.seconds_per_call)
        for _ in range(2):
            try:
                ran = execute(self.start(self._used), program, [phase], limits)
            except SandboxError:
                # What is decided stays decided; only these calls are tried again.
                self.close()
                continue
            timing = replace(result.timing, cpu_s=round(result.timing.cpu_s + ran.cpu_s, 6))
            result = replace(result, timing=timing)
            steps = ran.steps.get("follow_up")
            return complete(self.pack, result, calls, steps, program.filename) if steps else result
        return result

    def _execute(self, program: Program) -> Execution:
        for attempt in range(2):
            try:
                return self._run(program)
            except PackageMissingError:
                raise
            except SandboxError:
                # A server may die of what the machine does to it; a second failure is told.
                if attempt:
                    raise
                self.close()
        raise AssertionError("unreachable")

    def _run(self, program: Program) -> Execution:
        analysis = self._analyze(program)
        if analysis.problem or analysis.report.get("syntax_error"):
            return Execution(analysis.report, None, {}, cpu_s=analysis.cpu_s)
        kind = self._kind_for(analysis.report)
        while True:
            server = self.start(kind)
            server.wait_ready()
            self._isolation = Isolation(server.level, server.layers)
            phases = self._phases_for(kind, program)
            limits = self._limits
            if kind == "torch":
                # A recorded call may take all of its time and then be made once more.
                spare = sum(len(phase.recorded or ()) for phase in phases) * limits.seconds_per_call
                limits = replace(limits, spare_seconds=spare)
            self._used = kind
            execution = execute(
                server, program, phases, limits, report=analysis.report, repeat=kind == "torch"
            )
            needed = execution.load.needs if execution.load is not None else ""
            possible = needed in KINDS and needed in self.pack.exercise.packages
            if not possible or KINDS.index(needed) <= KINDS.index(kind):
                return replace(
                    execution,
                    report=self._with_findings(execution),
                    cpu_s=execution.cpu_s + analysis.cpu_s,
                )
            # It asked for the package in a way that the policy check did not see.
            kind = needed

    def _analyze(self, program: Program) -> Analysis:
        if self._analyst is None:
            self._analyst = Analyst(self.start("numpy"), self._limits.memory)
        return self._analyst.analyze(program.source, program.filename, program.entry)

    def _with_findings(self, execution: Execution) -> Mapping[str, Any] | None:
        """The policy report, with what was found while the submission ran."""
        if not execution.findings:
            return execution.report
        from grader.policy import runtime
        from grader.policy.rules import Rules

        rules = Rules.from_dict(self.pack.exercise.policy)
        return runtime.merge(execution.report or {}, list(execution.findings), rules)

    def _kind_for(self, report: Mapping[str, Any]) -> str:
        imports = report.get("imports")
        rows = imports if isinstance(imports, list) else []
        roots = {str(row.get("module", "")).partition(".")[0] for row in rows if isinstance(row, Mapping)}
        wanted = [k for k in KINDS if k in roots and k in self.pack.exercise.packages]
        return wanted[-1] if wanted else "numpy"

    def _phases_for(self, kind: str, program: Program) -> list[Phase]:
        """The phases, with the calls chosen in which the use of banned helpers is looked for."""
        digest = hashlib.sha256(f"{self.pack.id}\n{program.source}".encode("utf-8", "surrogatepass")).digest()
        chosen = random.Random(digest)
        return [replace(p, recorded=_recorded(p, kind, chosen)) for p in self._phases]


def _info(submission: Submission) -> SubmissionInfo:
    """What the record says of a submission."""
    return SubmissionInfo(
        **{f.name: getattr(submission, f.name) for f in fields(SubmissionInfo) if f.name != "alike"}
    )


def _recorded(phase: Phase, kind: str, chosen: random.Random) -> tuple[int, ...] | None:
    """Numbers of the calls to record; None for all.

    Where recording costs little that is every call. With torch it costs several times the call itself: a few
    of the larger half of the calls, which can't be foreseen when a submission is written, as the choice hangs
    on the whole pack.
    """
    if kind != "torch":
        return None
    calls = [n for n, step in enumerate(phase.plan) if not isinstance(step, int)]

    def size(number: int) -> int:
        step = phase.plan[number]
        return 0 if isinstance(step, int) else sum(a.length for a in step if isinstance(a, PlacedArray))

    larger = sorted(calls, key=size)[len(calls) // 2 :]
    return tuple(sorted(chosen.sample(larger, min(RECORDED_CALLS, len(larger)))))


def _answer_sizes(pack: Pack, phase: str) -> tuple[int, int]:
    """Bytes of a phase's largest expected answer and of all, were they of the largest dtype."""
    sizes = [0]
    for case in pack.cases:
        if case.visibility == phase:
            sizes += [16 * math.prod(shape) for shape in case.shapes]
    return max(sizes), sum(sizes)
