"""frozen.json: written and read back without loss, one case a line, damage told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy

from grader.errors import ExerciseError
from grader.exercise.counterexamples import Counterexample, WrittenArray
from grader.exercise.frozen import Descriptor, Frozen, Measured, load


def arrays_of(dtype: str, elements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    shapes = hypothesis_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
    return hypothesis_numpy.arrays(dtype, shapes, elements=elements)


names = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
figures = st.none() | st.floats(min_value=1e-20, max_value=1)
descriptors = st.builds(
    Descriptor,
    dims=st.dictionaries(names, st.integers(0, 99), max_size=3),
    seed=st.integers(0, 2**31),
    dtype=st.sampled_from(["float64", "float32"]),
    layouts=st.dictionaries(names, st.sampled_from(["c", "fortran", "strided"]), max_size=3),
    read_only=st.booleans(),
)
measured = st.builds(
    Measured,
    inputs=st.text(max_size=12),
    noise=figures,
    float64_noise=figures,
    run=st.none() | st.text(max_size=20),
    tolerance=figures,
    at_least=figures,
    reference_time=figures,
)
arrays = st.one_of(
    arrays_of("float64", st.floats(-(2.0**99), 2.0**99, width=32)),
    arrays_of("float32", st.floats(width=32, allow_nan=False, allow_infinity=False)),
    arrays_of("int64", st.integers(-(2**53), 2**53)),
    arrays_of("bool", st.booleans()),
).map(WrittenArray.of)


def examples(misconception: str) -> st.SearchStrategy[Counterexample]:
    return st.builds(
        Counterexample,
        misconception=st.just(misconception),
        dims=st.dictionaries(names, st.integers(0, 99), max_size=3),
        arguments=st.dictionaries(names, arrays | st.integers(-9, 9) | st.floats(0, 1), max_size=3),
    )


frozen_records = st.builds(
    Frozen,
    sources=st.text(max_size=20),
    batches=st.dictionaries(names, st.lists(descriptors, max_size=3), max_size=3),
    cases=st.dictionaries(names, measured, max_size=4),
    search=st.text(max_size=20),
    counterexamples=st.lists(names, max_size=3, unique=True).flatmap(
        lambda ids: st.fixed_dictionaries({name: examples(name) for name in ids})
    ),
    ladder=st.lists(examples(""), max_size=3),
    reference_start=figures,
)


@given(frozen_records)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, frozen: Frozen) -> None:
    path = tmp_path_factory.getbasetemp() / "frozen.json"
    text = frozen.dumps()
    path.write_text(text, "utf-8")
    again = load(path, "frozen.json")
    assert again == frozen
    assert again is not None
    assert again.dumps() == text


@given(frozen_records)
def test_each_case_each_drawn_descriptor_and_each_input_has_a_line_of_its_own(frozen: Frozen) -> None:
    lines = frozen.dumps().splitlines()
    for name in frozen.cases:
        assert sum(line.startswith(f"{json.dumps(name)}: {{") for line in lines) >= 1
    drawn = sum(map(len, frozen.batches.values()))
    assert sum(line.startswith('{"dims"') for line in lines) == drawn + len(frozen.ladder)
    for name in frozen.counterexamples:
        assert sum(line.startswith(f'{json.dumps(name)}: {{"dims"') for line in lines) == 1


def test_order_of_cases_does_not_matter() -> None:
    a, b = Measured("x"), Measured("y", tolerance=1e-6)
    assert Frozen("s", {}, {"a": a, "b": b}).dumps() == Frozen("s", {}, {"b": b, "a": a}).dumps()


def test_a_file_from_before_there_were_counterexamples_is_read(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index('"search"')].rstrip().removesuffix(",") + "\n}\n"
    path = tmp_path / "frozen.json"
    path.write_text(text, "utf-8")
    old = load(path, "frozen.json")
    assert old is not None
    assert (old.sources, old.search, old.counterexamples, list(old.ladder)) == ("s", "", {}, [])


def test_arguments_stand_in_the_order_of_the_parameters_with_short_numbers() -> None:
    array = WrittenArray.of(np.array([[1.0, 0.0, np.float32(0.2)]]))
    ids = WrittenArray.of(np.array([3, 0]))
    none = WrittenArray.of(np.zeros((0, 6, 1)))
    arguments = {"w": array, "ids": ids, "blocks": none, "heads": 2}
    frozen = Frozen("s", {}, {}, "1", {"m": Counterexample("m", {"T": 1}, arguments)}, [])
    assert (
        '"m": {"dims":{"T":1},"arguments":{"w":[[1,0,0.2]],"ids":{"dtype":"int64","values":[3,0]},'
        '"blocks":{"dtype":"float64","shape":[0,6,1]},"heads":2}}'
    ) in frozen.dumps().splitlines()


def test_without_the_file_there_is_nothing(tmp_path: Path) -> None:
    assert load(tmp_path / "frozen.json", "frozen.json") is None


EXAMPLE = Counterexample("m", {"N": 1}, {"x": WrittenArray("float64", (1,), [1])})
GOOD = Frozen(
    "s",
    {"b": [Descriptor({}, 1, "float64", {}, False)]},
    {"a": Measured("x")},
    "1",
    {"m": EXAMPLE},
    [EXAMPLE],
).dumps()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        "{}",
        GOOD[:-3],
        GOOD.replace("grader.frozen/1", "grader.frozen/9"),
        GOOD.replace('"inputs"', '"input"'),
        GOOD.replace('"seed"', '"sed"'),
        GOOD.replace('"sources": "s",', ""),
        GOOD.replace('"arguments":', '"argument":'),
        GOOD.replace('"x":[1]', '"x":[[1],1]'),
        GOOD.replace('"x":[1]', '"x":null'),
        GOOD.replace('"x":[1]', '"x":{"values":[1]}'),
        GOOD.replace('"x":[1]', '"x":{"dtype":"float65","values":[1]}'),
        '{"schema": "grader.frozen/1", "sources": "s", "batches": [], "cases": {}}',
        '{"schema": "grader.frozen/1", "sources": "s", "batches": {}, "cases": {"a": 3}}',
        "<<<<<<< HEAD\n" + GOOD,
    ],
)
def test_a_damaged_file_is_told_with_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "frozen.json"
    path.write_text(text, "utf-8")
    with pytest.raises(
        ExerciseError, match=r"^cases/x/frozen\.json: is damaged \(.*\); make it anew with: grader validate"
    ):
        load(path, "cases/x/frozen.json")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "frozen.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExerciseError, match="is damaged"):
        load(path, "frozen.json")
