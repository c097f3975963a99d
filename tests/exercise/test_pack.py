"""A pack is one data-only file: the same bytes every time, and nothing hidden in the student's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from support.small import CASES, build, load_source, right_answer, write_exercise

from grader.errors import ExerciseError, GraderError
from grader.exercise import pack as packs
from grader.exercise.build import build_pack
from grader.exercise.frozen import Frozen
from grader.exercise.pack import Pack


def test_two_builds_give_the_same_bytes(root: Path, frozen: Frozen, pack: Pack) -> None:
    source = load_source(root)
    assert build_pack(source, frozen) == build_pack(source, frozen) == pack.data


def test_a_pack_does_not_depend_on_where_it_is_built(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, pack: Pack
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert build(root).data == pack.data
    assert str(root).encode() not in pack.data


def test_a_file_that_was_written_is_loaded_the_same(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "row_scale.pack"
    path.write_bytes(pack.data)
    again = packs.load(path)
    assert again.id == pack.id == f"sha256:{hashlib.sha256(pack.data).hexdigest()}"
    assert again.cases == pack.cases
    assert again.exercise == pack.exercise
    assert again.blocks == pack.blocks
    assert again.plans == pack.plans
    assert {k: v.tolist() for k, v in again.tensors.items()} == {
        k: v.tolist() for k, v in pack.tensors.items()
    }


@pytest.mark.parametrize("name", ["pack", "stepped", "student_pack"])
def test_dump_and_loads_are_inverse(request: pytest.FixtureRequest, name: str) -> None:
    pack: Pack = request.getfixturevalue(name)
    data = packs.dump(
        pack.exercise,
        pack.cases,
        pack.blocks,
        pack.tensors,
        pack.known,
        pack.follow_up,
        student=pack.student,
        sources=pack.sources,
    )
    assert data == pack.data


def test_cases_keep_order_words_and_points(pack: Pack) -> None:
    ids = [c["id"] for c in CASES[:-1]] + ["drawn_01", "drawn_02", "drawn_03"]
    assert [c.id for c in pack.cases] == ids
    assert pack.max_score == 2 + 2 + 0.5 + 1 + 0.5 + 1 + 3 * 0.5
    first, apart = pack.cases[0], pack.cases[3]
    assert first.hint == "With x all ones the divisor is 2."
    assert (first.check, first.group, first.clause, first.visibility) == (
        "compare",
        "checks",
        "product",
        "public",
    )
    assert (apart.check, apart.options["rows"], apart.options["other_rows"]) == ("equals", [0, 2], [1, 0])
    assert apart.shapes == ((3, 2), (2, 2))
    assert pack.cases[2].shapes == ((0, 3),)
    assert pack.exercise.policy["rules"][0]["names"] == ["numpy.einsum"]
    assert pack.exercise.limits["memory"] == 1 << 30


def test_expected_answers_tolerance_and_scale_are_the_references(pack: Pack) -> None:
    for case in pack.cases:
        if case.check != "compare":
            assert case.id not in pack.tensors
            continue
        arguments = [value for _, value in pack.arguments(case)]
        expected = pack.expected(case)
        assert np.array_equal(expected, right_answer(*arguments))
        assert expected.shape == case.shapes[0]
        assert case.scale == (np.abs(expected).max() if expected.size else 1)
        assert case.tolerance is not None
        assert 0 < case.tolerance < 1e-5


def test_arguments_have_their_names(pack: Pack) -> None:
    apart = pack.cases[3]
    first, second = dict(pack.arguments(apart)), dict(pack.arguments(apart, 1))
    assert list(first) == ["x", "w", "factor"]
    assert np.array_equal(second["x"], first["x"][[2, 0]])
    assert np.array_equal(second["w"], first["w"])


def test_the_students_pack_holds_nothing_of_hidden_cases(pack: Pack, student_pack: Pack) -> None:
    assert student_pack.student and not pack.student
    assert [c.id for c in student_pack.cases] == [c.id for c in pack.cases if c.visibility == "public"]
    assert list(student_pack.blocks) == ["public"]
    hidden = [c for c in pack.cases if c.visibility == "hidden"]
    assert len(hidden) == 4
    for case in hidden:
        for text in (case.id, case.hint, case.title):
            assert not text or text.encode() in pack.data
            assert not text or text.encode() not in student_pack.data
        for call in range(len(case.steps)):
            for _, value in pack.arguments(case, call):
                if isinstance(value, np.ndarray) and value.size > 1:
                    raw = np.ascontiguousarray(value).tobytes()
                    assert raw not in student_pack.data
        if case.check == "compare":
            assert pack.expected(case).tobytes() in pack.data, "the search does find what is there"
            assert pack.expected(case).tobytes() not in student_pack.data


def test_neither_pack_says_from_which_seed_its_arrays_were_made(
    frozen: Frozen, pack: Pack, student_pack: Pack
) -> None:
    seeds = [d.seed for d in frozen.batches["drawn"] if d.seed > 10_000]
    for data in (pack.data, student_pack.data):
        assert b'"seed' not in data
        assert not any(str(seed).encode() in data for seed in seeds)


def test_public_cases_are_the_same_in_both_packs(pack: Pack, student_pack: Pack) -> None:
    public = {c.id: c for c in pack.cases if c.visibility == "public"}
    for case in student_pack.cases:
        whole = public[case.id]
        assert case == whole
        for (_, mine), (_, theirs) in zip(student_pack.arguments(case), pack.arguments(whole), strict=True):
            assert np.array_equal(mine, theirs)


def test_there_is_nothing_executable_in_a_pack(pack: Pack) -> None:
    # Bytes, numbers and texts only: the safetensors header and JSON, no pickle anywhere.
    header = json.loads(pack.data[8 : 8 + int.from_bytes(pack.data[:8], "little")])
    assert {v["dtype"] for k, v in header.items() if k != "__metadata__"} <= {"U8", "F64"}
    assert list(header["__metadata__"]) == ["grader"]


def test_known_mistakes_and_follow_up_calls_lie_in_the_file(tmp_path: Path, stepped: Pack) -> None:
    path = tmp_path / "row_scale.pack"
    path.write_bytes(stepped.data)
    again = packs.load(path)
    assert again.known_data == stepped.known_data and again.follow_data == stepped.follow_data
    assert {"meta", "pairs", "public.rows", "hidden.rows"} <= set(again.known_data)
    assert set(again.follow_data) == {"meta", "block"}
    header = json.loads(stepped.data[8 : 8 + int.from_bytes(stepped.data[:8], "little")])
    assert {v["dtype"] for k, v in header.items() if k.startswith(("known.", "follow."))} == {"U8"}


def test_loading_reads_neither_of_them(stepped: Pack) -> None:
    """They are large, and most submissions of a class may pass."""
    fresh = packs.loads(stepped.data)
    assert not {"known", "follow_up"} & set(vars(fresh))
    assert fresh.known.mistakes and {"known"} <= set(vars(fresh))


def test_a_damaged_part_does_not_keep_a_pack_from_being_loaded(stepped: Pack) -> None:
    from safetensors.numpy import load, save

    header = json.loads(stepped.data[8 : 8 + int.from_bytes(stepped.data[:8], "little")])
    tensors = load(stepped.data)
    tensors["known.meta"] = tensors["known.meta"][:-9]
    tensors["follow.meta"] = tensors["follow.meta"][:-9]
    found = packs.loads(save(tensors, {"grader": header["__metadata__"]["grader"]}))
    for part in ("known", "follow_up"):
        with pytest.raises(GraderError, match="the pack is damaged"):
            getattr(found, part)
    assert found.cases == stepped.cases


def test_drawn_cases_are_marked(stepped: Pack) -> None:
    assert {case.id for case in stepped.cases if case.drawn} == {"drawn_01", "drawn_02", "drawn_03"}


# --- damage -----------------------------------------------------------------------------------


def damaged(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.pack"
    path.write_bytes(data)
    try:
        packs.load(path)
    except GraderError as error:
        assert str(error).startswith(f"{path} is no pack (")
        assert "make one with: grader pack NAME --out FILE" in str(error)
        return
    raise AssertionError("it was loaded")


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 8, b"\xff" * 64, b"{}", b"just text, and quite some of it", b"\x80\x04."]
)
def test_what_is_no_pack_is_told(tmp_path: Path, data: bytes) -> None:
    damaged(tmp_path, data)


@given(st.data())
def test_a_pack_that_is_cut_short_is_told(
    tmp_path_factory: pytest.TempPathFactory, pack: Pack, data: st.DataObject
) -> None:
    length = data.draw(st.integers(0, len(pack.data) - 1))
    damaged(tmp_path_factory.getbasetemp(), pack.data[:length])


@given(st.data())
def test_any_byte_changed_is_told_or_gives_another_id(pack: Pack, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(pack.data) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda b: b != pack.data[at]))
    try:
        found = packs.loads(pack.data[:at] + bytes([new]) + pack.data[at + 1 :])
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError):
        return
    assert found.id != pack.id


def with_meta(pack: Pack, change: Any) -> bytes:
    from safetensors.numpy import load, save

    header = json.loads(pack.data[8 : 8 + int.from_bytes(pack.data[:8], "little")])
    meta = json.loads(header["__metadata__"]["grader"])
    meta = change(meta)
    data: bytes = save(load(pack.data), {"grader": json.dumps(meta)})
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m | {"schema": "grader.pack/9"},
        lambda m: {k: v for k, v in m.items() if k != "cases"},
        lambda m: m | {"cases": [1]},
        lambda m: m | {"cases": ["x"]},
        lambda m: m | {"cases": [{}]},
        lambda m: m | {"cases": [m["cases"][0] | {"more": 1}]},
        lambda m: m | {"exercise": []},
        lambda m: m | {"exercise": {}},
        lambda m: [],
        lambda m: None,
    ],
    ids=range(10),
)
def test_metadata_of_another_form_is_told(tmp_path: Path, pack: Pack, change: Any) -> None:
    damaged(tmp_path, with_meta(pack, change))


def test_a_pack_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"gone\.pack can't be read: No such file"):
        packs.load(tmp_path / "gone.pack")
    with pytest.raises(GraderError, match="can't be read: Is a directory"):
        packs.load(tmp_path)


# --- building ---------------------------------------------------------------------------------


def test_arrays_that_are_not_those_that_were_frozen_are_told(root: Path, frozen: Frozen) -> None:
    write_exercise(root, change={"large_rows": {"seed": 4}})
    with pytest.raises(
        ExerciseError, match=r"large_rows: its arrays are not those of frozen\.json; run: grader validate"
    ):
        build_pack(load_source(root), frozen)


def test_a_case_that_was_not_frozen_is_told(root: Path, frozen: Frozen) -> None:
    write_exercise(root, more=[CASES[0] | {"id": "another"}])
    with pytest.raises(ExerciseError, match="another: its arrays are not those"):
        build_pack(load_source(root), frozen)


def test_a_reference_that_fails_names_the_case_and_its_line(root: Path, frozen: Frozen) -> None:
    write_exercise(root, model="def row_scale(x, w, factor):\n    return 1 / 0\n")
    with pytest.raises(
        ExerciseError, match=r"checks\.yaml:1: ones_row: the reference fails on it: ZeroDivisionError"
    ):
        build_pack(load_source(root), frozen)


def test_a_reference_of_another_shape_is_told(root: Path, frozen: Frozen) -> None:
    write_exercise(
        root, model="import numpy as np\n\n\ndef row_scale(x, w, factor):\n    return x @ w[:, :1]\n"
    )
    with pytest.raises(
        ExerciseError, match=r"the reference returns the shape \(1, 1\), expected \['N', 'K'\]"
    ):
        build_pack(load_source(root), frozen)


@pytest.mark.parametrize(
    ("check", "key", "said"),
    [
        ({"rows": [7], "other_rows": [0]}, "check.rows", "names row 7 of an answer with 3 rows"),
        ({"rows": [0], "other_rows": [2]}, "check.other_rows", "names row 2 of an answer with 2 rows"),
        ({"rows": [0]}, "check", "holds 1 rows against 2"),
        ({}, "check", "holds 3 rows against 2"),
    ],
)
def test_rows_that_the_answers_do_not_have_are_told(
    root: Path, frozen: Frozen, check: Any, key: str, said: str
) -> None:
    relation = {"relation": "equals", "change": CASES[3]["check"]["change"]} | check
    write_exercise(root, change={"row_alone": {"check": relation}})
    with pytest.raises(ExerciseError) as caught:
        build_pack(load_source(root), frozen)
    assert caught.value.problems[0].key == f"row_alone.{key}"
    assert said in caught.value.problems[0].message


def test_repeats_and_second_looks_are_steps_of_their_own(tmp_path: Path) -> None:
    from support.small import small_pack

    change = {"x": {"fill": 1}}
    checks = [
        {"relation": "same_on_repeat"},
        {"relation": "same_on_repeat", "change": change},
        {"relation": "earlier_answer_kept", "change": change},
        {"relation": "output_not_aliased"},
    ]
    cases = [CASES[0] | {"id": f"c{n}", "check": check} for n, check in enumerate(checks)]
    made = small_pack(tmp_path, cases=cases)
    plan = made.plans["public"]
    kinds = [["look" if isinstance(plan[s], int) else "call" for s in c.steps] for c in made.cases]
    assert kinds == [["call", "call"], ["call", "call", "call"], ["call", "call", "look"], ["call"]]
    assert plan[made.cases[2].steps[2]] == made.cases[2].steps[0]
    assert [len(c.shapes) for c in made.cases] == [2, 3, 3, 1]
