"""Drawn descriptors keep to bounds and constraints; a batch depends on its seed alone."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small import CASES, load_source, write_exercise

from grader.authoring.strategies import allowed_values, descriptors, draw_batch
from grader.errors import ExerciseError
from grader.exercise.expressions import evaluate
from grader.exercise.models import Exercise, RandomBatch, RandomCases
from grader.exercise.source import Entry

TESTS = Path(__file__).resolve().parents[1]


def exercise(
    dims: dict[str, str], constraints: list[str], work: str | None = None, per_case: int = 100
) -> Exercise:
    return Exercise.model_validate(
        {
            "exercise": "x",
            "title": "x",
            "entry": "x",
            "dims": dims,
            "constraints": constraints,
            "parameters": {
                "a": {"shape": list(dims)[:2], "values": "ones"},
                "b": {"shape": list(dims)[:1], "values": "ones"},
                "s": {"scalar": next(iter(dims))},
            },
            "returns": {"shape": ["M"]},
            "work": {"expression": work, "per_case": per_case} if work else None,
            "clauses": {"c": {"title": "c"}},
        }
        | ({} if work else {"work": None})
    )


BOUNDS = [">= 0", ">= 1", ">= 2", "<= 4", "!= 3", "> 1", "% 2 == 0"]
CONSTRAINTS = [
    "A % B == 0",
    "A + B + C <= 7",
    "A + B > C",
    "A <= B",
    "A + B <= 6",
    "B != C",
    "A * C < 12",
    "C == 0 or A % C == 0",
    "A > 0",
]
spans = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda t: {"from": min(t), "to": max(t)})
exercises = st.builds(
    exercise,
    st.tuples(*[st.sampled_from(BOUNDS)] * 3).map(lambda b: dict(zip("ABC", b, strict=True))),
    st.lists(st.sampled_from(CONSTRAINTS), max_size=2, unique=True).map(
        lambda c: [t if "%" not in t or "B" not in t else "B > 0 and A % B == 0" for t in c]
    ),
    st.none() | st.just("A * B + C"),
    st.integers(3, 20),
)
batches = st.builds(
    lambda dims, dtypes, layouts, read_only: RandomBatch.model_validate(
        {
            "count": 1,
            "seed": 1,
            "dims": dict(zip("ABC", dims, strict=True)),
            "dtypes": dtypes,
            "layouts": layouts,
            "read_only": read_only,
        }
    ),
    st.tuples(spans, spans, spans),
    st.lists(st.sampled_from(["float64", "float32"]), min_size=1, unique=True),
    st.lists(st.sampled_from(["c", "fortran", "strided"]), min_size=1, unique=True),
    st.booleans(),
)


def fulfils(one: Exercise, batch: RandomBatch, dims: dict[str, int]) -> bool:
    inside = all(batch.dims[n].from_ <= v <= batch.dims[n].to for n, v in dims.items())
    bounds = all(evaluate(f"{n} {one.dims[n]}", {n: v}) for n, v in dims.items())
    work = one.work is None or evaluate(one.work.expression, dims) <= one.work.per_case
    return bool(inside and bounds and work and all(evaluate(c, dims) for c in one.constraints))


def possible(one: Exercise, batch: RandomBatch) -> list[dict[str, int]]:
    values = [range(batch.dims[n].from_, batch.dims[n].to + 1) for n in "ABC"]
    found = [
        dict(zip("ABC", (a, b, c), strict=True)) for a in values[0] for b in values[1] for c in values[2]
    ]
    return [dims for dims in found if fulfils(one, batch, dims)]


@settings(max_examples=80)
@given(exercises, batches, st.data())
def test_every_drawn_descriptor_fulfils_bounds_ranges_constraints_and_work(
    one: Exercise, batch: RandomBatch, data: st.DataObject
) -> None:
    if not possible(one, batch):
        return
    descriptor = data.draw(descriptors(one, batch))
    assert list(descriptor.dims) == ["A", "B", "C"]
    assert fulfils(one, batch, descriptor.dims)
    assert descriptor.dtype in batch.dtypes
    assert set(descriptor.layouts) == {"a", "b"}
    assert set(descriptor.layouts.values()) <= set(batch.layouts)
    assert batch.read_only or not descriptor.read_only
    assert 0 <= descriptor.seed < 2**31


def entry_of(batch: RandomBatch, count: int = 6, seed: int = 1) -> Entry:
    spec = RandomCases(
        id="drawn",
        clause="c",
        points=1,
        random=batch.model_copy(update={"count": count, "seed": seed}),
    )
    return Entry("g", spec, "g.yaml", 12)


@pytest.mark.parametrize(
    ("constraints", "spans_", "satisfiable"),
    [
        (["A + B <= 6"], (4, 4, 4), True),
        (["A + B == 8"], (4, 4, 4), True),
        (["A + B == 9"], (4, 4, 4), False),
        (["B > 0 and A % B == 0", "A * C < 12"], (4, 3, 4), True),
        (["A > 0", "A <= 0"], (4, 4, 4), False),
    ],
)
def test_a_batch_is_drawn_exactly_when_there_is_something_to_draw(
    constraints: list[str], spans_: tuple[int, int, int], satisfiable: bool
) -> None:
    one = exercise({"A": ">= 0", "B": ">= 0", "C": ">= 0"}, constraints)
    dims = {name: {"from": 0, "to": to} for name, to in zip("ABC", spans_, strict=True)}
    batch = RandomBatch.model_validate({"count": 6, "seed": 1, "dims": dims})
    spec = RandomCases(id="drawn", clause="c", points=1, random=batch)
    entry = Entry("g", spec, "g.yaml", 12)
    assert bool(possible(one, batch)) == satisfiable
    if satisfiable:
        drawn = draw_batch(one, entry)
        assert len(drawn) == 6
        assert all(fulfils(one, batch, d.dims) for d in drawn)
    else:
        with pytest.raises(
            ExerciseError, match=r"g\.yaml:12: random\.dims: drawn: the ranges of its dims leave nothing"
        ):
            draw_batch(one, entry)


def small(root: Path, **random: Any) -> tuple[Exercise, Entry]:
    spec = copy.deepcopy(CASES[6])
    spec["random"] |= random
    write_exercise(root, cases=[CASES[0], spec])
    source = load_source(root)
    return source.exercise, source.entries[-1]


ONE = {name: {"from": 1, "to": 1} for name in ("N", "D", "K", "factor")}


def test_no_two_of_a_batch_are_alike_while_others_are_left(tmp_path: Path) -> None:
    drawn = draw_batch(*small(tmp_path, count=12))
    assert len({(tuple(d.dims.items()), d.dtype) for d in drawn}) == 12


@pytest.mark.parametrize("dims", [CASES[6]["random"]["dims"], ONE])
def test_no_two_of_a_batch_have_the_same_seed(tmp_path: Path, dims: Any) -> None:
    drawn = draw_batch(*small(tmp_path, count=20, dims=dims))
    assert len({d.seed for d in drawn}) == 20
    assert all(0 <= d.seed < 2**31 for d in drawn)


def test_the_same_seed_gives_the_same_batch_and_another_seed_another(tmp_path: Path) -> None:
    first = draw_batch(*small(tmp_path))
    assert draw_batch(*small(tmp_path)) == first
    other = draw_batch(*small(tmp_path, seed=2))
    assert other != first
    assert not {d.seed for d in other} & {d.seed for d in first}


def test_a_batch_does_not_depend_on_which_modules_are_loaded(tmp_path: Path) -> None:
    # Hypothesis takes constants that it draws from the modules of the project that is being tested.
    (tmp_path / "loaded.py").write_text(f"NUMBERS = {[7919 * n for n in range(200)]}\n")
    small(tmp_path, count=12, dims=ONE)
    code = (
        "import sys\n"
        "sys.path[:0] = sys.argv[3:]\n"
        "if sys.argv[2]: import loaded\n"
        "from pathlib import Path\n"
        "from support.small import load_source\n"
        "from grader.authoring.strategies import draw_batch\n"
        "source = load_source(Path(sys.argv[1]))\n"
        "print([d.seed for d in draw_batch(source.exercise, source.entries[-1])])\n"
    )
    told = []
    for loaded in ("", "loaded"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), loaded, str(tmp_path), str(TESTS), str(TESTS.parent)],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env=os.environ | {"HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")},
        )
        told.append(done.stdout)
    assert told[0] == told[1]


def test_allowed_values_are_those_of_the_range_within_the_bound(tmp_path: Path) -> None:
    one, entry = small(tmp_path, dims=ONE | {"D": {"from": -2, "to": 3}})
    assert isinstance(entry.spec, RandomCases)
    assert allowed_values(one, "D", entry.spec.random) == [1, 2, 3]


def test_every_layout_and_dtype_is_drawn(tmp_path: Path) -> None:
    drawn = draw_batch(*small(tmp_path, count=30, read_only=True))
    assert {d.dtype for d in drawn} == {"float64", "float32"}
    assert {layout for d in drawn for layout in d.layouts.values()} == {"c", "fortran", "strided"}
    assert {d.read_only for d in drawn} == {True, False}
    assert len({tuple(d.dims.values()) for d in drawn}) > 20


def test_a_batch_holds_few_cases_of_mostly_the_smallest_dims() -> None:
    """What Hypothesis draws first would tell little apart: all dims 1."""
    from grader.authoring.strategies import _mostly_minimal
    from grader.exercise.frozen import Descriptor
    from grader.exercise.models import RandomBatch

    dims = {"N": {"from": 1, "to": 4}, "D": {"from": 1, "to": 9}, "K": {"from": 2, "to": 2}}
    batch = RandomBatch.model_validate({"count": 4, "seed": 1, "dims": dims})

    def minimal(n: int, d: int) -> bool:
        return _mostly_minimal(Descriptor({"N": n, "D": d, "K": 2}, 0, "float64", {}, False), batch)

    assert minimal(1, 1)
    assert not minimal(1, 5) and not minimal(3, 1) and not minimal(2, 2)
