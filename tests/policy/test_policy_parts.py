"""Cells and helper modules: names are followed across them as they are within one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from policy_samples import ENTRY, RULES, helpers
from test_policy_properties import check_form

from grader.policy import runtime
from grader.policy.analysis import MOST_TEXTS, analyze

SOFTMAX = "torch.nn.functional.softmax"
SM = "from torch.nn.functional import softmax as sm\n"
CALL = f"def {ENTRY}(x): return "


def parts_of(texts: Sequence[tuple[str, str, str]]) -> tuple[str, list[dict[str, Any]]]:
    """A text and its parts, of (kind, name, text)."""
    whole, parts = "", []
    for kind, name, text in texts:
        text = text if text.endswith("\n") else text + "\n"
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        parts.append(
            {
                "kind": kind,
                "name": name,
                "first": whole.count("\n") + 1,
                "lines": text.count("\n"),
                "module": module if kind == "module" else "",
                "package": name.endswith("__init__.py"),
            }
        )
        whole += text
    return whole, parts


def files(main: str, modules: Mapping[str, str], name: str = "solution") -> Any:
    """The report on a file with helper modules."""
    beside = [("module", path, text) for path, text in modules.items()]
    source, parts = parts_of([("main", "solution.py", main), *beside])
    found = analyze(source, RULES, ENTRY, parts, name)
    check_form(found)
    return found


def cells(*texts: str, modules: Mapping[str, str] | None = None) -> Any:
    """The report on a notebook."""
    beside = [("module", path, text) for path, text in (modules or {}).items()]
    source, parts = parts_of([*(("cell", f"cell {n}", t) for n, t in enumerate(texts, 1)), *beside])
    found = analyze(source, RULES, ENTRY, parts, "solution")
    check_form(found)
    return found


USES = {
    "a function by its name": (
        "from heads import attend\n" + CALL + "attend(x)",
        {"heads.py": SM + "def attend(x): return sm(x)"},
    ),
    "a function of the module": (
        "import heads\n" + CALL + "heads.attend(x)",
        {"heads.py": SM + "def attend(x): return sm(x)"},
    ),
    "a starred import": (
        "from heads import *\n" + CALL + "attend(x)",
        {"heads.py": SM + "def attend(x): return sm(x)"},
    ),
    "a library through a starred import": (
        "from heads import *\n" + CALL + "softmax(x)",
        {"heads.py": "from torch.nn.functional import *"},
    ),
    "a library through the module": (
        "import heads\n" + CALL + "heads.softmax(x)",
        {"heads.py": "from torch.nn.functional import *"},
    ),
    "a library's member by its name": (
        "from heads import softmax as s\n" + CALL + "s(x)",
        {"heads.py": "from torch.nn.functional import *"},
    ),
    "a module in a folder": ("import tools.heads as h\n" + CALL + "h.sm(x)", {"tools/heads.py": SM}),
    "a module by its full name": (
        "import tools.heads\n" + CALL + "tools.heads.sm(x)",
        {"tools/heads.py": SM},
    ),
    "what a package passes on": (
        "from tools import s\n" + CALL + "s(x)",
        {"tools/__init__.py": "from .heads import sm as s", "tools/heads.py": SM},
    ),
    "what a package passes on whole": (
        "from tools import *\n" + CALL + "sm(x)",
        {"tools/__init__.py": "from .deep.heads import *", "tools/deep/heads.py": "from ..low import *",
         "tools/low.py": SM},
    ),
    "an alias": (
        "from heads import s\n" + CALL + "s(x)",
        {"heads.py": "import torch.nn.functional as F\ns = F.softmax"},
    ),
    "a library by the name that the module gives it": (
        "from heads import F\n" + CALL + "F.softmax(x)",
        {"heads.py": "import torch.nn.functional as F"},
    ),
    "a library in the module": (
        "import heads\n" + CALL + "heads.F.softmax(x)",
        {"heads.py": "import torch.nn.functional as F"},
    ),
    "a class": (
        "from heads import A\n" + CALL + "A().run(x)",
        {"heads.py": SM + "class A:\n    def run(self, x): return sm(x)"},
    ),
    "a base class": (
        "from heads import A\nclass B(A): pass\n" + CALL + "B().run(x)",
        {"heads.py": SM + "class A:\n    def run(self, x): return sm(x)"},
    ),
    "the file itself": (
        SM + "def k(x): return sm(x)\nimport heads\n" + CALL + "heads.g(x)",
        {"heads.py": "import solution\ndef g(x): return solution.k(x)"},
    ),
    "import_module": (
        "import importlib\n" + CALL + "importlib.import_module('heads').sm(x)",
        {"heads.py": SM},
    ),
    "import_module from a package": (
        "import importlib\n" + CALL + "importlib.import_module('.heads', 'tools').sm(x)",
        {"tools/heads.py": SM},
    ),
    "__import__": (CALL + "__import__('tools.heads').heads.sm(x)", {"tools/heads.py": SM}),
    "resolve_name": ("import pkgutil\n" + CALL + "pkgutil.resolve_name('heads:sm')(x)", {"heads.py": SM}),
    "getattr": ("import heads\n" + CALL + "getattr(heads, 's' + 'm')(x)", {"heads.py": SM}),
    "getattr of a starred name": (
        "import heads\n" + CALL + "getattr(heads, 'softmax')(x)",
        {"heads.py": "from torch.nn.functional import *"},
    ),
    "attrgetter": (
        "import heads, operator\n" + CALL + "operator.attrgetter('F.softmax')(heads)(x)",
        {"heads.py": "import torch.nn.functional as F"},
    ),
    "vars": ("import heads\n" + CALL + "vars(heads)['sm'](x)", {"heads.py": SM}),
    "the module's own globals": (
        "import heads\n" + CALL + "heads.find('sm')(x)",
        {"heads.py": SM + "def find(name): return globals()['sm']"},
    ),
    "sys.modules": ("import heads, sys\n" + CALL + "sys.modules['heads'].sm(x)", {"heads.py": SM}),
    "a module as an argument": (
        "import heads\ndef k(m, x): return m.sm(x)\n" + CALL + "k(heads, x)",
        {"heads.py": SM},
    ),
    "a module in a container": ("import heads\n" + CALL + "{'h': heads}['h'].sm(x)", {"heads.py": SM}),
    "a module's __getattr__": (
        "import heads\n" + CALL + "heads.anything(x)",
        {"heads.py": SM + "def __getattr__(name): return sm"},
    ),
    "a name put into the module": (
        "import heads\n" + SM + "heads.attend = sm\n" + CALL + "heads.run(x)",
        {"heads.py": "def attend(x): return x\ndef run(x): return attend(x)"},
    ),
    "a name put in by setattr": (
        "import heads\n" + SM + "setattr(heads, 'att' + 'end', sm)\n" + CALL + "heads.run(x)",
        {"heads.py": "def attend(x): return x\ndef run(x): return attend(x)"},
    ),
    "a name put into the namespace": (
        "import heads\n" + SM + "vars(heads)['attend'] = sm\n" + CALL + "heads.run(x)",
        {"heads.py": "def attend(x): return x\ndef run(x): return attend(x)"},
    ),
    "names put into the namespace": (
        "import heads\n" + SM + "heads.__dict__.update(attend=sm)\n" + CALL + "heads.run(x)",
        {"heads.py": "def attend(x): return x\ndef run(x): return attend(x)"},
    ),
    "a name that lasts while modules import each other": (
        "import a\n" + CALL + "a.run(x)",
        {"a.py": SM + "f = sm\nimport b\nf = None\ndef run(x): return b.run(x)",
         "b.py": "from a import f\ndef run(x): return f(x)"},
    ),
    "an import in a function": (
        CALL + "use(x)\ndef use(x):\n    import heads\n    return heads.sm(x)",
        {"heads.py": SM},
    ),
    "the file by its own name": (
        "import solution\n" + SM + CALL + "solution.sm(x)",
        {"a.py": "import solution"},
    ),
    "a module that ends early": (
        "kept = []\ntry:\n    import heads\nexcept ValueError: pass\n" + CALL + "kept[0](x)",
        {"heads.py": SM + "import solution\ndef f(x): return sm(x)\nsolution.kept.append(f)\n"
                     "raise ValueError\ndef sm(x): return x"},
    ),
    "a table of the module": (
        "import heads\n" + SM + "heads.table['f'] = sm\n" + CALL + "heads.run(x)",
        {"heads.py": "table = {}\ndef run(x): return table['f'](x)"},
    ),
    "a table that is imported": (
        "from heads import table, run\n" + SM + "table['f'] = sm\n" + CALL + "run(x)",
        {"heads.py": "table = {}\ndef run(x): return table['f'](x)"},
    ),
    "a table of the file": (
        "table = {}\nimport heads\n" + CALL + "table['f'](x)",
        {"heads.py": SM + "import solution\nsolution.table['f'] = sm"},
    ),
    "a table that a module fills itself": (
        "from heads import table\n" + CALL + "table['f'](x)",
        {"heads.py": SM + "table = {}\ntable.update(f=sm)"},
    ),
    "a name put into a library": (
        "import heads\nfrom math import attend\n" + CALL + "attend(x)",
        {"heads.py": SM + "import math\nmath.attend = sm"},
    ),
    "a name put into a library by setattr": (
        "import heads\nfrom torch import exp\n" + CALL + "exp(x)",
        {"heads.py": SM + "import torch\nsetattr(torch, 'exp', sm)"},
    ),
    "a name put into the builtins": (
        "import heads\n" + CALL + "abs(x)",
        {"heads.py": SM + "__builtins__['abs'] = sm"},
    ),
    "names put into the builtins": (
        "import heads\n" + CALL + "abs(x)",
        {"heads.py": SM + "__builtins__.update(abs=sm)"},
    ),
    "an object that a library writes to": (
        "import heads\n" + CALL + "print(x)",
        {"heads.py": SM + "import sys\nclass W:\n    def write(self, x): return sm(x)\nsys.stdout = W()"},
    ),
    "what Python calls later": (
        "import heads\n" + CALL + "x",
        {"heads.py": SM + "import gc\ndef k(phase, told): return sm(1)\ngc.callbacks.append(k)"},
    ),
    "a module that puts another into its place": (
        "import heads\n" + CALL + "heads.softmax(x)",
        {"heads.py": "import sys, torch.nn.functional as F\nsys.modules[__name__] = F"},
    ),
    "a module that puts another under a library's name": (
        "import heads\nfrom json import softmax as s\n" + CALL + "s(x)",
        {"heads.py": "import sys, torch.nn.functional as F\nmodules = sys.modules\nmodules['json'] = F"},
    ),
    "a module that puts another under a name of its package": (
        "import tools.low\n" + CALL + "tools.low.softmax(x)",
        {"tools/low.py": "import sys, torch.nn.functional as F\nsys.modules['tools.low'] = F"},
    ),
    "a package that a module says it lies in": (
        "import heads\n" + CALL + "heads.f(x)",
        {"heads.py": "__package__ = 'tools'\nfrom .low import sm\ndef f(x): return sm(x)",
         "tools/low.py": SM},
    ),
    "a library that a module says it lies in": (
        "import heads\n" + CALL + "heads.softmax(x)",
        {"heads.py": "import torch\n__package__ = 'torch.nn'\nfrom .functional import softmax"},
    ),
    "a library that the file says it lies in": (
        "import torch, heads\n__package__ = 'torch.nn'\nfrom .functional import softmax\n"
        + CALL + "softmax(x)",
        {"heads.py": ""},
    ),
    "the file by the name that it has beside a real module": (
        "import submission_solution as me\n" + SM + CALL + "me.sm(x)",
        {"a.py": ""},
    ),
    "what an exception of a module holds": (
        "try:\n    import heads\nexcept ValueError as error:\n    kept = error.args\n" + CALL + "kept[0](x)",
        {"heads.py": SM + "raise ValueError(sm)"},
    ),
    "a function for a type of arguments": (
        "import heads\n" + CALL + "heads.run(x)",
        {"heads.py": SM + "import functools\n@functools.singledispatch\ndef run(x): return x\n"
                     "@run.register(int)\ndef _(x): return sm(x)"},
    ),
    "a function for a type of arguments, by a call": (
        "import heads\n" + CALL + "heads.run(x)",
        {"heads.py": SM + "import functools\n@functools.singledispatch\ndef run(x): return x\n"
                     "run.register(int)(sm)"},
    ),
    "a name that a module may not get to bind again": (
        "import heads\n" + CALL + "heads.f(x)",
        {"heads.py": SM + "def f(x): return sm(x)\n1 / 0\ndef sm(x): return x"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
def test_a_helper_is_found_through_a_module(name: str) -> None:
    main, modules = USES[name]
    found = files(main, modules)
    assert helpers(found["violations"]) == {SOFTMAX}, found


HIDDEN = {
    "a name that is made as it runs": ("import heads\n" + CALL + "getattr(heads, x)(x)", {"heads.py": SM}),
    "a module that is named as it runs": (
        "import importlib\n" + CALL + "importlib.import_module(x).sm(x)",
        {"heads.py": SM},
    ),
    "all names of a module": ("import heads\n" + CALL + "list(vars(heads).values())[3](x)", {"heads.py": SM}),
    "a module that a library hands back": (
        "import heads, numpy as np\n" + CALL + "np.array([heads])[0].sm(x)",
        {"heads.py": SM},
    ),
    "a module's own globals by any name": (
        "import heads\n" + CALL + "heads.find(x)(x)",
        {"heads.py": SM + "def find(name): return globals()[name]"},
    ),
    "a module behind a module": ("import a\n" + CALL + "getattr(a, x)(x)", {"a.py": "import b", "b.py": SM}),
    "a package that is told as it runs": (
        "import heads\n" + CALL + "heads.f(x)",
        {"heads.py": "__package__ = x\nfrom .low import f"},
    ),
    "another import statement": (
        "import heads\nimport low\n" + CALL + "low.softmax(x)",
        {"heads.py": "import builtins, torch\nbuiltins.__import__ = lambda *names: torch"},
    ),
    "code from a text in a module": ("import heads\n" + CALL + "x", {"heads.py": "exec(input())"}),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_can_not_be_followed_is_shown_to_the_teacher(name: str) -> None:
    main, modules = HIDDEN[name]
    found = files(main, modules)
    assert found["suspicious"] or found["violations"], found


CLEAN = {
    "a function that nothing reaches": (
        "import heads\n" + CALL + "heads.other(x)",
        {"heads.py": SM + "def attend(x): return sm(x)\ndef other(x): return x"},
    ),
    "a class that is not used": (
        "from heads import A\n" + CALL + "A().other()",
        {"heads.py": SM + "class A:\n    def run(self, x): return sm(x)\n    def other(self): pass"},
    ),
    "a module that is mentioned only": ("# import heads\n" + CALL + "x", {"heads.py": SM + "y = sm(1)"}),
    "a self-test in a module": (
        "import heads\n" + CALL + "heads.own(x)",
        {"heads.py": SM + "def own(x): return x\nif __name__ == '__main__':\n    print(sm(1), own(1))"},
    ),
    "the same name in two modules": (
        "import torch\nfrom a import softmax\n" + CALL + "softmax(torch.exp(x))",
        {"a.py": "def softmax(x): return x / x.sum()", "b.py": "from torch import softmax"},
    ),
    "an own function of a helper's name": (
        "import torch, heads\n" + CALL + "heads.softmax(torch.exp(x))",
        {"heads.py": "import torch\ndef softmax(x): return torch.exp(x) / torch.exp(x).sum()"},
    ),
    "a name that is bound again in all cases": (
        "import heads\n" + CALL + "heads.f(x)",
        {"heads.py": "import numpy as np\nsm = None\ndef sm(x): return np.exp(x)\ndef f(x): return sm(x)"},
    ),
    "names of one module are not another's": (
        "import a, b\n" + CALL + "b.run(x)",
        {"a.py": SM, "b.py": "def sm(x): return x\ndef run(x): return sm(x)"},
    ),
    "tests of a module that a library runs": (
        "import doctest, inspect, heads\ndoctest.testmod(heads)\nprint(inspect.getmembers(heads))\n"
        + CALL + "heads.own(x)",
        {"heads.py": SM + "def own(x):\n    '''\n    >>> own(1) == sm(1)\n    True\n    '''\n    return x"},
    ),
    "loading a module again": (
        "import importlib, sys, heads\nimportlib.reload(heads)\nsys.modules.pop('heads', None)\n"
        + CALL + "heads.own(x)",
        {"heads.py": SM + "def own(x): return x"},
    ),
    "a package that its modules are told to lie in": (
        "from tools.low import own\n" + CALL + "own(x)",
        {"tools/low.py": "import torch\nif __name__ == '__main__' and not __package__:\n"
                         "    __package__ = 'tools'\nfrom .up import own",
         "tools/up.py": "def own(x): return x"},
    ),
    "a decorator that renames functions": (
        "from tools.low import own\n" + CALL + "own(x)",
        {"tools/low.py": "import torch\nfrom .up import own\ndef named(f):\n    f.__name__ = 'g'",
         "tools/up.py": "def own(x): return x"},
    ),
    "printing a module": (
        "import heads\nprint(heads)\n" + CALL + "heads.own(x)",
        {"heads.py": "def own(x): return x"},
    ),
    "a module that has the name of a real one": (
        "import random\n" + CALL + "random.random()",
        {"random.py": SM + "def random(): return sm(1)"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_what_the_entry_point_never_gets_to_costs_nothing(name: str) -> None:
    main, modules = CLEAN[name]
    found = files(main, modules)
    assert (found["violations"], found["suspicious"]) == ([], []), found


def test_constants_are_followed_across_modules() -> None:
    main = "import torch\nfrom names import NAME\nimport names\n" + CALL
    wrong = {"names.py": "NAME = 'soft' + 'max'"}
    assert helpers(files(main + "getattr(torch, NAME)(x)", wrong)["violations"]) == {"torch.softmax"}
    assert helpers(files(main + "getattr(torch, names.NAME)(x)", wrong)["violations"]) == {"torch.softmax"}
    right = files(main + "getattr(torch, names.NAME)(x)", {"names.py": "NAME = 'exp'"})
    assert (right["violations"], right["suspicious"]) == ([], [])


def test_arguments_are_followed_across_modules() -> None:
    heads = {"heads.py": "def run(m, x): return m.softmax(x)"}
    for main in (
        "import torch\nfrom heads import run as r\n" + CALL + "r(torch, x)",
        "import torch, heads\n" + CALL + "heads.run(torch, x)",
        "import torch, heads\nr = heads.run\n" + CALL + "r(torch, x)",
    ):
        assert [v["rule"] for v in files(main, heads)["violations"]] == ["softmax"]
    own = "import torch, heads\nclass M:\n    def softmax(self, x): return torch.exp(x)\n"
    assert files(own + CALL + "heads.run(M(), x)", heads)["violations"] == []


def test_places_are_those_of_the_part() -> None:
    found = files("import heads\n" + CALL + "heads.f(x)", {"heads.py": SM + "\n\ndef f(x): return sm(x)"})
    (violation,) = found["violations"]
    assert (violation["line"], violation["column"]) == (6, 18)
    assert violation["message"].startswith(f"heads.py, line 4 uses {SOFTMAX}, a softmax helper")
    assert found["parts"] == [["", 1], ["heads.py", 3]]
    found = cells("a = 1\n", SM + CALL + "sm(x)")
    assert found["violations"][0]["message"].startswith(f"Cell 2, line 2 uses {SOFTMAX}")


def test_imports_of_the_students_own_modules_are_none_of_a_library() -> None:
    main = "import heads\nfrom tools.low import a\nimport torch\n" + CALL + "x"
    found = files(
        main, {"heads.py": "import scipy", "tools/low.py": "from . import up\na = 1", "tools/up.py": ""}
    )
    assert [row["module"] for row in found["imports"]] == ["torch", "scipy"]


def test_findings_while_it_ran_name_the_part() -> None:
    report = files("import heads\n" + CALL + "x", {"heads.py": "a = 1\nb = 2"})
    seen = [{"rule": "softmax", "helper": SOFTMAX, "operator": "", "line": 4, "phase": "public"}]
    (violation,) = runtime.merge(report, seen, RULES)["violations"]  # type: ignore[misc]
    assert violation["message"].startswith(f"heads.py, line 2 ran {SOFTMAX}")
    sign = {"rule": runtime.TAMPERING, "helper": "wrapper", "operator": "", "line": 1, "phase": "public"}
    (told,) = runtime.merge(report, [sign], RULES)["suspicious"]  # type: ignore[misc]
    assert told["message"].startswith("Line 1 put other functions")


# --- cells -------------------------------------------------------------------------------------------


def test_cells_make_one_module() -> None:
    found = cells(SM, "def k(x): return sm(x)", CALL + "k(x)")
    assert helpers(found["violations"]) == {SOFTMAX} and found["entry"]["defined"]


def test_an_open_string_hides_no_other_cell() -> None:
    found = cells("x = '''", SM + "y = '''\n'''", CALL + "sm(x)", "'''\n" + CALL + "x")
    assert helpers(found["violations"]) == {SOFTMAX}
    assert [(row["name"], row["line"]) for row in found["broken_cells"]] == [("cell 1", 1), ("cell 4", 6)]
    assert found["syntax_error"] is None


@pytest.mark.parametrize("leave", ["return", "raise ValueError", "break", "exit()", "1 / 0", "continue"])
def test_what_ends_one_cell_ends_no_other(leave: str) -> None:
    found = cells(leave, SM, leave, CALL + "sm(x)")
    assert helpers(found["violations"]) == {SOFTMAX}


@pytest.mark.parametrize(
    "cell",
    [
        "1 / 0\ndef sm(x): return x",
        "def sm(x: nowhere): return x",
        "def sm(x, y=nowhere): return x",
        "@nowhere\ndef sm(x): return x",
        "import nowhere\ndef sm(x): return x",
        "def sm(x): return x\nreturn",
        "def sm(x): return x\nawait x",
        "raise ValueError\nsm = None",
    ],
)
def test_a_cell_that_may_not_bind_a_name_again_hides_nothing(cell: str) -> None:
    found = cells(SM, cell, CALL + "sm(x)")
    assert helpers(found["violations"]) == {SOFTMAX}


def test_a_cell_that_surely_binds_a_name_again_counts() -> None:
    found = cells(SM, "import numpy as np\nsm = 1\ndef sm(x, y=1): return x", CALL + "sm(x)")
    assert found["violations"] == []


def test_a_later_cell_that_defines_the_entry_point_again_counts_beside_the_first() -> None:
    found = cells(CALL + "x", SM + CALL + "sm(x)")
    assert helpers(found["violations"]) == {SOFTMAX}


def test_another_grammar_from_the_future_hides_nothing() -> None:
    found = cells("from __future__ import barry_as_FLUFL", "1 <> 2\ndef sm(x): return x", SM, CALL + "sm(x)")
    assert helpers(found["violations"]) == {SOFTMAX}
    assert [row["name"] for row in found["broken_cells"]] == ["cell 2"]


def test_a_broken_module_is_told_and_runs_nothing() -> None:
    found = files("import heads\n" + CALL + "heads.f(x)", {"heads.py": SM + "def f(x): return sm(x)\ndef ("})
    assert found["violations"] == [] and found["broken_cells"] == []
    assert [(row["name"], row["line"]) for row in found["broken_modules"]] == [("heads.py", 5)]


def test_a_broken_file_is_a_syntax_error_as_without_modules() -> None:
    found = files("a = 1\ndef (\n", {"heads.py": "'''"})
    assert found["syntax_error"]["line"] == 2
    # What stands in a module can't close what the file left open.
    found = files("a = '''", {"heads.py": "'''"})
    assert found["syntax_error"]["line"] == 1


def test_a_text_that_is_nested_too_deeply_is_not_run() -> None:
    for found in (
        cells("x = " + "-" * 400 + "1", CALL + "x"),
        files(CALL + "x", {"a.py": "x = " + "-" * 400 + "1"}),
    ):
        assert "nested too deeply" in found["syntax_error"]["message"]


def test_cells_and_modules_together() -> None:
    found = cells("import heads", CALL + "heads.f(x)", modules={"heads.py": SM + "def f(x): return sm(x)"})
    assert helpers(found["violations"]) == {SOFTMAX}


def test_one_main_part_is_read_as_a_file_is() -> None:
    for main in (
        SM + CALL + "sm(x)",
        SM + CALL + "x",
        "def (",
        SM + "def sm(x): return x\n" + CALL + "sm(x)",
    ):
        source, parts = parts_of([("main", "solution.py", main)])
        whole: dict[str, Any] = analyze(source, RULES, ENTRY)
        cut: dict[str, Any] = analyze(source, RULES, ENTRY, parts)
        assert {key: cut[key] for key in whole} == whole


# --- one file: a look at all names at once ------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "return globals()[''.join(x)](x)",
        "return [v for n, v in globals().items() if n == x][0](x)",
        "return list(globals().values())[0](x)",
    ],
)
def test_looking_through_the_files_own_names_is_suspicious_where_a_helper_is_among_them(body: str) -> None:
    found: Any = analyze(f"{SM}def {ENTRY}(x):\n    {body}", RULES, ENTRY)
    assert found["suspicious"]
    found = analyze(f"import numpy as np\ndef {ENTRY}(x):\n    {body}", RULES, ENTRY)
    assert not found["suspicious"]


EXAMPLE = """kept = []
def k():
    \"\"\"
    >>> from torch import softmax
    >>> kept.append(softmax)
    \"\"\"
"""


def test_an_example_in_a_docstring_is_code_where_it_is_run() -> None:
    run = "import doctest, heads\ndoctest.testmod(heads)\n"
    found = files(run + CALL + "heads.kept[0](x)", {"heads.py": EXAMPLE})
    assert helpers(found["violations"]) == {"torch.softmax"}
    for unused in (EXAMPLE, EXAMPLE.replace("kept.append(softmax)", "print(softmax(1), k())")):
        assert files(run + CALL + "heads.k()", {"heads.py": unused})["violations"] == []
    assert files("import heads\n" + CALL + "heads.kept[0](x)", {"heads.py": EXAMPLE})["violations"] == []


KEPT = {
    "within another expression": "_ = kept.append(sm)",
    "in a test": "assert not kept.append(sm)",
    "by the class": "list.append(kept, sm)",
    "by a method that is passed on": "list(map(kept.append, [sm]))",
    "by a partial": "import functools\nfunctools.partial(kept.append, sm)()",
    "by a partial that gets it": "import functools\nfunctools.partial(kept.append)(sm)",
    "by the method's own name": "add = kept.append\nadd(sm)",
    "by another name of the list": "other = kept\nother.append(sm)",
    "by an exception": "try:\n    raise ValueError(sm)\nexcept ValueError as error:\n    kept += error.args",
    "by an exception that has no name": "import sys\ntry:\n    raise ValueError((1, sm))\n"
    "except ValueError:\n    kept += sys.exc_info()[1].args[0]",
    "by an object that ends an exception": "class C:\n    def __enter__(self): pass\n"
    "    def __exit__(self, kind, error, trace):\n        kept.append(error)\n        return True\n"
    "with C(): raise ValueError(sm)",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_put_into_a_list_is_followed(name: str) -> None:
    found: Any = analyze(f"{SM}kept = []\n{KEPT[name]}\n{CALL}kept[0](x)", RULES, ENTRY)
    assert helpers(found["violations"]) == {SOFTMAX}, found
    elsewhere: Any = analyze(f"{SM}kept = []\n{KEPT[name]}\n{CALL}x", RULES, ENTRY)
    assert elsewhere["violations"] == []


STORED = {
    "heapq.heappush": ("heapq.heappush(kept, sm)", "kept[0](x)"),
    "heapq.heapreplace": ("kept.append(1)\nheapq.heapreplace(kept, sm)", "kept[0](x)"),
    "bisect.insort": ("bisect.insort(kept, (0, sm))", "kept[0][1](x)"),
    "bisect.insort_left": ("bisect.insort_left(kept, sm, key=id)", "kept[0](x)"),
    "operator.setitem": ("operator.setitem(named, 'f', sm)", "named['f'](x)"),
    "object.__setattr__": ("object.__setattr__(it, 'f', sm)", "it.f(x)"),
    "an object's __setattr__": ("it.__setattr__('f', sm)", "it.f(x)"),
    "a method of that name": ("it.insort(1, sm)", "it.kept[0](x)"),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", STORED)
def test_what_a_function_puts_into_its_first_argument_is_followed(name: str, *, inside: bool) -> None:
    call, use = STORED[name]
    if inside:
        call = f"def put():\n    {call.replace(chr(10), chr(10) + '    ')}\nput()"
    start = (
        f"import bisect, heapq, operator\n{SM}kept, named = [], {{}}\nclass It:\n    kept = []\n"
        f"    def insort(self, n, f):\n        self.kept.append(f)\nit = It()\n{call}\n{CALL}"
    )
    found: Any = analyze(start + use, RULES, ENTRY)
    assert helpers(found["violations"]) == {SOFTMAX}, found
    other: Any = analyze(
        f"{start}heapq.nlargest(1, x), bisect.bisect(x, 1), operator.add(x, x)", RULES, ENTRY
    )
    assert other["violations"] == []


def test_more_examples_than_are_read_are_told() -> None:
    shown = "".join(f"def f{at}():\n    '''\n    >>> {at}\n    '''\n" for at in range(MOST_TEXTS))
    for run, told in (("", set()), ("doctest.testmod()\n", {"too_complex"})):
        source = f"import doctest\n{shown}{EXAMPLE}{run}{CALL}kept[0](x)"
        found: Any = analyze(source, RULES, ENTRY)
        assert {entry["rule"] for entry in found["suspicious"]} == told
    few: Any = analyze(source.replace(">>> 0", ""), RULES, ENTRY)
    assert helpers(few["violations"]) == {"torch.softmax"} and not few["suspicious"]


MATCH = f"def {ENTRY}(x):\n    match "
READ = {
    "a pattern's member": f"class C: run = sm\n{MATCH}C():\n        case C(run=f): return f(x)",
    "a library's member in a pattern": "import torch.nn.functional as F\n"
    f"{MATCH}F:\n        case object(softmax=f): return f(x)",
    "a pattern's member by its place": "class C:\n    __match_args__ = ('run',)\n    run = sm\n"
    f"{MATCH}C():\n        case C(f): return f(x)",
    "a private member from outside": f"class C:\n    __run = sm\n{CALL}C()._C__run(x)",
    "a private member by its text": f"class C:\n    __run = sm\n{CALL}getattr(C(), '_C__run')(x)",
    "an annotation that is a text": "import typing\ndef k(x: 'sm'): pass\n"
    f"{CALL}typing.get_type_hints(k)['x'](x)",
}


@pytest.mark.parametrize("name", READ)
def test_members_are_found_in_whatever_way_they_are_read(name: str) -> None:
    found: Any = analyze(SM + READ[name], RULES, ENTRY)
    assert SOFTMAX in helpers(found["violations"]), found


def test_an_item_of_another_name_is_another_item() -> None:
    table = f"{SM}table = {{}}\ntable['torch'] = sm\ntable['mine'] = abs\n"
    found: Any = analyze(f"{table}{CALL}table['mine'](x)", RULES, ENTRY)
    assert found["violations"] == []
    for key in ("'torch'", "x", "'to' + 'rch'"):
        found = analyze(f"{table}{CALL}table[{key}](x)", RULES, ENTRY)
        assert helpers(found["violations"]) == {SOFTMAX}, key
    nested: Any = analyze(f"{SM}t = {{'a': {{}}}}\nt['a']['b'] = sm\n{CALL}t['a']['b'](x)", RULES, ENTRY)
    assert helpers(nested["violations"]) == {SOFTMAX}


@pytest.mark.parametrize("said", ["f'{sm(1)} is not {k(1)}'", "'%s is not it' % sm(1)", "'not it', sm(1)"])
def test_what_a_self_test_raises_is_not_used(said: str) -> None:
    own = "def k(x):\n    try:\n        return x\n    except ValueError as error:\n        print(error)\n"
    found = cells(SM + own, f"raise AssertionError({said})", CALL + "k(x)")
    assert (found["violations"], found["suspicious"]) == ([], [])


def test_timing_functions_hides_nothing_and_timing_texts_may() -> None:
    timed = "import timeit\nprint(timeit.timeit(lambda: sm(1), number=3))"
    found = cells(SM, timed, CALL + "x")
    assert (found["violations"], found["suspicious"]) == ([], [])
    assert cells(SM, "import timeit\ntimeit.timeit('k(1)')", CALL + "x")["suspicious"]


PASSING_ON = {
    "a method": "import torch\n__getattr__ = torch.__getattribute__\n",
    "a partial": "import torch, functools\n__getattr__ = functools.partial(object.__getattribute__, torch)\n",
    "getattr itself": "import torch, functools\n__getattr__ = functools.partial(getattr, torch)\n",
    "an import": "from torch import __getattribute__ as __getattr__\n",
    "another module": "from low import g as __getattr__\n",
    "a stored one": "import torch\nglobals()['__getattr__'] = torch.__getattribute__\n",
}
USED = {
    "by the module": "import heads\n" + CALL + "heads.softmax(x)",
    "by its name": "from heads import softmax\n" + CALL + "softmax(x)",
    "under another name": "from heads import softmax as s\n" + CALL + "s(x)",
    "by a star": "from heads import *\n" + CALL + "softmax(x)",
    "by getattr": "import heads\n" + CALL + "getattr(heads, 'soft' + 'max')(x)",
}


@pytest.mark.parametrize("name", PASSING_ON)
@pytest.mark.parametrize("use", USED)
def test_a_module_that_passes_a_library_on_by_a_value(name: str, use: str) -> None:
    low = {"low.py": "import torch\ng = torch.__getattribute__\n"}
    found = files(USED[use], {"heads.py": "__all__ = ['softmax']\n" + PASSING_ON[name], **low})
    assert "torch.softmax" in helpers(found["violations"])
    assert found["suspicious"]


@pytest.mark.parametrize("itself", ["import sys\nM = sys.modules[__name__]\n", "import solution as M\n"])
def test_a_file_that_passes_a_library_on_to_itself(itself: str) -> None:
    found = files(itself + PASSING_ON["a method"] + CALL + "M.softmax(x)", {"a.py": "import solution"})
    assert "torch.softmax" in helpers(found["violations"])


@pytest.mark.parametrize(
    "value",
    [
        "__getattr__ = make()",
        "__getattr__ = N().__getattr__",
        "class P:\n    __getattr__ = torch.__getattribute__",
        "class P: pass\nP.__getattr__ = torch.__getattribute__",
        "P = type('P', (), {'__getattr__': torch.__getattribute__})",
    ],
)
def test_members_that_a_value_gives_are_shown_to_the_teacher(value: str) -> None:
    module = f"import torch\n{value}\n"
    assert files("import heads\n" + CALL + "heads.P().softmax(x)", {"heads.py": module})["suspicious"]


def test_members_that_a_function_gives_are_read_in_the_function() -> None:
    module = "import torch\ndef own(x): return torch.exp(x)\ndef __getattr__(name): return own\n"
    found = files("import heads\n" + CALL + "heads.any(x)", {"heads.py": module})
    assert (found["violations"], found["suspicious"]) == ([], [])


@pytest.mark.parametrize(
    "asked",
    [
        "m.overrides._get_current_function_mode_stack()",
        "getattr(m, '_len_torch_function_stack')()",
        "m._C._len_torch_function_stack()",
        "sys.gettrace()",
        "sys.monitoring.get_tool(0)",
        "getprofile()",
    ],
)
def test_who_asks_whether_calls_are_watched_is_shown_to_the_teacher(asked: str) -> None:
    module = f"import sys, torch\nfrom sys import getprofile\ndef watched(m): return {asked}\n"
    assert files("import heads\n" + CALL + "x", {"heads.py": module})["suspicious"]


def test_what_a_function_raises_that_nothing_calls_is_met_by_no_handler() -> None:
    source = (
        "def attempt(deed):\n    try:\n        deed()\n    except Exception as error:\n        print(error)\n"
        "def unused(name):\n    import ctypes\n    error = ctypes.get_errno()\n"
        f"    raise PermissionError(error, name)\n{SM}"
        "def banned():\n    value = sm\n    raise ValueError(value)\n"
        "attempt(lambda: 1)\n"
    )
    found: Any = analyze(f"{source}{CALL}x", RULES, ENTRY)
    assert found["violations"] == found["suspicious"] == []
    called = source.replace("lambda: 1", "banned").replace("print(error)", "kept.append(error.args)")
    found = analyze(f"kept = []\n{called}{CALL}kept[0][0](x)", RULES, ENTRY)
    assert helpers(found["violations"]) == {SOFTMAX}
