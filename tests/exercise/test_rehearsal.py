"""A trusted function run over a phase in this process leaves what a child would leave of it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from support.known import row_scale
from support.small import MUTATES, RIGHT, WRONG

from grader.batch.runner import Runner
from grader.exercise.calls import (
    ArrayArgument,
    MappingArgument,
    PhaseBuilder,
    PlacedArray,
    PlainArgument,
    read_plan,
)
from grader.exercise.memory import limited_memory
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import as_value, call, prepare, rehearse
from grader.intake.submission import Submission
from grader.judge import submission as judging
from grader.outcomes import ArrayValue, Container, Execution, PlainValue, StepOutcome


def phase(*calls: Any) -> tuple[bytes, Any]:
    """A phase of calls with one array and a number; an int stands for a second look."""
    builder = PhaseBuilder()
    for one in calls:
        if isinstance(one, int):
            builder.add_reread(one)
        else:
            builder.add_call([one if isinstance(one, ArrayArgument) else ArrayArgument(np.array(one)), 2])
    block = builder.finish()
    return block, read_plan(block)


def array_of(outcome: StepOutcome) -> Any:
    assert isinstance(outcome.value, ArrayValue)
    return outcome.value.array()


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (np.array([[1.5, 2.0]]), ArrayValue("array", "float64", (1, 2), np.array([1.5, 2.0]).tobytes())),
        (np.float32(1.5), ArrayValue("scalar", "float32", (), np.float32(1.5).tobytes())),
        (None, PlainValue("none")),
        (True, PlainValue("bool", True)),
        (3, PlainValue("int", 3)),
        (0.5, PlainValue("float", 0.5)),
        ("x", PlainValue("str", "x")),
        (
            [1, (2.0,)],
            Container("list", (PlainValue("int", 1), Container("tuple", (PlainValue("float", 2.0),)))),
        ),
        ({"a": 2}, Container("dict", ((PlainValue("str", "a"), PlainValue("int", 2)),))),
        ({1}, PlainValue("object", "set")),
    ],
)
def test_answers_are_kept_as_if_sent(answer: Any, value: Any) -> None:
    assert as_value(answer) == value


def test_memory_order_does_not_matter_to_what_is_kept() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert as_value(np.asfortranarray(array)) == as_value(array)


def test_each_call_gets_its_own_arguments() -> None:
    block, plan = phase([1.0, 2.0], [3.0])
    seen: list[Any] = []

    def entry(x: Any, k: int) -> Any:
        seen.append((x.tolist(), k))
        return x * k

    outcomes = rehearse(entry, block, plan)
    assert [array_of(o).tolist() for o in outcomes] == [[2, 4], [6]]
    assert seen == [([1, 2], 2), ([3], 2)]


def test_what_is_left_out_is_not_run() -> None:
    block, plan = phase([1.0], [2.0], [3.0], 0, 2)
    ran: list[float] = []
    outcomes = rehearse(lambda x, k: ran.append(x[0]) or x * k, block, plan, {0, 3})
    assert [o.state for o in outcomes] == ["returned", "not_run", "not_run", "returned", "not_run"]
    assert ran == [1.0]
    assert rehearse(lambda x, k: x, block, plan, set()) == [StepOutcome("not_run")] * 5


def test_a_second_look_sees_what_became_of_the_answer() -> None:
    block, plan = phase([1.0], [5.0], 0)
    buffer = np.zeros(1)

    def entry(x: Any, k: int) -> Any:
        buffer[:] = x
        return buffer

    outcomes = rehearse(entry, block, plan)
    assert [array_of(o).tolist() for o in outcomes] == [[1], [5], [5]]


def test_an_exception_is_an_outcome_and_the_next_call_is_made() -> None:
    block, plan = phase([1.0], [2.0], 0)

    def entry(x: Any, k: int) -> Any:
        if x[0] == 1:
            raise ZeroDivisionError("y" * 1000)
        return x

    first, second, look = rehearse(entry, block, plan)
    assert first.state == look.state == "raised" and second.state == "returned"
    assert first.failure is not None
    assert first.failure.type == "ZeroDivisionError" and first.failure.bases[:2] == (
        "ArithmeticError",
        "Exception",
    )
    assert first.failure.message == "y" * 300


def test_memory_that_runs_out_is_told_as_in_a_child() -> None:
    def greedy(x: Any, k: int) -> Any:
        return np.ones((1 << 17, 1 << 17))

    def like_torch(x: Any, k: int) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")

    def other(x: Any, k: int) -> Any:
        raise RuntimeError("something else")

    block, plan = phase([1.0])
    with limited_memory(1 << 30):
        states = [rehearse(one, block, plan)[0].state for one in (greedy, like_torch, other)]
    assert states == ["out_of_memory", "out_of_memory", "raised"]


def test_arguments_that_were_written_to_are_told_and_the_block_is_not_changed() -> None:
    block, plan = phase(
        [1.0, 2.0], ArrayArgument(np.ones((3, 2)), "fortran"), ArrayArgument(np.ones(3), "strided")
    )
    before = bytes(block)

    def entry(x: Any, k: int) -> Any:
        answer = x * k
        if x.ndim == 1:
            x[-1] = 9
        return answer

    outcomes = rehearse(entry, block, plan)
    assert [o.overwritten for o in outcomes] == [{0}, frozenset(), {0}]
    assert block == before
    assert [o.overwritten for o in rehearse(lambda x, k: x * k, block, plan)] == [frozenset()] * 3


def test_read_only_arguments_refuse() -> None:
    block, plan = phase(ArrayArgument(np.ones(2), read_only=True))

    def entry(x: Any, k: int) -> Any:
        x += 1

    (outcome,) = rehearse(entry, block, plan)
    assert outcome.state == "raised" and not outcome.overwritten


def test_an_answer_in_an_arguments_memory_is_told() -> None:
    block, plan = phase([[1.0, 2.0]], [[3.0, 4.0]])
    outcomes = rehearse(lambda x, k: x[0] if x[0, 0] == 1 else x[0].copy(), block, plan)
    assert [o.aliased for o in outcomes] == [{0}, frozenset()]


def test_warnings_and_odd_arithmetic_stay_inside() -> None:
    block, plan = phase([0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (outcome,) = rehearse(lambda x, k: np.log(x) / np.array([]).mean(), block, plan)
    assert np.isnan(array_of(outcome)).all()


def test_one_call_alone_is_what_it_is_among_the_others(stepped: Pack) -> None:
    block, plan = stepped.blocks["public"], stepped.plans["public"]
    together = rehearse(row_scale, block, plan)
    for step, placed in enumerate(plan):
        arguments = prepare(placed, block)
        assert all(not a.flags.writeable for a in arguments if isinstance(a, np.ndarray))
        assert call(row_scale, arguments) == together[step]
        assert isinstance(placed, list)
        for mine, given in zip(arguments, placed, strict=True):
            if isinstance(given, PlacedArray):
                assert (mine.dtype.str, mine.strides) == (np.dtype(given.dtype).str, given.strides)
                assert np.array_equal(mine, given.read(block))


def test_a_second_look_has_no_arguments() -> None:
    block, plan = phase([1.0], 0)
    with pytest.raises(TypeError, match="a second look at an answer has no arguments"):
        prepare(plan[1], block)


@pytest.mark.parametrize("source", [RIGHT, WRONG, MUTATES], ids=["right", "wrong", "mutates"])
def test_a_child_leaves_the_same(stepped: Pack, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    ran: list[Execution] = []
    judge = judging.judge

    def spy(context: judging.Context, execution: Execution) -> Any:
        ran.append(execution)
        return judge(context, execution)

    monkeypatch.setattr(judging, "judge", spy)
    with Runner(stepped) as runner:
        runner.grade(Submission("ann", "ann", "ann.py", "sha256:1", source, "", ("ann",)))
    names: dict[str, Any] = {}
    exec(source, names)
    for name, theirs in ran[0].steps.items():
        mine = rehearse(names["row_scale"], stepped.blocks[name], stepped.plans[name])
        assert [(o.state, o.value, o.overwritten, o.aliased) for o in mine] == [
            (o.state, o.value, o.overwritten, o.aliased) for o in theirs
        ]


def test_lists_and_dictionaries_that_are_changed_are_seen() -> None:
    builder = PhaseBuilder()
    given = [
        ArrayArgument(np.arange(3.0), as_list=True),
        MappingArgument((("a", ArrayArgument(np.ones(2))),)),
        PlainArgument([1, 2]),
    ]
    builder.add_call(given)
    block = builder.finish()

    def seen(function: Any) -> tuple[set[int], set[int]]:
        (outcome,) = rehearse(function, block, read_plan(block))
        return set(outcome.reshaped), set(outcome.overwritten)

    def grows(numbers: list[float], items: dict[str, Any], plain: list[int]) -> None:
        numbers.append(1.0)
        items["b"] = 2

    def overwrites(numbers: list[float], items: dict[str, Any], plain: list[int]) -> None:
        plain.reverse()
        items["a"] += 1

    assert seen(lambda *given: None) == (set(), set())
    assert seen(grows) == ({0, 1}, set())
    assert seen(overwrites) == ({2}, {1})


def test_what_derives_from_a_class_of_pythons_own_counts_by_what_it_holds() -> None:
    class Id(int):
        pass

    class Word(str):
        __slots__ = ()

    given = [Id(3), Word("a"), True, 2.5, OrderedDict(a=Id(1))]
    values = as_value(given)
    assert isinstance(values, Container)
    expected = [
        PlainValue("int", 3),
        PlainValue("str", "a"),
        PlainValue("bool", True),
        PlainValue("float", 2.5),
    ]
    assert list(values.items[:4]) == expected
    assert values.items[4] == Container("dict", ((PlainValue("str", "a"), PlainValue("int", 1)),))


def test_the_order_of_an_arrays_bytes_says_nothing() -> None:
    for dtype in (">f8", "<f8", ">i4", "<i4", "?"):
        given = np.array([[0, 1], [1, 0]], dtype)
        value = as_value(given)
        assert isinstance(value, ArrayValue)
        np.testing.assert_array_equal(value.array(), given)
