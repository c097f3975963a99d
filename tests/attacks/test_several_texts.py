"""Attacks that need several files or cells: what is run is what was checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from grader.exercise.calls import ArrayArgument, PhaseBuilder, read_plan
from grader.outcomes import Execution
from grader.policy.rules import Rules
from grader.policy.runtime import merge, settle
from grader.positions import Part
from grader.sandbox.analyst import Analyst
from grader.sandbox.children import SandboxError
from grader.sandbox.execution import Phase, Program, execute
from grader.sandbox.server import ForkServer
from grader.sandbox.watch import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

# Something that numpy has takes the place of a banned helper, so that no large library is needed.
POLICY: dict[str, Any] = {
    "rules": [
        {
            "id": "tangent",
            "title": "Tangent helpers",
            "why": "The exercise is about writing it.",
            "instead": "Write it from exp.",
            "names": ["numpy.tanh"],
            "methods": [],
        }
    ],
    "allowed": [],
    "array_libraries": [],
    "aliases": {},
}
RULES = Rules.from_dict(POLICY)
MEMORY = 512 << 20
LIMITS = Limits(seconds_per_call=2.0, seconds=20.0, memory=MEMORY, output=4 << 10)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    made = ForkServer("numpy")
    made.configure(["numpy"], POLICY)
    yield made
    made.close()


def text_of(kind: str, main: list[str], modules: dict[str, str]) -> tuple[str, tuple[Part, ...]]:
    whole, parts = "", []
    rows = [(kind, f"cell {n}", "", text) for n, text in enumerate(main, 1)]
    rows += [("module", f"{name}.py", name, text) for name, text in modules.items()]
    for of, name, module, text in rows:
        text = f"{text}\n"
        parts.append(Part(of, name, whole.count("\n") + 1, text.count("\n"), module))  # type: ignore[arg-type]
        whole += text
    return whole, tuple(parts)


def graded(server: ForkServer, kind: str, main: list[str], modules: dict[str, str]) -> tuple[Execution, Any]:
    """What running gives, and the report with what was found meanwhile."""
    source, parts = text_of(kind, main, modules)
    analyst = Analyst(server, MEMORY)
    try:
        report = analyst.analyze(source, "solution.py", "f", parts, "solution").report
    finally:
        analyst.close()
    builder = PhaseBuilder()
    import numpy as np

    builder.add_call([ArrayArgument(np.ones(3), "c", False)])
    block = builder.finish()
    phase = Phase("public", block, read_plan(block), 1024, 1024, None)
    execution = execute(
        server, Program(source, "solution.py", "solution", ("f",), parts), [phase], LIMITS, report=report
    )
    return execution, merge(report, list(execution.findings), RULES)


ATTACKS = {
    "a helper that imports what the file does not": (
        "main",
        ["import heads\ndef f(x): return heads.g(x)"],
        {"heads": "from numpy import tanh as t\ndef g(x): return t(x)"},
    ),
    "a helper that a folder hides": (
        "main",
        ["from a.b.c import g as f"],
        {"a.b.c": "import numpy\ng = lambda x: numpy.tanh(x)"},
    ),
    "an open string that hides the next cell": (
        "cell",
        ["a = '''", "import numpy\ndef f(x): return numpy.tanh(x)", "'''\ndef f(x): return x"],
        {},
    ),
    "an open bracket at the end of the file": (
        "cell",
        ["a = (", "import numpy\ndef f(x): return numpy.tanh(x)", ")\ndef f(x): return x"],
        {},
    ),
    "a return that ends reading but not running": (
        "cell",
        ["return", "import numpy\ndef f(x): return numpy.tanh(x)"],
        {},
    ),
    "an honest definition that never comes": (
        "cell",
        ["import numpy\ndef f(x): return numpy.tanh(x)", "1 / 0\ndef f(x): return x"],
        {},
    ),
    "an honest definition that is made invalid": (
        "cell",
        [
            "import numpy, warnings\nwarnings.simplefilter('error')\ndef f(x): return numpy.tanh(x)\ng = f",
            "def h(x): return x is 1\ndef g(x): return x",
            "k = globals()['g']\ndef f(x): return k(x)\nf = g if g.__name__ == 'f' else f",
        ],
        {},
    ),
    "an honest definition in another grammar": (
        "cell",
        [
            "from __future__ import barry_as_FLUFL",
            "import numpy\ndef f(x): return numpy.tanh(x)",
            "a = 1 <> 2\ndef f(x): return x",
        ],
        {},
    ),
    "a cell that defines the entry point again": (
        "cell",
        ["def f(x): return x", "import numpy\nf = numpy.tanh"],
        {},
    ),
    "a helper that changes the file": (
        "main",
        ["def g(x): return x\ndef f(x): return g(x)\nimport heads"],
        {"heads": "import solution, numpy\nsolution.g = numpy.tanh"},
    ),
    "a helper that changes another one": (
        "main",
        ["import a, b\ndef f(x): return a.g(x)"],
        {"a": "def h(x): return x\ndef g(x): return h(x)", "b": "import a, numpy\na.h = numpy.tanh"},
    ),
    "a module that passes a library on by a value": (
        "main",
        ["import heads\ndef f(x): return heads.tanh(x)"],
        {"heads": "import numpy\n__getattr__ = numpy.__getattribute__"},
    ),
    "a name that makes a test for a program true": (
        "main",
        ["from heads import g\ndef f(x): return g(x)"],
        {
            "heads": "import numpy\n__name__ = '__main__'\ndef g(x): return x\n"
            "if __name__ == '__main__': g = numpy.tanh"
        },
    ),
    "a name that makes a test for a type checker true": (
        "main",
        ["import typing\ntyping.TYPE_CHECKING = True\nfrom heads import g\ndef f(x): return g(x)"],
        {"heads": "import numpy, typing\ndef g(x): return x\nif typing.TYPE_CHECKING: g = numpy.tanh"},
    ),
    "a hook by which the honest cell ends before it begins": (
        "cell",
        [
            "import numpy, sys\ndef f(x): return numpy.tanh(x)\narmed = []",
            "def g(event, _):\n    if armed and event == 'exec': raise armed.pop()\nsys.addaudithook(g)",
            "armed.append(ValueError())",
            "def f(x): return x",
        ],
        {},
    ),
    "an import that finds nothing any more": (
        "cell",
        [
            "import numpy, sys\ndef f(x): return numpy.tanh(x)",
            "sys.path.clear()",
            "import statistics\ndef f(x): return x",
        ],
        {},
    ),
    "a module in the place of another": (
        "main",
        ["import heads\ndef f(x): return heads.tanh(x)"],
        {"heads": "import sys, numpy\nsys.modules[__name__] = numpy"},
    ),
    "a helper under a library's name": (
        "main",
        ["import heads\nfrom math import run\ndef f(x): return run(x)"],
        {"heads": "import math, numpy\nmath.run = numpy.tanh"},
    ),
    "a helper among the builtins": (
        "main",
        ["import heads\ndef f(x): return abs(x)"],
        {"heads": "import numpy\n__builtins__['abs'] = numpy.tanh"},
    ),
    "a module that says that it lies in a library": (
        "main",
        ["import heads\ndef f(x): return heads.tanh(x)"],
        {"heads": "import numpy\n__package__ = 'numpy'\nfrom . import tanh"},
    ),
    "a helper that an exception brings along": (
        "main",
        ["try:\n    import heads\nexcept ValueError as error:\n    g = error.args[0]\ndef f(x): return g(x)"],
        {"heads": "from numpy import tanh\nraise ValueError(tanh)"},
    ),
    "a helper that an example in a docstring brings along": (
        "main",
        ["import doctest, heads\ndoctest.testmod(heads)\ndef f(x): return heads.kept[0](x)"],
        {
            "heads": 'kept = []\ndef g():\n    """\n    >>> from numpy import tanh\n'
            '    >>> kept.append(tanh)\n    """'
        },
    ),
    "a helper that fails when it has been used": (
        "main",
        ["kept = []\ntry:\n    import heads\nexcept ValueError:\n    pass\ndef f(x): return kept[0](x)"],
        {
            "heads": "import solution\nfrom numpy import tanh as t\ndef g(x): return t(x)\n"
            "solution.kept.append(g)\nif g: raise ValueError\ndef t(x): return x"
        },
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_what_runs_is_what_was_checked(server: ForkServer, name: str) -> None:
    kind, main, modules = ATTACKS[name]
    execution, report = graded(server, kind, main, modules)
    (step,) = execution.steps["public"]
    static = [v for v in report["violations"] if v["found"] == "static"]
    # The attack is told where it works; where it doesn't, the call gives the honest answer.
    assert step.state == "returned", (step, execution.load)
    assert static, (step, report)


@pytest.mark.parametrize(
    ("ending", "stands"),
    [("1 / 0", True), ("exit()", True), ("[][0]", True), ("abs(-1)", False), ("print(f(np.ones(2)))", False)],
)
def test_a_draft_counts_where_the_cell_that_replaces_it_ended_early(
    server: ForkServer, ending: str, stands: bool
) -> None:
    cells = ["import numpy as np\ndef f(x): return np.tanh(x)", f"{ending}\ndef f(x): return x", "1 / 0"]
    execution, report = graded(server, "cell", cells, {})
    (step,) = execution.steps["public"]
    assert step.state == "returned" and execution.load is not None
    (violation,) = [v for v in report["violations"] if v["found"] == "static"]
    assert violation["if_failed"] == [[3]]
    settled = settle(report, execution.load.failed_cells)
    # It is told by the call, too, where it ran there.
    assert len(settled["violations"]) == 2 * stands and len(settled["suspicious"]) == 1 - stands


@pytest.mark.parametrize("name", ["numpy", "random", "math"])
def test_a_helper_that_has_a_real_modules_name_is_never_run(server: ForkServer, name: str) -> None:
    main = f"import {name}\nimport numpy as np\ndef f(x): return x if hasattr({name}, 'zq7') else -x"
    execution, report = graded(server, "main", [main], {name: "zq7 = 1\nraise SystemExit"})
    (step,) = execution.steps["public"]
    assert step.state == "returned" and not report["violations"]
    value: Any = step.value
    assert value.array().tolist() == [-1.0, -1.0, -1.0]


def test_a_text_whose_parts_were_not_checked_is_not_run(server: ForkServer) -> None:
    source, parts = text_of("main", ["import heads\ndef f(x): return heads.g(x)"], {"heads": "g = abs"})
    analyst = Analyst(server, MEMORY)
    try:
        report = analyst.analyze(source, "solution.py", "f").report
    finally:
        analyst.close()
    with pytest.raises(SandboxError, match="has not seen the parts"):
        execute(server, Program(source, "solution.py", "solution", ("f",), parts), [], LIMITS, report=report)


def test_a_bomb_in_a_cell_is_refused_in_the_analyst(server: ForkServer) -> None:
    source, parts = text_of("cell", [f"x = {'-' * 5_000}1", "def f(x): return x"], {})
    analyst = Analyst(server, MEMORY)
    try:
        found = analyst.analyze(source, "solution.py", "f", parts, "solution")
        assert found.problem or found.report["syntax_error"]
        right, its_parts = text_of("cell", ["a = 1", "def f(x): return x"], {})
        assert (
            analyst.analyze(right, "solution.py", "f", its_parts, "solution").report["syntax_error"] is None
        )
    finally:
        analyst.close()
