"""A submission's life in its own process: analyze, load, answer the calls of each phase, end.

Inputs of a phase arrive only when the phase begins, so that no earlier code can have seen them.
"""

import contextlib
import faulthandler
import json
import linecache
import mmap
import os
import socket
import sys
import time
import types
from typing import Any

from grader.policy.analysis import analyze
from grader.policy.rules import Rules
from grader.sandbox.inside import failures, slots, streams
from grader.sandbox.inside.arguments import (
    address,
    aliased_arguments,
    changed_arguments,
    make_arguments,
    read_steps,
)
from grader.sandbox.inside.values import Encoder

_exit = os._exit
_cpu = time.process_time_ns
_wall = time.perf_counter_ns
_dumps = json.dumps

ANALYZED, LOADED, PHASE_DONE = b"A", b"L", b"E"


class Child:
    """One child's state. Descriptors: 3 source, 4 out, 5 log, 6 the socket to the judge."""

    def __init__(self, job: dict[str, Any], rules: Rules) -> None:
        self.job = job
        self.rules = rules
        self.judge = socket.socket(fileno=6)
        with contextlib.closing(os.fdopen(3, "rb")) as file:
            self.source = file.read().decode("utf-8")
        self.slots = slots.Slots(mmap.mmap(4, job["out_size"]), job["slot_size"])
        log = mmap.mmap(5, job["log_size"])
        part = job["log_size"] // streams.PARTS
        self.stdout = streams.CappedRaw(log, 0, part)
        self.stderr = streams.CappedRaw(log, part, part)
        # Descriptor 1 stays /dev/null: writing past the end of a sealed file would raise in student code.
        os.lseek(5, 2 * part, os.SEEK_SET)
        os.dup2(5, 2)
        faulthandler.enable(file=2, all_threads=False)
        for name, raw in (("stdout", self.stdout), ("stderr", self.stderr)):
            setattr(sys, name, streams.text_stream(raw))
            setattr(sys, f"__{name}__", getattr(sys, name))
        self.answers: dict[int, Any] = {}
        self.out_of_memory = 0

    def run(self) -> None:
        """Everything up to the end of the process."""
        if self.job["analyze"]:
            self.analyze()
            self.judge.send(ANALYZED)
            if self.judge.recv(16) != b"G":
                return
        entry = self.load()
        self.judge.send(LOADED)
        while True:
            message, handles, _flags, _address = socket.recv_fds(self.judge, 4096, 1)
            if not message or not handles:
                return
            phase = json.loads(message)
            self.phase(entry, phase, mmap.mmap(handles[0], phase["size"]))
            os.close(handles[0])
            self.judge.send(PHASE_DONE)

    def analyze(self) -> None:
        """Check the policy; nothing of the student's has run yet."""
        self.slots.start(slots.POLICY_SLOT, 0, 0)
        try:
            report, state = analyze(self.source, self.rules, self.job["entry"]), slots.DONE
        except Exception as error:
            # A fault of the grader's own: no student may lose points by it.
            report, state = failures.describe(error, self.job["filename"]), slots.RAISED
        self.slots.finish(slots.POLICY_SLOT, state, _dumps(report).encode())

    def load(self) -> Any:
        """Run the student's module; the entry point, or None when there is none to call."""
        filename, name = self.job["filename"], self.job["module"]
        begin = self.stdout.written, self.stderr.written
        self.slots.start(slots.LOAD_SLOT, *begin)
        cpu, wall = _cpu(), _wall()
        state, entry = slots.DONE, None
        described: dict[str, Any] = {"found": False, "callable": False, "names": []}
        lines = self.source.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.source), None, lines, filename)
        if name in sys.modules or name in sys.stdlib_module_names:
            # A solution called numpy.py imports the real one.
            name = f"submission_{name}"
        module = types.ModuleType(name)
        module.__file__ = filename
        sys.modules[name] = module
        sys.argv[:] = [filename]
        try:
            exec(compile(self.source, filename, "exec", dont_inherit=True), module.__dict__)
            missing = object()
            entry = module.__dict__.get(self.job["entry"], missing)
            if entry is missing:
                entry = None
                described["names"] = [
                    n[:100] for n in list(module.__dict__)[:500] if isinstance(n, str) and n[:2] != "__"
                ]
            else:
                described["found"] = True
                described["callable"] = callable(entry)
                described["type"] = type(entry).__name__[:100]
                entry = entry if callable(entry) else None
        except BaseException as error:
            state = slots.OUT_OF_MEMORY if failures.memory_error(error) else slots.RAISED
            described = failures.describe(error, filename)
            entry = None
        self.slots.finish(
            slots.LOAD_SLOT,
            state,
            _dumps(described).encode(),
            stdout=begin[0],
            stderr=begin[1],
            cpu_ns=_cpu() - cpu,
            wall_ns=_wall() - wall,
        )
        return entry

    def phase(self, entry: Any, phase: dict[str, Any], block: mmap.mmap) -> None:
        """All calls of a phase, from the step at which this child takes over."""
        self.answers.clear()
        if entry is None:
            return
        self.memory = address(block), len(block)
        for number, step in enumerate(read_steps(block)):
            if number < phase["first"]:
                continue
            if self.out_of_memory >= slots.MAX_OUT_OF_MEMORY:
                return
            slot = phase["slot"] + number
            if "reread" in step:
                self.reread(slot, step["reread"])
            else:
                self.call(entry, slot, number, step["call"], block)

    def call(self, entry: Any, slot: int, number: int, call: list[dict[str, Any]], block: mmap.mmap) -> None:
        begin = self.stdout.written, self.stderr.written
        arguments = make_arguments(call, block)
        self.slots.start(slot, *begin)
        changed = aliased = 0
        chunks: list[bytes] = []
        encoder = Encoder(self.slots.capacity)
        cpu, wall = _cpu(), _wall()
        try:
            answer = entry(*arguments)
            cpu, wall = _cpu() - cpu, _wall() - wall
            changed = changed_arguments(call, arguments)
            self.answers[number] = answer
            text = encoder.encode(answer)
            aliased = aliased_arguments(call, *self.memory, encoder.ranges)
            chunks = encoder.chunks
            state = slots.TOO_LARGE if encoder.cut else slots.DONE
        except BaseException as error:
            cpu, wall = _cpu() - cpu, _wall() - wall
            state = slots.OUT_OF_MEMORY if failures.memory_error(error) else slots.RAISED
            self.out_of_memory += state == slots.OUT_OF_MEMORY
            text = _dumps(failures.describe(error, self.job["filename"])).encode()
        self.slots.finish(
            slot,
            state,
            text,
            chunks,
            changed=changed,
            aliased=aliased,
            stdout=begin[0],
            stderr=begin[1],
            cpu_ns=max(cpu, 0),
            wall_ns=max(wall, 0),
        )

    def reread(self, slot: int, number: int) -> None:
        begin = self.stdout.written, self.stderr.written
        self.slots.start(slot, *begin)
        encoder = Encoder(self.slots.capacity)
        if number in self.answers:
            described = encoder.encode(self.answers[number])
            state = slots.TOO_LARGE if encoder.cut else slots.DONE
        else:
            described, state = b"{}", slots.RAISED
        self.slots.finish(slot, state, described, encoder.chunks, stdout=begin[0], stderr=begin[1])


def live(job: dict[str, Any], rules: Rules) -> None:
    """Run a job and end the process without anything of the student's running at exit."""
    try:
        Child(job, rules).run()
    except BaseException:
        # The judge sees a child that ended before its work was done; there is nobody else to tell.
        _exit(70)
    _exit(0)
