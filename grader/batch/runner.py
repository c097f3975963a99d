"""One submission graded: policy, sandbox and judge put together."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from grader.exercise.pack import Pack
from grader.intake.submission import Submission
from grader.judge import submission as judging
from grader.outcomes import Execution
from grader.result import Isolation, Result, SubmissionInfo
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.server import SERVER_KINDS, ForkServer, PackageMissingError, SandboxError
from grader.sandbox.watch import Limits

# From the lightest to the heaviest: a submission goes to the lightest that has what it imports.
KINDS = tuple(SERVER_KINDS)
LAYERS = ("process", "resource limits")


class Runner:
    """Grades submissions one after another, with fork servers that stay warm.

    Args:
        pack: The exercise's pack.
        started: A numpy fork server that was started ahead and knows nothing yet; the runner ends it.
    """

    def __init__(self, pack: Pack, started: ForkServer | None = None) -> None:
        self.pack = pack
        self._servers: dict[str, ForkServer] = {}
        if started is not None:
            started.configure(pack.exercise.packages, pack.exercise.policy)
            self._servers[started.kind] = started
        self._phases = [
            Phase(name, block, pack.plans[name], _largest_answer(pack, name))
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

    def start(self, kind: str = "numpy") -> ForkServer:
        """The fork server of a kind, started when there is none yet. Raises SandboxError."""
        if kind not in self._servers:
            server = ForkServer(kind)
            server.configure(self.pack.exercise.packages, self.pack.exercise.policy)
            self._servers[kind] = server
        return self._servers[kind]

    def close(self) -> None:
        """End all fork servers."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def grade(self, submission: Submission) -> Result:
        """The Result record of one submission; never raises for anything that the submission does."""
        begin = time.perf_counter()
        context = self._context(submission)
        if submission.source is None:
            return judging.not_loadable(context, submission.problem)
        try:
            execution = self._execute(submission, submission.source)
            return judging.judge(context, execution, wall_s=time.perf_counter() - begin)
        except SandboxError as error:
            return judging.grader_fault(context, str(error))
        except Exception as error:
            # Whatever fails here is ours: it must neither cost the student points nor stop the class.
            return judging.grader_fault(context, f"{type(error).__name__}: {error}")

    def fault(self, submission: Submission, message: str) -> Result:
        """The record that says that the grader itself failed on a submission."""
        return judging.grader_fault(self._context(submission), message)

    def _context(self, submission: Submission) -> judging.Context:
        return judging.Context(
            pack=self.pack,
            submission=SubmissionInfo(
                submission.id, submission.name, submission.members, submission.path, submission.digest
            ),
            isolation=Isolation("none", LAYERS),
            notes=submission.notes,
        )

    def _execute(self, submission: Submission, source: str) -> Execution:
        program = Program(source, submission.filename, submission.module, self.pack.exercise.entry)
        kind = self._guess(source)
        for attempt in range(2):
            try:
                return self._execute_on(kind, program)
            except PackageMissingError:
                raise
            except SandboxError:
                # A fork server may die of what the machine does to it; a second failure is told.
                if attempt:
                    raise
                for server in self._servers.values():
                    server.close()
                self._servers.clear()
        raise AssertionError("unreachable")

    def _execute_on(self, kind: str, program: Program) -> Execution:
        needed = kind

        def go_on(report: Mapping[str, Any]) -> bool:
            nonlocal needed
            if report.get("syntax_error"):
                return False
            needed = max(kind, self._kind_for(report), key=KINDS.index)
            return needed == kind

        execution = execute(self.start(kind), program, self._phases, self._limits, go_on=go_on)
        if needed == kind:
            return execution
        return execute(self.start(needed), program, self._phases, self._limits, report=execution.report)

    def _kind_for(self, report: Mapping[str, Any]) -> str:
        imports = report.get("imports")
        rows = imports if isinstance(imports, list) else []
        roots = {str(row.get("module", "")).partition(".")[0] for row in rows if isinstance(row, Mapping)}
        wanted = [k for k in KINDS if k in roots and k in self.pack.exercise.packages]
        return wanted[-1] if wanted else "numpy"

    def _guess(self, source: str) -> str:
        """The kind that the text of the import statements asks for; the policy check corrects it."""
        for kind in reversed(KINDS):
            if kind in self._servers and re.search(rf"^\s*(?:import|from)\s+{kind}\b", source, re.MULTILINE):
                return kind
        return "numpy"


def _largest_answer(pack: Pack, phase: str) -> int:
    sizes = [0]
    for case in pack.cases:
        if case.visibility == phase:
            for shape in case.shapes:
                count = 1
                for n in shape:
                    count *= n
                sizes.append(count * 16)
    return max(sizes)
