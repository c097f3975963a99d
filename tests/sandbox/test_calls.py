"""Several calls, drivers, and arguments that are no arrays, in a confined child."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sandbox_runs import IMPATIENT, LIMITS, said

from grader.exercise.calls import (
    Argument,
    ArrayArgument,
    GeneratorArgument,
    MappingArgument,
    PhaseBuilder,
    PlainArgument,
    read_plan,
)
from grader.outcomes import ArrayValue, Container, Execution, PlainValue, StepOutcome
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

X = ArrayArgument(np.arange(6.0).reshape(2, 3))
LIST = ArrayArgument(np.array([3.0, 1.0, 2.0]), as_list=True)
RNG = GeneratorArgument(7)


def steps_of(*calls: tuple[str, Sequence[Argument]], name: str = "public") -> Phase:
    """A phase of calls, each a call's name and its arguments."""
    builder = PhaseBuilder()
    for call, arguments in calls:
        builder.add_call(list(arguments), call)
    block = builder.finish()
    return Phase(name, block, read_plan(block), 4096, 4096 * len(calls))


def ran(
    server: ForkServer,
    source: str,
    *phases: Phase,
    entries: tuple[str, ...] = ("f",),
    calls: tuple[str, ...] = (),
    driver: str = "",
    limits: Limits = LIMITS,
) -> Execution:
    text, told = textwrap.dedent(source), textwrap.dedent(driver)
    program = Program(text, "solution.py", "solution", entries, calls=calls, driver=told)
    return execute(server, program, list(phases), limits)


def public(execution: Execution) -> list[StepOutcome]:
    return execution.steps["public"]


def number(outcome: StepOutcome) -> Any:
    assert outcome.state == "returned", outcome
    assert isinstance(outcome.value, PlainValue)
    return outcome.value.value


# --- several calls ------------------------------------------------------------------------------

BOTH = """\
    kept = []

    def f(x):
        kept.append(x)
        return len(kept)

    def g(x):
        return 10 * len(kept)
    """
CALLS = ("f", "g")


def test_each_call_goes_to_the_function_of_its_name(server: ForkServer) -> None:
    phase = steps_of(("f", [1]), ("g", [1]), ("f", [1]), ("g", [1]))
    done = ran(server, BOTH, phase, entries=CALLS, calls=CALLS)
    # The module is the same one for all of them.
    assert [number(o) for o in public(done)] == [1, 10, 2, 20]
    assert done.children == 1


def test_the_calls_of_a_later_phase_find_their_functions_too(server: ForkServer) -> None:
    first, second = steps_of(("g", [1])), steps_of(("f", [1]), ("g", [1]), name="hidden")
    done = ran(server, BOTH, first, second, entries=CALLS, calls=CALLS)
    assert [number(o) for o in public(done)] == [0]
    assert [number(o) for o in done.steps["hidden"]] == [1, 10]


@pytest.mark.parametrize("missing", ["f", "g"])
def test_of_two_names_one_that_is_missing_costs_its_own_calls(server: ForkServer, missing: str) -> None:
    other = "g" if missing == "f" else "f"
    phase = steps_of((missing, [1]), (other, [1]), (missing, [1]))
    done = ran(server, f"def {other}(x): return 5\n", phase, entries=CALLS, calls=CALLS)
    assert done.load is not None and done.load.found and done.load.callable
    assert [o.state for o in public(done)] == ["raised", "returned", "raised"]
    assert number(public(done)[1]) == 5
    failure = public(done)[0].failure
    assert failure is not None and failure.type == "AttributeError"
    assert failure.message == f"module 'solution' has no attribute '{missing}'" and failure.frames == ()


def test_where_no_name_is_there_nothing_is_called(server: ForkServer) -> None:
    done = ran(server, "def h(x): return 5\n", steps_of(("f", [1])), entries=CALLS, calls=CALLS)
    assert done.load is not None and not done.load.found and done.load.names == ("h",)
    assert done.steps == {"public": []}


@pytest.mark.parametrize("source", ["f = 3\n", "f = None\ng = 4\n"])
def test_names_that_can_not_be_called_are_told(server: ForkServer, source: str) -> None:
    done = ran(server, source, steps_of(("f", [1])), entries=CALLS, calls=CALLS)
    assert done.load is not None and done.load.found and not done.load.callable


def test_one_name_that_can_be_called_is_enough_to_go_on(server: ForkServer) -> None:
    phase = steps_of(("f", [1]), ("g", [1]))
    done = ran(server, "f = 3\ndef g(x): return x\n", phase, entries=CALLS, calls=CALLS)
    assert done.load is not None and done.load.callable
    one, other = public(done)
    assert one.failure is not None and one.failure.type == "TypeError"
    assert number(other) == 1


def test_a_call_that_crashes_leaves_the_others_to_a_new_child(server: ForkServer) -> None:
    source = "import os\ndef f(x): os._exit(3)\ndef g(x): return x\n"
    phase = steps_of(("g", [1]), ("f", [1]), ("g", [2]))
    done = ran(server, source, phase, entries=CALLS, calls=CALLS)
    assert [o.state for o in public(done)] == ["returned", "crashed", "returned"]
    assert number(public(done)[2]) == 2 and done.children == 2


# --- drivers ------------------------------------------------------------------------------------

URN = """\
    class Urn:
        def __init__(self, balls):
            self.balls = balls

        def draw(self):
            return self.balls.pop()
    """
DRIVER = """\
    def twice(submission, balls):
        urn = submission.Urn(balls)
        progress(1, 2)
        return [urn.draw(), urn.draw()]

    def size(submission, balls):
        progress(0, 1)
        return len(submission.Urn(balls).balls)
    """
DRIVEN: dict[str, Any] = {"entries": ("Urn",), "calls": ("twice", "size"), "driver": DRIVER}


def test_a_driver_makes_the_calls_of_what_is_handed_in(server: ForkServer) -> None:
    done = ran(server, URN, steps_of(("twice", [LIST]), ("size", [LIST])), **DRIVEN)
    answer, size = public(done)
    assert answer.value == Container("list", (PlainValue("float", 2.0), PlainValue("float", 1.0)))
    assert answer.reshaped == {0} and size.reshaped == frozenset()
    assert number(size) == 3


def test_what_the_driver_does_not_define_is_called_directly(server: ForkServer) -> None:
    source = textwrap.dedent(URN) + "def plus(x): return x + 1\n"
    driven = DRIVEN | {"entries": ("Urn", "plus"), "calls": ("size", "plus")}
    done = ran(server, source, steps_of(("plus", [4]), ("size", [LIST])), **driven)
    assert [number(o) for o in public(done)] == [5, 3]


def test_an_exception_below_a_driver_shows_the_submissions_frames_alone(server: ForkServer) -> None:
    source = "class Urn:\n    def __init__(self, balls):\n        raise KeyError('no balls')\n"
    (outcome, _) = public(ran(server, source, steps_of(("size", [LIST]), ("size", [LIST])), **DRIVEN))
    assert outcome.failure is not None
    assert (outcome.failure.type, outcome.failure.frames) == ("KeyError", ((3, "__init__"),))
    assert "LookupError" in outcome.failure.bases


def test_a_submission_can_not_make_itself_the_driver(server: ForkServer) -> None:
    source = textwrap.dedent(URN) + "def size(*rest): return 99\nprogress = None\n"
    (outcome,) = public(ran(server, source, steps_of(("size", [LIST])), **DRIVEN))
    assert number(outcome) == 3


def test_a_driver_that_fails_is_no_answer(server: ForkServer) -> None:
    broken = DRIVEN | {"driver": "import nothing_of_this_name\n" + textwrap.dedent(DRIVER)}
    done = ran(server, URN, steps_of(("size", [LIST])), **broken)
    assert done.load is not None and done.load.state == "raised"


def test_endless_work_below_a_driver_runs_out_of_time(server: ForkServer) -> None:
    source = "class Urn:\n    def __init__(self, balls):\n        while True: pass\n"
    (outcome,) = public(ran(server, source, steps_of(("size", [LIST])), **DRIVEN, limits=IMPATIENT))
    assert outcome.state == "timed_out"


# --- arguments ----------------------------------------------------------------------------------


def items(**held: Any) -> MappingArgument:
    return MappingArgument(tuple(held.items()))


def test_arguments_arrive_as_what_they_are(server: ForkServer) -> None:
    source = """\
        def f(x, numbers, text, flag, nothing, words, rng, weights, n):
            kinds = [type(a).__name__ for a in (x, numbers, text, flag, nothing, words, rng, weights, n)]
            return repr((kinds, numbers, text, flag, nothing, words, sorted(weights), weights["a"].tolist()))
        """
    weights = items(a=ArrayArgument(np.array([1.0, 2.0])), n=3, l=LIST, t=PlainArgument("x"), r=RNG)
    call: list[Argument] = [X, LIST, PlainArgument("a ü"), PlainArgument(True), PlainArgument(None)]
    call += [PlainArgument(["a", 2, None]), RNG, weights, 4]
    (outcome,) = public(ran(server, source, steps_of(("", call))))
    kinds = ["ndarray", "list", "str", "bool", "NoneType", "list", "Generator", "dict", "int"]
    wanted = (
        kinds,
        [3.0, 1.0, 2.0],
        "a ü",
        True,
        None,
        ["a", 2, None],
        ["a", "l", "n", "r", "t"],
        [1.0, 2.0],
    )
    assert said(outcome) == repr(wanted)
    assert outcome.reshaped == outcome.overwritten == outcome.aliased == frozenset()


def test_a_generator_begins_anew_in_each_call(server: ForkServer) -> None:
    calls: list[tuple[str, list[Argument]]] = [("", [GeneratorArgument(n)]) for n in (7, 7, 8)]
    one, same, other = public(ran(server, "def f(rng): return rng.random(4)\n", steps_of(*calls)))
    assert isinstance(one.value, ArrayValue)
    assert np.array_equal(one.value.array(), np.random.default_rng(7).random(4))
    assert one.value == same.value != other.value


CHANGES: Mapping[str, tuple[str, set[int]]] = {
    "nothing": ("pass", set()),
    "sorts a list": ("b.sort()", {1}),
    "appends": ("b.append(0.0)", {1}),
    "sets a key": ("c['z'] = 1", {2}),
    "takes a key": ("del c['n']", {2}),
    "replaces an item": ("c['n'] = 4", {2}),
    "reads and draws": ("d.random(); sum(b); c['a'].sum()", set()),
    "writes an item's values": ("c['a'][0] = 9", set()),
    "writes and appends": ("a[0, 0] = 9; b.append(0.0)", {1}),
    "changes a list in a mapping": ("c['l'][0] = 9.0", {2}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_call_changes_is_told_by_argument(server: ForkServer, name: str) -> None:
    done, reshaped = CHANGES[name]
    call: list[Argument] = [X, LIST, items(a=ArrayArgument(np.ones(2)), n=3, l=LIST), RNG]
    source = f"def f(a, b, c, d):\n    {done}\n    return 1\n"
    one, again = public(ran(server, source, steps_of(("", call), ("", call))))
    for outcome in (one, again):
        assert outcome.state == "returned", outcome
        assert outcome.reshaped == reshaped
        written = {"writes an item's values": {2}, "writes and appends": {0}}.get(name, set())
        assert outcome.overwritten == written


def test_an_answer_that_is_an_argument_or_in_it_is_told(server: ForkServer) -> None:
    call: list[Argument] = [X, items(a=ArrayArgument(np.ones(2)), n=3)]
    source = "def f(x, weights): return {'rows': x[:1], 'own': x + 1, 'w': [weights['a']]}\n"
    (outcome,) = public(ran(server, source, steps_of(("", call))))
    assert outcome.aliased == {0, 1}


@pytest.mark.parametrize(
    ("did", "state"),
    [
        ("weights.clear(); weights.update({k: Odd() for k in 'an'})", "returned"),
        ("weights[Odd()] = 1; del weights['n']", "returned"),
        ("weights['n'] = Odd()", "raised"),
        ("weights['a'] = Odd()", "returned"),
    ],
)
def test_objects_that_resist_comparing_cost_their_call_alone(
    server: ForkServer, did: str, state: str
) -> None:
    source = f"""\
        class Odd:
            def __eq__(self, other): raise RuntimeError("no")
            def __hash__(self): return 7

        def f(weights, last):
            if not last:
                {did}
            return 1
        """
    weights = items(a=ArrayArgument(np.ones(2)), n=3)
    one, other = public(ran(server, source, steps_of(("", [weights, 0]), ("", [weights, 1]))))
    assert (one.state, one.reshaped) == (state, {0} if state == "returned" else frozenset())
    assert number(other) == 1 and other.reshaped == frozenset()
