"""What of an answer comes back from a child, held against what the child does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import freeze_exercise, small_pack, write_exercise

from grader import outcomes
from grader.batch.asking import asked_of
from grader.batch.runner import Runner
from grader.errors import ExerciseError
from grader.exercise.forms import Form
from grader.exercise.rehearsal import as_value
from grader.exercise.sending import bytes_needed, unsendable
from grader.intake.collect import collect
from grader.sandbox.inside import values as inside
from grader.sandbox.records import Record, read_value

NUMBERS = Form(container="list", of=Form(container="number"), length="D")


def sent(answer: Any, room: int) -> tuple[Any, int]:
    """What comes back of an answer, and how many bytes it takes."""
    encoder = inside.Encoder(room)
    text = encoder.encode(answer)
    data = b"".join(encoder.chunks)
    record = Record(2, None, json.loads(text), data, 0, 0, 0, 0, 0.0)
    return read_value(record), len(text) + len(data)


ANSWERS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**1030), 2**1030)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(
        [np.zeros((2, 3)), np.float64(0.1), np.int64(-5), np.ones(4, bool), "é" * 2001, "a" * 2000]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(-(2**60), 2**60), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(ANSWERS)
def test_an_answer_comes_back_whole_where_it_is_said_to(answer: Any) -> None:
    value = as_value(answer)
    needed = bytes_needed(value, None)
    back, size = sent(answer, needed + inside.DESCRIPTION_ROOM)
    assert size <= needed
    assert (unsendable(value, None) == "") == (back == value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"text": "a" * 2001}, "a text of 2,001 letters at text; at most 2,000 are sent"),
        ([0.5] * 10_000, "10,001 values in its containers"),
        ([0.5] * 9_999, ""),
        ({str(n): 0 for n in range(5_000)}, "10,001 values in its containers"),
        ([[1 << 1024]], "a whole number of 1,025 bits at [0][0]"),
    ],
)
def test_what_is_too_long_is_told_with_its_place_and_the_limit(answer: Any, said: str) -> None:
    told = unsendable(as_value(answer), None)
    assert said in told and bool(told) == bool(said)
    assert (sent(answer, 1 << 22)[0] == as_value(answer)) == (said == "")


def test_an_array_counts_as_the_list_that_it_stands_for() -> None:
    value = as_value(np.zeros(10_000))
    assert unsendable(value, None) == ""
    assert unsendable(value, Form(container="array", shape=["D"])) == ""
    assert "10,001 values" in unsendable(value, NUMBERS)
    matrix = Form(container="list", of=NUMBERS, length=100)
    assert "10,101 values" in unsendable(as_value(np.zeros((100, 100))), matrix)
    items = Form(container="dict", items={"n": NUMBERS, "text": Form(container="text")})
    assert "at most 10,000" in unsendable(as_value({"n": np.zeros(9_998), "text": ""}), items)
    assert unsendable(as_value({"n": np.zeros(9_994), "text": ""}), items) == ""


def test_the_limits_are_those_of_the_child() -> None:
    assert (outcomes.MOST_VALUES, outcomes.MOST_DEPTH) == (inside.MAX_NODES, inside.MAX_DEPTH)
    assert (outcomes.MOST_LETTERS, outcomes.MOST_BITS) == (inside.MAX_TEXT, inside.MAX_BITS)


# --- an exercise whose answers are long -------------------------------------------------------------------

MODEL = "def row_scale(x, w, factor):\n    return [float(v) for v in x.ravel()]\n"
ROUNDING = (
    "import numpy as np\n\n"
    "RUNS = {'one': lambda arguments, dtype: [float(v) for v in arguments[0].astype(dtype).ravel()]}\n"
)


def long_answers(length: int) -> dict[str, Any]:
    """An exercise that asks for the elements of x as a list, in one case."""
    case = {
        "id": "long",
        "clause": "product",
        "points": 1,
        "dims": {"N": 1, "D": length, "K": 1, "factor": 1},
    }
    return {
        "exercise": {
            "returns": {"container": "list", "of": {"container": "number"}, "length": "N * D"},
            "work": None,
        },
        "cases": [case],
        "model": MODEL,
        "crosscheck": MODEL,
        "rounding": ROUNDING,
    }


def test_a_right_answer_that_can_not_pass_is_told_at_its_case(tmp_path: Path) -> None:
    write_exercise(tmp_path, **long_answers(10_000))
    with pytest.raises(ExerciseError) as caught:
        freeze_exercise(tmp_path)
    (problem,) = caught.value.problems
    assert problem.file.endswith("checks.yaml") and problem.line == 1
    assert problem.message.startswith("long: no right answer could pass: it has 10,001 values")
    assert "at most 10,000 are sent" in problem.message


@pytest.mark.parametrize(
    "answer",
    ["[float(v) for v in x[0]]", "list(x[0])", "[torch.tensor(v) for v in x[0]]"],
    ids=["float", "numpy", "torch"],
)
def test_a_right_answer_of_many_parts_has_room(tmp_path: Path, answer: str) -> None:
    overrides = long_answers(9_000)
    overrides["exercise"]["packages"] = ["numpy", "torch"]
    pack = small_pack(tmp_path, **overrides)
    path = tmp_path / "solution.py"
    path.write_text(f"import torch\n\n\ndef row_scale(x, w, factor):\n    return {answer}\n", "utf-8")
    with Runner(pack) as runner:
        result = runner.grade(collect([path], asked_of(pack)).submissions[0])
    assert [(case.verdict, case.message) for case in result.cases] == [("passed", "")]
