"""Submissions graded: policy, sandbox and judge put together.

Running and judging are apart: what running gave can be judged again, for another submission with the same
text or after the exercise's points, hints or tolerances have changed.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from types import TracebackType
from typing import Any

from grader.batch.jobs import Job
from grader.batch.limits import Allowed, allowed_here, stated
from grader.batch.standing import Steps, TellStanding
from grader.batch.stored import Ran, SmallCalls
from grader.exercise.calls import arrays_of, read_plan
from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.judge import submission as judging
from grader.judge.follow_up import FollowUpCalls, choose, complete
from grader.outcomes import Execution
from grader.result import Adjustment, Isolation, Result, SubmissionInfo
from grader.sandbox.analyst import Analysis, Analyst
from grader.sandbox.children import PackageMissingError, SandboxError, Server
from grader.sandbox.execution import Phase, Program, Tell, execute
from grader.sandbox.levels import probe, why_not_full
from grader.sandbox.packages import KINDS
from grader.sandbox.servers import make_server

# How many calls of a phase are recorded where that is slow.
RECORDED_CALLS = 3


FOLLOW_UP = "follow_up"


class WeaklyConfinedError(SandboxError):
    """Submissions can't be confined fully here, and that is asked for."""


class Runner:
    """Grades submissions one after another, with servers that stay warm.

    Args:
        pack: The exercise's pack.
        started: A numpy server that was started ahead and knows nothing yet; the runner ends it.
        weak_isolation: Run submissions also where they can't be confined fully.
        prints: Keep of every public case what its calls printed, also where it passed.
        tell: Told now and then, while a submission's calls are made, how far they are.
    """

    def __init__(
        self,
        pack: Pack,
        started: Server | None = None,
        *,
        weak_isolation: bool = True,
        prints: bool = False,
        tell: TellStanding | None = None,
    ) -> None:
        self.pack = pack
        self._tell: Tell | None = None
        if tell is not None:
            steps = Steps(pack)
            self._tell = lambda reached: tell(steps.standing(reached))
        self._prints = prints
        self._weak_isolation = weak_isolation
        self._servers: dict[str, Server] = {}
        self._analyst: Analyst | None = None
        self._isolation = Isolation(*probe())
        self._used = KINDS[0]
        if started is not None:
            started.configure(pack.exercise.packages, pack.exercise.policy)
            self._servers[started.kind] = started
        self._phases = [
            Phase(name, block, pack.plans[name], *pack.answer_sizes(name))
            for name, block in pack.blocks.items()
        ]

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

    def grade(self, submission: Submission, adjustments: Sequence[Adjustment] = ()) -> Result:
        """The Result record of one submission; never raises for anything that the submission does."""
        (result,), _execution = self._grade([submission], {submission.id: adjustments}, None, keep=False)
        return result

    def grade_job(self, job: Job) -> tuple[list[Result], bytes | None]:
        """The records of a job's submissions, which are run once at most, and what running them gave.

        The latter is None when nothing was run, or nothing that could be kept.
        """
        return self._grade(job.submissions, job.adjustments, job.execution, keep=True)

    def run(self, submission: Submission) -> Ran:
        """What running a submission gives, the few calls after a failure included.

        Raises:
            SandboxError: The sandbox failed.
            ValueError: It has no text.
        """
        return self._run_and_judge(submission, ())[0]

    def judge(self, submission: Submission, ran: Ran, adjustments: Sequence[Adjustment] = ()) -> Result:
        """The record of a submission from what running it, or one like it, gave; nothing is run.

        What the calls after a failure gave is used where this pack makes the same calls, and else left out.

        Raises:
            ValueError: Another text was run, or it was run by a pack that runs other things.
        """
        if ran.pack != self.pack.execution_digest:
            raise ValueError("the submission was run by another pack")
        if ran.program != _digest_of(self._program(submission)):
            raise ValueError("another submission was run")
        result = judging.judge(self._context(submission, adjustments, ran.isolation), ran.execution)
        try:
            return self._completed(result, ran, choose(self.pack, result), submission.filename)
        except Exception as error:
            return self._timed(judging.undiagnosed(result, error), ran)

    def fault(self, submission: Submission, message: str) -> Result:
        """The record that says that the grader itself failed on a submission."""
        return judging.grader_fault(self._context(submission), message)

    def _grade(
        self,
        submissions: Sequence[Submission],
        adjustments: Mapping[str, Sequence[Adjustment]],
        stored: bytes | None,
        *,
        keep: bool,
    ) -> tuple[list[Result], bytes | None]:
        """The records of submissions with the same text, and what running them gave, if it is to be kept."""
        results: list[Result] = []
        ran: Ran | None = None
        execution: bytes | None = None
        failed = ""
        for one in submissions:
            given = adjustments.get(one.id, ())
            try:
                if one.fault or failed:
                    result = self.fault(one, one.fault or failed)
                elif one.source is None:
                    result = judging.not_loadable(self._context(one, given), one.problem)
                elif ran is not None or (ran := self._believed(stored, one)) is not None:
                    result = self.judge(one, ran, given)
                else:
                    ran, result = self._run_and_judge(one, given)
                    execution = _kept(ran) if keep else None
            except SandboxError as error:
                # It would fail for the others too.
                failed = str(error)
                result = self.fault(one, failed)
            except Exception as error:
                # Whatever fails here is ours: it must neither cost the student points nor stop the class.
                result = self.fault(one, f"{type(error).__name__}: {error}")
            results.append(result)
        return results, execution

    def _believed(self, stored: bytes | None, submission: Submission) -> Ran | None:
        """What running the submission gave before; None where that does not hold for it and this pack."""
        if stored is None:
            return None
        try:
            ran = Ran.from_bytes(stored)
        except ValueError:
            return None
        same = _digest_of(self._program(submission)), self.pack.execution_digest
        return ran if (ran.program, ran.pack) == same else None

    def _run_and_judge(self, submission: Submission, adjustments: Sequence[Adjustment]) -> tuple[Ran, Result]:
        begin = time.perf_counter()
        program = self._program(submission)
        execution = self._execute(program)
        ran = Ran(
            pack=self.pack.execution_digest,
            program=_digest_of(program),
            # What was found while it ran is part of the report.
            execution=replace(execution, findings=()),
            isolation=self._isolation,
            kind=self._used,
        )
        result = judging.judge(self._context(submission, adjustments, ran.isolation), execution)
        try:
            calls = choose(self.pack, result)
            small = self._small_calls(program, calls) if calls is not None else None
            ran = replace(ran, small=small, wall_s=round(time.perf_counter() - begin, 6))
            return ran, self._completed(result, ran, calls, submission.filename)
        except Exception as error:
            ran = replace(ran, wall_s=round(time.perf_counter() - begin, 6))
            return ran, self._timed(judging.undiagnosed(result, error), ran)

    def _context(
        self,
        submission: Submission,
        adjustments: Sequence[Adjustment] = (),
        isolation: Isolation | None = None,
    ) -> judging.Context:
        return judging.Context(
            pack=self.pack,
            submission=info_of(submission),
            isolation=isolation or self._isolation,
            notes=submission.notes,
            adjustments=tuple(adjustments),
            source=submission.source or "",
            prints=self._prints,
        )

    def _program(self, submission: Submission) -> Program:
        if submission.source is None:
            raise ValueError(f"{submission.id} has no text: {submission.problem or submission.fault}")
        return Program(
            submission.source,
            submission.filename,
            submission.module,
            self.pack.exercise.entries,
            parts=submission.parts,
            calls=tuple(name for name in self.pack.exercise.calls if name),
            driver=self.pack.exercise.driver,
        )

    # --- the few calls after a failure ----------------------------------------------------

    def _small_calls(self, program: Program, calls: FollowUpCalls) -> SmallCalls | None:
        plan = read_plan(calls.block)
        phase = Phase(FOLLOW_UP, calls.block, plan, calls.answer_bytes, calls.answers_bytes)
        # All these calls together get the time of one: what hangs only here is not worth more.
        longest = self._allowed.longest
        limits = replace(self._allowed.limits, seconds_per_call=longest, seconds=longest, times_reference=0.0)
        for _ in range(2):
            try:
                ran = execute(self.start(self._used), program, [phase], limits)
            except SandboxError:
                # What is decided stays decided; only these calls are tried again.
                self.close()
                continue
            return SmallCalls(_digest(calls.block), tuple(ran.steps.get(FOLLOW_UP, ())), ran.cpu_s)
        return None

    def _completed(self, result: Result, ran: Ran, calls: FollowUpCalls | None, filename: str) -> Result:
        """The result with what the few calls show, if they are those that this result asks for."""
        result = self._timed(result, ran)
        if calls is None or ran.small is None or not ran.small.steps:
            return result
        if ran.small.calls != _digest(calls.block):
            return result
        return complete(self.pack, result, calls, ran.small.steps, filename)

    def _timed(self, result: Result, ran: Ran) -> Result:
        cpu = ran.execution.cpu_s + (ran.small.cpu_s if ran.small is not None else 0.0)
        return replace(result, timing=replace(result.timing, wall_s=ran.wall_s, cpu_s=round(cpu, 6)))

    # --- running ---------------------------------------------------------------------------

    @cached_property
    def _allowed(self) -> Allowed:
        return allowed_here(self.pack)

    def _execute(self, program: Program) -> Execution:
        for attempt in range(2):
            try:
                return self._run(program)
            except (PackageMissingError, WeaklyConfinedError):
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
            self._check_level()
            phases = self._phases_for(kind, program)
            limits = self._allowed.limits
            if kind == "torch":
                # A recorded call may take all of its time and then be made once more.
                spare = sum(phase.seconds(n, limits) for phase in phases for n in phase.recorded or ())
                limits = replace(limits, spare_seconds=spare)
            self._used = kind
            execution = execute(
                server,
                program,
                phases,
                limits,
                report=analysis.report,
                repeat=kind == "torch",
                tell=self._tell,
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

    def _check_level(self) -> None:
        if self._isolation.level != "full" and not self._weak_isolation:
            raise WeaklyConfinedError(
                f"submissions can't be confined fully here ({why_not_full() or self._isolation.level}), and "
                "full isolation is asked for; grade on another machine, or allow weak isolation"
            )

    def _analyze(self, program: Program) -> Analysis:
        if self._analyst is None:
            self._analyst = Analyst(self.start("numpy"), stated(self.pack).memory)
        return self._analyst.analyze(
            program.source,
            program.filename,
            program.entries if len(program.entries) > 1 else program.entries[0],
            program.parts,
            program.module,
            driven=bool(program.driver),
        )

    def _with_findings(self, execution: Execution) -> Mapping[str, Any] | None:
        """The policy report, with what was found while the submission ran and which cells ended early."""
        report = execution.report or {}
        if not execution.findings and not report.get("violations"):
            return execution.report
        from grader.policy import runtime
        from grader.policy.rules import Rules

        report = runtime.settle(report, execution.load.failed_cells if execution.load is not None else None)
        if not execution.findings:
            return report
        rules = Rules.from_dict(self.pack.exercise.policy)
        return runtime.merge(report, list(execution.findings), rules)

    def _kind_for(self, report: Mapping[str, Any]) -> str:
        imports = report.get("imports")
        rows = imports if isinstance(imports, list) else []
        roots = {str(row.get("module", "")).partition(".")[0] for row in rows if isinstance(row, Mapping)}
        roots |= _imported(self.pack.exercise.driver)
        wanted = [k for k in KINDS if k in roots and k in self.pack.exercise.packages]
        return wanted[-1] if wanted else "numpy"

    def _phases_for(self, kind: str, program: Program) -> list[Phase]:
        """The phases, with the calls chosen in which the use of banned helpers is looked for."""
        text = f"{self.pack.execution_digest}\n{program.source}".encode("utf-8", "surrogatepass")
        chosen = random.Random(hashlib.sha256(text).digest())
        steps = self._allowed.steps
        return [
            replace(p, recorded=_recorded(p, kind, chosen), allowed=steps.get(p.name, ()))
            for p in self._phases
        ]


def _imported(driver: str) -> set[str]:
    """The packages that a driver imports; nothing where there is no driver."""
    nodes = list(ast.walk(ast.parse(driver)))
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in named}


def info_of(submission: Submission) -> SubmissionInfo:
    """What the record says of a submission."""
    return SubmissionInfo(
        **{f.name: getattr(submission, f.name) for f in fields(SubmissionInfo) if f.name != "alike"}
    )


def _digest_of(program: Program) -> str:
    return _digest(program.to_bytes())


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _kept(ran: Ran) -> bytes | None:
    """What running gave as bytes; None where that is too much, and the submission is run again if need be."""
    try:
        return ran.to_bytes()
    except ValueError:
        return None


def _recorded(phase: Phase, kind: str, chosen: random.Random) -> tuple[int, ...] | None:
    """Numbers of the calls to record; None for all.

    Where recording costs little that is every call. With torch it costs several times the call itself: a few
    of the larger half of the calls, which can't be foreseen when a submission is written, as the choice hangs
    on the hidden calls too.
    """
    if kind != "torch":
        return None
    calls = [n for n, step in enumerate(phase.plan) if not isinstance(step, int)]

    def size(number: int) -> int:
        step = phase.plan[number]
        return sum(array.length for array in arrays_of(step))

    larger = sorted(calls, key=size)[len(calls) // 2 :]
    return tuple(sorted(chosen.sample(larger, min(RECORDED_CALLS, len(larger)))))
