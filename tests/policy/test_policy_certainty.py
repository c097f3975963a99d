"""Tests and statements that are known only while the program leaves alone what they hang on."""

from __future__ import annotations

from typing import Any

import pytest
from policy_samples import helpers, report
from test_policy_parts import CALL, SM, SOFTMAX, cells, files

MAIN = 'if __name__ == "__main__":\n    f = sm\n'
CHECKING = "if TYPE_CHECKING:\n    f = sm\n"
PLAIN = "def f(x): return x\n"
END = CALL + "f(x)"


def checking(owner: str) -> str:
    return f"if {owner}.TYPE_CHECKING:\n    f = sm\n"


# What binds a name somewhere, and the test that then may be true.
SHIFTED = {
    "an assignment": ("__name__ = '__main__'\n", MAIN),
    "a loop": ("for __name__ in ['__main__']: pass\n", MAIN),
    "an import": ("from os import name as __name__\n", MAIN),
    "a walrus": ("(__name__ := '__main__')\n", MAIN),
    "a stored text": ("globals()['__name__'] = '__main__'\n", MAIN),
    "a made text": ("globals()['__na' + 'me__'] = '__main__'\n", MAIN),
    "an update": ("globals().update(__name__='__main__')\n", MAIN),
    "setattr": ("import sys\nsetattr(sys.modules[__name__], '__name__', '__main__')\n", MAIN),
    "setattr of a made text": ("import sys\nsetattr(sys.modules[__name__], '__na' + 'me__', 'x')\n", MAIN),
    "an attribute": ("import sys\nsys.modules[__name__].__name__ = '__main__'\n", MAIN),
    "a pattern": ("match '__main__':\n    case __name__: pass\n", MAIN),
    "a negation": ("__name__ = '__main__'\n", 'if not __name__ != "__main__":\n    f = sm\n'),
    "one of several": ("", 'if __name__ in ("__main__", "solution"):\n    f = sm\n'),
    "one of one": ("__name__ = '__main__'\n", 'if __name__ in ("__main__",):\n    f = sm\n'),
    "a checking name": ("TYPE_CHECKING = True\n", CHECKING),
    "a checking loop": ("TYPE_CHECKING = True\n", "while TYPE_CHECKING:\n    f = sm\n    break\n"),
    "a checking attribute": ("import typing\ntyping.TYPE_CHECKING = 1\n", checking("typing")),
    "a checking class": ("class C:\n    TYPE_CHECKING = 1\n", checking("C")),
    "a checking answer": ("class C:\n    def __getattr__(self, n): return 1\n", checking("C()")),
    "a checking object": ("import typing\ntyping = make()\n", checking("typing")),
    "a checking import": ("from os import sep as TYPE_CHECKING\n", CHECKING),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_test_of_a_name_that_is_bound_somewhere_may_be_true(name: str) -> None:
    before, test = SHIFTED[name]
    assert SOFTMAX in helpers(report(SM + PLAIN + before + test + END)["violations"])


def test_a_parameter_may_have_the_name() -> None:
    made = "def make(__name__):\n    if __name__ == '__main__': return sm\n    return None\n"
    assert SOFTMAX in helpers(report(SM + made + "f = make('__main__')\n" + END)["violations"])


@pytest.mark.parametrize(
    ("main", "module"),
    [
        (
            "import heads\nheads.__name__ = '__main__'\n" + CALL + "heads.go()(x)",
            SM + "def go():\n    if __name__ == '__main__': return sm\n",
        ),
        ("import heads, typing\ntyping.TYPE_CHECKING = True\nfrom low import f\n" + END, ""),
        ("from heads import f\n" + END, "from low import __name__\n" + SM + PLAIN + MAIN),
    ],
)
def test_another_module_may_bind_the_name(main: str, module: str) -> None:
    low = "import typing\n__name__ = '__main__'\n" + SM + PLAIN + checking("typing")
    assert SOFTMAX in helpers(files(main, {"heads.py": module, "low.py": low})["violations"])


@pytest.mark.parametrize(
    "source",
    [
        MAIN,
        'if __name__ in ("__main__",):\n    f = sm\n',
        "from typing import TYPE_CHECKING\n" + CHECKING,
        "import typing\n" + checking("typing"),
        "import typing as t\n" + checking("t"),
    ],
)
def test_a_test_of_a_name_that_nothing_binds_is_false(source: str) -> None:
    found = report(SM + PLAIN + source + END)
    assert (found["violations"], found["suspicious"]) == ([], [])


DRAFT = SM + "def k(x): return sm(x)"
OWN = "def k(x): return x"


@pytest.mark.parametrize(
    "line",
    [
        "print('Now my own')",
        "print()",
        "print(1, 'a')",
        "import torch",
        "import torch.nn.functional as F",
        "from torch import nn",
        "from torch.nn import functional as F",
        "import math, numpy",
        '"""Now my own."""',
        "class A:\n    size = 3\n    def run(self, x: float, y=(1, -2)) -> int: return x",
        "rate = -1",
        "pass",
    ],
)
def test_what_surely_runs_hides_no_later_definition(line: str) -> None:
    found = cells(DRAFT, f"{line}\n{OWN}", CALL + "k(x)")
    assert (found["violations"], found["suspicious"]) == ([], [])


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", "print(k)"),
        ("", "print('a', sep=1)"),
        ("", "print('\\ud800')"),
        ("print = 1", "print('a')"),
        ("import sys\nsys.stdout = None", "print('a')"),
        ("import contextlib", "print('a')"),
        ("", "import torch.none_such"),
        ("import scipy", "import jax"),
        ("import jax", "import torch"),
        ("", "import winreg"),
        ("__builtins__ = {}", "import math"),
        ("__builtins__ = {}", "class A: pass"),
        ("", "class A(k): pass"),
        ("", "class A:\n    __slots__ = ('a',)\n    a = 1"),
        ("", "class A:\n    def __qualname__(self): pass"),
        ("", "class A:\n    a = b"),
        ("", "from torch import none_such"),
        ("", "from .torch import nn"),
        ("", "(a, b) = ()"),
        ("", "a = -'b'"),
        ("import sys\nsys.settrace(go)", "pass"),
        ("import sys\nsys.addaudithook(go)", "pass"),
        ("import sys\ngetattr(sys, 'settrace')(go)", "pass"),
        ("import sys\ngetattr(sys, go)(go)", "pass"),
        ("from sys import *\nsettrace(go)", "pass"),
        ("import sys\nsys.setrecursionlimit(40)", "class A: pass"),
        ("import sys\nsys.path.clear()", "import statistics"),
        ("import sys as os\nos.path.clear()", "import statistics"),
        ("int = 1\ndel int", "def g(x: int): pass"),
        ("", "def g(x: Tensor): pass"),
        ("", "@k\ndef g(x): pass"),
    ],
)
def test_what_may_raise_leaves_an_earlier_definition(before: str, line: str) -> None:
    first = f"{before}\n{DRAFT}" if before else DRAFT
    found = cells(first, f"{line}\n{OWN}", CALL + "k(x)")
    (violation,) = found["violations"]
    assert violation["helper"] == SOFTMAX
    assert violation["if_failed"] == [[first.count("\n") + 2]]


def test_ordinary_uses_of_sys_and_os_leave_statements_certain() -> None:
    first = "import sys, os\nfrom scipy import signal\nprint(os.path.exists('a'), sys.version)"
    found = cells(f"{first}\nprint(getattr(os, 'name'))", DRAFT, f"import statistics\n{OWN}", CALL + "k(x)")
    assert (found["violations"], found["suspicious"]) == ([], [])


def conditions(*texts: str) -> Any:
    (violation,) = cells(*texts)["violations"]
    return violation.get("if_failed")


def test_which_cells_a_violation_rests_on() -> None:
    raising = f"go()\n{OWN}"
    assert conditions(DRAFT, raising, "plot()", CALL + "k(x)") == [[3]], "what only plots decides nothing"
    assert conditions(DRAFT, raising, raising, CALL + "k(x)") == [[3], [5]], "both have to end early"
    assert conditions(DRAFT, "plot()", CALL + "k(x)") is None, "nothing replaces it"
    assert conditions(DRAFT, f"if a:\n    {OWN}", CALL + "k(x)") is None, "it may stay in any case"


def test_one_of_two_cells_may_be_enough() -> None:
    either = (
        SM + "def i(x): return sm(x)\ndef k(x): return i(x)\ndef j(x): return i(x)",
        "go()\ndef k(x): return x",
        "go()\ndef j(x): return x",
        CALL + "j(k(x))",
    )
    assert conditions(*either) == [[5, 7]]


def test_cells_that_do_it_only_together_are_not_lost_beside_one_that_does_it_alone() -> None:
    texts = (
        SM + "def i(x): return sm(x)\ndef k(x): return i(x)\ndef j(x): return i(x)",
        "go()\ndef k(x): return x",
        "go()\ndef j(x): return x",
        "go()\ndef j(x): return x",
        CALL + "j(k(x))",
    )
    assert conditions(*texts) == [[5, 7, 9]]


def test_of_very_many_cells_any_counts() -> None:
    texts = [f"go()\ndef k{n}(x): return x\ndef k{n}(x): return x" for n in range(20)]
    (group,) = conditions(DRAFT, *texts, f"go()\n{OWN}", CALL + "k(x)")
    assert group == [*range(3, 66, 3)]
