"""The policy check in a process of its own: the same reports, and no source ends more than that process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sandbox_runs import Meddled, run

from grader.exercise.source import load
from grader.intake.collect import Asked, collect
from grader.policy.analysis import analyze
from grader.policy.rules import Rules
from grader.sandbox import analyst as analyst_module
from grader.sandbox.analyst import SOURCES_PER_PROCESS, TOO_COMPLEX, Analyst
from grader.sandbox.children import Child, SandboxError
from grader.sandbox.inside.analyst import LENGTH
from grader.sandbox.server import ForkedChild, ForkServer
from grader.sandbox.watch import Limits

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 512 << 20
NAME, ENTRY = "solution.py", "mlm_forward"
RIGHT = "import numpy as np\ndef mlm_forward(x): return np.exp(x)\n"
BANNED = (
    "from numpy import einsum\nimport torch.nn.functional as F\ndef mlm_forward(x): return F.softmax(x)\n"
)


@pytest.fixture(scope="module")
def policy() -> dict[str, Any]:
    return load(ROOT / "cases" / "mlm_forward").policy.model_dump(exclude_none=True)


@pytest.fixture(scope="module")
def rules(policy: dict[str, Any]) -> Rules:
    return Rules.from_dict(policy)


@pytest.fixture(scope="module")
def policed(policy: dict[str, Any]) -> Iterator[ForkServer]:
    """A fork server that knows the policy of the worked exercise."""
    server = ForkServer()
    server.configure(["numpy", "torch"], policy)
    yield server
    server.close()


@pytest.fixture
def analyst(policed: ForkServer) -> Iterator[Analyst]:
    one = Analyst(policed, MEMORY)
    yield one
    one.close()


@pytest.fixture(scope="module")
def shared_analyst(policed: ForkServer) -> Iterator[Analyst]:
    one = Analyst(policed, MEMORY)
    yield one
    one.close()


def as_json(report: Any) -> Any:
    return json.loads(json.dumps(report))


def child_of(analyst: Analyst) -> Child:
    child = analyst._child
    assert child is not None
    return child


def pid_of(analyst: Analyst) -> int:
    return cast(ForkedChild, child_of(analyst)).pid


# --- the same reports -------------------------------------------------------------------------


def test_every_worked_submission_gets_the_report_of_the_policy_check(
    shared_analyst: Analyst, rules: Rules
) -> None:
    submissions = collect([ROOT / "submissions" / "mlm_forward"], Asked(ENTRY)).submissions
    assert len(submissions) > 50
    findings = 0
    for submission in submissions:
        if submission.source is None:
            continue
        found = shared_analyst.analyze(submission.source, submission.filename, ENTRY)
        assert found.problem == ""
        assert found.report == as_json(analyze(submission.source, rules, ENTRY)), submission.id
        findings += len(found.report["violations"])
    assert findings > 20


@pytest.mark.parametrize("driven", [False, True])
def test_several_names_and_a_driver_get_to_the_policy_check(
    shared_analyst: Analyst, rules: Rules, driven: bool
) -> None:
    source = (
        "import torch\nclass Kept:\n    def go(self, x): return torch.softmax(x, -1)\n"
        "def keep(x): return Kept()\n"
    )
    names = ("keep", "kept")
    found = shared_analyst.analyze(source, NAME, names, driven=driven)
    assert found.report == as_json(analyze(source, rules, names, driven=driven))
    assert found.report["entry"]["missing"] == {"kept": ["Kept"]}
    assert len(found.report["violations"]) == driven


pieces = st.sampled_from(
    [
        "import torch.nn.functional as F\n",
        "from numpy import *\n",
        "def mlm_forward(x):\n    return F.softmax(x)\n",
        "    return np.einsum('ij', x)\n",
        "getattr(np, 'ein' + 'sum')",
        "exec('import torch')\n",
        "class A(",
        "'''",
        "\\",
        "\x00",
        "\f",
        "\t",
        "\ud800",
        "\u2028",
        "ﬁ = 1\n",
        "# coding: latin-1\n",
        "\ufeff",
        "(" * 90,
        "{**a, 'b': lambda: (yield)}",
        "match x:\n    case [1, *_]: pass\n",
        "f'{x!r:{y}}'",
    ]
)
texts = st.lists(pieces | st.text(st.characters(exclude_categories=[]), max_size=20), max_size=8).map("".join)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts)
def test_random_texts_get_the_report_of_the_policy_check(
    shared_analyst: Analyst, rules: Rules, text: str
) -> None:
    found = shared_analyst.analyze(text, NAME, ENTRY)
    assert found.problem == ""
    assert found.report == as_json(analyze(text, rules, ENTRY))


# --- sources made to harm it ------------------------------------------------------------------

BOMBS = {
    "parentheses": "x = " + "(" * 100_000 + ")" * 100_000,
    "open_brackets": "[" * 100_000,
    "minuses": "x = " + "-" * 50_000 + "1",
    "nots": "x = " + "not " * 50_000 + "1",
    "attributes": "x = a" + ".b" * 100_000,
    "subscripts": "x = a" + "[0]" * 100_000,
    "calls": "x = a" + "()" * 100_000,
    "sum": "x = " + "+".join(["1"] * 100_000),
    "powers": "x = " + "**".join(["1"] * 50_000),
    "strings": "x = " + "''" * 500_000,
    "f_string": "x = f'" + "{x}" * 20_000 + "'",
    "f_strings_in_each_other": "x = " + "f'{" * 300 + "1" + "}'" * 300,
    "lambdas": "x = " + "lambda: " * 50_000 + "1",
    "conditions": "x = " + "1 if y else " * 50_000 + "1",
    "comparisons": "x = " + " < ".join(["1"] * 100_000),
    "comprehension": "x = [" + "for a in b " * 10 + "1 " + "for a in b " * 100_000 + "]",
    "nested_blocks": "".join(" " * n + "if x:\n" for n in range(99)) + " " * 99 + "pass",
    "nested_functions": "".join(" " * n + f"def f{n}():\n" for n in range(99)) + " " * 99 + "pass",
    "many_statements": "x = 1\n" * 60_000,
    "many_names": "\n".join(f"a{n} = a{n + 1}" for n in range(20_000)),
    "many_functions": "\n".join(f"def f{n}(): return f{n + 1}()" for n in range(8_000)),
    "names_in_a_ring": "import torch as a0\n"
    + "\n".join(f"a{n + 1} = a{n}" for n in range(3_000))
    + "\na0 = a3000",
    "nuls": "\0" * 2_000_000,
    "nul_inside": RIGHT + "\0",
    "one_line": "#" * 2_000_000,
    "one_name": "a" * 2_000_000,
    "one_number": "x = " + "9" * 1_900_000,
    "one_text": "x = '" + "é" * 1_900_000 + "'",
    "backslashes": "\\\n" * 1_000_000,
    "surrogates": "# " + "\ud800" * 100_000,
    "too_long": "x = 1\n" * 500_000,
    "encoding": "# -*- coding: utf-7 -*-\n" + RIGHT,
    "stars": "a = " + "*" * 100_000 + "b",
    "decorators": "@a\n" * 50_000 + "def f(): pass",
    "elifs": "if a: pass\n" + "elif a: pass\n" * 50_000,
    "withs": "with a: " * 5_000 + "pass",
    "globals": "def f():\n" + " global a\n" * 200_000,
    "assignments": "a = " * 50_000 + "1",
    "walrus": "(a := " * 5_000 + "1" + ")" * 5_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_source_made_to_harm_the_parser_ends_in_an_answer_and_the_next_is_checked(
    shared_analyst: Analyst, rules: Rules, name: str
) -> None:
    found = shared_analyst.analyze(BOMBS[name], NAME, ENTRY)
    if found.problem:
        assert found.report == {} and found.problem.startswith("the policy check ended early: ")
    else:
        assert {"violations", "suspicious"} <= set(found.report)
    for source in (RIGHT, BANNED):
        after = shared_analyst.analyze(source, NAME, ENTRY)
        assert after.problem == "" and after.report == as_json(analyze(source, rules, ENTRY))
    assert after.report["violations"]


def test_a_text_that_does_not_fit_is_refused_without_a_process(analyst: Analyst) -> None:
    found = analyst.analyze("#" * (analyst_module.ROOM - LENGTH), NAME, ENTRY)
    assert found.report == {} and found.problem == "the source is too long to be checked"
    assert analyst._child is None


def test_a_check_without_end_is_stopped(policed: ForkServer) -> None:
    one = Analyst(policed, MEMORY)
    # A part of the second or so that reading this takes, and longer than a child is kept waiting by chance.
    one._limits = Limits(seconds_per_call=0.2, seconds=1e9, memory=MEMORY)
    try:
        found = one.analyze("\n".join(f"a{n} = a{n + 1}.b[{n}]" for n in range(60_000)), NAME, ENTRY)
        assert found.report == {} and found.cpu_s > 0.2
        assert found.problem.startswith("the policy check ended early: the call took more than 0.2 s")
        one._limits = Limits(seconds_per_call=20, seconds=1e9, memory=MEMORY)
        assert one.analyze(RIGHT, NAME, ENTRY).report["violations"] == []
    finally:
        one.close()


def test_a_check_that_takes_too_much_memory_is_a_problem_of_that_source(
    policed: ForkServer, rules: Rules
) -> None:
    one = Analyst(policed, 24 << 20)
    try:
        found = one.analyze("\n".join(f"a{n} = b{n}.c" for n in range(50_000)), NAME, ENTRY)
        assert found.problem or found.report["suspicious"] or found.report["syntax_error"]
        assert not found.problem or found.report == {}
        assert one.analyze(BANNED, NAME, ENTRY).report == as_json(analyze(BANNED, rules, ENTRY))
    finally:
        one.close()


# --- its process ------------------------------------------------------------------------------


def test_one_process_checks_many_and_is_replaced_after_a_while(analyst: Analyst) -> None:
    pids = []
    for _ in range(SOURCES_PER_PROCESS + 3):
        assert analyst.analyze("x = 1", NAME, ENTRY).problem == ""
        pids.append(pid_of(analyst))
    assert len(set(pids[:SOURCES_PER_PROCESS])) == 1
    assert len(set(pids[SOURCES_PER_PROCESS:])) == 1 and len(set(pids)) == 2


def test_a_process_that_was_killed_between_two_sources_is_replaced(analyst: Analyst, rules: Rules) -> None:
    analyst.analyze(RIGHT, NAME, ENTRY)
    first = pid_of(analyst)
    os.kill(first, signal.SIGKILL)
    while not child_of(analyst).wait(1.0)[1]:
        pass
    # The next source has nothing to do with it.
    found = analyst.analyze(BANNED, NAME, ENTRY)
    assert found.problem == "" and found.report == as_json(analyze(BANNED, rules, ENTRY))
    assert pid_of(analyst) != first


@pytest.mark.parametrize("times", [1, 2])
def test_a_process_that_is_killed_while_it_checks_is_replaced(policed: ForkServer, times: int) -> None:
    killed: list[int] = []

    def kill(child: ForkedChild, message: bytes) -> None:
        if len(killed) < times and child.pid not in killed:
            killed.append(child.pid)
            child.kill()
            child.reap()

    class Stopped(Meddled):
        """Its children hear nothing, so that the first ones are still waiting when they are killed."""

        def start(self, job: Mapping[str, Any], memory: Any) -> Any:
            child = super().start(job, memory)
            if len(killed) < times:
                child.tell = lambda message: None
            return child

    one = Analyst(cast(ForkServer, Stopped(policed, kill)), MEMORY)
    try:
        if times == 1:
            assert one.analyze(RIGHT, NAME, ENTRY).problem == "", "the source is checked once more"
        else:
            with pytest.raises(SandboxError, match="killed from outside"):
                one.analyze(RIGHT, NAME, ENTRY)
        assert len(killed) == times
        assert one.analyze(RIGHT, NAME, ENTRY).problem == "" and pid_of(one) not in killed
    finally:
        one.close()


def test_its_server_is_told_to_be_gone() -> None:
    server = ForkServer()
    server.configure(["numpy"], {"rules": []})
    one = Analyst(server, MEMORY)
    assert one.analyze(RIGHT, NAME, ENTRY).problem == ""
    server.close()
    for _ in range(2):
        with pytest.raises(SandboxError, match="is gone"):
            one.analyze(RIGHT, NAME, ENTRY)
    with pytest.raises(SandboxError, match="is gone"):
        one.close()
    one.close()


# --- its answers ------------------------------------------------------------------------------


def test_more_findings_than_fit_are_never_silently_clean(
    policed: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyst_module, "ROOM", 2_000)
    one = Analyst(policed, MEMORY)
    try:
        names = [f"x{n}" for n in range(40)]
        many = "import torch.nn.functional as F\ndef mlm_forward(x):\n" + "".join(
            f"    {name} = F.softmax(x)\n" for name in names
        )
        found = one.analyze(many, NAME, ENTRY)
        assert found.problem == "" and found.report == {"suspicious": [TOO_COMPLEX]}
        assert one.analyze(RIGHT, NAME, ENTRY).report["suspicious"] == []
    finally:
        one.close()


@pytest.mark.parametrize("answer", [b"[]", b"", b"{", b"\xff", b"[" * 5_000])
def test_an_answer_of_the_wrong_form_is_a_fault_of_the_sandbox(policed: ForkServer, answer: bytes) -> None:
    memories: list[Any] = []

    def spoil(child: ForkedChild, message: bytes) -> None:
        if message:
            memories[-1].write(0, len(answer).to_bytes(LENGTH, "little") + answer)

    meddled = Meddled(policed, spoil, lambda number, job, memory: memories.append(memory))
    one = Analyst(cast(ForkServer, meddled), MEMORY)
    try:
        with pytest.raises(SandboxError, match="the policy check's report"):
            one.analyze(RIGHT, NAME, ENTRY)
    finally:
        one.close()


def test_a_fault_of_the_policy_check_is_a_fault_of_the_grader(policed: ForkServer) -> None:
    memories: list[Any] = []

    class Broken(Meddled):
        """Takes the text out of the request."""

        def start(self, job: Mapping[str, Any], memory: Any) -> Any:
            child = super().start(job, memory)
            tell = child.tell

            def tell_nonsense(message: bytes) -> None:
                asked = {"source": None, "filename": NAME, "entry": ENTRY, "parts": [], "module": ""}
                request = json.dumps({**asked, "driven": False}).encode()
                memory.write(0, len(request).to_bytes(LENGTH, "little") + request)
                tell(message)

            child.tell = tell_nonsense
            memories.append(memory)
            return child

    one = Analyst(cast(ForkServer, Broken(policed)), MEMORY)
    try:
        for _ in range(2):
            with pytest.raises(SandboxError, match="the policy check failed: AttributeError"):
                one.analyze(RIGHT, NAME, ENTRY)
        assert len(memories) == 2
    finally:
        one.close()


def test_no_run_of_a_submission_changes_what_is_reported_next(analyst: Analyst, policed: ForkServer) -> None:
    source = (
        "import gc, mmap\n"
        "for o in gc.get_objects():\n"
        "    if isinstance(o, mmap.mmap): o[:320] = bytes(320)\n"
        "    if isinstance(o, dict): o.clear()\n"
        "def mlm_forward(x): return eval('x')\n"
    )
    before = analyst.analyze(source, NAME, ENTRY).report
    assert before["suspicious"]
    run(policed, source, entry=ENTRY)
    assert analyst.analyze(source, NAME, ENTRY).report == before
    assert analyst.analyze(BANNED, NAME, ENTRY).report["violations"]


def test_the_process_is_confined(analyst: Analyst) -> None:
    analyst.analyze(RIGHT, NAME, ENTRY)
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid_of(analyst)}/status").read_text().splitlines()
    )
    assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0
    if "seccomp" in analyst._server.layers:
        assert status["Seccomp"] == "2"
