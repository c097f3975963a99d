"""frozen.json: written and read back without loss, one case a line, damage told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import ExerciseError
from grader.exercise.frozen import Descriptor, Frozen, Measured, load

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
)
frozen_records = st.builds(
    Frozen,
    sources=st.text(max_size=20),
    batches=st.dictionaries(names, st.lists(descriptors, max_size=3), max_size=3),
    cases=st.dictionaries(names, measured, max_size=4),
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
def test_each_case_and_each_drawn_descriptor_has_a_line_of_its_own(frozen: Frozen) -> None:
    lines = frozen.dumps().splitlines()
    for name in frozen.cases:
        assert sum(line.startswith(f"{json.dumps(name)}: {{") for line in lines) >= 1
    assert sum(line.startswith('{"dims"') for line in lines) == sum(map(len, frozen.batches.values()))


def test_order_of_cases_does_not_matter() -> None:
    a, b = Measured("x"), Measured("y", tolerance=1e-6)
    assert Frozen("s", {}, {"a": a, "b": b}).dumps() == Frozen("s", {}, {"b": b, "a": a}).dumps()


def test_without_the_file_there_is_nothing(tmp_path: Path) -> None:
    assert load(tmp_path / "frozen.json", "frozen.json") is None


GOOD = Frozen("s", {"b": [Descriptor({}, 1, "float64", {}, False)]}, {"a": Measured("x")}).dumps()


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
