"""One submission executed: its source and calls go in, plain outcomes come out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from grader.exercise.calls import PlacedArray, Step, placed_arrays
from grader.outcomes import ArrayValue, DamagedError, Execution, LoadOutcome, State, StepOutcome, Value
from grader.positions import Part
from grader.sandbox import records
from grader.sandbox.allowance import Allowance
from grader.sandbox.children import Child, Ended, Memory, SandboxError, Server
from grader.sandbox.ending import Stopped, how_it_ended
from grader.sandbox.inside import protocol, slots
from grader.sandbox.layout import Layout
from grader.sandbox.printed import Kept, Position, Printed
from grader.sandbox.records import Record
from grader.sandbox.watch import IDLE_FACTOR, TICK_SECONDS, Limits, Watch

MAX_TIMEOUTS = 3
MAX_CRASHES = 20
# How many findings about banned helpers are taken from a submission's children.
MAX_FINDINGS = 100
# Bytes of changed arguments that are kept of a phase.
MAX_AFTER = 1 << 16
# Beside the phases' names, in what says where output was cut.
LOAD = "load"


@dataclass(frozen=True)
class Program:
    """A submission's source as it is run.

    Attributes:
        source: Its text.
        filename: The name that tracebacks show.
        module: The name under which it is in ``sys.modules`` while it runs.
        entries: The names that are asked for, the first of them the one by which it goes.
        calls: The names of the calls that are made; none where the first name is called itself.
        driver: The text of the author's module that makes the calls which it defines; may be empty.
        parts: The cells and modules that the text is made of; none when it is one file.
    """

    source: str
    filename: str
    module: str
    entries: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    calls: tuple[str, ...] = ()
    driver: str = ""

    def to_bytes(self) -> bytes:
        """As it stands in the memory that the child shares.

        Not in what the fork server is told: its memory, freed parts included, is every later child's too.
        """
        told = {name: value for name, value in vars(self).items() if name != "parts"}
        if self.parts:
            told["parts"] = [asdict(part) for part in self.parts]
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Phase:
    """A group of calls whose inputs arrive together.

    Attributes:
        name: Its name.
        block: Plan and arrays, see `grader.exercise.calls`.
        plan: The same plan as placed arguments.
        answer_bytes: Size of the largest expected answer.
        answers_bytes: Size of all expected answers together.
        recorded: Numbers of the steps in which the use of banned helpers is looked for; None for all.
        allowed: What each step may take; empty where that is the same for all.
    """

    name: str
    block: bytes
    plan: list[Step]
    answer_bytes: int
    answers_bytes: int
    recorded: tuple[int, ...] | None = ()
    allowed: tuple[Allowance, ...] = ()

    def seconds(self, step: int, limits: Limits) -> float:
        """Processor seconds that a step may take."""
        return self.allowed[step].seconds if self.allowed else limits.seconds_per_call


@dataclass(frozen=True)
class Reached:
    """How far a submission is, by its own word: no more than what may be shown while it runs.

    Attributes:
        phase: Name of the phase.
        step: Number of the step being made in it.
        fraction: How much of that step is done, from 0 to 1; 0 where nothing tells it.
    """

    phase: str
    step: int
    fraction: float


Tell = Callable[[Reached], None]


def execute(
    server: Server,
    program: Program,
    phases: list[Phase],
    limits: Limits,
    *,
    report: Mapping[str, Any] | None = None,
    repeat: bool = False,
    tell: Tell | None = None,
) -> Execution:
    """Run a submission.

    Args:
        server: Where its children are started.
        program: The submission.
        phases: The calls, in order; a phase's inputs reach the child only when it begins.
        limits: What it may use.
        report: The policy report, which is passed on.
        repeat: A recorded call that crashed or ran out of time is made once more, unrecorded.
        tell: Told now and then, while calls are made, how far they are.

    Raises:
        SandboxError: The sandbox failed, or the policy check has not seen the text in the same parts.
    """
    if report is not None and program.parts and len(report.get("parts", ())) != len(program.parts):
        raise SandboxError("the policy check has not seen the parts of the text that is to be run")
    return _Run(server, program, phases, limits, report, repeat=repeat, tell=tell).run()


@dataclass
class _Life:
    """One child, its shared memory, and where the records of the phases that it began are."""

    child: Child
    memory: Memory
    layout: Layout
    first: dict[str, int] = field(default_factory=dict)

    def record(self, slot: int) -> Record | None:
        """One record; None when it was never begun or is damaged."""
        table = records.read_table(self.memory, slot, 1)
        content = records.read_content(self.memory, table, self.layout.data)
        try:
            return records.read_record(content, table[0], self.layout.room)
        except DamagedError:
            return None

    def progress(self) -> tuple[int, float]:
        """The number of the record being worked on, and how much of that is done, from 0 to 1."""
        number, parts = slots.PROGRESS.unpack(self.memory.read(0, slots.PROGRESS.size))
        return number, min(parts, slots.WHOLE) / slots.WHOLE


class _Run:
    def __init__(
        self,
        server: Server,
        program: Program,
        phases: list[Phase],
        limits: Limits,
        report: Mapping[str, Any] | None,
        *,
        repeat: bool,
        tell: Tell | None,
    ) -> None:
        self.server = server
        self.program = program
        self.phases = phases
        self.limits = limits
        self.report = report
        self.repeat = repeat
        self.tell = tell
        self.load: LoadOutcome | None = None
        self.steps: dict[str, list[StepOutcome]] = {phase.name: [] for phase in phases}
        self.findings: dict[tuple[str, ...], Mapping[str, Any]] = {}
        self.unrecorded: set[tuple[str, int]] = set()
        self.cpu_s = self.call_cpu_s = self.idle_s = 0.0
        self.children = self.timeouts = self.crashes = 0
        self.kept = Kept(limits.output)
        self.truncated: set[str] = set()
        self.source = program.to_bytes()
        self.slots: dict[str, int] = {}
        self.allowed: dict[int, Allowance] = {}
        slot = slots.FIRST_STEP
        for phase in phases:
            self.slots[phase.name] = slot
            self.allowed |= {slot + number: allowed for number, allowed in enumerate(phase.allowed)}
            slot += len(phase.plan)

    # --- the whole submission ------------------------------------------------------------

    def run(self) -> Execution:
        while self._one_child() and self._something_left():
            pass
        if any(self.steps[name][number].state == "returned" for name, number in self.unrecorded):
            self.findings["unwatched",] = _sign("unwatched")
        return Execution(
            report=self.report,
            load=self.load,
            steps=self.steps,
            findings=tuple(self.findings.values()),
            cpu_s=self.cpu_s,
            call_cpu_s=self.call_cpu_s,
            children=self.children,
            truncated=frozenset(self.truncated),
        )

    def _something_left(self) -> bool:
        if not self._unfinished():
            return False
        if (
            self.cpu_s >= self.limits.seconds + self.limits.spare_seconds
            or self.idle_s >= IDLE_FACTOR * self.limits.seconds
        ):
            self._give_up("timed_out", self.limits.used_up)
            return False
        if self._bombs() >= slots.MAX_OUT_OF_MEMORY:
            self._give_up("not_run", f"not run after {self._bombs()} calls that ran out of memory")
            return False
        if self.timeouts >= MAX_TIMEOUTS:
            self._give_up("not_run", f"not run after {self.timeouts} calls that timed out")
            return False
        if self.crashes >= MAX_CRASHES:
            self._give_up("not_run", f"not run after {self.crashes} crashes")
            return False
        return True

    def _unfinished(self) -> list[Phase]:
        return [p for p in self.phases if len(self.steps[p.name]) < len(p.plan)]

    def _give_up(self, state: State, detail: str) -> None:
        for phase in self.phases:
            missing = len(phase.plan) - len(self.steps[phase.name])
            self.steps[phase.name] += [StepOutcome(state, detail=detail)] * missing

    # --- one child -----------------------------------------------------------------------

    def _one_child(self) -> bool:
        """Run one child as far as it gets; False when no other one is wanted."""
        self.children += 1
        self.kept.begin_child()
        layout = Layout(
            source=len(self.source),
            blocks=[len(phase.block) for phase in self.phases],
            steps=sum(len(phase.plan) for phase in self.phases),
            answer=max((phase.answer_bytes for phase in self.phases), default=0),
            answers=sum(phase.answers_bytes for phase in self.phases),
            output=self.limits.output,
        )
        memory = self.server.memory(layout.size)
        try:
            memory.write(layout.source[0], self.source)
            job = {
                "role": protocol.SUBMISSION,
                "memory": self.limits.memory,
                "seconds": self.limits.seconds + self.limits.spare_seconds,
                **layout.to_job(),
            }
            child = self.server.start(job, memory)
            try:
                life = _Life(child, memory, layout)
                confined, stopped = self._talk(life)
                ended = child.reap()
                self.cpu_s += ended.cpu_s
                if not confined:
                    raise SandboxError(f"a process ended before it was confined (exit code {ended.code})")
                return self._after(life, ended, stopped)
            finally:
                child.close()
        finally:
            memory.close()

    def _talk(self, life: _Life) -> tuple[bool, Stopped | None]:
        """Follow a child until it is dead.

        Returns:
            Whether it was confined, and why the judge ended it, if it did.
        """
        child = life.child
        watch = Watch(
            child, lambda: life.progress()[0], self.limits, self.cpu_s, self.idle_s, steps=self.allowed
        )
        pending = self._unfinished()
        current: Phase | None = None
        stopped: Stopped | None = None
        # What an honest child says next. Student code can say anything: what comes out of turn is not heard,
        # or a phase's inputs could be had before the phase before it is over and read.
        awaited = protocol.CONFINED
        while True:
            message, ended = child.wait(TICK_SECONDS)
            if message != awaited or stopped is not None:
                if ended and not message:
                    self.idle_s += watch.idle
                    return awaited != protocol.CONFINED, stopped
                if stopped is None and (reason := watch.over(loading=current is None)):
                    stopped = Stopped(reason)
                    child.kill()
                self._tell(life, current)
            elif message == protocol.CONFINED:
                awaited = protocol.LOADED
            else:
                awaited = protocol.PHASE_DONE
                if message == protocol.LOADED:
                    self._take_load(life)
                elif current is not None:
                    self._take_steps(life, current, finished=True)
                    current = None
                if self.load is not None and self.load.callable and pending:
                    current = pending.pop(0)
                    self._begin_phase(life, current)
                else:
                    child.hang_up()

    def _tell(self, life: _Life, phase: Phase | None) -> None:
        """Say how far the calls are, where someone wants to know."""
        if self.tell is None or phase is None:
            return
        number, fraction = life.progress()
        step = number - self.slots[phase.name]
        if len(self.steps[phase.name]) <= step < len(phase.plan):
            self.tell(Reached(phase.name, step, fraction))

    def _begin_phase(self, life: _Life, phase: Phase) -> None:
        number = self.phases.index(phase)
        life.memory.write(life.layout.blocks[number][0], phase.block)
        life.first[phase.name] = len(self.steps[phase.name])
        recorded = phase.recorded
        if recorded is not None:
            recorded = tuple(n for n in recorded if (phase.name, n) not in self.unrecorded)
        message = {
            "number": number,
            "slot": self.slots[phase.name],
            "first": life.first[phase.name],
            "recorded": recorded,
        }
        life.child.tell(json.dumps(message).encode())

    # --- reading what a child left ---------------------------------------------------------

    def _printed(self, life: _Life, what: str) -> Printed:
        printed = Printed(life.memory, life.layout.log[0], self.limits.output, self.kept)
        if printed.cut:
            self.truncated.add(what)
        return printed

    def _take_load(self, life: _Life, stopped: Stopped | None = None, ended: Ended | None = None) -> None:
        if self.load is not None and self.load.callable:
            return
        record = life.record(slots.LOAD)
        printed = self._printed(life, LOAD)
        out, err = printed.take((0, 0), None)
        if record is None or record.state == slots.STARTED:
            state, detail = how_it_ended(stopped, ended, printed.raw, self.program.filename)
            self.load = LoadOutcome(state, detail=detail, stdout=out, stderr=err)
            return
        said = record.description
        needs = records.text_of(said.get("needs"), 100)
        failures = records.read_failures(said.get("failures"))
        if record.state == slots.DONE:
            names = said.get("names")
            self.load = LoadOutcome(
                "returned",
                found=said.get("found") is True,
                callable=said.get("callable") is True,
                type=records.text_of(said.get("type"), 100),
                names=tuple(records.text_of(n, 100) for n in names[:500]) if isinstance(names, list) else (),
                needs=needs,
                stdout=out,
                stderr=err,
                cpu_s=record.cpu_s,
                failures=failures,
            )
        else:
            self.load = LoadOutcome(
                "out_of_memory" if record.state == slots.OUT_OF_MEMORY else "raised",
                failure=records.read_failure(said),
                needs=needs,
                stdout=out,
                stderr=err,
                cpu_s=record.cpu_s,
                failures=failures,
            )
        self.call_cpu_s += self.load.cpu_s

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
        first = life.first[phase.name]
        at, length = life.layout.blocks[self.phases.index(phase)]
        after = life.memory.read(at, length)
        overwritten = _overwritten(phase, after)
        values = _after(phase, after, overwritten)
        printed = self._printed(life, phase.name)
        self._take_findings(life, phase.name)
        found: list[Record | None] = []
        damaged: set[int] = set()
        table = records.read_table(life.memory, self.slots[phase.name], len(phase.plan))
        content = records.read_content(life.memory, table, life.layout.data)
        for number, fields in enumerate(table):
            try:
                found.append(records.read_record(content, fields, life.layout.room))
            except DamagedError:
                damaged.add(number)
                found.append(None)
        outputs = _segments(found, printed)
        for number in range(first, len(phase.plan)):
            record = found[number]
            stdout, stderr = outputs[number]
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
                    state, detail = how_it_ended(stopped, ended, printed.raw, self.program.filename)
                    outcome = StepOutcome(state, detail=detail, stdout=stdout, stderr=stderr)
            else:
                outcome = _outcome(record, overwritten.get(number, records.NO_BITS), stdout, stderr)
                if number in values:
                    outcome = replace(outcome, after=values[number])
                self.call_cpu_s += outcome.cpu_s
            self.steps[phase.name].append(outcome)
            unfinished = record is None or record.state == slots.STARTED
            if unfinished and not finished and number not in damaged:
                break

    def _take_findings(self, life: _Life, phase: str) -> None:
        found: Any = []
        if records.begun(life.memory, slots.FINDINGS):
            record = life.record(slots.FINDINGS)
            found = record.description.get("findings") if record is not None else None
        if not isinstance(found, list):
            # An honest child always writes a list.
            found = [_sign("recorder")]
        for one in found[:MAX_FINDINGS]:
            # Hostile, so told apart by what is quickly told apart; the rest is checked where it is merged.
            if isinstance(one, dict) and len(self.findings) < MAX_FINDINGS:
                key = tuple(str(one.get(name))[:300] for name in ("rule", "helper", "line"))
                self.findings.setdefault(key, {**one, "phase": phase})

    def _bombs(self) -> int:
        """How many calls ran out of memory so far."""
        return sum(o.state == "out_of_memory" for steps in self.steps.values() for o in steps)

    def _after(self, life: _Life, ended: Ended, stopped: Stopped | None) -> bool:
        """Take stock of a dead child; False when no other one is wanted."""
        if self.load is None:
            self._take_load(life, stopped, ended)
        if self.load is None or not self.load.callable:
            return False
        unfinished = self._unfinished()
        if not unfinished:
            return False
        phase = unfinished[0]
        before = len(self.steps[phase.name])
        if phase.name in life.first:
            self._take_steps(life, phase, finished=False, stopped=stopped, ended=ended)
        if len(self.steps[phase.name]) == before:
            # It ended outside any call: that costs the next one.
            state, detail = how_it_ended(
                stopped, ended, self._printed(life, phase.name).raw, self.program.filename
            )
            self.steps[phase.name].append(StepOutcome(state, detail=detail))
        number = len(self.steps[phase.name]) - 1
        recorded = phase.recorded is None or number in phase.recorded
        if self.repeat and recorded and (phase.name, number) not in self.unrecorded:
            # Recording is slow and may meet a fault of the library's own: what counts is the call without it.
            self.unrecorded.add((phase.name, number))
            self.steps[phase.name].pop()
            return True
        last = self.steps[phase.name][-1].state
        self.timeouts += last == "timed_out"
        self.crashes += last != "timed_out"
        return True


def _sign(what: str) -> Mapping[str, Any]:
    """A sign of interference, as the child tells them."""
    # Hardly ever needed, and not quick to import.
    from grader.policy.runtime import tampering

    return tampering(what)


def _segments(found: Sequence[Record | None], printed: Printed) -> list[tuple[str, str]]:
    """What was printed in each step: up to where the output of the next one that began starts."""
    if printed.empty:
        return [("", "")] * len(found)
    ends: list[Position | None] = []
    following: Position | None = None
    for record in reversed(found):
        ends.append(following)
        if record is not None:
            following = record.stdout, record.stderr
    ends.reverse()
    return [
        printed.take((record.stdout, record.stderr), end) if record is not None else ("", "")
        for record, end in zip(found, ends, strict=True)
    ]


def _overwritten(phase: Phase, after: bytes) -> dict[int, frozenset[int]]:
    """For each step the numbers of the arguments whose bytes are no longer those of the block."""
    if after == phase.block:
        return {}
    changed: dict[int, frozenset[int]] = {}
    for number, step in enumerate(phase.plan):
        if isinstance(step, int):
            continue
        spans = [
            (number, placed.offset, placed.offset + placed.length)
            for number, argument in enumerate(step)
            for placed in placed_arrays(argument)
        ]
        found = frozenset(n for n, a, b in spans if after[a:b] != phase.block[a:b])
        if found:
            changed[number] = found
    return changed


def _after(
    phase: Phase, after: bytes, overwritten: Mapping[int, frozenset[int]]
) -> dict[int, tuple[tuple[int, Value], ...]]:
    """For each of these steps its changed arguments as they are now, as far as there is room for them."""
    found: dict[int, tuple[tuple[int, Value], ...]] = {}
    if phase.name == "hidden":
        return found
    left = MAX_AFTER
    for number, changed in overwritten.items():
        step, kept = phase.plan[number], list[tuple[int, Value]]()
        for n in sorted(changed):
            argument = None if isinstance(step, int) else step[n]
            if not isinstance(argument, PlacedArray) or argument.length > left:
                continue
            left -= argument.length
            array = argument.read(after)
            data = np.ascontiguousarray(array).tobytes()
            kept.append((n, ArrayValue("array", array.dtype.name, array.shape, data)))
        if kept:
            found[number] = tuple(kept)
    return found


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
