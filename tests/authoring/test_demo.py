"""The demonstration of an exercise: its author's, with faults told in words, or one made from its cases."""

from __future__ import annotations

import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small import CASES, MODEL, forget_reference, load_source, write_exercise

from grader.authoring.demo import demonstration_of
from grader.authoring.demo_cases import MOST_MATRICES, _parts
from grader.demonstration import Demonstration, Matrix, Metric, Vector
from grader.errors import ExerciseError, GraderError, ToolMissingError
from grader.exercise.roots import source_files

HEAD = "from grader.demonstration import Demonstration, Example, Matrix, Metric\n"
GOOD = f"""{HEAD}
from .model import row_scale


def demonstrate():
    return Demonstration(
        "Scaled rows",
        "A row at a time.",
        [Example("ones", "A row of ones", matrices=[Matrix("answer", row_scale([[1, 1]], [[1], [1]], 2))])],
    )
"""


def shown(root: Path, demo: str | None = None, **overrides: Any) -> Demonstration:
    """The demonstration of the small exercise with this text as its demo.py."""
    write_exercise(root, **overrides)
    if demo is not None:
        (root / "reference" / "row_scale" / "demo.py").write_text(demo, "utf-8")
        forget_reference(root)
    return demonstration_of(load_source(root))


# --- demo.py --------------------------------------------------------------------------------------


def test_the_author_s_demonstration_is_what_is_shown(tmp_path: Path) -> None:
    found = shown(tmp_path, GOOD)
    assert found.title == "Scaled rows"
    assert found.examples[0].matrices[0].values == ((2.0,),)


def test_what_the_author_prints_is_no_part_of_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(tmp_path, "print('loaded')\n" + GOOD.replace("    return", "    print('run')\n    return"))
    assert capsys.readouterr() == ("", "loaded\nrun\n")


FAULTS = {
    "syntax": ("x = 1\ndef f(:\n", "demo.py:2: can't be imported: SyntaxError"),
    "import": ("import nothing_of_this_name\n", "demo.py:1: can't be imported: No module named"),
    "no_function": (
        "def demonstrat():\n    pass\n",
        "demo.py defines no function 'demonstrate'; did you mean 'demonstrat'",
    ),
    "raises": (
        "def demonstrate():\n    x = 1\n    return x / 0\n",
        "demo.py:3: demonstrate() fails: ZeroDivisionError: division by zero",
    ),
    "exits": (
        "def demonstrate():\n    raise SystemExit(3)\n",
        "demo.py:2: demonstrate() fails: SystemExit: 3",
    ),
    "recursion": (
        "def demonstrate():\n    return demonstrate()\n",
        "demo.py:2: demonstrate() fails: Recursion",
    ),
    "other_value": (
        "\n\ndef demonstrate():\n    return []\n",
        "demo.py:3: demonstrate() returns a value of type list; expected a Demonstration",
    ),
    "arguments": ("def demonstrate(x):\n    return x\n", "demo.py: demonstrate() fails: TypeError"),
    "bad_value": (
        f"{HEAD}\ndef demonstrate():\n    rows = [[1], [1, 2]]\n    return Matrix('M', rows)\n",
        "demo.py:5: Matrix 'M': row 1 has 2 elements",
    ),
    "bad_value_at_import": (f"{HEAD}M = Matrix('M', 3)\n", "demo.py:2: Matrix 'M': values is 3"),
    "unknown_keyword": (
        f"{HEAD}def demonstrate():\n    return Metric('m', valeu=3)\n",
        "demo.py:3: demonstrate() fails: TypeError",
    ),
    "in_the_model": (
        "from .model import row_scale\ndef demonstrate():\n    return row_scale('a', 'b', 1)\n",
        "model.py:7: demonstrate() fails: ",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_author_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text, said = FAULTS[name]
    with pytest.raises(ExerciseError) as caught:
        shown(tmp_path, text)
    assert str(caught.value).startswith(f"reference/row_scale/{said}"), str(caught.value)
    (problem,) = caught.value.problems
    assert problem.file.endswith(said.partition(".py")[0] + ".py")


def test_a_helper_that_can_not_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_exercise(tmp_path)
    (tmp_path / "reference" / "row_scale" / "helper.py").write_text("x = 1\n1 / 0\n")
    with pytest.raises(
        ExerciseError, match=r"^reference/row_scale/helper\.py:2: reference/row_scale/demo\.py can't be"
    ):
        shown(tmp_path, "from .helper import x\n")


@pytest.mark.parametrize(
    ("package", "hint"),
    [("torch", "needs torch; install mlm-grader[author]"), ("pandas_x", "needs pandas_x")],
)
def test_a_missing_library_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, hint: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ToolMissingError) as caught:
        shown(tmp_path, f"def demonstrate():\n    import {package}\n")
    assert str(caught.value).endswith(f"demo.py:2: demonstrate() {hint}")


def test_a_missing_library_of_the_whole_file_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GraderError, match=r"demo\.py:1: can't be imported: .*install mlm-grader\[author\]"):
        shown(tmp_path, "import torch\n")


# --- What it leaves as it is ----------------------------------------------------------------------


def test_a_demo_makes_no_frozen_file_stale_and_no_pack_anew(root: Path) -> None:
    before = load_source(root).digest, source_files(root, "row_scale")
    load_source(root).require_fresh_frozen()
    (root / "reference" / "row_scale" / "demo.py").write_text(GOOD)
    assert (load_source(root).digest, source_files(root, "row_scale")) == before
    load_source(root).require_fresh_frozen()
    # Another file of that name, and any other file, is part of the reference.
    (root / "reference" / "row_scale" / "parts").mkdir()
    (root / "reference" / "row_scale" / "parts" / "demo.py").write_text("")
    assert load_source(root).digest != before[0]


# --- Made from cases ------------------------------------------------------------------------------


def test_without_a_demo_the_smallest_public_case_of_each_clause_is_shown(tmp_path: Path) -> None:
    found = shown(tmp_path)
    assert found.title == "Scaled rows"
    assert [e.id for e in found.examples] == ["ones_row", "large_rows"]
    first = found.examples[0]
    assert first.label == "A row of equal numbers"
    assert first.note == "Product: x times w, times factor."
    assert [m.label for m in first.matrices] == [
        "x, float64 (1, 4)",
        "w, float64 (4, 3)",
        "answer, float64 (1, 3)",
    ]
    assert first.metrics == (Metric("factor", 2),)
    x, w, answer = (np.array(m.values) for m in first.matrices)
    np.testing.assert_allclose(answer, 2 * (x @ w) / 2)


def test_no_hidden_case_is_shown(tmp_path: Path) -> None:
    hidden = {c["id"]: {"visibility": "hidden"} for c in CASES if c["id"] in ("ones_row", "no_rows")}
    told = str(shown(tmp_path, change=hidden | {"row_alone": None, "x_kept": None}).to_dict())
    assert "large_rows" in told
    assert "ones_row" not in told and "x_matters" not in told and "drawn" not in told


def test_relations_are_shown_where_nothing_else_is_public(tmp_path: Path) -> None:
    cases = [c for c in CASES if c["id"] == "x_kept"]
    found = shown(tmp_path, cases=[{k: v for k, v in cases[0].items() if k != "requires"}])
    assert [e.id for e in found.examples] == ["x_kept"]


def test_nothing_to_show_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExerciseError, match=r"cases/row_scale: there is no public case and no map"):
        shown(tmp_path, cases=[c for c in CASES if c["id"] == "drawn"])


def test_arguments_are_shown_as_they_were_before_the_call(tmp_path: Path) -> None:
    careless = MODEL.replace("    return", "    x *= 0\n    return")
    calm, changed = (shown(tmp_path / name, model=m) for name, m in (("a", MODEL), ("b", careless)))
    assert calm.examples[0].matrices[0] == changed.examples[0].matrices[0]


def test_a_reference_that_fails_is_told_at_the_case(tmp_path: Path) -> None:
    with pytest.raises(ExerciseError, match=r"checks\.yaml:1: ones_row: the reference fails on it: Key"):
        shown(tmp_path, model="def row_scale(x, w, factor):\n    raise KeyError('w')\n")


def test_a_missing_reference_is_told(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"model\.py is missing"):
        shown(tmp_path, model=None)


def test_the_map_of_influence_is_shown(tmp_path: Path) -> None:
    influence = {"argument": "x", "dims": {"N": 2, "D": 2, "K": 2, "factor": 1}}
    found = shown(tmp_path, exercise={"influence": influence}, more=[{**CASES[0], "id": "influence"}])
    one = found.examples[-1]
    assert one.id not in [e.id for e in found.examples[:-1]]
    assert one.matrices[0].values == ((1, 0), (1, 0), (0, 1), (0, 1))
    assert one.matrices[0].rows == ("[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]")


Pair = namedtuple("Pair", "loss rows")


@dataclass
class Both:
    loss: float
    rows: Any


STRUCTURES: dict[str, tuple[Any, list[tuple[type, str]]]] = {
    "number": (1.5, [(Metric, "a")]),
    "scalar": (np.float32(1.5), [(Metric, "a")]),
    "text": ("yes", [(Metric, "a")]),
    "none": (None, [(Metric, "a")]),
    "texts": (["a", "b"], [(Vector, "a")]),
    "vector": ([1, 2], [(Vector, "a, int64 (2,)")]),
    "matrix": ([[1, 2]], [(Matrix, "a, int64 (1, 2)")]),
    "ragged": ([[1, 2], [1]], [(Vector, "a[0], int64 (2,)"), (Vector, "a[1], int64 (1,)")]),
    "empty": (np.zeros((0, 3)), [(Metric, "a, float64 (0, 3)")]),
    "large": (np.zeros((2, 41)), [(Metric, "a, float64 (2, 41)")]),
    "three_axes": (
        np.zeros((2, 1, 1)),
        [(Matrix, "a, float64 (2, 1, 1), [0, :, :]"), (Matrix, "a, float64 (2, 1, 1), [1, :, :]")],
    ),
    "many": (np.zeros((MOST_MATRICES + 1, 1, 1)), [(Metric, f"a, float64 ({MOST_MATRICES + 1}, 1, 1)")]),
    "tuple": ((np.zeros(2), 1), [(Vector, "a[0], float64 (2,)"), (Metric, "a[1]")]),
    "arrays": ([np.zeros(2), np.zeros(2)], [(Vector, "a[0], float64 (2,)"), (Vector, "a[1], float64 (2,)")]),
    "mapping": ({"loss": 2.0, "ids": [1]}, [(Metric, "a['loss']"), (Vector, "a['ids'], int64 (1,)")]),
    "named": (Pair(1, [[2]]), [(Metric, "a.loss"), (Matrix, "a.rows, int64 (1, 1)")]),
    "dataclass": (Both(1, {"x": [1]}), [(Metric, "a.loss"), (Vector, "a.rows['x'], int64 (1,)")]),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_any_answer_is_shown_by_its_parts(name: str) -> None:
    value, parts = STRUCTURES[name]
    assert [(type(p), p.label) for p in _parts("a", value)] == parts


def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch")
    (part,) = _parts("a", torch.eye(2, requires_grad=True))
    assert part == Matrix("a, float32 (2, 2)", np.eye(2))


def test_matrices_of_one_array_have_one_scale() -> None:
    one, two = _parts("a", np.array([[[0.0, 1.0]], [[2.0, 3.0]]]))
    assert isinstance(one, Matrix) and isinstance(two, Matrix)
    assert one.scale == two.scale == (0.0, 3.0)
