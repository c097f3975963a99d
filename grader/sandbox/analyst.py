"""The policy check of source texts, made in a confined process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grader.positions import Part
from grader.sandbox import records
from grader.sandbox.children import Child, Memory, SandboxError, Server
from grader.sandbox.ending import KILLED, Stopped, check_confined, how_it_ended
from grader.sandbox.inside.analyst import LENGTH
from grader.sandbox.inside.protocol import ANALYST
from grader.sandbox.watch import TICK_SECONDS, Limits, Watch

ROOM = 16 << 20
# What a source leaves behind in the parser's memory is given back now and then.
SOURCES_PER_PROCESS = 200
SECONDS = 20.0
TRIES = 2
TOO_COMPLEX = {
    "rule": "too_complex",
    "helper": "",
    "line": 1,
    "column": 1,
    "found": "static",
    "message": "The policy check found more than can be listed; look at the file.",
}


@dataclass(frozen=True)
class Analysis:
    """What the policy check gave.

    Attributes:
        report: Its report; empty when it ended early.
        problem: Why it ended early, in words.
        cpu_s: Processor time.
    """

    report: Mapping[str, Any]
    problem: str = ""
    cpu_s: float = 0.0


class Analyst:
    """Checks source texts one after another, in a process that is forked anew when it was ended.

    Args:
        server: Where its process is forked.
        memory: Bytes that one may use.
    """

    def __init__(self, server: Server, memory: int) -> None:
        self._server = server
        self._limits = Limits(seconds_per_call=SECONDS, seconds=SECONDS, memory=memory)
        self._child: Child | None = None
        self._memory: Memory | None = None
        self._done = 0

    def analyze(
        self,
        source: str,
        filename: str,
        entry: str | Sequence[str],
        parts: Sequence[Part] = (),
        module: str = "",
        *,
        driven: bool = False,
    ) -> Analysis:
        """The report on a source text.

        Args:
            source: The text.
            filename: The name that tracebacks show.
            entry: The name of the callable that is asked for, or the names of several.
            parts: The cells and modules that the text is made of; none when it is one file.
            module: The name under which it is in ``sys.modules`` while it runs.
            driven: A driver of the exercise's author uses what the entry points are and return.

        Raises:
            SandboxError: The server, or the check itself, failed.
        """
        if self._done >= SOURCES_PER_PROCESS:
            self.close()
        request = {
            "source": source,
            "filename": filename,
            "entry": entry if isinstance(entry, str) else list(entry),
            "parts": [asdict(part) for part in parts],
            "module": module,
            "driven": driven,
        }
        text = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if LENGTH + len(text) > ROOM:
            return Analysis({}, problem="the source is too long to be checked")
        for _ in range(TRIES):
            analysis = self._try(text, filename, parts)
            if analysis is not None:
                return analysis
        raise SandboxError("the policy check's process was killed from outside, again and again")

    def _try(self, text: bytes, filename: str, parts: Sequence[Part]) -> Analysis | None:
        """The report; None when the process was killed from outside, which is not the source's doing."""
        child, memory = self._begin()
        begin = child.read_clock()
        memory.write(LENGTH, text)
        memory.write(0, len(text).to_bytes(LENGTH, "little"))
        child.tell(b"A")
        self._done += 1
        # What earlier sources used and the waiting for this one count for nothing.
        watch = Watch(child, lambda: self._done, self._limits, -begin.cpu, -begin.idle)
        while True:
            message, ended = child.wait(TICK_SECONDS)
            if message:
                break
            reason = watch.over(loading=False)
            if reason and not ended:
                child.kill()
            if reason or ended:
                return self._ended_early(child, Stopped(reason) if reason else None, filename)
        report = self._read(memory)
        cpu = max(0.0, child.read_clock().cpu - begin.cpu)
        fault = report.get("fault")
        if isinstance(fault, Mapping):
            self.close()
            failure = records.read_failure(fault)
            raise SandboxError(f"the policy check failed: {failure.type}: {failure.message}")
        if report.get("overflow") is True:
            # More findings than fit: never silently clean.
            report = {"suspicious": [TOO_COMPLEX]}
            if parts:
                report["parts"] = [[part.name, part.first] for part in parts]
        return Analysis(report, cpu_s=cpu)

    def close(self) -> None:
        """End its process, if there is one."""
        child, memory, self._child, self._memory, self._done = self._child, self._memory, None, None, 0
        try:
            if child is not None:
                child.close()
        finally:
            if memory is not None:
                memory.close()

    def _begin(self) -> tuple[Child, Memory]:
        if self._child is None or self._memory is None:
            memory = self._server.memory(ROOM)
            # The judge watches the time of each source; the process as a whole may live long.
            job = {"role": ANALYST, "memory": self._limits.memory, "seconds": None}
            try:
                self._child = self._server.start(job, memory)
            except BaseException:
                memory.close()
                raise
            self._memory = memory
        return self._child, self._memory

    def _ended_early(self, child: Child, stopped: Stopped | None, filename: str) -> Analysis | None:
        ended = child.reap()
        self.close()
        check_confined(ended)
        if stopped is None and ended.code == -KILLED:
            return None
        _state, detail = how_it_ended(stopped, ended, "", filename)
        return Analysis({}, problem=f"the policy check ended early: {detail}", cpu_s=ended.cpu_s)

    def _read(self, memory: Memory) -> dict[str, Any]:
        length = int.from_bytes(memory.read(0, LENGTH), "little")
        try:
            report = json.loads(memory.read(LENGTH, min(length, ROOM - LENGTH)))
        except (ValueError, RecursionError) as error:
            raise SandboxError(f"the policy check's report can't be read: {error}") from None
        if not isinstance(report, dict):
            raise SandboxError("the policy check's report is no mapping")
        return report
