"""What a page shows of a failing case, and text that makes its calls again."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.small import CASES, right_answer, small_pack

from grader.exercise.pack import Pack
from grader.judge import details
from grader.judge.cases import judge_case
from grader.judge.details import MAX_SHOWN, case_details, plain, snippet
from grader.outcomes import Failure, StepOutcome
from judge.made_up import returned

MODULE = "handed_in"
shapes = hnp.array_shapes(min_dims=0, max_dims=3, max_side=3)
finite_or_not = hnp.arrays(
    st.sampled_from(["float64", "float32", "int64", "uint8", "bool"]), shapes
) | hnp.arrays(
    st.sampled_from(["float64", "float32"]),
    shapes,
    elements=st.sampled_from([np.nan, np.inf, -np.inf, 0.5, -3.0]),
)


@given(finite_or_not)
def test_shown_values_fit_into_json_and_keep_their_value(array: Any) -> None:
    found = json.loads(json.dumps(plain(array), allow_nan=False))
    assert np.array_equal(np.array(found, dtype=array.dtype), array, equal_nan=array.dtype.kind == "f")


@given(finite_or_not)
def test_a_literal_gives_the_array_again(array: Any) -> None:
    again = eval(details._literal(array), {"np": np, "bool": bool})
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert np.array_equal(again, array, equal_nan=array.dtype.kind == "f")


def run(text: str, function: Any) -> tuple[dict[str, Any], list[Any]]:
    """Executes a snippet beside a module that holds ``function``; its names and the calls it made."""
    calls: list[Any] = []

    def recording(*arguments: Any) -> Any:
        calls.append(arguments)
        return function(*arguments)

    module = types.ModuleType(MODULE)
    module.row_scale = recording  # type: ignore[attr-defined]
    sys.modules[MODULE] = module
    names: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, "snippet.py", "exec"), names)
    finally:
        del sys.modules[MODULE]
    return names, calls


def test_a_snippet_makes_the_calls_of_the_case_and_gives_the_answer(pack: Pack) -> None:
    for case in pack.cases:
        names, calls = run(snippet(pack, case, MODULE), right_answer)
        made = sum(not isinstance(pack.plans[case.visibility][s], int) for s in case.steps)
        assert len(calls) == made
        for number, arguments in enumerate(calls):
            for mine, (_, theirs) in zip(arguments, pack.arguments(case, number), strict=True):
                assert np.array_equal(mine, theirs)
                if isinstance(theirs, np.ndarray):
                    assert mine.dtype == theirs.dtype
        if case.check == "compare":
            assert np.array_equal(names["answer"], pack.expected(case))


def test_a_snippet_tells_the_expected_answer_of_a_compare_case_only(pack: Pack) -> None:
    for case in pack.cases:
        assert ("expected:" in snippet(pack, case, MODULE)) == (case.check == "compare")


def test_a_snippet_makes_read_only_arrays_read_only(tmp_path: Path) -> None:
    cases = [CASES[0] | {"arrays": {"x": {"read_only": True}, "w": {"dtype": "float32"}}}]
    made = small_pack(tmp_path, cases=cases)
    names, calls = run(snippet(made, made.cases[0], MODULE), right_answer)
    assert not names["x"].flags.writeable
    assert names["w"].flags.writeable
    assert calls[0][1].dtype == np.float32


def test_a_snippet_with_too_many_numbers_is_left_out(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(v.size for _, v in pack.arguments(pack.cases[0]) if isinstance(v, np.ndarray))
    monkeypatch.setattr(details, "MAX_SNIPPET", size)
    assert snippet(pack, pack.cases[0], MODULE)
    monkeypatch.setattr(details, "MAX_SNIPPET", size - 1)
    assert snippet(pack, pack.cases[0], MODULE) == ""


def shown(pack: Pack, number: int, *outcomes: StepOutcome) -> dict[str, Any]:
    case = pack.cases[number]
    judgement = judge_case(pack, case, outcomes, {})
    found = case_details(pack, case, outcomes, judgement, MODULE)
    json.dumps(found, allow_nan=False)
    return found


def test_wrong_values_show_inputs_both_answers_and_the_worst_elements(pack: Pack) -> None:
    expected = pack.expected(pack.cases[1])
    wrong = expected.copy()
    wrong[1, 0] += 1
    wrong[2, 1] = np.nan
    found = shown(pack, 1, returned(wrong, stdout="here\n", stderr="warned\n"))
    assert [i["name"] for i in found["inputs"]] == ["x", "w", "factor"]
    assert found["inputs"][0]["shape"] == [3, 4]
    assert found["inputs"][0]["dtype"] == "float64"
    assert np.array_equal(found["inputs"][0]["values"], dict(pack.arguments(pack.cases[1]))["x"])
    assert found["inputs"][2] == {"name": "factor", "value": 1}
    assert found["obtained"][1][0] == wrong[1, 0]
    assert found["obtained"][2][1] == "nan"
    assert found["expected"] == expected.tolist()
    assert [w["index"] for w in found["worst"]] == [[2, 1], [1, 0]]
    assert found["worst"][1] == {"index": [1, 0], "obtained": wrong[1, 0], "expected": expected[1, 0]}
    assert (found["stdout"], found["stderr"]) == ("here\n", "warned\n")
    assert "exception" not in found
    assert found["snippet"].startswith("import numpy as np\nfrom handed_in import row_scale\n")


def test_an_exception_shows_its_text_and_the_students_frames(pack: Pack) -> None:
    failure = Failure("ValueError", "no", (), ((3, "row_scale"), (9, "helper")))
    found = shown(pack, 0, StepOutcome("raised", failure=failure))
    assert found["exception"] == "ValueError: no"
    assert found["traceback"] == [[3, "row_scale"], [9, "helper"]]
    assert "obtained" not in found
    silent = shown(pack, 0, StepOutcome("raised", failure=Failure("ValueError", "")))
    assert silent["exception"] == "ValueError"


def test_what_is_too_large_is_left_out(tmp_path: Path) -> None:
    cases = [CASES[0] | {"dims": {"N": 1, "D": 2, "K": 121, "factor": 1}, "arrays": {}}]
    made = small_pack(tmp_path, cases=cases)
    assert made.cases[0].shapes == ((1, 121),)
    found = shown(made, 0, returned(np.zeros((1, 121))))
    assert "values" not in found["inputs"][1], f"w has 242 values, {MAX_SHOWN} are shown"
    assert "values" in found["inputs"][0]
    assert len(found["obtained"][0]) == 121


def test_long_output_is_cut_at_its_end(pack: Pack) -> None:
    found = shown(pack, 0, returned(np.zeros((1, 3)), stdout="a" * 5_000 + "END"))
    assert len(found["stdout"]) == 4_000
    assert found["stdout"].endswith("END")


def test_the_output_of_all_calls_is_shown(pack: Pack) -> None:
    rows = [returned(np.zeros((3, 2)), stdout="one "), returned(np.ones((2, 2)), stdout="two")]
    assert shown(pack, 3, *rows)["stdout"] == "one two"
