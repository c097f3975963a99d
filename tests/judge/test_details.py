"""What a page shows of a failing case, and text that makes its calls again."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import runpy
import subprocess
import sys
import types
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.small import CASES, RIGHT, right_answer, small_pack

from grader.exercise import pack as packs
from grader.exercise import source as sources
from grader.exercise.build import build_pack
from grader.exercise.calls import ArrayArgument, PhaseBuilder, PlacedArray, read_plan
from grader.exercise.pack import Pack, PackCase
from grader.judge import details
from grader.judge.cases import judge_case
from grader.judge.details import (
    MAX_SHOWN,
    PART,
    case_details,
    example_snippet,
    plain,
    snippet,
    telling_part,
)
from grader.judge.relations import RELATIONS as KINDS
from grader.outcomes import Failure, StepOutcome
from judge.answering import KNOWN, judged
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


@given(st.data())
def test_the_telling_part_of_a_large_array_holds_its_largest_error(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=40))
    index = st.tuples(*[st.integers(0, n - 1) for n in shape])
    worst = data.draw(st.lists(index, min_size=1, max_size=5))
    expected = np.arange(float(np.prod(shape))).reshape(shape)
    obtained = expected + 0.5
    part = telling_part(obtained, expected, worst)
    assert part["shape"] == list(shape) and tuple(part["at"]) == worst[0][:-2]
    (top, left), shown = part["first"], np.array(part["expected"])
    rows, columns = shown.shape
    assert rows <= PART[0] and columns <= PART[1]
    place = worst[0][-2:] if len(shape) > 1 else (0, *worst[0])
    assert top <= place[0] < top + rows and left <= place[1] < left + columns
    assert shown[place[0] - top, place[1] - left] == expected[worst[0]]
    assert np.array_equal(np.array(part["obtained"]), shown + 0.5)


@given(finite_or_not, st.sampled_from(["c", "fortran", "strided"]))
def test_a_literal_gives_the_array_again_with_its_layout(array: Any, layout: str) -> None:
    builder = PhaseBuilder()
    builder.add_call([ArrayArgument(array, layout)])
    block = builder.finish()
    ((placed,),) = read_plan(block)  # type: ignore[misc]
    array = placed.read(block)  # type: ignore[union-attr]
    again = eval(details._literal(array), {"np": np, "bool": bool})
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert np.array_equal(again, array, equal_nan=array.dtype.kind == "f")
    assert laid_out(again) == laid_out(array)


def laid_out(array: Any) -> tuple[bool, bool, tuple[int, ...]]:
    """How an array lies in memory; the stride of an axis of length 1 means nothing."""
    strides = array.strides if array.size else ()
    steps = tuple(step for step, length in zip(strides, array.shape, strict=False) if length > 1)
    return array.flags.c_contiguous, array.flags.f_contiguous, steps


@dataclass
class Ran:
    """What a snippet did."""

    names: dict[str, Any]
    calls: list[Any]
    out: str

    @property
    def holds(self) -> bool:
        """What its last line says."""
        last = self.out.splitlines()[-1]
        assert last in ("holds: True", "holds: False")
        return last == "holds: True"


def run(text: str, function: Any, entry: str = "row_scale") -> Ran:
    """Executes a snippet beside a module that holds ``function``."""
    calls: list[Any] = []
    out = io.StringIO()

    def recording(*arguments: Any) -> Any:
        calls.append([seen(argument) for argument in arguments])
        return function(*arguments)

    module = types.ModuleType(MODULE)
    setattr(module, entry, recording)
    sys.modules[MODULE] = module
    names: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "snippet.py", "exec"), names)
    finally:
        del sys.modules[MODULE]
    return Ran(names, calls, out.getvalue())


def seen(argument: Any) -> Any:
    """An argument as a call got it, whatever happens to it later: bytes, dtype, shape, layout, flag."""
    if not isinstance(argument, np.ndarray):
        return argument
    about = (argument.tobytes(), argument.dtype, argument.shape)
    return *about, laid_out(argument), argument.flags.writeable


X_CHANGED = {"x": {"edits": [{"at": [1, 0], "to": 3}]}}
FEW = {"N": 2, "D": 4, "K": 3, "factor": 2}
RELATIONS: dict[str, Any] = {
    "every_value_finite": "finite",
    "rows_equal": {
        "relation": "equals",
        "change": {"x": {"take": {"axis": 0, "indices": [1, 0]}}},
        "rows": [0, 1],
        "other_rows": [1, 0],
    },
    "row_differs": {"relation": "differs", "change": X_CHANGED, "rows": [1], "other_rows": [1]},
    "all_the_same_again": {"relation": "same_on_repeat"},
    "the_same_after_another": {"relation": "same_on_repeat", "change": X_CHANGED},
    "first_kept": {"relation": "earlier_answer_kept", "change": X_CHANGED},
    "w_unchanged": {"relation": "inputs_unchanged", "argument": "w"},
    "own_memory": {"relation": "output_not_aliased"},
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """A pack with every kind of check, and in each of them every layout, a dtype and a read-only array."""
    arrays = {
        "x": {"layout": "fortran", "read_only": True, "dtype": "float32"},
        "w": {"layout": "strided"},
    }
    more = [
        {"id": name, "title": name, "clause": "rows", "points": 1, "dims": FEW, "check": check}
        | {"arrays": arrays}
        for name, check in RELATIONS.items()
    ]
    return small_pack(tmp_path_factory.mktemp("checks"), cases=[*CASES[:2], *more])


def chosen(pack: Pack, name: str) -> PackCase:
    return next(c for c in pack.cases if c.id == name)


def calls_of(pack: Pack, case: PackCase) -> list[Any]:
    """What the grader passes in each call of a case, as `seen` tells it."""
    plan, block = pack.plans[case.visibility], pack.blocks[case.visibility]
    made = []
    for step in (plan[s] for s in case.steps):
        if isinstance(step, int):
            continue
        arguments: list[Any] = []
        for placed in step:
            if isinstance(placed, PlacedArray):
                *about, _ = seen(placed.read(block))
                arguments.append((*about, not placed.read_only))
            else:
                arguments.append(placed)
        made.append(arguments)
    return made


def test_the_pack_of_these_tests_has_every_kind_of_check(checks: Pack) -> None:
    assert {c.check for c in checks.cases} == {"compare", "finite", *KINDS}


def test_a_snippet_makes_the_calls_of_the_case_to_the_byte_and_says_that_it_holds(
    pack: Pack, checks: Pack
) -> None:
    for one in (pack, checks):
        for case in one.cases:
            ran = run(snippet(one, case, MODULE), right_answer)
            assert [list(call) for call in ran.calls] == calls_of(one, case), case.id
            assert ran.holds, case.id
            if case.check == "compare":
                assert np.array_equal(ran.names["answer"], one.expected(case))


def test_after_another_call_the_first_one_is_made_a_third_time(checks: Pack) -> None:
    for name, count in (("all_the_same_again", 2), ("the_same_after_another", 3), ("first_kept", 2)):
        ran = run(snippet(checks, chosen(checks, name), MODULE), right_answer)
        assert len(ran.calls) == count
        assert (ran.calls[0] == ran.calls[-1]) == (name != "first_kept")


def test_each_call_gets_arguments_of_its_own(checks: Pack) -> None:
    """As in grading: what a call did to its arguments is not seen by the next."""

    def mutating(x: Any, w: Any, factor: Any) -> Any:
        answer = right_answer(x, w, factor)
        w += 1
        return answer

    for name in RELATIONS:
        case = chosen(checks, name)
        ran = run(snippet(checks, case, MODULE), mutating)
        assert [list(call) for call in ran.calls] == calls_of(checks, case)
        assert ran.holds == (name != "w_unchanged")


def with_nan(x: Any, w: Any, factor: Any) -> Any:
    return right_answer(x, w, factor) * np.nan


def infinite(x: Any, w: Any, factor: Any) -> Any:
    return right_answer(x, w, factor) / 0.0


def first_row_counts_twice(x: Any, w: Any, factor: Any) -> Any:
    answer = right_answer(x, w, factor)
    answer[0] *= 2
    return answer


def constant(x: Any, w: Any, factor: Any) -> Any:
    return np.ones((len(x), w.shape[1]))


def counting() -> Any:
    calls = itertools.count()
    return lambda x, w, factor: right_answer(x, w, factor) + next(calls)


def buffered() -> Any:
    buffer = np.zeros((2, 3))

    def function(x: Any, w: Any, factor: Any) -> Any:
        if len(x) != 2:
            return right_answer(x, w, factor)
        buffer[:] = right_answer(x, w, factor)
        return buffer

    return function


def scales_w(x: Any, w: Any, factor: Any) -> Any:
    answer = right_answer(x, w, factor)
    w *= 2
    return answer


def reshapes_w(x: Any, w: Any, factor: Any) -> Any:
    answer = right_answer(x, w, factor)
    w.dtype = "int64"
    return answer


def part_of_w(x: Any, w: Any, factor: Any) -> Any:
    return w[: len(x)]


WRONG: dict[str, list[Any]] = {
    "every_value_finite": [lambda: with_nan, lambda: infinite],
    "large_rows": [
        lambda: with_nan,
        lambda: infinite,
        lambda: first_row_counts_twice,
    ],
    "rows_equal": [
        lambda: first_row_counts_twice,
        lambda: with_nan,
        lambda: infinite,
    ],
    "row_differs": [lambda: constant, lambda: with_nan],
    "all_the_same_again": [counting],
    "the_same_after_another": [counting],
    "first_kept": [buffered],
    "w_unchanged": [lambda: scales_w, lambda: reshapes_w],
    "own_memory": [lambda: part_of_w],
}


def test_every_kind_of_check_has_a_wrong_answer() -> None:
    assert WRONG.keys() - {"large_rows"} == RELATIONS.keys()


@pytest.mark.parametrize(("name", "number"), [(name, n) for name in WRONG for n in range(len(WRONG[name]))])
def test_a_snippet_says_where_a_check_does_not_hold(checks: Pack, name: str, number: int) -> None:
    function = WRONG[name][number]()
    assert not run(snippet(checks, chosen(checks, name), MODULE), function).holds


def test_an_answer_that_is_only_overwritten_later_does_not_hide_behind_the_later_one(checks: Pack) -> None:
    """The grader keeps each answer as it was given, so a shared buffer breaks one check and no other."""
    for name in RELATIONS:
        ran = run(snippet(checks, chosen(checks, name), MODULE), buffered())
        assert ran.holds == (name != "first_kept"), name


@pytest.mark.parametrize("size", [1e-9, 1e9])
@pytest.mark.parametrize("share", [0.5, 2.0])
def test_a_snippet_allows_what_the_grader_allows(checks: Pack, size: float, share: float) -> None:
    """Errors of half the tolerance hold and of twice do not, at any magnitude of the answers."""
    for name in ("rows_equal", "all_the_same_again", "the_same_after_another"):
        case = chosen(checks, name)
        calls = itertools.count()

        def off(x: Any, w: Any, factor: Any, calls: Any = calls, case: PackCase = case) -> Any:
            answer = right_answer(x, w, factor) * size
            assert case.tolerance is not None
            first = next(calls) == 0
            return answer if first else answer + share * case.tolerance * np.abs(answer).max()

        assert run(snippet(checks, case, MODULE), off).holds == (share < 1), name
    case = chosen(checks, "large_rows")
    assert case.tolerance is not None
    wrong = checks.expected(case) + share * case.tolerance * case.scale
    assert run(snippet(checks, case, MODULE), lambda *_: wrong).holds == (share < 1)


class Tensor:
    """What the snippet needs of a torch tensor."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array


def test_a_tensor_is_an_answer_too(checks: Pack) -> None:
    for case in checks.cases:
        assert run(snippet(checks, case, MODULE), lambda *a: Tensor(right_answer(*a))).holds
    case = chosen(checks, "own_memory")
    assert not run(snippet(checks, case, MODULE), lambda *a: Tensor(part_of_w(*a))).holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: a.tolist(), "expected an array, found list"),
        (lambda a: None, "expected an array, found NoneType"),
        (lambda a: a[..., None], r"expected the shape \(1, 3\), found \(1, 3, 1\)"),
        (lambda a: a.ravel(), r"expected the shape \(1, 3\), found \(3,\)"),
        (lambda a: a.astype("float16"), "found the dtype float16"),
        (lambda a: a.astype(complex), "found the dtype complex128"),
    ],
)
def test_a_snippet_refuses_the_answers_that_the_grader_refuses(pack: Pack, change: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        run(snippet(pack, pack.cases[0], MODULE), lambda *a: change(right_answer(*a)))


def test_writing_to_a_read_only_argument_raises_in_a_snippet_as_in_grading(checks: Pack) -> None:
    def writing(x: Any, w: Any, factor: Any) -> Any:
        x *= 2
        return right_answer(x, w, factor)

    for name in RELATIONS:
        with pytest.raises(ValueError, match="read-only"):
            run(snippet(checks, chosen(checks, name), MODULE), writing)


def test_a_snippet_tells_the_expected_answer_of_a_compare_case_only(pack: Pack) -> None:
    for case in pack.cases:
        assert ("expected:" in snippet(pack, case, MODULE)) == (case.check == "compare")


@pytest.mark.parametrize("name", ["ann.py", "class 3/ann.py", "3rd-try.py", "it's.py"])
def test_a_snippet_runs_as_a_program_of_its_own(checks: Pack, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(RIGHT)
    program = tmp_path / "try_it.py"
    program.write_text(snippet(checks, chosen(checks, "large_rows"), name))
    ran = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("holds: True\n") and ran.stderr == ""


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("tensor", [True, False])
def test_an_example_says_whether_a_right_answer_shares_memory(shares: bool, tensor: bool) -> None:
    def function(x: Any) -> Any:
        answer = x[:1] if shares else x[:1].copy()
        return Tensor(answer) if tensor else answer

    text = example_snippet("row_scale", "", [("x", np.ones((2, 2)))], None, shared=["x"])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, {"row_scale": function})
    assert out.getvalue() == f"shares memory with x: {shares}\n"


def test_a_snippet_of_a_file_in_a_folder_finds_what_lies_beside_that(checks: Pack, tmp_path: Path) -> None:
    folder = tmp_path / "class 3"
    folder.mkdir()
    (folder / "ann.py").write_text("from helping import row_scale\n")
    (folder / "helping.py").write_text(RIGHT)
    text = snippet(checks, chosen(checks, "large_rows"), "class 3/ann.py")
    ran = subprocess.run(
        [sys.executable, "-"], input=text, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("holds: True\n")


def test_a_snippet_of_a_live_function_calls_what_is_in_scope(checks: Pack) -> None:
    text = snippet(checks, chosen(checks, "large_rows"), "")
    assert text.startswith("# To be run where row_scale is the function that was checked.\n")
    assert "runpy" not in text and [line for line in text.splitlines() if "import" in line] == [
        "import numpy as np"
    ]
    for function, last in ((right_answer, "holds: True\n"), (part_of_w, "holds: False\n")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(text, {"row_scale": lambda *a, f=function: f(*a).copy()})
        assert out.getvalue().endswith(last)


@pytest.mark.slow
def test_every_public_case_of_the_shipped_exercise_holds_for_a_right_answer() -> None:
    root = Path(__file__).resolve().parents[2]
    source = sources.load(root / "cases" / "mlm_forward")
    pack = packs.loads(build_pack(source, source.require_fresh_frozen(), student=False))
    path = root / "submissions" / "mlm_forward" / "right_einsum.py"
    right = runpy.run_path(str(path))["mlm_forward"]
    public = [case for case in pack.cases if case.visibility == "public"]
    assert public
    for case in public:
        text = snippet(pack, case, MODULE)
        assert text, f"{case.id} has too many numbers for a snippet"
        assert run(text, right, "mlm_forward").holds, case.id


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


def test_a_snippet_for_a_notebook_is_a_cell_of_it(pack: Pack) -> None:
    case = next(c for c in pack.cases if c.visibility == "public" and c.check == "compare")
    text = snippet(pack, case, "folder/my solution.ipynb")
    assert "runpy" not in text and "ipynb" not in text and text.startswith("# A cell to run in the notebook")
    scope: dict[str, Any] = {"row_scale": right_answer}
    exec(text, scope)


# --- an argument before and after a call ------------------------------------------------------


def test_a_changed_argument_is_told_before_and_after_the_call(stepped: Pack) -> None:
    result = judged(stepped, KNOWN["in_place"])
    (case,) = [c for c in result.cases if c.verdict == "input_mutated" and c.visibility == "public"]
    (own,) = [c for c in stepped.cases if c.id == case.id]
    x = dict(stepped.arguments(own))["x"]
    assert case.details["changed"] == {"name": "x", "before": plain(x), "after": plain(2 * x)}


@pytest.mark.parametrize("off", [(0, 0), (59, 99)])
def test_of_a_large_argument_the_part_around_the_change_is_told(
    stepped: Pack, monkeypatch: pytest.MonkeyPatch, off: tuple[int, int]
) -> None:
    (own,) = [c for c in stepped.cases if c.id == "x_kept"]
    before = np.arange(6000.0).reshape(60, 100)
    after = before.copy()
    after[off] = np.nan
    monkeypatch.setattr(Pack, "arguments", lambda *given: [("x", before)])
    outcome = StepOutcome("returned", after=((0, returned(after).value),))  # type: ignore[arg-type]
    told = details._changed_argument(stepped, own, outcome)["changed"]
    assert told["name"] == "x"
    row, column = (place - first for place, first in zip(off, told["part"]["first"], strict=True))
    assert told["part"]["obtained"][row][column] == "nan"
    assert told["part"]["expected"][row][column] == before[off]
    assert details._changed_argument(stepped, own, replace(outcome, after=())) == {}
