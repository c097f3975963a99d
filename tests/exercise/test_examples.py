"""Small examples: right answers, the mistake's fingerprint, and the step at which its run parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from authoring.stepped import MODEL, Mistake, write
from support.known import row_scale
from support.small import EXERCISE

from grader.exercise.counterexamples import Counterexample, WrittenArray
from grader.exercise.examples import MOST_VALUES, make_example
from grader.exercise.fingerprints import fingerprint
from grader.exercise.follow_up import Example
from grader.exercise.misconceptions import Misconceptions, StepModel, load_misconceptions, load_model
from grader.exercise.models import Exercise
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import call

ASKED = Exercise.model_validate(EXERCISE)
MISTAKES: dict[str, Mistake] = {
    "mean_of_batch": ("scale", 'step="squares"', "x", "return (x * x).mean(keepdims=True)"),
    "nothing": ("scale", 'step="finish"', "rows", "return rows"),
    "tiny": ("scale", 'step="squares"', "x", "return (x * x).mean(axis=1, keepdims=True) * (1 + 1e-9)"),
    "nan": ("scale", 'step="squares"', "x", "return np.full((len(x), 1), np.nan)"),
    "other_shape": ("scale", 'step="finish"', "rows", "return rows.ravel()"),
    "as_list": ("scale", 'step="finish"', "rows", "return rows.tolist()"),
    "as_text": ("scale", 'step="finish"', "rows", 'return "rows"'),
    "crash": ("scale", 'step="product"', "x, w, factor", "raise ValueError(x.shape)"),
    "in_place": ("inputs", 'step="take"', "x", "y = np.array(x, np.float64); x *= 2; return y"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("examples")
    titled = MODEL.replace(
        "def squares(x):\n", 'def squares(x):\n    """(N, 1): the mean of each row\'s squares."""\n'
    )
    write(root, MISTAKES, model=titled)
    return root / "reference" / "row_scale"


@pytest.fixture(scope="module")
def model(folder: Path) -> StepModel:
    found = load_model(folder)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def library(folder: Path) -> Misconceptions:
    return load_misconceptions(folder, list(EXERCISE["clauses"]))


def found(name: str, x: Any, w: Any, factor: int = 1) -> Counterexample:
    x, w = np.array(x, float), np.array(w, float)
    dims = {"factor": factor, "K": w.shape[1], "D": x.shape[1], "N": x.shape[0]}
    arguments: dict[str, Any] = {"x": WrittenArray.of(x), "w": WrittenArray.of(w), "factor": factor}
    return Counterexample(name, dims, arguments)


def example(
    model: StepModel, library: Misconceptions, name: str, x: Any = ((1,), (0,)), w: Any = ((1,),)
) -> Example:
    return make_example(row_scale, model, library, found(name, x, w), ASKED)


def test_an_example_has_its_right_answer_and_the_mistakes_fingerprint(
    model: StepModel, library: Misconceptions
) -> None:
    made = example(model, library, "mean_of_batch")
    assert (made.misconception, made.clause, made.title) == ("mean_of_batch", "scale", "mean_of_batch")
    assert list(made.dims.items()) == [("N", 2), ("D", 1), ("K", 1), ("factor", 1)]
    assert made.numbers == 4
    assert made.answer().tolist() == [[0.5], [0.0]]
    entry = model.entry(library["mean_of_batch"].make())
    wrong = fingerprint(call(entry, found("", [[1], [0]], [[1]]).call()))
    assert made.wrong is not None and made.wrong.kind == wrong.kind
    assert np.array_equal(made.wrong.values, wrong.values)
    assert made.part == {
        "step": "squares",
        "title": "the mean of each row's squares",
        "times": 1,
        "expected": [[1.0], [0.0]],
        "obtained": [[0.5]],
    }


def test_one_of_the_ladder_tells_no_mistake(model: StepModel, library: Misconceptions) -> None:
    made = example(model, library, "")
    assert (made.misconception, made.clause, made.title, made.wrong, made.part) == ("", "", "", None, None)
    assert made.answer().tolist() == [[0.5], [0.0]]


@pytest.mark.parametrize("name", ["nothing", "tiny"])
def test_what_does_not_part_has_no_part(model: StepModel, library: Misconceptions, name: str) -> None:
    assert example(model, library, name).part is None


def test_numbers_that_are_not_finite_are_texts(model: StepModel, library: Misconceptions) -> None:
    made = example(model, library, "nan")
    assert made.part is not None
    assert made.part["obtained"] == [["nan"], ["nan"]] and made.part["expected"] == [[1.0], [0.0]]
    assert made.wrong is not None and "#" in made.wrong.kind


@pytest.mark.parametrize("name", ["other_shape", "as_list"])
def test_another_form_parts_too(model: StepModel, library: Misconceptions, name: str) -> None:
    made = example(model, library, name)
    if name == "other_shape":
        assert made.part is not None and made.part["obtained"] == [0.5, 0.0]
    assert made.wrong is not None and made.wrong.kind != fingerprint(call(row_scale, made_call())).kind


def made_call() -> list[Any]:
    return found("", [[1], [0]], [[1]]).call()


@pytest.mark.parametrize("name", ["as_text", "crash"])
def test_what_has_no_numbers_has_no_part(model: StepModel, library: Misconceptions, name: str) -> None:
    made = example(model, library, name)
    assert made.part is None and made.wrong is not None
    assert made.wrong.kind == {"as_text": "str 'rows'", "crash": "raised"}[name]


def test_many_values_are_not_followed_on_paper(model: StepModel, library: Misconceptions) -> None:
    x = np.arange(float(MOST_VALUES))[:, np.newaxis]
    assert example(model, library, "mean_of_batch", x).part is not None
    longer = np.arange(float(MOST_VALUES + 1))[:, np.newaxis]
    assert example(model, library, "mean_of_batch", longer).part is None


def test_a_mistake_that_writes_leaves_the_right_answer_alone(
    model: StepModel, library: Misconceptions
) -> None:
    made = example(model, library, "in_place")
    assert made.answer().tolist() == [[0.5], [0.0]] and made.part is None


def test_every_example_of_a_pack_tells_its_mistake(stepped: Pack, stepped_root: Path) -> None:
    folder = stepped_root / "reference" / "row_scale"
    model, library = load_model(folder), load_misconceptions(folder, list(EXERCISE["clauses"]))
    assert model is not None and stepped.follow_up is not None
    told = [e for e in stepped.follow_up.examples if e.misconception]
    assert len(told) >= 5
    for number, made in enumerate(stepped.follow_up.examples):
        arguments = stepped.follow_up.arguments(number)
        assert np.allclose(made.answer(), row_scale(*arguments), rtol=1e-12)
        if made.misconception:
            changes = library[made.misconception].make()
            outcome = call(
                model.entry(changes), [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
            )
            found = fingerprint(outcome)
            assert made.wrong is not None and found.kind == made.wrong.kind
            assert np.allclose(found.values, made.wrong.values)
