"""The starter has the signature that the calls have, says what is asked, and gives nothing away."""

from __future__ import annotations

import ast
import inspect
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.small import load_source, write_exercise

from grader.errors import ExerciseError, GraderError
from grader.exercise.source import ExerciseSource, load
from grader.handout.starter import starter, starter_code, starter_text

ROOT = Path(__file__).resolve().parents[2]


def small(root: Path, **exercise: Any) -> ExerciseSource:
    write_exercise(root, exercise=exercise)
    return load_source(root)


def test_the_text_is_what_a_student_reads(tmp_path: Path) -> None:
    assert starter_text(small(tmp_path)) == (
        '"""Scaled rows. Check this file with: grader check row_scale.py"""\n'
        "\n"
        "import numpy as np\n"
        "\n"
        "\n"
        "def row_scale(x, w, factor):\n"
        '    """Scaled rows.\n'
        "\n"
        "    Sizes: N >= 0; D, K, factor >= 1; D % factor == 0.\n"
        "\n"
        "    Args:\n"
        "        x: Array of shape (N, D), usually float64.\n"
        "        w: Array of shape (D, K), usually float64.\n"
        "        factor: A number.\n"
        "\n"
        "    Returns:\n"
        "        An array of shape (N, K), float32 or float64.\n"
        "\n"
        "    You may use the standard library and numpy.\n"
        "    Not allowed:\n"
        "        - Matrix product helpers\n"
        '    """\n'
        "    raise NotImplementedError\n"
    )


@pytest.mark.parametrize(
    "title", ['Ends in a "quote"', "A back\\slash", '"""', "Two\nlines", "Ends in a dot."]
)
def test_no_title_breaks_the_text(tmp_path: Path, title: str) -> None:
    tree = ast.parse(starter_text(small(tmp_path, title=title)))
    assert [type(node) for node in tree.body] == [ast.Expr, ast.Import, ast.FunctionDef]


def test_a_long_title_is_wrapped(tmp_path: Path) -> None:
    title = "Rows of a product that is scaled by a factor, added up, " * 3 + "and returned"
    text = starter_text(small(tmp_path, title=title))
    assert all(len(line) <= 88 for line in text.splitlines())
    tree = ast.parse(text)
    function = tree.body[2]
    assert isinstance(function, ast.FunctionDef)
    opening, docstring = ast.get_docstring(tree) or "", ast.get_docstring(function) or ""
    assert " ".join(opening.split()) == f"{title}. Check this file with: grader check row_scale.py"
    assert " ".join(docstring.split()).startswith(f"{title}. Sizes: ")
    assert docstring.splitlines()[-1].strip() == "- Matrix product helpers"


def test_without_numpy_two_blank_lines_stand_above_the_function(tmp_path: Path) -> None:
    text = starter_text(small(tmp_path, packages=[]))
    opening, _, rest = text.partition('row_scale.py"""')
    assert opening.startswith('"""Scaled rows.') and rest.startswith("\n\n\ndef row_scale(")


def test_a_name_that_is_none_in_python_is_told(tmp_path: Path) -> None:
    source = small(tmp_path)
    parameters = {"class": source.exercise.parameters["x"]}
    source = replace(source, exercise=source.exercise.model_copy(update={"parameters": parameters}))
    with pytest.raises(
        GraderError, match="row_scale: 'class' can't be the name of a function or a parameter"
    ):
        starter_code(source)


def test_the_function_takes_the_calls_arguments_and_is_not_written(tmp_path: Path) -> None:
    function = starter(small(tmp_path))
    assert callable(function)
    assert list(inspect.signature(function).parameters) == ["x", "w", "factor"]
    with pytest.raises(NotImplementedError):
        function(1, 2, 3)


def test_that_of_mlm_forward_tells_shapes_parts_and_what_is_banned() -> None:
    source = load(ROOT / "cases" / "mlm_forward")
    text = starter_text(source)
    assert all(len(line) <= 88 for line in text.splitlines())
    told = " ".join((starter(source).__doc__ or "").split())
    assert "blocks_weights: Array of shape (L, 6, D, D), usually float64. Along axis 1: w_q, w_k," in told
    assert "An array of shape (M, V), float32 or float64. M follows from the arguments" in told
    assert "You may use the standard library, numpy, torch and scipy." in told
    assert all(rule.title in told for rule in source.policy.rules)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "driver.py",
            "def draws(submission, *a): pass\nimport nothing_of_this_name\n",
            "driver.py:2: can't be run: Modul",
        ),
        (
            "driver.py",
            "def draws(submission, *a): pass\n\n1 / 0\n",
            "driver.py:3: can't be run: ZeroDivisionError",
        ),
        ("starter.py", "def draws(:\n", "starter.py:1: can't be run: SyntaxError"),
        ("starter.py", "\nraise SystemExit(3)\n", "starter.py:2: can't be run: SystemExit: 3"),
    ],
)
def test_a_file_that_can_not_be_run_is_told_with_its_line(
    tmp_path: Path, file: str, text: str, said: str
) -> None:
    shutil.copytree(ROOT / "tests" / "exercises" / "root", tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "cases" / "urn"
    (folder / file).write_text(text)
    if not (folder / "starter.py").exists():
        (folder / "starter.py").write_text("")
    with pytest.raises(ExerciseError) as caught:
        starter(load(folder))
    assert said in str(caught.value)
