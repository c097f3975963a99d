"""Cells and helper modules, run in real children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sandbox_runs import LIMITS, phase, run, said
from sandbox_runs import only_step as only

from grader.outcomes import Execution, StepOutcome
from grader.policy import pieces
from grader.positions import Part
from grader.sandbox.execution import Program, execute
from grader.sandbox.server import ForkServer

FILE = "solution.py"


def joined(texts: Sequence[tuple[str, str, str]]) -> tuple[str, tuple[Part, ...]]:
    """A text and its parts, of (kind, name, text); the name of a module is that of its file."""
    whole, parts, line = "", [], 1
    for kind, name, text in texts:
        text = text if text.endswith("\n") else text + "\n"
        package = name.endswith("__init__.py")
        module = ""
        if kind == "module":
            module = name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        lines = text.count("\n")
        parts.append(Part(kind, name, line, lines, module, package))  # type: ignore[arg-type]
        whole += text
        line += lines
    return whole, tuple(parts)


def notebook(*cells: str, **modules: str) -> tuple[str, tuple[Part, ...]]:
    texts = [("cell", f"cell {number}", text) for number, text in enumerate(cells, 1)]
    return joined([*texts, *beside(modules)])


def files(main: str, modules: Mapping[str, str]) -> tuple[str, tuple[Part, ...]]:
    return joined([("main", FILE, main), *beside(modules)])


def beside(modules: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [
        ("module", name if name.endswith(".py") else f"{name}.py", text) for name, text in modules.items()
    ]


def ran(server: ForkServer, text: tuple[str, tuple[Part, ...]], entry: str = "f") -> Execution:
    program = Program(text[0], FILE, "solution", (entry,), text[1])
    return execute(server, program, [phase("public")], LIMITS)


def told(server: ForkServer, text: tuple[str, tuple[Part, ...]]) -> str:
    """What the entry point returns, a text."""
    execution = ran(server, text)
    assert execution.load is not None and execution.load.callable, execution.load
    return said(only(execution))


def load(execution: Execution) -> Any:
    assert execution.load is not None
    return execution.load


# --- cells -------------------------------------------------------------------------------------------


def test_cells_share_one_namespace_and_run_in_order(server: ForkServer) -> None:
    text = notebook("a = 1", "a += 1\nb = a", "def f(x): return f'{a} {b} {__name__}'")
    assert told(server, text) == "2 2 solution"


def test_a_cell_that_raises_ends_by_itself(server: ForkServer) -> None:
    text = notebook("a = 1\n1 / 0\na = 2", "b = 3", "def f(x): return f'{a} {b}'")
    execution = ran(server, text)
    ((first, failure),) = load(execution).failures
    assert (first, failure.type, failure.frames) == (1, "ZeroDivisionError", ((2, "<module>"),))
    assert said(only(execution)) == "1 3"


@pytest.mark.parametrize("leave", ["exit()", "import sys; sys.exit(3)", "raise KeyboardInterrupt"])
def test_leaving_in_a_cell_ends_that_cell_only(server: ForkServer, leave: str) -> None:
    execution = ran(server, notebook(f"a = 1\n{leave}\na = 2", "def f(x): return str(a)"))
    assert [failure.type for _, failure in load(execution).failures] in (
        ["SystemExit"],
        ["KeyboardInterrupt"],
    )
    assert said(only(execution)) == "1"


def test_an_open_string_swallows_no_other_cell(server: ForkServer) -> None:
    text = notebook("x = '''", "def f(x): return 'right'", "'''\ndef f(x): return 'wrong'")
    execution = ran(server, text)
    assert [(first, e.type, e.line) for first, e in load(execution).failures] == [
        (1, "SyntaxError", 1),
        (3, "SyntaxError", 3),
    ]
    assert said(only(execution)) == "right"


def test_what_can_be_read_is_settled_before_any_cell_runs(server: ForkServer) -> None:
    # A warning that is an error would make the last cell's text invalid.
    text = notebook(
        "import warnings\nwarnings.simplefilter('error')\ndef f(x): return 'first'",
        "def f(x): return 'second' if 1 is 1 else ''",
    )
    assert told(server, text) == "second"


def test_a_missing_entry_point_is_explained_by_the_cell_that_would_define_it(server: ForkServer) -> None:
    text = notebook("import zq7_nowhere", "a = 1", "def g(x): return x\ndef f(x) return 1")
    loaded = load(ran(server, text))
    assert (loaded.state, loaded.failure.type, loaded.failure.line) == ("raised", "SyntaxError", 4)
    assert [first for first, _ in loaded.failures] == [1, 3]
    text = notebook("a = 1", "import zq7_nowhere", "1 / 0")
    loaded = load(ran(server, text))
    assert (loaded.state, loaded.failure.type) == ("raised", "ModuleNotFoundError")
    assert "only this one file is read" in loaded.failure.message


def test_a_missing_entry_point_without_failures_is_as_in_a_file(server: ForkServer) -> None:
    loaded = load(ran(server, notebook("a = 1", "def g(x): pass")))
    assert (loaded.state, loaded.found, loaded.names, loaded.failures) == ("returned", False, ("a", "g"), ())


def test_at_most_five_failures_are_told_beside_the_one_that_matters(server: ForkServer) -> None:
    cells = [f"raise ValueError('{number}' + '\\u1234' * 3000)" for number in range(30)]
    loaded = load(ran(server, notebook(*cells, "def f(x):\n    return g(\n")))
    assert loaded.failure.type == "SyntaxError"
    assert [first for first, _ in loaded.failures][:2] == [1, 2] and len(loaded.failures) <= 5
    loaded = load(ran(server, notebook(*cells, "def f(x): return 1")))
    assert loaded.callable and loaded.failures[0][1].message.startswith("0")


def test_annotations_from_the_future_last_for_later_cells(server: ForkServer) -> None:
    text = notebook(
        "def a(x: 1): pass",
        "from __future__ import annotations\ndef b(x: nowhere): pass",
        "def c(x: 1 + 1): pass\ndef f(x): return str([g.__annotations__ for g in (a, b, c)])",
    )
    assert told(server, text) == "[{'x': 1}, {'x': 'nowhere'}, {'x': '1 + 1'}]"


def test_another_grammar_from_the_future_does_not_last(server: ForkServer) -> None:
    text = notebook(
        "from __future__ import barry_as_FLUFL\na = True",
        "b = 'not read' if 1 <> 2 else 0",
        "def f(x): return str((a, globals().get('b'), 1 != 2))",
    )
    assert told(server, text) == "(True, None, True)"


def test_a_failing_call_names_lines_of_the_whole_text(server: ForkServer) -> None:
    execution = ran(
        server, notebook("a = 1\n", "\ndef f(x):\n    return g(x)", "def g(x):\n    raise KeyError(1)")
    )
    assert only(execution).failure.frames == ((4, "f"), (6, "g"))  # type: ignore[union-attr]


def test_source_lines_are_found_in_cells(server: ForkServer) -> None:
    text = notebook("a = 1", "import inspect\ndef f(x): return inspect.getsource(f)")
    assert told(server, text) == "def f(x): return inspect.getsource(f)\n"


def test_a_cell_that_never_ends_is_a_slow_file(server: ForkServer) -> None:
    program = Program(*_of(notebook("while True: pass", "def f(x): return 1")))
    from dataclasses import replace

    execution = execute(
        server, program, [phase("public")], replace(LIMITS, seconds_per_call=0.2, seconds=0.4)
    )
    assert load(execution).state == "timed_out"


def _of(text: tuple[str, tuple[Part, ...]]) -> tuple[str, str, str, tuple[str, ...], tuple[Part, ...]]:
    return text[0], FILE, "solution", ("f",), text[1]


# --- modules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("main", "modules"),
    [
        ("import heads\ndef f(x): return heads.g()", {"heads": "def g(): return 'ok'"}),
        ("from heads import g\ndef f(x): return g()", {"heads": "def g(): return 'ok'"}),
        ("from heads import *\ndef f(x): return g()", {"heads": "def g(): return 'ok'"}),
        ("import tools.heads as h\ndef f(x): return h.g()", {"tools/heads": "def g(): return 'ok'"}),
        ("import tools.heads\ndef f(x): return tools.heads.g()", {"tools/heads": "def g(): return 'ok'"}),
        (
            "from tools import g\ndef f(x): return g()",
            {
                "tools/__init__.py": "from .heads import g",
                "tools/heads": "from . import low\ng = low.g",
                "tools/low": "def g(): return 'ok'",
            },
        ),
        (
            "from tools.deep.heads import g\ndef f(x): return g()",
            {"tools/deep/heads": "from ..low import g", "tools/low": "def g(): return 'ok'"},
        ),
        (
            "import importlib\ndef f(x): return importlib.import_module('heads').g()",
            {"heads": "def g(): return 'ok'"},
        ),
        ("def f(x): return __import__('heads').g()", {"heads": "def g(): return 'ok'"}),
        (
            "import a\ndef f(x): return a.g()",
            {"a": "import b\ndef g(): return b.h()", "b": "import a\ndef h(): return 'ok' if a.g else ''"},
        ),
        (
            "def k(): return 'ok'\nfrom heads import g\ndef f(x): return g()",
            {"heads": "import solution\ndef g(): return solution.k()"},
        ),
        (
            (
                "import sys, heads\nn = heads.n\ndel sys.modules['heads']\nimport heads as h\n"
                "def f(x): return 'ok' if h.n is not n else ''"
            ),
            {"heads": "n = object()"},
        ),
        (
            (
                "try:\n    import heads\nexcept ValueError as error:\n    said = str(error)\n"
                "def f(x): return said"
            ),
            {"heads": "raise ValueError('ok')"},
        ),
        (
            (
                "try:\n    import heads\nexcept SyntaxError as error:\n    line = error.lineno\n"
                "def f(x): return 'ok' if line == 7 else str(line)"
            ),
            {"heads": "\ndef g() return"},
        ),
        (
            "import heads, inspect as i\ndef f(x): return 'ok' if i.getsource(heads.g) == heads.text else ''",
            {"heads": "text = 'def g(): return 1\\n'\ndef g(): return 1"},
        ),
        (
            "import heads, inspect\ndef f(x): return 'ok' if inspect.getsource(heads) == 'a = 1\\n' else ''",
            {"heads": "a = 1"},
        ),
        (
            "import importlib.util\ndef f(x): return importlib.util.find_spec('ok').name",
            {"ok": ""},
        ),
    ],
)
def test_helper_modules_are_imported(server: ForkServer, main: str, modules: dict[str, str]) -> None:
    assert told(server, files(main, modules)) == "ok"


def test_what_a_helper_module_knows_of_itself(server: ForkServer) -> None:
    main = "import heads, tools, tools.low\ndef f(x): return repr([heads.me, tools.me, tools.low.me])"
    me = "me = (__name__, __package__, __file__, __spec__.origin, __spec__.name)\n"
    text = files(main, {"heads": me, "tools/__init__.py": me, "tools/low": me})
    assert told(server, text) == repr(
        [
            ("heads", "", "heads.py", "heads.py", "heads"),
            ("tools", "tools", "tools/__init__.py", "tools/__init__.py", "tools"),
            ("tools.low", "tools", "tools/low.py", "tools/low.py", "tools.low"),
        ]
    )


@pytest.mark.parametrize("name", ["numpy", "random", "json", "sys", "math"])
def test_a_helper_never_takes_the_place_of_a_real_module(server: ForkServer, name: str) -> None:
    text = files(f"import {name}\ndef f(x): return str(hasattr({name}, 'zq7'))", {name: "zq7 = 1"})
    assert told(server, text) == "False"
    text = files("def f(x): return ''.join(__import__('json').dumps(1))", {name: "raise ValueError"})
    assert told(server, text) == "1"


def test_a_failure_in_a_helper_names_the_line_of_the_whole_text(server: ForkServer) -> None:
    text = files("import heads\ndef f(x):\n    return heads.g()", {"heads": "\ndef g():\n    return 1 / 0"})
    failure = only(ran(server, text)).failure
    assert failure is not None and failure.frames == ((3, "f"), (6, "g"))
    loaded = load(ran(server, files("import heads", {"heads": "\n1 / 0"})))
    assert loaded.failure.frames == ((1, "<module>"), (3, "<module>"))


def test_the_main_file_ends_where_its_part_ends(server: ForkServer) -> None:
    loaded = load(ran(server, files("def f(x): return 1\ny = '''", {"heads": "'''\ndef f(x): return 2"})))
    assert (loaded.state, loaded.failure.type, loaded.failure.line) == ("raised", "SyntaxError", 2)


def test_what_else_is_not_read_is_said_in_words(server: ForkServer) -> None:
    for main, modules in (
        ("import heads, zq7_nowhere", {"heads": ""}),
        ("import heads", {"heads": "import zq7_nowhere"}),
    ):
        loaded = load(ran(server, files(main, modules)))
        assert loaded.failure.message == (
            "zq7_nowhere may not be used; this exercise allows the standard library, numpy, "
            "and of what was handed in only this file and heads.py are read"
        )
    # What was not handed in has no module of that name below a folder that was.
    loaded = load(ran(server, files("import tools.nothing", {"tools/heads": ""})))
    assert loaded.failure.type == "ModuleNotFoundError"


def test_cells_and_helpers_together(server: ForkServer) -> None:
    text = notebook("import heads\n1 / 0", "def f(x): return heads.g()", heads="def g(): return 'ok'")
    execution = ran(server, text)
    assert said(only(execution)) == "ok" and len(load(execution).failures) == 1


# --- cutting -----------------------------------------------------------------------------------------


def test_a_program_without_parts_is_told_as_before() -> None:
    assert Program("a", FILE, "solution", ("f",)).to_bytes() == (
        b'{"source": "a", "filename": "solution.py", "module": "solution", "entries": ["f"], "calls": [], '
        b'"driver": ""}'
    )


@pytest.mark.parametrize(
    "parts",
    [
        [("main", 1, 1)],
        [("main", 1, 4)],
        [("main", 2, 1)],
        [("main", 1, 1), ("module", 1, 1)],
        [("main", 1, 0), ("module", 1, 2)],
        [("odd", 1, 2)],
        [],
    ],
)
def test_parts_that_are_not_the_texts_are_refused(parts: list[tuple[str, int, int]]) -> None:
    rows = [
        {"kind": kind, "name": "x", "first": first, "lines": lines, "module": "", "package": False}
        for kind, first, lines in parts
    ]
    with pytest.raises(ValueError, match="parts of a text"):
        pieces.cut("a = 1\nb = 2\n", rows)


def test_lines_are_those_that_python_counts() -> None:
    rows = [
        {"kind": "cell", "name": "x", "first": first, "lines": lines, "module": "", "package": False}
        for first, lines in ((1, 2), (3, 1))
    ]
    first, second = pieces.cut("a = '\x0c\u2028'\r\nb\rc", rows)
    assert (first.text, second.text) == ("a = '\x0c\u2028'\nb\n", "\n\nc\n")


def test_the_outcome_of_a_file_without_parts_has_no_failures(server: ForkServer) -> None:
    execution = run(server, "def f(x): return 'a'")
    step: StepOutcome = only(execution)
    assert said(step) == "a" and load(execution).failures == ()
