"""One submission executed: its source and calls go in, plain outcomes come out."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.exercise.calls import PlacedArgument, PlacedArray
from grader.outcomes import DamagedError, Execution, LoadOutcome, State, StepOutcome
from grader.sandbox import records
from grader.sandbox.ending import Stopped, how_it_ended
from grader.sandbox.inside import child as inside
from grader.sandbox.inside import slots, streams
from grader.sandbox.memory import SharedMemory, read_only_file
from grader.sandbox.printed import Printed
from grader.sandbox.records import Record
from grader.sandbox.server import Ended, ForkServer, Running, SandboxError
from grader.sandbox.watch import IDLE_FACTOR, Limits, Watch

MAX_TIMEOUTS = 3
MAX_CRASHES = 20
TOO_COMPLEX = {
    "rule": "too_complex",
    "helper": "",
    "line": 1,
    "column": 1,
    "found": "static",
    "message": "The policy check found more than can be listed; look at the file.",
}
TICK_SECONDS = 0.05
DESCRIPTION_ROOM = 8 << 10


@dataclass(frozen=True)
class Program:
    """A submission's source as it is run.

    Attributes:
        source: Its text.
        filename: The name that tracebacks show.
        module: The name under which it is in ``sys.modules`` while it runs.
        entry: The name of the callable that is asked for.
    """

    source: str
    filename: str
    module: str
    entry: str


@dataclass(frozen=True)
class Phase:
    """A group of calls whose inputs arrive together.

    Attributes:
        name: Its name.
        block: Plan and arrays, see `grader.exercise.calls`.
        plan: The same plan as placed arguments.
        answer_bytes: Size of the largest expected answer.
    """

    name: str
    block: bytes
    plan: list[list[PlacedArgument] | int]
    answer_bytes: int


def execute(
    server: ForkServer,
    program: Program,
    phases: list[Phase],
    limits: Limits,
    *,
    report: Mapping[str, Any] | None = None,
    go_on: Callable[[Mapping[str, Any]], bool] = lambda report: True,
) -> Execution:
    """Run a submission.

    Args:
        server: Where its children are forked.
        program: The submission.
        phases: The calls, in order; a phase's inputs reach the child only when it begins.
        limits: What it may use.
        report: The policy report of an earlier execution; without one the child makes it first.
        go_on: Decides on the policy report whether the module is run at all.

    Raises:
        SandboxError: The fork server failed.
    """
    return _Run(server, program, phases, limits, report, go_on).run()


@dataclass
class _Life:
    """One child's shared memory and what was read from it."""

    out: SharedMemory
    log: SharedMemory
    blocks: dict[str, SharedMemory] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    slot: dict[str, int] = field(default_factory=dict)


class _Run:
    def __init__(
        self,
        server: ForkServer,
        program: Program,
        phases: list[Phase],
        limits: Limits,
        report: Mapping[str, Any] | None,
        go_on: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self.server = server
        self.program = program
        self.phases = phases
        self.limits = limits
        self.report = report
        self.go_on = go_on
        self.load: LoadOutcome | None = None
        self.steps: dict[str, list[StepOutcome]] = {phase.name: [] for phase in phases}
        self.cpu_s = self.call_cpu_s = self.idle_s = 0.0
        self.children = self.timeouts = self.crashes = 0
        self.truncated = False
        largest = max((phase.answer_bytes for phase in phases), default=0)
        self.slot_size = -(-(2 * largest + DESCRIPTION_ROOM) // 4096) * 4096
        self.log_size = streams.PARTS * (limits.output + streams.HEADER)

    # --- the whole submission ------------------------------------------------------------

    def run(self) -> Execution:
        while self._one_child() and self._something_left():
            pass
        return Execution(
            report=self.report,
            load=self.load,
            steps=self.steps,
            cpu_s=self.cpu_s,
            call_cpu_s=self.call_cpu_s,
            children=self.children,
            truncated=self.truncated,
        )

    def _something_left(self) -> bool:
        left = [p for p in self.phases if len(self.steps[p.name]) < len(p.plan)]
        if not left:
            return False
        if self.cpu_s >= self.limits.seconds or self.idle_s >= IDLE_FACTOR * self.limits.seconds:
            self._give_up("timed_out", f"the {self.limits.seconds:g} s for all calls together were used up")
            return False
        if self.timeouts >= MAX_TIMEOUTS:
            self._give_up("not_run", f"not run after {self.timeouts} calls that timed out")
            return False
        if self.crashes >= MAX_CRASHES:
            self._give_up("not_run", f"not run after {self.crashes} crashes")
            return False
        return True

    def _give_up(self, state: State, detail: str) -> None:
        for phase in self.phases:
            missing = len(phase.plan) - len(self.steps[phase.name])
            self.steps[phase.name] += [StepOutcome(state, detail=detail)] * missing

    # --- one child -----------------------------------------------------------------------

    def _one_child(self) -> bool:
        """Run one child as far as it gets; False when no other one is wanted."""
        self.children += 1
        count = slots.FIRST_STEP_SLOT + sum(len(p.plan) for p in self.phases)
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(SharedMemory(slots.total_size(count, self.slot_size)))
            log = stack.enter_context(SharedMemory(self.log_size))
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack.enter_context(ours)
            source = read_only_file(self.program.source.encode("utf-8", "surrogatepass"))
            life = _Life(out, log)
            job = {
                "analyze": self.report is None,
                "entry": self.program.entry,
                "filename": self.program.filename,
                "module": self.program.module,
                "out_size": out.size,
                "log_size": log.size,
                "slot_size": self.slot_size,
                "memory": self.limits.memory,
                "seconds": self.limits.seconds,
            }
            try:
                running = self.server.fork(job, [source, out.descriptor, log.descriptor, theirs.fileno()])
            finally:
                os.close(source)
                theirs.close()
            stack.callback(os.close, running.pidfd)
            with self._ending(running):
                wanted, stopped = self._talk(ours, running, life, stack)
            ended = self.server.reap()
            self.cpu_s += ended.cpu_s
            return self._after(life, ended, stopped, wanted)

    @contextlib.contextmanager
    def _ending(self, running: Running) -> Iterator[None]:
        """Whatever happens here, the child does not outlive it."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(running.pidfd, signal.SIGKILL)
            self.server.reap()
            raise

    def _talk(
        self, ours: socket.socket, running: Running, life: _Life, stack: contextlib.ExitStack
    ) -> tuple[bool, Stopped | None]:
        """Follow a child until it is dead.

        Returns:
            Whether the submission is to be run on when the child ended early, and why the judge ended it.
        """
        watch = Watch(running, life.out, self.limits, self.cpu_s, self.idle_s)
        poll = select.poll()
        poll.register(running.pidfd, select.POLLIN)
        poll.register(ours, select.POLLIN)
        wanted = True
        stopped: Stopped | None = None
        pending = [p for p in self.phases if len(self.steps[p.name]) < len(p.plan)]
        current: Phase | None = None
        # What an honest child says next. Student code can say anything: what comes out of turn is not heard,
        # or a phase's inputs could be had before the phase before it is over and read.
        awaited = inside.ANALYZED if self.report is None else inside.LOADED
        while True:
            events = dict(poll.poll(TICK_SECONDS * 1000))
            if ours.fileno() in events:
                message = _receive(ours)
                if not message:
                    poll.unregister(ours)
                elif message != awaited:
                    pass
                elif message == inside.ANALYZED:
                    awaited = inside.LOADED
                    self.report = self._read_report(life)
                    wanted = self.go_on(self.report)
                    if wanted:
                        _send(ours, b"G")
                    else:
                        ours.shutdown(socket.SHUT_RDWR)
                else:
                    awaited = inside.PHASE_DONE
                    if message == inside.LOADED:
                        self._take_load(life)
                    elif current is not None:
                        self._take_steps(life, current, finished=True)
                        current = None
                    loaded = self.load is not None and self.load.callable
                    if loaded and pending:
                        current = pending.pop(0)
                        self._begin_phase(ours, life, current, stack)
                    else:
                        ours.shutdown(socket.SHUT_RDWR)
            if running.pidfd in events:
                self.idle_s += watch.idle
                return wanted, stopped
            if stopped is None and (reason := watch.over(loading=current is None)):
                stopped = Stopped(reason)
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(running.pidfd, signal.SIGKILL)

    def _begin_phase(
        self, ours: socket.socket, life: _Life, phase: Phase, stack: contextlib.ExitStack
    ) -> None:
        block = stack.enter_context(SharedMemory(content=phase.block))
        slot = slots.FIRST_STEP_SLOT
        for other in self.phases:
            if other is phase:
                break
            slot += len(other.plan)
        life.blocks[phase.name] = block
        life.slot[phase.name] = slot
        life.first[phase.name] = len(self.steps[phase.name])
        message = {"size": block.size, "slot": slot, "first": life.first[phase.name]}
        with contextlib.suppress(OSError):
            socket.send_fds(ours, [json.dumps(message).encode()], [block.descriptor])

    # --- reading what a child left ---------------------------------------------------------

    def _read_report(self, life: _Life) -> Mapping[str, Any]:
        record = self._record(life, slots.POLICY_SLOT)
        if record is not None and record.state == slots.DONE:
            return record.description
        if record is not None and record.state == slots.RAISED:
            failure = records.read_failure(record.description)
            raise SandboxError(f"the policy check failed: {failure.type}: {failure.message}")
        # More findings than fit: never silently clean.
        return {"suspicious": [TOO_COMPLEX]}

    def _record(self, life: _Life, slot: int) -> Record | None:
        try:
            return records.read_record(life.out.map, slot, self.slot_size)
        except DamagedError:
            return None

    def _take_load(self, life: _Life, stopped: Stopped | None = None, ended: Ended | None = None) -> None:
        record = self._record(life, slots.LOAD_SLOT)
        printed = Printed(life.log, self.limits.output)
        if self.load is not None and self.load.callable:
            return
        if record is None or record.state == slots.STARTED:
            state, detail = how_it_ended(stopped, ended, printed, self.program.filename)
            self.load = LoadOutcome(state, detail=detail, stdout=printed.out(0), stderr=printed.err(0))
        elif record.state == slots.DONE:
            said = record.description
            names = said.get("names")
            self.load = LoadOutcome(
                "returned",
                found=said.get("found") is True,
                callable=said.get("callable") is True,
                type=records.text_of(said.get("type"), 100),
                names=tuple(records.text_of(n, 100) for n in names[:500]) if isinstance(names, list) else (),
                stdout=printed.out(record.stdout),
                stderr=printed.err(record.stderr),
                cpu_s=record.cpu_s,
            )
        else:
            self.load = LoadOutcome(
                "out_of_memory" if record.state == slots.OUT_OF_MEMORY else "raised",
                failure=records.read_failure(record.description),
                stdout=printed.out(record.stdout),
                stderr=printed.err(record.stderr),
                cpu_s=record.cpu_s,
            )
        self.call_cpu_s += self.load.cpu_s
        self.truncated |= printed.cut

    def _take_steps(
        self,
        life: _Life,
        phase: Phase,
        *,
        finished: bool,
        stopped: Stopped | None = None,
        ended: Ended | None = None,
    ) -> None:
        """Read the outcomes of a phase: all of them, or those up to the step in which the child ended."""
        first, base = life.first[phase.name], life.slot[phase.name]
        after = bytes(life.blocks[phase.name].map[: len(phase.block)])
        printed = Printed(life.log, self.limits.output)
        self.truncated |= printed.cut
        found: list[Record | None] = []
        damaged: set[int] = set()
        for number in range(len(phase.plan)):
            try:
                found.append(records.read_record(life.out.map, base + number, self.slot_size))
            except DamagedError:
                damaged.add(number)
                found.append(None)
        overwritten = _overwritten(phase, after)
        # Where the output of the next step that began starts, which is where this one's ends.
        ends: list[tuple[int, int] | None] = [None] * len(found)
        for number in range(len(found) - 2, -1, -1):
            after_it = found[number + 1]
            ends[number] = (after_it.stdout, after_it.stderr) if after_it else ends[number + 1]
        for number in range(first, len(phase.plan)):
            record = found[number]
            following = ends[number]
            stdout, stderr = ("", "")
            if record:
                stdout = printed.out(record.stdout, following[0] if following else None)
                stderr = printed.err(record.stderr, following[1] if following else None)
            if record is None or record.state == slots.STARTED:
                if number in damaged:
                    outcome = StepOutcome("crashed", detail="the call left a damaged answer")
                elif finished and self._bombs() >= slots.MAX_OUT_OF_MEMORY:
                    outcome = StepOutcome(
                        "not_run", detail=f"not run after {self._bombs()} calls that ran out of memory"
                    )
                elif finished:
                    outcome = StepOutcome("crashed", detail="the call left no answer")
                else:
                    state, detail = how_it_ended(stopped, ended, printed, self.program.filename)
                    outcome = StepOutcome(state, detail=detail, stdout=stdout, stderr=stderr)
            else:
                outcome = _outcome(record, overwritten.get(number, frozenset()), stdout, stderr)
                self.call_cpu_s += outcome.cpu_s
            self.steps[phase.name].append(outcome)
            unfinished = record is None or record.state == slots.STARTED
            if unfinished and not finished and number not in damaged:
                break

    def _bombs(self) -> int:
        """How many calls ran out of memory so far."""
        return sum(o.state == "out_of_memory" for steps in self.steps.values() for o in steps)

    def _after(self, life: _Life, ended: Ended, stopped: Stopped | None, wanted: bool) -> bool:
        """Take stock of a dead child; False when no other one is wanted."""
        if self.report is None:
            self.report = {}
            self._give_up("crashed", "the policy check ended early")
            return False
        if not wanted:
            return False
        if self.load is None:
            self._take_load(life, stopped, ended)
        if self.load is None or not self.load.callable:
            return False
        unfinished = [p for p in self.phases if len(self.steps[p.name]) < len(p.plan)]
        if not unfinished:
            return False
        phase = unfinished[0]
        before = len(self.steps[phase.name])
        if phase.name in life.first:
            self._take_steps(life, phase, finished=False, stopped=stopped, ended=ended)
        if len(self.steps[phase.name]) == before:
            # It ended outside any call: that costs the next one.
            printed = Printed(life.log, self.limits.output)
            state, detail = how_it_ended(stopped, ended, printed, self.program.filename)
            self.steps[phase.name].append(StepOutcome(state, detail=detail))
        last = self.steps[phase.name][-1].state
        self.timeouts += last == "timed_out"
        self.crashes += last != "timed_out"
        return True


def _receive(ours: socket.socket) -> bytes:
    try:
        return ours.recv(64)
    except OSError:
        return b""


def _send(ours: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):
        ours.send(message)


def _overwritten(phase: Phase, after: bytes) -> dict[int, frozenset[int]]:
    """For each step the numbers of the arguments whose bytes are no longer those of the block."""
    if after == phase.block:
        return {}
    changed: dict[int, frozenset[int]] = {}
    for number, step in enumerate(phase.plan):
        if isinstance(step, int):
            continue
        spans = [(n, a.offset, a.offset + a.length) for n, a in enumerate(step) if isinstance(a, PlacedArray)]
        found = frozenset(n for n, a, b in spans if after[a:b] != phase.block[a:b])
        if found:
            changed[number] = found
    return changed


def _outcome(record: Record, overwritten: frozenset[int], stdout: str, stderr: str) -> StepOutcome:
    state: State = "returned"
    value = failure = None
    detail = ""
    if record.state in (slots.RAISED, slots.OUT_OF_MEMORY):
        state = "raised" if record.state == slots.RAISED else "out_of_memory"
        failure = records.read_failure(record.description)
    else:
        try:
            value = records.read_value(record)
        except DamagedError as error:
            state, detail = "crashed", f"the call left a damaged answer: {error}"
    return StepOutcome(
        state,
        value=value,
        too_large=state == "returned" and record.state == slots.TOO_LARGE,
        failure=failure,
        detail=detail,
        reshaped=records.bits(record.changed),
        overwritten=overwritten,
        aliased=records.bits(record.aliased),
        stdout=stdout,
        stderr=stderr,
        cpu_s=record.cpu_s,
    )
