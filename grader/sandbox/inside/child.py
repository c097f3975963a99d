"""A submission's life in its own process: load, answer the calls of each phase, end.

Inputs of a phase are there only when the phase begins, so that no earlier code can have seen them.
"""

import builtins
import faulthandler
import functools
import json
import linecache
import mmap
import os
import sys
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.sandbox.inside import failures, parts, slots, streams
from grader.sandbox.inside.arguments import Calls, Prepared, changed_arguments
from grader.sandbox.inside.imports import ImportGuard
from grader.sandbox.inside.progress import Progress
from grader.sandbox.inside.protocol import CONFINED, LOADED, PHASE_DONE, Judge
from grader.sandbox.inside.values import Encoder

if TYPE_CHECKING:
    from grader.sandbox.inside.recorder import Recorder

_cpu = time.process_time_ns
_dumps = json.dumps
_loads = json.loads
_ndarray = np.ndarray
_tobytes = np.ndarray.tobytes
_type = type
_flags: Any = np.ndarray.__dict__["flags"].__get__
_CODES = {np.dtype(name): number for number, name in enumerate(slots.DTYPES)}


class Child:
    """One child's state.

    Args:
        job: What to do and how the shared memory is laid out, see `grader.sandbox.layout`.
        memory: The shared memory.
        descriptor: A descriptor of it, which is closed.
        judge: Whom to answer.
        lock: Puts on what is left of the confinement; nothing is opened after it.
        guard: Refuses imports.
        recorder: Finds banned helpers while they run; None where there are none to be found.
    """

    def __init__(
        self,
        job: dict[str, Any],
        memory: mmap.mmap,
        descriptor: int,
        judge: Judge,
        lock: Callable[[], None],
        guard: ImportGuard,
        recorder: "Recorder | None",
    ) -> None:
        self.job = job
        self.guard = guard
        self.recorder = recorder
        self.memory = memory
        self.judge = judge
        at, length = job["source"]
        self.program = _loads(memory[at : at + length])
        self.source = self.program["source"]
        guard.filename = self.filename = self.program["filename"]
        start, size = job["data"]
        self.slots = slots.Slots(memory, start, job["room"], start + size)
        at, size = job["log"]
        part = size // streams.PARTS
        self.stdout = streams.CappedRaw(memory, at, part, 1)
        self.stderr = streams.CappedRaw(memory, at + part, part, 2)
        # Descriptor 1 stays /dev/null: writing past the end of a sealed file would raise in student code.
        os.lseek(descriptor, at + 2 * part, os.SEEK_SET)
        os.dup2(descriptor, 2)
        os.close(descriptor)
        faulthandler.enable(file=2, all_threads=False)
        for name, raw in (("stdout", self.stdout), ("stderr", self.stderr)):
            setattr(sys, name, streams.text_stream(raw))
            setattr(sys, f"__{name}__", getattr(sys, name))
        self.answers: dict[int, Any] = {}
        self.out_of_memory = 0
        self.told = 0
        lock()
        judge.say(CONFINED)

    def run(self) -> None:
        """Everything up to the end of the process."""
        entry = self.load()
        self.judge.say(LOADED)
        while message := self.judge.hear():
            if entry is not None:
                self.phase(entry, _loads(message))
            self.judge.say(PHASE_DONE)

    def driver(self, module: types.ModuleType) -> dict[str, Any]:
        """The functions of the author's driver, each bound to the student's module.

        Raises:
            Exception: What running the driver's text raised.
        """
        text = self.program.get("driver", "")
        if not text:
            return {}
        name = "grader_driver"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        namespace: dict[str, Any] = {
            "__name__": name,
            "__builtins__": builtins,
            "progress": Progress(self.memory),
        }
        exec(compile(text, name, "exec", dont_inherit=True), namespace)
        return {
            call: functools.partial(namespace[call], module)
            for call in self.program["calls"]
            if callable(namespace.get(call))
        }

    def load(self) -> Any:
        """Run the student's module; what makes the calls, or None when there is nothing to call.

        Where an exercise has several calls it is a dictionary of functions by the calls' names.
        """
        filename, name = self.filename, self.program["module"]
        begin = self.stdout.written, self.stderr.written
        self.slots.start(slots.LOAD, *begin)
        cpu = _cpu()
        state, entry = slots.DONE, None
        described: dict[str, Any] = {"found": False, "callable": False, "names": []}
        lines = self.source.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        if self.guard.installed(name):
            # A solution called numpy.py imports the real one.
            name = f"submission_{name}"
        module = types.ModuleType(name)
        module.__file__ = filename
        sys.modules[name] = module
        sys.argv[:] = [filename]
        own: parts.Parts | None = None
        ended: list[parts.Ended] = []
        try:
            if "parts" in self.program:
                own = parts.Parts(self.source, self.program["parts"], filename, self.guard)
                ended = own.run(module.__dict__, self.program["entries"][0])
            else:
                exec(compile(self.source, filename, "exec", dont_inherit=True), module.__dict__)
            missing = object()
            names = self.program["entries"]
            defined = [n for n in names if n in module.__dict__]
            # Of several names the first that can be called stands for all: each call looks for its own.
            usable = [n for n in defined if callable(module.__dict__[n])]
            entry = module.__dict__[(usable or defined)[0]] if defined else missing
            if entry is missing:
                entry = None
                described["names"] = [
                    n[:100] for n in list(module.__dict__)[:500] if isinstance(n, str) and n[:2] != "__"
                ]
                if own is not None and own.reason is not None:
                    state = slots.OUT_OF_MEMORY if own.out_of_memory else slots.RAISED
                    described = own.reason
            else:
                described["found"] = True
                described["callable"] = callable(entry)
                described["type"] = type(entry).__name__[:100]
                entry = self.calls_of(module, entry) if callable(entry) else None
        except BaseException as error:
            state = slots.OUT_OF_MEMORY if failures.memory_error(error) else slots.RAISED
            described = failures.describe(error, filename)
            entry = None
        if self.guard.needs:
            described["needs"] = self.guard.needs
        if ended:
            described["failures"] = ended
        cpu = _cpu() - cpu
        self.slots.finish(slots.LOAD, state, self.fitting(described), begin=begin, cpu_ns=cpu)
        return entry

    def calls_of(self, module: types.ModuleType, entry: Any) -> Any:
        """What makes the calls: the entry point, or functions by the calls' names."""
        calls = self.program["calls"]
        if not calls:
            return entry
        driven = self.driver(module)

        def undefined(name: str) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                # Looked up when it is called: loading a file that lacks one of several names goes on.
                return getattr(module, name)(*arguments)

            return call

        return {name: driven.get(name) or module.__dict__.get(name) or undefined(name) for name in calls}

    def fitting(self, described: dict[str, Any]) -> bytes:
        """What is told of loading, with as much of it as there is room for."""
        while len(text := _dumps(described).encode()) > self.slots.room:
            longest = max(described, key=lambda name: len(_dumps(described[name])))
            described[longest] = described[longest][: len(described[longest]) // 2]
        return text

    def phase(self, entry: Any, phase: dict[str, Any]) -> None:
        """All calls of a phase, from the step at which this child takes over."""
        self.answers.clear()
        calls = Calls(self.memory, *self.job["blocks"][phase["number"]])
        recorded = phase["recorded"]
        slot = phase["slot"]
        # All before the first call: what a call works on drives this code out of the processor's cache.
        prepared = calls.prepare(phase["first"])
        for number, step in enumerate(calls.steps):
            if number < phase["first"]:
                continue
            if self.out_of_memory >= slots.MAX_OUT_OF_MEMORY:
                return
            if isinstance(step, int):
                self.reread(slot + number, step)
            else:
                self.call(
                    entry[calls.names[number]] if _type(entry) is dict else entry,
                    slot + number,
                    number,
                    calls,
                    prepared.popleft(),
                    recorded is None or number in recorded,
                )

    def call(
        self, entry: Any, slot: int, number: int, calls: Calls, prepared: Prepared, recorded: bool
    ) -> None:
        """One call: its answer, or what it raised, as a record."""
        begin = self.stdout.written, self.stderr.written
        arguments, watched = prepared
        self.slots.start(slot, *begin)
        recorder = self.recorder if recorded else None
        cpu = _cpu()
        try:
            if recorder is None:
                answer = entry(*arguments)
            else:
                with recorder.during(self.filename):
                    answer = entry(*arguments)
            cpu = _cpu() - cpu
            changed = changed_arguments(watched)
            self.answers[number] = answer
            # What nearly every submission returns, told apart by type alone: no method of its own runs.
            if _type(answer) is _ndarray and len(shape := answer.shape) <= slots.MAX_DIMS:
                code = _CODES.get(answer.dtype)
                if code is not None and _flags(answer).owndata:
                    data = _tobytes(answer)
                    if self.slots.array(slot, code, shape, data, changed, begin, max(cpu, 0)):
                        return
            encoder = Encoder(self.slots.room)
            text = encoder.encode(answer)
            aliased = calls.aliased(number, encoder.ranges)
            state = slots.TOO_LARGE if encoder.cut else slots.DONE
            self.slots.finish(
                slot,
                state,
                text,
                encoder.chunks,
                changed=changed,
                aliased=aliased,
                begin=begin,
                cpu_ns=max(cpu, 0),
            )
        except BaseException as error:
            state = slots.OUT_OF_MEMORY if failures.memory_error(error) else slots.RAISED
            self.out_of_memory += state == slots.OUT_OF_MEMORY
            text = _dumps(failures.describe(error, self.filename)).encode()
            self.slots.finish(slot, state, text, begin=begin, cpu_ns=max(_cpu() - cpu, 0))
        finally:
            if recorder is not None:
                self.tell(recorder)

    def tell(self, recorder: "Recorder") -> None:
        """Write down which banned helpers the recorded calls used so far."""
        found = recorder.findings() + recorder.tampered()
        if len(found) > self.told:
            self.told = len(found)
            while len(text := _dumps({"findings": found}).encode()) > self.slots.room:
                del found[len(found) // 2 :]
            self.slots.finish(slots.FINDINGS, slots.DONE, text)

    def reread(self, slot: int, number: int) -> None:
        """A second look at an earlier answer."""
        begin = self.stdout.written, self.stderr.written
        self.slots.start(slot, *begin)
        encoder = Encoder(self.slots.room)
        if number in self.answers:
            described = encoder.encode(self.answers[number])
            state = slots.TOO_LARGE if encoder.cut else slots.DONE
        else:
            described, state = b"{}", slots.RAISED
        self.slots.finish(slot, state, described, encoder.chunks, begin=begin)
