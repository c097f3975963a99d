"""What running gave is kept to the last bit, and what was damaged is not believed."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classes import SOURCES, told
from hypothesis import given
from hypothesis import strategies as st

from grader.batch import stored
from grader.batch.jobs import join, split
from grader.batch.runner import Runner
from grader.batch.stored import Ran, SmallCalls
from grader.exercise.pack import Pack
from grader.intake.collect import Asked, collect
from grader.intake.submission import Submission
from grader.judge.follow_up import choose
from grader.outcomes import (
    ArrayValue,
    Container,
    Execution,
    Failure,
    LoadOutcome,
    PlainValue,
    StepOutcome,
    Value,
)
from grader.result import Isolation
from grader.sandbox.records import ITEM_SIZES

# Its tests together take long.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "submissions" / "mlm_forward"
FULL = Isolation("full", ("processes", "landlock 4"))


def ran(execution: Execution, **changes: Any) -> Ran:
    return replace(Ran("sha256:pack", "sha256:program", execution, FULL, "numpy", 0.25), **changes)


# --- whatever a child may leave --------------------------------------------------------------------

texts = st.text(max_size=20) | st.sampled_from(["\ud800 alone", "\x00", '"], \x85'])
numbers = st.integers(0, 10**9)
seconds = st.floats(0, 1e6)


@st.composite
def arrays(draw: st.DrawFn) -> ArrayValue:
    kind = draw(st.sampled_from(["array", "tensor", "scalar"]))
    if draw(st.booleans()):
        shape = draw(st.lists(st.integers(0, (1 << 63) - 1), max_size=4))
        return ArrayValue(kind, draw(texts), tuple(shape), None)
    dtype = draw(st.sampled_from(sorted(ITEM_SIZES)))
    dims = draw(st.lists(st.integers(0, 4), max_size=3))
    length = math.prod(dims) * ITEM_SIZES[dtype]
    return ArrayValue(kind, dtype, tuple(dims), draw(st.binary(min_size=length, max_size=length)))


plain = st.one_of(
    st.just(PlainValue("none")),
    st.builds(PlainValue, st.just("bool"), st.booleans()),
    st.builds(PlainValue, st.just("int"), st.integers(-(10**398), 10**398)),
    st.builds(PlainValue, st.just("float"), st.floats()),
    st.builds(PlainValue, st.just("complex"), st.complex_numbers()),
    st.builds(PlainValue, st.sampled_from(["str", "object"]), texts),
)


def containers(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    several = st.lists(inner, max_size=3).map(tuple)
    pairs = st.lists(st.tuples(inner, inner), max_size=3).map(tuple)
    return st.builds(Container, st.sampled_from(["list", "tuple"]), several) | st.builds(
        Container, st.just("dict"), pairs
    )


values: st.SearchStrategy[Value] = st.recursive(arrays() | plain, containers, max_leaves=5)
failures = st.builds(
    Failure,
    texts,
    texts,
    bases=st.lists(texts, max_size=2).map(tuple),
    frames=st.lists(st.tuples(numbers, texts), max_size=2).map(tuple),
    line=st.none() | numbers,
)
bits = st.frozensets(st.integers(0, 63), max_size=3)
states = st.sampled_from(["returned", "raised", "out_of_memory", "timed_out", "crashed", "not_run"])
steps = st.builds(
    StepOutcome,
    states,
    value=st.none() | values,
    too_large=st.booleans(),
    failure=st.none() | failures,
    detail=texts,
    reshaped=bits,
    overwritten=bits,
    after=st.lists(st.tuples(st.integers(0, 63), values), max_size=2).map(tuple),
    aliased=bits,
    stdout=texts,
    stderr=texts,
    cpu_s=seconds,
)
loads = st.builds(
    LoadOutcome,
    states,
    found=st.booleans(),
    names=st.lists(texts, max_size=2).map(tuple),
    failure=st.none() | failures,
    cpu_s=seconds,
)
words = texts | numbers | st.booleans() | st.none()
reports = st.dictionaries(texts, st.recursive(words, lambda inner: st.lists(inner, max_size=2)))
executions = st.builds(
    Execution,
    st.none() | reports,
    st.none() | loads,
    st.dictionaries(st.sampled_from(["public", "hidden"]), st.lists(steps, max_size=4)),
    cpu_s=seconds,
    children=numbers,
    truncated=st.frozensets(st.sampled_from(["load", "public"])),
)
small = st.builds(SmallCalls, texts, st.lists(steps, max_size=3).map(tuple), seconds)


@given(executions, st.none() | small)
def test_whatever_a_child_may_leave_comes_back(execution: Execution, calls: SmallCalls | None) -> None:
    kept = ran(execution, small=calls)
    again = Ran.from_bytes(kept.to_bytes())
    assert comparable(again) == comparable(kept)
    assert Ran.from_bytes(again.to_bytes()).to_bytes() == kept.to_bytes()


def comparable(value: Any) -> Any:
    """Types and values in lists: NaN is not equal to itself, and True is equal to 1."""
    if is_dataclass(value):
        return [type(value).__name__, *map(comparable, vars(value).items())]
    if isinstance(value, frozenset):
        return ["frozenset", *sorted(value)]
    if isinstance(value, dict):
        return ["dict", *map(comparable, value.items())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(comparable, value)]
    return [type(value).__name__, repr(value)]


@pytest.mark.parametrize("number", [0.0, -0.0, math.inf, -math.inf, 5e-324])
def test_odd_numbers_are_kept_to_the_last_bit(number: float) -> None:
    value = PlainValue("complex", complex(number, -number))
    kept = ran(Execution(None, None, {"public": [StepOutcome("returned", value=value)]}))
    (outcome,) = Ran.from_bytes(kept.to_bytes()).execution.steps["public"]
    assert isinstance(outcome.value, PlainValue)
    found = outcome.value.value
    assert struct.pack("<dd", found.real, found.imag) == struct.pack("<dd", number, -number)


def test_an_answer_that_comes_often_is_kept_once() -> None:
    data = np.random.default_rng(0).standard_normal(1000).tobytes()
    value = ArrayValue("array", "float64", (1000,), data)
    once = ran(Execution(None, None, {"public": [StepOutcome("returned", value=value)]}))
    often = ran(Execution(None, None, {"public": [StepOutcome("returned", value=value)] * 50}))
    assert Ran.from_bytes(often.to_bytes()) == often
    assert len(often.to_bytes()) < len(once.to_bytes()) + 200


# --- damage ------------------------------------------------------------------------------------------

VALUE = ArrayValue("array", "float64", (3,), np.arange(3.0).tobytes())
RETURNED = {"public": [StepOutcome("returned", VALUE)]}
SAMPLE = ran(Execution({"imports": []}, LoadOutcome("returned"), RETURNED))


@given(st.data())
def test_damage_anywhere_is_noticed(data: st.DataObject) -> None:
    whole = SAMPLE.to_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    changed = whole[:at] + bytes([whole[at] ^ other]) + whole[at + 1 :]
    for damaged in (changed, whole[:at], whole + whole[at:]):
        with pytest.raises(ValueError, match="is damaged"):
            Ran.from_bytes(damaged)


def resealed(change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """The sample with other parts under a digest that is right."""
    whole = SAMPLE.to_bytes()
    parts = [zlib.decompress(part) for part in split(whole[len(stored.MAGIC) + stored.DIGEST_BYTES :])]
    body = join([zlib.compress(part) for part in change(parts)])
    return stored.MAGIC + stored._digest(body) + body


def replaced(old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    def change(parts: list[bytes]) -> list[bytes]:
        assert old in parts[0]
        return [parts[0].replace(old, new), *parts[1:]]

    return change


WRONG_FORMS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "no_json": lambda parts: [b"{", *parts[1:]],
    "nothing": lambda parts: [],
    "too_few_parts": lambda parts: parts[:-1],
    "deep": lambda parts: [b"[" * 100_000 + b"]" * 100_000, *parts[1:]],
    "no_record": lambda parts: [b'{"ran": 1, "arrays": []}', *parts[1:]],
    "missing_fields": lambda parts: [b'{"ran": {}, "arrays": []}', *parts[1:]],
    "unknown_field": replaced(b'"kind":', b'"kinds":'),
    "unknown_state": replaced(b'"returned"', b'"exploded"'),
    "unknown_dtype": replaced(b'"float64"', b'"float63"'),
    "another_dtype": replaced(b'"float64"', b'"float32"'),
    "another_shape": replaced(b"[3],0", b"[4],0"),
    "a_huge_shape": replaced(b"[3],0", b"[%d,%d],0" % (1 << 62, 1 << 62)),
    "a_negative_shape": replaced(b"[3],0", b"[-3],0"),
    "no_such_array": replaced(b"[3],0", b"[3],1"),
    "an_array_from_the_end": replaced(b"[3],0", b"[3],-1"),
    "a_longer_array": replaced(b"[8,24]", b"[8,32]"),
    "an_array_of_an_odd_size": replaced(b"[8,24]", b"[7,24]"),
    "a_text_for_a_number": replaced(b'"wall_s":0.25', b'"wall_s":"0.25"'),
    "a_number_for_a_text": replaced(b'"numpy"', b"1"),
    "a_mapping_for_a_list": replaced(b'"layers":["processes","landlock 4"]', b'"layers":{}'),
    "a_value_of_no_kind": replaced(b'"array"', b'"arrow"'),
    "a_list_for_a_mapping": replaced(b'"steps":{', b'"steps":[],"small":{'),
}


@pytest.mark.parametrize("name", WRONG_FORMS)
def test_what_is_of_another_form_is_refused(name: str) -> None:
    assert Ran.from_bytes(resealed(list)) == SAMPLE
    with pytest.raises(ValueError, match="is damaged"):
        Ran.from_bytes(resealed(WRONG_FORMS[name]))


def test_a_bomb_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = resealed(lambda parts: [parts[0] + b" " * (8 << 20), *parts[1:]])
    assert len(bomb) < 100_000 and Ran.from_bytes(bomb) == SAMPLE
    monkeypatch.setattr(stored, "MAX_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="more than 1048576 bytes"):
        Ran.from_bytes(bomb)


def test_what_is_too_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MAX_BYTES", 1 << 10)
    value = ArrayValue("array", "float64", (1000,), bytes(8000))
    with pytest.raises(ValueError, match="more than 1024 bytes"):
        ran(Execution(None, None, {"public": [StepOutcome("returned", value)]})).to_bytes()
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        ran(Execution({"deep": deep}, None, {})).to_bytes()
    while deep:
        # Taken apart step by step: some versions of Python overflow their stack otherwise.
        deep = deep.pop()


# --- judged again ------------------------------------------------------------------------------------


def submission(source: str, name: str = "ann") -> Submission:
    return Submission(name, name, f"{name}.py", "sha256:1", source, "", (name,))


def assert_same_after_storing(runner: Runner, one: Submission) -> bytes:
    found = runner.run(one)
    data = found.to_bytes()
    again = Ran.from_bytes(data)
    assert again == found
    assert runner.judge(one, again).to_dict() == runner.judge(one, found).to_dict()
    return data


@pytest.mark.parametrize("name", SOURCES)
def test_what_was_stored_is_judged_the_same(stepped_runner: Runner, name: str) -> None:
    one = submission(SOURCES[name], name)
    data = assert_same_after_storing(stepped_runner, one)
    fresh = stepped_runner.grade(one)
    assert told(stepped_runner.judge(one, Ran.from_bytes(data))) == told(fresh)


QUICK = (
    "right_float32",
    "right_per_example",
    "wrong_gelu_erf",
    "wrong_rows_pile_up",
    "wrong_returns_list",
    "wrong_dropout_left_on",
    "wrong_zero_blocks_crash",
    "banned_computed_import",
)
IMPORTS_MORE = ("torch", "scipy")


def examples() -> list[Any]:
    found = []
    for path in sorted(EXAMPLES.glob("*.py")):
        if not any(f"import {name}" in path.read_text() for name in IMPORTS_MORE):
            marks = () if path.stem in QUICK else (pytest.mark.slow,)
            found.append(pytest.param(path, marks=marks, id=path.stem))
    return found


@pytest.mark.parametrize("path", examples())
def test_worked_examples_are_judged_the_same_and_take_little_room(mlm_runner: Runner, path: Path) -> None:
    (one,) = collect([path], Asked("mlm_forward")).submissions
    data = assert_same_after_storing(mlm_runner, one)
    assert len(data) < 60_000


def changed(pack: Pack, **changes: Callable[[Any], Any]) -> Pack:
    """The pack with other values of its cases, and another id."""
    cases = tuple(
        replace(case, **{name: change(getattr(case, name)) for name, change in changes.items()})
        for case in pack.cases
    )
    return replace(pack, id=f"sha256:{'+'.join(sorted(changes))}", cases=cases)


CHANGES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "hint": {"hint": lambda hint: f"{hint} Look again."},
    "points": {"points": lambda points: points + 1},
    "title": {"title": lambda title: f"{title}!", "group": lambda group: f"the {group}"},
    "tolerance": {"tolerance": lambda value: None if value is None else value * 1e6},
    "strict": {"tolerance": lambda value: None if value is None else 0.0},
    "requires": {"requires": lambda _: ()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_judged_again_by_another_pack_it_is_as_if_graded_by_it(
    stepped: Pack, stepped_runner: Runner, change: str
) -> None:
    other = changed(stepped, **CHANGES[change])
    assert other.execution_digest == stepped.execution_digest
    differing = 0
    with Runner(other) as runner:
        for name, source in SOURCES.items():
            one = submission(source, name)
            kept = Ran.from_bytes(stepped_runner.run(one).to_bytes())
            again, fresh = runner.judge(one, kept), runner.grade(one)
            first = stepped_runner.grade(one)
            differing += told(first) | {"exercise": None} != told(fresh) | {"exercise": None}
            calls = choose(runner.pack, fresh)
            if calls is not None and (kept.small is None or kept.small.calls != stored_name(calls.block)):
                # Other small calls would be made now: nothing is shown of those that were.
                assert (again.influence, again.counterexample) == (None, None)
                fresh = replace(fresh, influence=None, counterexample=None)
            assert told(again) == told(fresh), name
            assert again.exercise["pack"] == other.id
    assert differing


def stored_name(block: bytes) -> str:
    from grader.batch import runner

    return runner._digest(block)


def test_worked_examples_are_judged_again_without_being_run(mlm_pack: Pack, mlm_runner: Runner) -> None:
    other = changed(mlm_pack, **CHANGES["points"], **CHANGES["hint"])
    with Runner(other) as judging, Runner(other) as grading:
        for name in QUICK:
            (one,) = collect([EXAMPLES / f"{name}.py"], Asked("mlm_forward")).submissions
            again = judging.judge(one, Ran.from_bytes(mlm_runner.run(one).to_bytes()))
            assert told(again) == told(grading.grade(one)), name
        assert not judging._servers, "something was started"
