"""The author's modules are loaded by path; what is wrong with them is told without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small import forget_reference

from grader.errors import ExerciseError, GraderError
from grader.exercise.near import did_you_mean, near_misses
from grader.exercise.reference import load_entry, load_module


def folder(root: Path, name: str = "loading", **modules: str) -> Path:
    path = root / "reference" / name
    path.mkdir(parents=True, exist_ok=True)
    for module, text in modules.items():
        (path / f"{module}.py").write_text(text)
    forget_reference(root, name)
    return path


def test_an_entry_is_loaded_and_may_import_its_neighbours(tmp_path: Path) -> None:
    path = folder(
        tmp_path, model="from .steps import two\n\ndef f(x):\n    return two * x\n", steps="two = 2\n"
    )
    assert load_entry(path, "model", "f")(3) == 6


def test_two_exercises_of_one_name_in_two_roots_do_not_mix(tmp_path: Path) -> None:
    one = folder(tmp_path / "a", model="from .steps import n\ndef f(): return n\n", steps="n = 1\n")
    two = folder(tmp_path / "b", model="from .steps import n\ndef f(): return n\n", steps="n = 2\n")
    assert [load_entry(p, "model", "f")() for p in (one, two, one, two)] == [1, 2, 1, 2]


def test_a_missing_module_is_told_with_its_path(tmp_path: Path) -> None:
    path = folder(tmp_path)
    with pytest.raises(
        GraderError, match=r"loading/crosscheck\.py is missing; expected the exercise's crosscheck there"
    ):
        load_module(path, "crosscheck")


def test_a_missing_entry_is_told_with_the_near_one(tmp_path: Path) -> None:
    path = folder(tmp_path, model="def row_scal(x):\n    return x\n")
    with pytest.raises(
        GraderError, match=r"model\.py defines no function 'row_scale'; did you mean 'row_scal'"
    ):
        load_entry(path, "model", "row_scale")


def test_an_entry_that_can_not_be_called_is_told(tmp_path: Path) -> None:
    path = folder(tmp_path, model="f = 3\n")
    with pytest.raises(GraderError, match="defines no function 'f'"):
        load_entry(path, "model", "f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def f(:\n", "SyntaxError"),
        ("import nothing_of_this_name\n", "No module named 'nothing_of_this_name'"),
        ("from .gone import x\n", "No module named"),
        ("from math import nothing\n", "ImportError: cannot import name 'nothing'"),
    ],
)
def test_a_module_that_can_not_be_imported_is_told(tmp_path: Path, text: str, said: str) -> None:
    path = folder(tmp_path, model=text)
    with pytest.raises(GraderError) as caught:
        load_module(path, "model")
    assert str(caught.value).startswith(f"{path / 'model.py'} can't be imported: ")
    assert said in str(caught.value)


def test_a_missing_authoring_package_is_told_with_the_extra(tmp_path: Path) -> None:
    path = folder(tmp_path, model="raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    with pytest.raises(GraderError, match=r"install mlm-grader\[author\]"):
        load_module(path, "model")


def test_near_words_are_named_and_others_are_listed() -> None:
    assert did_you_mean("pionts", ["title", "points"]) == "; did you mean 'points'?"
    assert did_you_mean("zzz", ["title", "points"]) == "; known here: title, points"


def test_names_that_differ_in_case_or_underscores_come_first() -> None:
    assert near_misses("mlm_forward", ["mlm_foward", "mlmForward", "main"]) == ["mlmForward", "mlm_foward"]
    assert near_misses("mlm_forward", ["solve"]) == []


@pytest.mark.parametrize(
    ("model", "helper", "file", "line"),
    [
        ("x = 1\n1 / 0\n", "", "model.py", 2),
        ("x = 1\n\ndef f(:\n", "", "model.py", 3),
        ("from .helper import y\n", "x = 1\ny = x +\n", "helper.py", 2),
        ("from .helper import y\n", "import json\n\n\ny = json.loads('')\n", "helper.py", 4),
        ("import nothing_of_this_name\n", "", "model.py", 1),
        ("from .helper import y\n", "", "model.py", 1),
    ],
)
def test_the_place_is_the_line_at_which_an_import_went_wrong(
    tmp_path: Path, model: str, helper: str, file: str, line: int
) -> None:
    path = folder(tmp_path, model=model, helper=helper)
    with pytest.raises(ExerciseError) as caught:
        load_module(path, "model")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(path / file), line)
    assert problem.message == str(caught.value)


def test_the_place_of_what_is_missing_is_the_file(tmp_path: Path) -> None:
    path = folder(tmp_path, model="def g():\n    return 1\n")
    for module in ("model", "crosscheck"):
        with pytest.raises(ExerciseError) as caught:
            load_entry(path, module, "f")
        assert [(p.file, p.line) for p in caught.value.problems] == [(str(path / f"{module}.py"), 0)]
