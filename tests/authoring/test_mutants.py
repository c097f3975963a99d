"""Mutants: one small change at one place each, in a package of their own; what can't matter is left alone."""

from __future__ import annotations

import ast
import difflib
import sys
from pathlib import Path

import numpy as np
import pytest
from support.small import MODEL

from grader.authoring.mutants import Mutants
from grader.errors import GraderError
from grader.exercise.reference import load_module

ROOT = Path(__file__).resolve().parents[2]


def written(folder: Path, **modules: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        path = folder / f"{name.replace('PACKAGE', '/__init__').replace('INSIDE', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def of(folder: Path, body: str, head: str = "import numpy as np\n") -> list[tuple[str, str]]:
    """Operator and change of every mutant of a model with such a function body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    written(folder, model=f"{head}\n\ndef entry(x, y, a):\n{lines}")
    return [(m.operator, m.change) for m in Mutants(folder, "entry")]


def changes(folder: Path, body: str, operator: str, head: str = "import numpy as np\n") -> list[str]:
    return [change for kind, change in of(folder, body, head) if kind == operator]


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(params=["row_scale", "mlm_forward"])
def mutants(request: pytest.FixtureRequest, tmp_path: Path) -> Mutants:
    if request.param == "mlm_forward":
        return Mutants(ROOT / "reference" / "mlm_forward", "mlm_forward")
    return Mutants(written(tmp_path / "row_scale", model=MODEL), "row_scale")


def test_every_mutant_compiles_and_differs_at_one_place(mutants: Mutants) -> None:
    plain = {name: mutants.source(None, name) for name in mutants.modules}
    assert len(mutants) > 10
    for mutant in mutants:
        mutants.compiled(mutant)
        changed = {name: mutants.source(mutant, name) for name in mutants.modules}
        (module,) = [name for name in plain if plain[name] != changed[name]]
        before, after = (texts[module].splitlines() for texts in (plain, changed))
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        places = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        assert len(places) == 1, mutant
        ast.parse(changed[module])
        # The tree is as it was.
        assert mutants.source(None, module) == plain[module]


def test_no_two_mutants_are_the_same(mutants: Mutants) -> None:
    assert len({m.id for m in mutants}) == len(mutants)
    texts = [tuple(mutants.source(m, name) for name in mutants.modules) for m in mutants]
    assert len(set(texts)) == len(texts)


def test_the_order_is_the_same_each_time(mutants: Mutants) -> None:
    again = Mutants(next(iter(mutants)).file.parent, "entry")
    assert [(m.id, m.change) for m in again] == [(m.id, m.change) for m in mutants]


def test_a_mutant_names_its_place(tmp_path: Path) -> None:
    written(tmp_path, model="import numpy as np\n\n\ndef entry(x):\n    return x.sum(axis=-1)\n")
    found = {str(m): m for m in Mutants(tmp_path, "entry")}
    mutant = found["model.py:5 axis -1 -> -2"]
    assert (mutant.id, mutant.line, mutant.file) == ("model.py:5:axis:1", 5, tmp_path / "model.py")


# --- what is changed --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "operator", "expected"),
    [
        ("return x + y", "operator", ["x + y -> x - y", "x + y -> x * y"]),
        ("return x @ y", "operator", ["x @ y -> x * y"]),
        ("return x + y", "dropped_term", ["x + y -> x", "x + y -> y"]),
        ("return x - y", "swapped_arguments", ["x - y -> y - x"]),
        ("return x + y", "swapped_arguments", []),
        ("return x > y", "comparison", ["x > y -> x >= y", "x > y -> x <= y"]),
        ("return x == y", "comparison", ["x == y -> x != y"]),
        ("return -x", "sign", ["-x -> x"]),
        ("return np.exp(x)", "dropped_call", ["np.exp(x) -> x"]),
        ("return x.max(axis=y)", "dropped_call", ["x.max(axis=y) -> x"]),
        ("return a(x, y)", "dropped_call", ["a(x, y) -> y"]),
        ("return a(x, y)", "swapped_arguments", ["x and y swapped"]),
        ("return a(one=x, other=y)", "swapped_arguments", ["one and other swapped"]),
        ("return x.sum(axis=0, keepdims=True)", "swapped_arguments", []),
        ("x, y = y, a\nreturn x", "swapped_arguments", ["x and y swapped", "y and a swapped"]),
        ("return x[y]", "dropped_index", ["x[y] -> x"]),
        ("return x[y:a]", "dropped_index", ["x[y:a] -> x", "y:a -> :a", "y:a -> y:"]),
        ("return x.sum(axis=1)", "axis", [f"axis 1 -> {n}" for n in (-2, -1, 0, None)]),
        ("return x * 6", "constant", ["6 -> 12", "6 -> -6", "6 -> 7", "6 -> 5", "6 -> 3"]),
        ("return x * 0", "constant", ["0 -> 1", "0 -> -1"]),
        ("return x * -1", "constant", ["-1 -> -2", "-1 -> 1", "-1 -> 0"]),
        ("return x.sum(keepdims=True)", "constant", ["True -> False"]),
        ("return x and y", "operator", ["x and y -> x or y"]),
        ("return x and y", "dropped_term", ["x and y -> y", "x and y -> x"]),
        ("return x if a else y", "condition", ["x if a else y -> x", "x if a else y -> y"]),
        ("if a:\n    x = y\nreturn x", "condition", ["a -> not a"]),
        ("return [n for n in x if n]", "condition", [" for n in x if n ->  for n in x"]),
        ("x += y\nreturn x", "dropped_statement", ["without x += y"]),
        ("x = x + 1\nz = x\nreturn z", "dropped_statement", ["without x = x + 1"]),
        ("x[0] = y\nreturn x", "dropped_statement", ["without x[0] = y"]),
        (
            "if a:\n    return x\nreturn y",
            "dropped_statement",
            ["without if a: return x", "without return x"],
        ),
    ],
)
def test_operators(tmp_path: Path, body: str, operator: str, expected: list[str]) -> None:
    assert [" ".join(c.split()) for c in changes(tmp_path, body, operator)] == [
        " ".join(e.split()) for e in expected
    ]


def test_fractions_get_another_last_digit_too(tmp_path: Path) -> None:
    found = changes(tmp_path, "return x * 0.044715", "constant")
    assert found == [f"0.044715 -> {n}" for n in ("0.08943", "-0.044715", "1.044715", "-0.955285")] + [
        "0.044715 -> 0.0223575",
        "0.044715 -> 0.044716",
    ]
    assert "0.999 -> 0.998" in changes(tmp_path, "return x * 0.999", "constant")
    assert "0.5 -> 0.6" not in changes(tmp_path, "return x * 0.5", "constant")


def test_long_changes_are_cut_to_where_they_differ(tmp_path: Path) -> None:
    body = "return " + " + ".join(["x"] * 30) + " + y - a"
    (last,) = [c for c in changes(tmp_path, body, "operator") if "y + a" in c]
    assert len(last) < 140 and last.startswith("...")


# --- what is left alone -----------------------------------------------------------------------


def test_what_can_not_matter_is_left_alone(tmp_path: Path) -> None:
    head = '''\
"""A docstring of 3 words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from collections.abc import Callable

if TYPE_CHECKING:
    Number = 1 + 2

__all__ = ["entry", "Box"]
Run = Callable[[tuple[Any, ...], str], Any]


@dataclass(frozen=True, order=False)
class Box:
    """Holds 2 things."""

    size: tuple[int, str]
    name: str
'''
    body = '''"""Text with the numbers 1 and 2."""
if x:
    raise ValueError(f"expected {1 + 2} more than {x}")
z: list[int] = y
return z'''
    assert of(tmp_path, body, head) == [
        ("condition", "x -> not x"),
        (
            "dropped_statement",
            'without if x: raise ValueError(f"expected {1 + 2} more than {x}")'.replace('"', "'"),
        ),
        ("dropped_statement", "without raise ValueError(f'expected {1 + 2} more than {x}')"),
    ]


def test_only_modules_that_the_model_imports_are_changed(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "many",
        model="from . import used\nfrom .deep.inner import two\n\n\ndef entry(x):\n"
        "    from .late import three\n    return used.one(x) + two(x) + three(x)\n",
        used="def one(x):\n    return x + 1\n",
        deepPACKAGE="",
        deepINSIDEinner="from ..used import one\n\n\ndef two(x):\n    return one(x) * 2\n",
        late="from .crosscheck import other\n\n\ndef three(x):\n    return x - 3 + 0 * other(x)\n",
        idle="def four(x):\n    return x + 4\n",
        crosscheck="def other(x):\n    return x + 5\n",
        rounding="def run(x):\n    return x + 6\n",
        misconceptionsPACKAGE="def wrong(x):\n    return x + 7\n",
    )
    mutants = Mutants(folder, "entry")
    assert set(mutants.modules) == {"model", "used", "deep", "deep.inner", "late"}
    assert {m.file.relative_to(folder).as_posix() for m in mutants} == {
        "model.py",
        "used.py",
        "deep/inner.py",
        "late.py",
    }


def test_a_module_that_can_not_be_parsed_is_told(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"model\.py can't be parsed"):
        Mutants(written(tmp_path, model="def entry(:\n"), "entry")


# --- running ----------------------------------------------------------------------------------


def test_the_reference_stays_as_it_is(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "pure",
        model="from .part import half\n\n\ndef entry(x):\n    return half(x) + 1\n",
        part="def half(x):\n    return x / 2\n",
    )
    real = load_module(folder, "model")
    before, modules, finders = snapshot(folder), set(sys.modules), list(sys.meta_path)
    mutants = Mutants(folder, "entry")
    answers = set()
    for mutant in mutants:
        with mutants.loaded(mutant) as entry:
            answers.add(entry(3.0))
            assert entry is not real.entry
            assert real.entry(3.0) == 2.5
    assert len(answers) > 5 and 2.5 not in answers
    assert (snapshot(folder), set(sys.modules), list(sys.meta_path)) == (before, modules, finders)
    assert load_module(folder, "model") is real


def test_without_a_change_it_is_the_reference(tmp_path: Path) -> None:
    mutants = Mutants(ROOT / "reference" / "mlm_forward", "mlm_forward")
    generator = np.random.default_rng(0)
    call = (
        np.array([[1, 2]]),
        np.ones((1, 2)),
        generator.normal(size=(3, 4)),
        generator.normal(size=(2, 4)),
        generator.normal(size=(1, 6, 4, 4)),
        generator.normal(size=(4, 3)),
        2,
    )
    real = load_module(ROOT / "reference" / "mlm_forward", "model").mlm_forward
    with mutants.loaded(None) as entry:
        assert np.array_equal(entry(*call), real(*call))


def test_modules_imported_late_are_those_of_the_mutant(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "lazy",
        model="def entry(x):\n    from .part import half\n    return half(x)\n",
        part="def half(x):\n    return x / 2\n",
    )
    mutants = Mutants(folder, "entry")
    (wanted,) = [m for m in mutants if m.change == "x / 2 -> x * 2"]
    with mutants.loaded(wanted) as entry:
        assert entry(3.0) == 6.0


def test_a_module_that_fails_to_load_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "fails",
        model="import math\n\nROOT = math.sqrt(4.0)\n\n\ndef entry(x):\n    return x + ROOT\n",
    )
    mutants = Mutants(folder, "entry")
    (wanted,) = [m for m in mutants if m.change == "4.0 -> -4.0"]
    modules, finders = set(sys.modules), list(sys.meta_path)
    with pytest.raises(ValueError, match="math domain error"), mutants.loaded(wanted):
        raise AssertionError("it loads")
    assert (set(sys.modules), list(sys.meta_path)) == (modules, finders)


def test_a_mutant_finds_files_beside_the_reference(tmp_path: Path) -> None:
    (tmp_path / "beside.txt").write_text("2", "utf-8")
    text = (
        "from pathlib import Path\n\n"
        'TIMES = int(Path(__file__).with_name("beside.txt").read_text())\n\n\n'
        "def times(x):\n    return TIMES * x + 1\n"
    )
    (tmp_path / "model.py").write_text(text, "utf-8")
    mutants = Mutants(tmp_path, "times")
    with mutants.loaded(None) as entry:
        assert callable(entry) and entry(3) == 7
    (less,) = [one for one in mutants if one.change == "TIMES * x + 1 -> TIMES * x - 1"]
    with mutants.loaded(less) as entry:
        assert callable(entry) and entry(3) == 5
