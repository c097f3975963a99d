"""The digest by which twins are found: the same under renaming, another for another program."""

from __future__ import annotations

import ast
import keyword
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_samples import ENTRY, RULES
from test_policy_parts import cells, parts_of

from grader.policy.analysis import analyze

ROOT = Path(__file__).resolve().parents[2]
WORKED = sorted((ROOT / "submissions" / "mlm_forward").glob("right_*.py"))

PROGRAM = '''
import numpy as np


class Net:
    """A network."""

    scale = 2.0

    def __init__(self, width: int, *, bias: float = 0.5):
        self.width = width
        self.bias = bias

    def run(self, x):
        """What it does."""
        hidden = np.tanh(x @ np.ones((self.width, self.width))) + self.bias
        return self.norm(hidden) * self.scale

    def norm(self, values):
        mean = values.mean(axis=-1, keepdims=True)
        return (values - mean) / np.sqrt(values.var(axis=-1, keepdims=True) + 1e-5)


def mlm_forward(x, y=None, *rest):
    net = Net(x.shape[-1], bias=0.25)
    total = 0
    for row in x:
        total += net.run(row)
    return [part for part in total if part is not None]


if __name__ == "__main__":
    print(mlm_forward(np.ones((2, 2))))
'''


def alike(source: str) -> str:
    found: Any = analyze(source, RULES, ENTRY)
    assert found["syntax_error"] is None
    return str(found["alike"])


SAME = {
    "variables": [("hidden", "h"), ("mean = ", "m = "), ("- mean", "- m"), ("total", "result")],
    "functions and classes": [("Net", "Model"), ("norm", "normalize"), ("run(", "go(")],
    "attributes": [("self.width", "self.w"), ("self.bias", "self.b"), ("scale", "factor")],
    "parameters": [("bias", "offset"), ("width", "size")],
    "the entry point": [("mlm_forward", "forward")],
    "an import": [("import numpy as np", "import numpy"), ("np.", "numpy.")],
    "a member that is imported": [
        ("import numpy as np", "import numpy as np\nfrom numpy import tanh"),
        ("np.tanh", "tanh"),
    ],
    "docstrings": [('"""A network."""', ""), ('"""What it does."""', "'''Another\ntext.'''")],
    "annotations": [("width: int, *, bias: float = 0.5", "width, *, bias=0.5")],
    "more annotations": [
        ("hidden = np", "hidden: np.ndarray = np"),
        ("def norm(self, values)", "def norm(self, values: 'a') -> 1"),
    ],
    "comments and blank lines": [("total = 0", "# a sum\n\n    total = 0  # from nothing")],
    "an import that is not used": [("import numpy as np", "import numpy as np\nfrom typing import Any")],
    "a self-test": [("    print(mlm_forward(np.ones((2, 2))))", "    print('another')")],
    "formatting": [("(values - mean) / np", "((values - mean)) / np"), ("1e-5)", "0.00001)")],
}  # fmt: skip
OTHER = {
    "a constant": [("1e-5", "1e-6")],
    "a constant's type": [("total = 0", "total = 0.0")],
    "an operator": [("total +=", "total -=")],
    "a library's member": [("np.tanh", "np.sinh")],
    "an array's member": [("values.var(", "values.std(")],
    "a library's keyword": [("axis=-1, keepdims=True) + 1e-5", "ddof=-1, keepdims=True) + 1e-5")],
    "the order of operands": [("values - mean", "mean - values")],
    "which variable": [("return self.norm(hidden)", "return self.norm(x)")],
    "a statement": [("    total = 0\n", "    total = 0\n    total = 1\n")],
    "a statement's block": [("    return [part", "        return [part")],
    "a builtin": [("is not None]", "is not NotImplemented]")],
    "how an argument is passed": [("bias=0.25", "0.25")],
    "a default": [("y=None", "y=0")],
}


def changed(steps: list[tuple[str, str]]) -> str:
    source = PROGRAM
    for old, new in steps:
        assert old in source
        source = source.replace(old, new)
    assert source != PROGRAM
    return source


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_matter(name: str) -> None:
    assert alike(changed(SAME[name])) == alike(PROGRAM) != ""


@pytest.mark.parametrize("name", OTHER)
def test_what_matters(name: str) -> None:
    assert alike(changed(OTHER[name])) != alike(PROGRAM)


def test_right_solutions_are_not_twins_of_each_other() -> None:
    digests = [alike(path.read_text("utf-8")) for path in WORKED]
    assert len(set(digests)) == len(digests) > 5


class Renamer(ast.NodeTransformer):
    """Gives each name of a function, and each function of a file, another name."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node


def own_names(tree: ast.Module) -> list[str]:
    """What a source without classes and imports in functions binds by itself."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.arg):
            found[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
    return list(found)


@given(st.data())
def test_renaming_everything_at_once_changes_nothing(data: st.DataObject) -> None:
    plain = [
        p for p in WORKED if "class " not in p.read_text("utf-8") and "lambda" not in p.read_text("utf-8")
    ]
    source = data.draw(st.sampled_from(plain)).read_text("utf-8")
    tree = ast.parse(source)
    names = own_names(tree)
    keywords = {k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
    names = [name for name in names if name not in keywords]
    fresh = data.draw(st.permutations([f"name_{number}" for number in range(len(names))]))
    assert not any(keyword.iskeyword(name) for name in fresh)
    renamed = ast.unparse(Renamer(dict(zip(names, fresh, strict=True))).visit(tree))
    assert alike(renamed) == alike(source) != ""


def test_short_programs_tell_nothing() -> None:
    assert alike(f"def {ENTRY}(x): return x + 1") == ""
    found: Any = analyze("def (", RULES, ENTRY)
    assert found["alike"] == ""


def test_cells_are_alike_whatever_their_borders() -> None:
    head, tail = PROGRAM.split("\n\n\ndef mlm_forward")
    found = cells(head, "def mlm_forward" + tail)
    other = cells(head.replace("hidden", "h") + "\n\n\ndef mlm_forward" + tail.replace("total", "t"))
    assert found["alike"] == other["alike"] != ""


def test_names_in_helper_modules_do_not_matter() -> None:
    head, tail = PROGRAM.split("\n\n\ndef mlm_forward")
    digests = set()
    for name, import_, use in (
        ("nets", "from nets import Net", "Net("),
        ("models", "import models", "models.Net("),
        ("models", "from models import Net as N", "N("),
    ):
        main = f"import numpy as np\n{import_}\n\ndef mlm_forward{tail.replace('Net(', use)}"
        source, parts = parts_of([("main", "solution.py", main), ("module", f"{name}.py", head)])
        found: Any = analyze(source, RULES, ENTRY, parts, "solution")
        digests.add(found["alike"])
    assert len(digests) == 1 and "" not in digests


def test_a_number_of_very_many_digits_is_no_fault() -> None:
    digests = {alike(PROGRAM.replace("total = 0", f"total = 0x{'f' * 100_000}{digit}")) for digit in "12"}
    assert len(digests) == 2 and "" not in digests


def test_deep_and_odd_code_is_no_fault() -> None:
    odd = "match x:\n    case {'a': b, **c}: pass\n    case [d, *e] | A(f=g) as h: pass\n"
    odd += "try: pass\nexcept* ValueError as error: del error\n"
    odd += "async def f(a, /, b, *c, d=1, **e):\n    async with a as b, c: yield (await d)\n    global q\n"
    source = (
        odd
        + f"def {ENTRY}(x):\n    "
        + "\n    ".join(["x = x + 1"] * 30)
        + "\n    return "
        + "+".join("x" * 2000)
    )
    found: Any = analyze(source, RULES, ENTRY)
    assert found["syntax_error"] is None and isinstance(found["alike"], str)
