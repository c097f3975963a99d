"""Collections of known mistakes: their decorator, what is wrong with a module of them, and their models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from authoring.stepped import MISTAKES, module_text, write
from support.known import row_scale
from support.small import EXERCISE, forget_reference, write_exercise

from grader.errors import ExerciseError, GraderError
from grader.exercise.misconceptions import (
    Misconceptions,
    StepModel,
    compose,
    load_misconceptions,
    load_model,
)

PAGE = "Title.\n\nWhat it does:\n a\nWhy it is wrong:\n b\nHow it looks:\n c\nWhat to write instead:\n d"
CLAUSES = list(EXERCISE["clauses"])
X, W = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.5], [0.0, 2.0]])


def reference(root: Path) -> Path:
    return root / "reference" / "row_scale"


@pytest.fixture
def library(tmp_path: Path) -> Misconceptions:
    write(tmp_path)
    return load_misconceptions(reference(tmp_path), CLAUSES)


@pytest.fixture
def model(tmp_path: Path) -> StepModel:
    write(tmp_path)
    found = load_model(reference(tmp_path))
    assert found is not None
    return found


def named(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x

    function.__doc__ = PAGE
    function.__name__ = name
    return function


# --- the decorator ----------------------------------------------------------------------------


def test_the_decorator_gives_the_function_back_and_keeps_what_it_says() -> None:
    collection = Misconceptions()
    function = named("wrong")
    assert collection.add(clause="scale", step="squares", small=True)(function) is function
    (one,) = collection
    assert (one.id, one.title, one.clause, one.steps) == ("wrong", "Title", "scale", ("squares",))
    assert (one.small, one.stateful) == (True, False)
    assert one.page.instead == "d"
    assert one.make() == {"squares": function}
    assert one.file == __file__ and one.line == function.__code__.co_firstlineno
    assert collection["wrong"] is one and len(collection) == 1


def test_without_a_step_the_function_makes_the_changes_anew_for_each_model() -> None:
    collection = Misconceptions()

    def counts() -> dict[str, Callable[..., Any]]:
        seen: list[int] = []

        def first() -> int:
            seen.append(1)
            return len(seen)

        return {"a": first, "b": lambda: len(seen)}

    counts.__doc__ = PAGE
    collection.add(clause="rows", stateful=True)(counts)
    one = collection["counts"]
    assert one.steps == ("a", "b") and one.stateful
    mine, other = one.make(), one.make()
    assert [mine["a"](), mine["a"](), mine["b"](), other["b"]()] == [1, 2, 2, 0]


def test_parts_come_in_their_order_and_a_name_twice_is_told_with_its_place() -> None:
    parts = [Misconceptions(), Misconceptions()]
    for part, name in zip(parts, ("b", "a"), strict=True):
        part.add(clause="scale", step="squares")(named(name))
    assert [one.id for one in Misconceptions(*parts)] == ["b", "a"]
    with pytest.raises(GraderError, match=rf"{__file__}:\d+: the misconception b is there twice"):
        Misconceptions(*parts, parts[0])
    with pytest.raises(GraderError, match="the misconception a is there twice"):
        parts[1].add(clause="rows", step="finish")(named("a"))


@pytest.mark.parametrize("text", [None, "", "A title.", PAGE.replace("Why it is wrong:\n b\n", "")])
def test_a_function_without_a_page_is_told_with_its_place(text: str | None) -> None:
    function = named("wrong")
    function.__doc__ = text
    with pytest.raises(GraderError, match=rf"{__file__}:\d+: wrong: expected a title and the sections"):
        Misconceptions().add(clause="scale", step="squares")(function)


# --- loading ----------------------------------------------------------------------------------


def test_an_exercise_without_the_module_has_none(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    assert len(load_misconceptions(reference(tmp_path), CLAUSES)) == 0
    assert load_model(reference(tmp_path)) is None


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("{'one': run}", "run has no function for the call 'other'"),
        ("{'one': run, 'other': 3}", "run has no function for the call 'other'"),
        ("run", "run has no function for the call 'one', it is one function"),
    ],
)
def test_a_call_that_the_model_lacks_is_told(tmp_path: Path, run: str, said: str) -> None:
    write(tmp_path)
    path = reference(tmp_path) / "model.py"
    path.write_text(f"{path.read_text()}\n\nrun = {run}\n")
    with pytest.raises(ExerciseError) as caught:
        load_model(reference(tmp_path), ("one", "other"))
    assert said in str(caught.value) and "model.py" in str(caught.value)


def test_the_module_is_loaded_in_its_order(library: Misconceptions) -> None:
    assert [one.id for one in library] == list(MISTAKES)
    assert [one.id for one in library if one.small] == ["last_digits"]


def test_a_folder_of_modules_is_loaded_too(tmp_path: Path) -> None:
    write(tmp_path)
    folder = reference(tmp_path)
    text = (folder / "misconceptions.py").read_text()
    (folder / "misconceptions.py").unlink()
    (folder / "misconceptions").mkdir()
    (folder / "misconceptions" / "all.py").write_text(text)
    (folder / "misconceptions" / "__init__.py").write_text("from .all import MISCONCEPTIONS\n")
    forget_reference(tmp_path)
    library = load_misconceptions(folder, CLAUSES)
    assert [one.id for one in library] == list(MISTAKES)
    assert library["no_factor"].file == str(folder / "misconceptions" / "all.py")


def broken(root: Path, text: str, **overrides: Any) -> str:
    write(root, **overrides)
    (reference(root) / "misconceptions.py").write_text(text)
    forget_reference(root)
    with pytest.raises(GraderError) as caught:
        load_misconceptions(reference(root), CLAUSES)
    return str(caught.value)


def test_an_unknown_step_is_told_with_the_near_one(tmp_path: Path) -> None:
    said = broken(tmp_path, module_text({"m": ("scale", 'step="sqares"', "x", "return x")}))
    path = reference(tmp_path) / "misconceptions.py"
    assert said.startswith(f"{path}:7: m: no step 'sqares'; did you mean 'squares'")


def test_an_unknown_clause_is_told_with_the_near_one(tmp_path: Path) -> None:
    said = broken(tmp_path, module_text({"m": ("scael", 'step="squares"', "x", "return x")}))
    assert "misconceptions.py:7: m: no clause 'scael'; did you mean 'scale'" in said


@pytest.mark.parametrize("text", ["", "MISCONCEPTIONS = []\n", "MISCONCEPTION = 1\n"])
def test_a_module_without_a_collection_is_told(tmp_path: Path, text: str) -> None:
    said = broken(tmp_path, text)
    assert (
        said == f"{reference(tmp_path)}/misconceptions defines no MISCONCEPTIONS, a Misconceptions collection"
    )


def test_a_module_that_can_not_be_imported_is_told(tmp_path: Path) -> None:
    assert "misconceptions.py can't be imported: ZeroDivisionError" in broken(tmp_path, "1 / 0\n")


@pytest.mark.parametrize("model", ["def row_scale(x, w, factor): return x\n", "STEPS = 1\nrun = 2\n"])
def test_a_reference_without_steps_is_told(tmp_path: Path, model: str) -> None:
    said = broken(tmp_path, module_text(MISTAKES), model=model)
    assert said == f"{reference(tmp_path)}/model.py has no STEPS and run(steps, arguments, dtype) to change"


# --- models -----------------------------------------------------------------------------------


def test_steps_have_the_order_of_the_fields(model: StepModel) -> None:
    assert model.names == ("take", "squares", "product", "finish")


def test_the_unchanged_model_gives_right_answers(model: StepModel) -> None:
    assert np.allclose(model.entry({})(X, W, 2), row_scale(X, W, 2), rtol=1e-15)
    single = model.entry({}, "float32")(X, W, 2)
    assert single.dtype == np.float32


def test_a_changed_model_leaves_the_right_one_alone(model: StepModel, library: Misconceptions) -> None:
    wrong = model.entry(library["no_factor"].make())
    assert np.allclose(wrong(X, W, 2), row_scale(X, W, 1))
    assert np.allclose(model.entry({})(X, W, 2), row_scale(X, W, 2))


def test_mistakes_of_different_steps_go_together(model: StepModel, library: Misconceptions) -> None:
    changes = compose([library["no_factor"], library["mean_of_batch"]])
    assert changes is not None and set(changes) == {"product", "squares"}
    expected = row_scale(X, W, 1, lambda x: (x * x).mean())
    assert np.allclose(model.entry(changes)(X, W, 2), expected)


def test_mistakes_of_one_step_do_not_go_together(library: Misconceptions) -> None:
    assert compose([library["mean_of_batch"], library["running_mean"]]) is None
    assert compose([]) == {}


def test_a_step_that_there_is_not_is_no_change(model: StepModel) -> None:
    with pytest.raises(TypeError):
        model.entry({"sqares": lambda x: x})
