"""Counterexamples: the same each time, small, not to be made smaller, kept while they tell their mistake."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small import forget_reference, load_source, write_exercise

from grader.authoring import counterexamples, freeze
from grader.authoring.counterexamples import CLEARLY, Found, Search, search_all
from grader.authoring.inputs import Domain, Input, cost_of
from grader.authoring.shrinking import cut, simplifications, without_two
from grader.authoring.telling import BROKEN, CLEAR, VALUE, Reference, difference, quiet
from grader.exercise import source as sources
from grader.exercise.answers import Answer
from grader.exercise.arrays import float32_values
from grader.exercise.calls import ArrayArgument
from grader.exercise.forms import Form
from grader.exercise.frozen import Frozen
from grader.exercise.misconceptions import load_misconceptions, load_model
from grader.exercise.reference import load_entry

# Its tests together take long.
pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]

MODEL = '''\
"""The reference, built from steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def cast(x, dtype):
    return np.asarray(x, dtype)


def squares(x):
    return (x * x).mean(axis=1, keepdims=True)


def divisor(means):
    return 1 + means


def product(x, w, factor):
    return factor * (x @ w)


def finish(rows):
    return rows


@dataclass(frozen=True)
class Steps:
    cast: Callable[..., Any] = cast
    squares: Callable[..., Any] = squares
    divisor: Callable[..., Any] = divisor
    product: Callable[..., Any] = product
    finish: Callable[..., Any] = finish


STEPS = Steps()


def run(steps, arguments, dtype):
    x, w, factor = arguments
    x, w = steps.cast(x, dtype), np.asarray(w, dtype)
    rows = steps.product(x, w, factor) / steps.divisor(steps.squares(x)).astype(x.dtype)
    return steps.finish(rows.astype(x.dtype))


def row_scale(x, w, factor):
    return run(STEPS, (x, w, factor), np.float64)
'''

PAGE = '''\
"""{title}

    What it does:
        a
    Why it is wrong:
        b
    How it looks:
        c
    What to write instead:
        d
    """'''

# Id, clause, step with more options, parameters, body.
MISTAKES = [
    ("mean_of_batch", "scale", 'step="squares"', "x", "return (x * x).mean(keepdims=True)"),
    ("sum_of_squares", "scale", 'step="squares"', "x", "return (x * x).sum(axis=1, keepdims=True)"),
    ("other_divisor", "scale", 'step="divisor"', "means", "return 1.0001 + means"),
    ("clipped", "product", 'step="product"', "x, w, factor", "return factor * np.clip(x @ w, -50, 50)"),
    ("factor_squared", "product", 'step="product"', "x, w, factor", "return factor**2 * (x @ w)"),
    (
        "nan_for_zero",
        "rows",
        'step="squares"',
        "x",
        "return (x * x).mean(axis=1, keepdims=True) * (x[:, :1] / x[:, :1])",
    ),
    ("flat", "product", 'step="finish"', "rows", "return rows.ravel()"),
    ("crash_when_empty", "rows", 'step="finish"', "rows", "return rows if len(rows) else rows[0]"),
    ("in_place", "inputs", 'step="cast"', "x, dtype", "y = np.array(x, dtype); x *= 2; return y"),
    ("nothing_wrong", "rows", 'step="finish"', "rows", "return rows + 0"),
    ("last_digits", "rows", 'step="finish"', "rows", "return rows * (1 + 1e-7)"),
    ("tiny", "rows", 'step="finish", small=True', "rows", "return rows * 2"),
    ("kept", "rows", 'step="finish", stateful=True', "rows", "return rows * 2"),
]


def misconceptions_text(**changed: str) -> str:
    """The module of the small exercise's mistakes, some with another body."""
    out = ["import numpy as np", "from grader.exercise.misconceptions import Misconceptions", ""]
    out.append("MISCONCEPTIONS = Misconceptions()")
    for name, clause, step, parameters, body in MISTAKES:
        out += ["", "", f'@MISCONCEPTIONS.add(clause="{clause}", {step})', f"def {name}({parameters}):"]
        out += ["    " + PAGE.format(title=name), f"    {changed.get(name, body)}"]
    return "\n".join(out) + "\n"


def write(root: Path, text: str | None = None) -> None:
    write_exercise(root, model=MODEL)
    path = root / "reference" / "row_scale" / "misconceptions.py"
    path.write_text(misconceptions_text() if text is None else text, "utf-8")
    forget_reference(root)


def small_search(root: Path) -> Search:
    source = load_source(root)
    model = load_model(source.reference_folder)
    assert model is not None
    mistakes = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    return Search(source.exercise, model.function("", {}), model, mistakes)


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Search:
    root = tmp_path_factory.mktemp("search")
    write(root)
    return small_search(root)


@pytest.fixture(scope="module")
def found(search: Search) -> Found:
    return search.run(None)


@pytest.fixture(scope="module")
def mlm() -> Search:
    """The search for the real exercise, without its cases."""
    source = sources.load(CHECKOUT / "cases" / "mlm_forward")
    model = load_model(source.reference_folder)
    mistakes = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    entry = load_entry(source.reference_folder, "model", source.exercise.entries[0])
    return Search(source.exercise, entry, model, mistakes)


def as_frozen(found: Found) -> Frozen:
    return Frozen("s", {}, {}, found.search, found.counterexamples, found.ladder)


def sizes(found: Found) -> dict[str, list[int]]:
    return {name: list(e.dims.values()) for name, e in found.counterexamples.items()}


# --- what is found ---------------------------------------------------------------------------


def test_each_mistake_gets_the_smallest_dims_that_tell_it(found: Found) -> None:
    assert sizes(found) == {  # N, D, K, factor
        "mean_of_batch": [2, 1, 1, 1],
        "sum_of_squares": [1, 2, 1, 1],
        "other_divisor": [1, 1, 1, 1],
        "clipped": [1, 1, 1, 1],
        "factor_squared": [1, 2, 1, 2],
        "nan_for_zero": [1, 1, 1, 1],
        "flat": [1, 1, 1, 1],
        "crash_when_empty": [0, 1, 1, 1],
        "in_place": [1, 1, 1, 1],
    }


def test_numbers_are_few_and_simple(found: Found) -> None:
    arguments = found.counterexamples["sum_of_squares"].arguments
    (x, w) = (argument.values for argument in list(arguments.values())[:2])  # type: ignore[union-attr]
    assert sorted(np.ravel(x)) == [0, 1]
    assert sorted(np.ravel(w)) == [0, 1]
    (x, w) = (argument.values for argument in list(found.counterexamples["clipped"].arguments.values())[:2])  # type: ignore[union-attr]
    assert max(cost_of(x[0][0]), cost_of(w[0][0])) <= cost_of(200.0)


def test_a_difference_below_one_percent_is_the_largest_that_was_reached(search: Search, found: Found) -> None:
    trial = search.trials["other_divisor"]
    with quiet():
        tell = trial.look(Input.of(found.counterexamples["other_divisor"]))
    assert tell is not None
    assert 2e-5 < tell.margin < CLEAR  # 1e-4 of a divisor of at least 1 is all that there is


def test_what_is_found_can_be_told_in_float32_and_keeps_to_the_ranges(mlm: Search) -> None:
    names = ["causal_mask", "ids_one_based", "epsilon_1e_8", "threshold_inclusive"]
    with quiet():
        for name in names:
            smallest = counterexamples.find(mlm.pool, mlm.trials[name])
            assert smallest is not None
            assert mlm.trials[name].holds(smallest, CLEARLY) is not None
            assert mlm.reference.settled(smallest)
            ids = smallest.arrays["input_ids"]
            assert ids.dtype == np.int64
            assert ((ids >= 0) & (ids < smallest.dims["V"])).all()
            for array in smallest.arrays.values():
                assert np.array_equal(float32_values(array), array)
                assert not np.signbit(array[array == 0]).any()
            assert Input.of(smallest.written(name)).key == smallest.key


@pytest.mark.parametrize(
    ("name", "dims", "numbers"),
    [
        # N, T, V, D, L, num_heads; how many numbers are not 0
        ("no_positions", [1, 1, 1, 1, 0, 1], 3),
        ("squeezed_single_row", [1, 1, 1, 1, 0, 1], 1),
        ("variance_unbiased", [1, 1, 1, 2, 1, 1], 5),
        ("gelu_erf", [1, 1, 1, 2, 1, 1], 5),
        ("causal_mask", [1, 2, 1, 2, 1, 1], 5),
        ("heads_in_reverse", [1, 1, 1, 2, 1, 2], 5),
        ("query_transposed", [1, 2, 1, 2, 1, 1], 7),
        ("softmax_over_examples", [2, 1, 1, 2, 1, 1], 5),
        ("first_block_reused", [1, 1, 1, 2, 2, 1], 5),
        # With two features a normalized token is (a, -a): all scores stay when w_q and w_k change places.
        ("query_key_swapped", [1, 2, 1, 3, 1, 1], 8),
        ("empty_selection_flat", [1, 1, 1, 1, 0, 1], 0),
    ],
)
def test_mistakes_of_the_real_exercise_shrink_to_what_can_be_worked_on_paper(
    mlm: Search, name: str, dims: list[int], numbers: int
) -> None:
    with quiet():
        smallest = counterexamples.find(mlm.pool, mlm.trials[name])
    assert smallest is not None
    assert list(smallest.dims.values()) == dims
    assert mlm.pool.domain.weight(smallest)[1] <= numbers


def test_where_no_small_draw_tells_a_mistake_a_case_is_made_smaller(mlm: Search) -> None:
    exercise = mlm.pool.domain.exercise
    dims = {"N": 1, "T": 2, "V": 300, "D": 2, "L": 1, "num_heads": 1}
    drawn = mlm.pool.domain.draw(dims, 3)
    values = drawn.arguments | {
        "input_ids": np.array([[270.0, 5.0]]),
        "mask_indicator": np.array([[1.0, 0.0]]),
        "w_emb": np.arange(600.0).reshape(300, 2),
    }
    call = tuple(ArrayArgument(a) if isinstance(a, np.ndarray) else a for a in values.values())
    model = load_model(CHECKOUT / "reference" / "mlm_forward")
    mistakes = load_misconceptions(CHECKOUT / "reference" / "mlm_forward", list(exercise.clauses))
    wanted = [mistakes["ids_uint8"], mistakes["ids_not_cast"]]
    search = Search(exercise, mlm.reference.double, model, wanted, [(dims, call)])
    search.pool.dims = search.pool.dims[:10]
    found = {}
    with quiet():
        for name, trial in search.trials.items():
            smallest = counterexamples.find(search.pool, trial)
            assert smallest is not None
            found[name] = smallest
    assert list(found["ids_uint8"].dims.values()) == [1, 1, 257, 1, 0, 1]
    assert found["ids_uint8"].arrays["input_ids"].tolist() == [[256]]
    assert found["ids_uint8"].arrays["input_ids"].dtype == np.int64
    assert list(found["ids_not_cast"].dims.values()) == [1, 1, 1, 1, 0, 1]
    assert found["ids_not_cast"].arrays["input_ids"].dtype == np.float64


# --- minimal, and the same each time ---------------------------------------------------------


def smaller(domain: Domain, given: Input) -> Iterator[Input]:
    """All inputs that one move makes smaller."""
    yield from cut(domain, given)
    for move in simplifications(domain, given):
        new = move.apply(domain, given)
        if new is not None and domain.weight(new) < domain.weight(given):
            yield new
    yield from without_two(given)


def test_no_move_makes_a_counterexample_smaller(search: Search, found: Found) -> None:
    domain = search.pool.domain
    looked_at = 0
    with quiet():
        for name, example in found.counterexamples.items():
            smallest, trial = Input.of(example), search.trials[name]
            tell = trial.look(smallest)
            assert tell is not None
            if tell.margin < CLEAR:
                continue
            for new in smaller(domain, smallest):
                looked_at += 1
                assert trial.holds(new, tell._replace(margin=CLEAR)) is None, (name, new)
    assert looked_at > 30


@pytest.mark.parametrize("name", ["causal_mask", "gelu_erf", "scaled_by_head_width", "norm_over_batch"])
def test_no_move_makes_a_counterexample_of_the_real_exercise_smaller(mlm: Search, name: str) -> None:
    trial = mlm.trials[name]
    with quiet():
        smallest = counterexamples.find(mlm.pool, trial)
        assert smallest is not None
        assert trial.holds(smallest, CLEARLY) is not None
        assert not any(trial.holds(new, CLEARLY) for new in smaller(mlm.pool.domain, smallest))


def test_the_same_is_found_in_another_process(tmp_path: Path, found: Found) -> None:
    write(tmp_path)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from authoring.test_counterexamples import as_frozen, small_search\n"
        "sys.stdout.write(as_frozen(small_search(Path(sys.argv[1])).run(None)).dumps())\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": "5", "PYTHONPATH": str(CHECKOUT / "tests")}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == as_frozen(found).dumps()


# --- the ladder --------------------------------------------------------------------------------


def test_the_ladder_grows_from_the_smallest_input(search: Search, found: Found) -> None:
    domain = search.pool.domain
    rungs = [domain.size(dict(rung.dims)) for rung in found.ladder]
    assert rungs == sorted(set(rungs))
    assert 3 <= len(rungs) <= counterexamples.RUNGS
    filled = [d for d in search.pool.dims if d["N"] > 0]  # an empty answer tells next to nothing
    assert rungs[0] == min(map(domain.size, filled))
    assert {rung.misconception for rung in found.ladder} == {""}


def test_the_ladder_tells_most_mistakes(search: Search, found: Found) -> None:
    with quiet():
        told = {
            name
            for name, trial in search.trials.items()
            if any(trial.holds(Input.of(rung), CLEARLY) for rung in found.ladder)
        }
    assert {"mean_of_batch", "sum_of_squares", "factor_squared", "flat", "in_place"} <= told


def test_an_exercise_without_steps_has_a_ladder_alone(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    frozen = freeze.freeze(load_source(tmp_path))
    assert frozen.counterexamples == {}
    assert len(frozen.ladder) == counterexamples.RUNGS


# --- freezing ----------------------------------------------------------------------------------


def run_again(root: Path, known: Frozen | None) -> tuple[Found, list[str]]:
    """What a search finds, and what it said that it searched for."""
    said: list[str] = []
    forget_reference(root)
    source = load_source(root)
    model = load_model(source.reference_folder)
    assert model is not None
    mistakes = load_misconceptions(source.reference_folder, list(source.exercise.clauses))
    entries = {"": model.function("", {})}
    return search_all(source.exercise, entries, model, mistakes, (), {}, known, said.append), said


def test_what_still_tells_its_mistake_is_not_searched_for_again(tmp_path: Path, found: Found) -> None:
    write(tmp_path, misconceptions_text().replace("What it does:\n        a", "What it does:\n        z"))
    again, said = run_again(tmp_path, as_frozen(found))
    # A search is the only way to see that nothing tells these two.
    assert said == ["a counterexample to nothing_wrong", "a counterexample to last_digits"]
    assert as_frozen(again).dumps() == as_frozen(found).dumps()


def test_what_no_longer_tells_its_mistake_is_searched_for(tmp_path: Path, found: Found) -> None:
    text = misconceptions_text(sum_of_squares="return (x * x).max(axis=1, keepdims=True) + 0 * x[:1, :1]")
    write(tmp_path, text.replace("-50, 50", "-500, 500"))
    again, said = run_again(tmp_path, as_frozen(found))
    assert "a counterexample to clipped" in said
    assert "a counterexample to mean_of_batch" not in said
    assert again.counterexamples["mean_of_batch"] is found.counterexamples["mean_of_batch"]
    assert again.counterexamples["clipped"] != found.counterexamples["clipped"]


def test_a_mistake_that_is_new_is_searched_for_and_one_that_is_gone_is_dropped(
    tmp_path: Path, found: Found
) -> None:
    write(tmp_path, misconceptions_text().replace("def flat(", "def flattened("))
    again, said = run_again(tmp_path, as_frozen(found))
    assert "a counterexample to flattened" in said
    assert "a ladder of inputs" in said
    assert "flat" not in again.counterexamples
    assert again.counterexamples["flattened"].misconception == "flattened"


@pytest.mark.parametrize("change", ["version", "exercise", "anew"])
def test_everything_is_searched_for_again(
    tmp_path: Path, found: Found, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    write(tmp_path)
    known: Frozen | None = as_frozen(found)
    if change == "version":
        monkeypatch.setattr(counterexamples, "VERSION", counterexamples.VERSION + 1)
    elif change == "exercise":
        known = replace(as_frozen(found), search="1:0")
    else:
        known = None
    again, said = run_again(tmp_path, known)
    assert {f"a counterexample to {name}" for name in found.counterexamples} <= set(said)
    assert again.counterexamples == found.counterexamples
    assert again.ladder == found.ladder


def test_the_key_of_a_search_follows_what_inputs_may_be(tmp_path: Path, search: Search) -> None:
    exercise = search.pool.domain.exercise
    wider = exercise.model_copy(update={"constraints": []})
    retold = exercise.model_copy(update={"title": "Another", "limits": exercise.limits})
    assert counterexamples.search_key(wider) != search.key
    assert counterexamples.search_key(retold) == search.key


def test_freezing_uses_what_was_frozen_and_mistakes_move_no_tolerance(tmp_path: Path) -> None:
    write_exercise(tmp_path, model=MODEL)
    without = freeze.freeze(load_source(tmp_path))
    write(tmp_path)
    with_ = freeze.freeze(load_source(tmp_path))
    assert (with_.cases, with_.batches) == (without.cases, without.batches)
    assert with_.counterexamples.keys() >= {"clipped", "flat", "crash_when_empty"}
    said: list[str] = []
    source = replace(load_source(tmp_path), frozen=with_)
    assert freeze.freeze(source, said.append) == with_
    assert "a counterexample to clipped" not in said
    assert freeze.freeze(source, said.append, anew=True) == with_
    assert "a counterexample to clipped" in said


# --- inputs ------------------------------------------------------------------------------------


@given(number=st.integers(0, 50), data=st.data())
def test_a_vocabulary_loses_entries_without_touching_the_others(
    mlm: Search, number: int, data: st.DataObject
) -> None:
    domain = mlm.pool.domain
    dims = {"N": 2, "T": 3, "V": 5, "D": 2, "L": 1, "num_heads": 2}
    whole = domain.draw(dims, number)
    kept = sorted(data.draw(st.sets(st.integers(0, 4), min_size=1)))
    less = domain.restricted(whole, dims | {"V": len(kept)}, {"V": kept})
    assert less is not None
    before, after = whole.arrays["input_ids"], less.arrays["input_ids"]
    stay = np.isin(before, kept)
    assert np.array_equal(less.arrays["w_emb"][after[stay]], whole.arrays["w_emb"][before[stay]])
    assert ((after >= 0) & (after < len(kept))).all()
    assert np.array_equal(less.arrays["w_head"], whole.arrays["w_head"][:, kept])


def test_cut_inputs_keep_to_bounds_and_constraints(mlm: Search) -> None:
    domain = mlm.pool.domain
    dims = {"N": 2, "T": 2, "V": 3, "D": 4, "L": 1, "num_heads": 2}
    cuts = list(cut(domain, domain.draw(dims, 1)))
    for new in cuts:
        assert new.dims["D"] % new.dims["num_heads"] == 0
        assert new.arrays["blocks_weights"].shape == (new.dims["L"], 6, new.dims["D"], new.dims["D"])
        assert new.arguments["num_heads"] == new.dims["num_heads"]
        assert domain.size(new.dims) < domain.size(dims)
    # A head goes with its features only together: D from 4 to 2 while num_heads goes from 2 to 1.
    assert any((new.dims["D"], new.dims["num_heads"]) == (2, 1) for new in cuts)


def test_small_dims_come_in_the_order_of_their_numbers(mlm: Search) -> None:
    dims = mlm.pool.dims
    assert list(dims[0].values()) == [1, 1, 1, 1, 0, 1]
    assert all(mlm.pool.domain.allows(each) for each in dims)
    near = [each for each in dims if all(n <= mlm.pool.domain.lowest[d] + 1 for d, n in each.items())]
    assert dims[: len(near)] == sorted(near, key=mlm.pool.domain.size)
    assert [2, 3, 2, 4, 1, 2] in [list(each.values()) for each in dims]


def test_simple_numbers_cost_less() -> None:
    numbers = [0, 1, -1, 3, -3, 9, 0.5, -0.5, 0.01, 0.25, 1234.5]
    assert sorted(numbers, key=cost_of) == sorted(numbers, key=lambda n: (cost_of(n), numbers.index(n)))
    assert cost_of(0) < cost_of(1) < cost_of(-1) <= cost_of(2) < cost_of(9) < cost_of(0.5) < cost_of(0.25)
    assert cost_of(float(np.float32(0.7))) == cost_of(0.7)


# --- telling -----------------------------------------------------------------------------------

X = Input({}, {"x": np.array([1.0, 2.0])})
RIGHT = Answer(np.array([2.0, 4.0]))
FORM = Form(shape=["N"])


def _overwrites(x: Any) -> Any:
    answer = 2 * x
    x[0] = 9
    return answer


def _raises(x: Any) -> Any:
    raise ValueError


@pytest.mark.parametrize(
    ("function", "kind", "margin"),
    [
        (lambda x: 2 * x + 0.4, VALUE, 0.1),
        (lambda x: (2 * x)[:1], VALUE, np.inf),
        (lambda x: list(2 * x), VALUE, np.inf),
        (lambda x: (2 * x).astype(int), VALUE, np.inf),
        (lambda x: x / 0, BROKEN, np.inf),
        (_raises, BROKEN, np.inf),
        (_overwrites, VALUE, np.inf),
        (lambda x: np.multiply(x, 2, out=x), VALUE, np.inf),
    ],
)
def test_how_an_answer_differs(function: Callable[..., Any], kind: int, margin: float) -> None:
    with quiet():
        tell = difference(function, X, RIGHT, FORM)
    assert tell is not None
    assert (tell.empty, tell.kind) == (False, kind)
    assert tell.margin == pytest.approx(margin)


def test_the_right_answer_does_not_differ() -> None:
    assert difference(lambda x: 2 * x, X, RIGHT, FORM) is None


def test_an_answer_that_rounding_moves_is_not_steady() -> None:
    """1 is lost when it is added to a large number in float32."""

    def double(x: Any) -> Any:
        return (x + 1e9) - 1e9

    def single(x: Any) -> Any:
        return (x.astype(np.float32) + np.float32(1e9)) - np.float32(1e9)

    right = Reference(double, single, FORM).right(X)
    assert right is not None
    assert not Reference(double, single, FORM).steady(X, right, 1.0)
    assert Reference(double, double, FORM).steady(X, right, 1.0)
