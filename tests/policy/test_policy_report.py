"""The report's form: syntax errors, imports, the entry point, the rules it is made with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from policy_samples import DATA, ENTRY, RULES, helpers, report

from grader.policy.analysis import analyze
from grader.policy.rules import Rules


def test_report_is_plain_data() -> None:
    found = report("import torch\nimport sys\ndef mlm_forward(x):\n    return torch.softmax(x), eval('1')\n")
    assert json.loads(json.dumps(found)) == found
    keys = {"syntax_error", "imports", "entry", "violations", "suspicious", "notes", "alike"}
    assert set(found) == keys
    assert set(found["violations"][0]) == {"rule", "helper", "line", "column", "found", "message"}
    assert set(found["suspicious"][0]) == {"rule", "helper", "line", "column", "found", "message"}


@pytest.mark.parametrize(
    ("source", "line", "column", "part"),
    [
        ("def f(:\n    pass\n", 1, 7, "invalid syntax"),
        ("x = 1\ny = (\n", 2, 5, "never closed"),
        ("é = 'a' 'b\n", 1, 9, "unterminated"),
        ("if x:\npass\n", 2, 1, "indented"),
        ("a = 1\0", 1, 1, "null bytes"),
        ("a = '\ud800'", 1, 1, "cannot be read"),
        ("x = 0777\n", 1, 5, "leading zeros"),
        ("print 1\n", 1, 1, "parentheses"),
    ],
)
def test_syntax_error_has_its_place(source: str, line: int, column: int, part: str) -> None:
    error = analyze(source, RULES, ENTRY)["syntax_error"]
    assert isinstance(error, dict)
    assert (error["line"], error["column"]) == (line, column)
    assert part in error["message"]


@pytest.mark.parametrize("source", ["", "\n\n", "\ufeff", "# only a comment", "\x0c\n"])
def test_source_without_code_is_no_syntax_error(source: str) -> None:
    found = analyze(source, RULES, ENTRY)
    assert found["syntax_error"] is None
    assert found["entry"] == {"defined": False, "line": None, "near": [], "parameters": None}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff", "# -*- coding: latin-1 -*-", "\x0c"])
def test_places_hold_with_any_line_end_mark_and_form_feed(start: str, end: str) -> None:
    lines = [
        start,
        "import torch",
        "def mlm_forward(x):",
        "    é = '\u2028 \x0b'; return torch.softmax(x), é",
        "",
    ]
    found: Any = analyze(end.join(lines), RULES, ENTRY)
    assert found["syntax_error"] is None
    assert [(entry["line"], entry["column"]) for entry in found["violations"]] == [(4, 23)]


def test_imports_are_absolute_deduplicated_and_on_their_first_line() -> None:
    found = report(
        """
        import numpy as np, os.path
        import torch.nn.functional as F
        from torch import nn
        from torch import softmax
        def mlm_forward(x):
            import importlib
            importlib.import_module("scipy" + ".special")
            importlib.import_module(".special", "jax.scipy")
            __import__("json")
            from collections import deque
            import numpy
        def unused():
            import pandas
        if __name__ == "__main__":
            import matplotlib.pyplot as plt
        """
    )
    assert found["imports"] == [
        {"module": "numpy", "line": 1},
        {"module": "os.path", "line": 1},
        {"module": "torch.nn.functional", "line": 2},
        {"module": "torch", "line": 3},
        {"module": "importlib", "line": 6},
        {"module": "scipy.special", "line": 7},
        {"module": "jax.scipy.special", "line": 8},
        {"module": "json", "line": 9},
        {"module": "collections", "line": 10},
        {"module": "pandas", "line": 13},
        {"module": "matplotlib.pyplot", "line": 15},
    ]


@pytest.mark.parametrize(
    ("source", "line", "parameters"),
    [
        ("def mlm_forward(a, b, /, c, d=1, *, e=2): pass", 1, 4),
        ("def mlm_forward(a, *rest): pass", 1, None),
        ("def mlm_forward(**named): pass", 1, 0),
        ("\nmlm_forward = lambda a: a", 2, None),
        ("class C:\n    def __call__(self): pass\nmlm_forward = C()", 3, None),
        ("from helpers import mlm_forward", 1, None),
        ("def mlm_forward(a): pass\ndef mlm_forward(a, b): pass", 2, 2),
        ("if x:\n    def mlm_forward(a): pass\nelse:\n    def mlm_forward(a, b): pass", 4, None),
        ("import functools\n@functools.cache\ndef mlm_forward(a): pass", 3, None),
        ("def f(a): pass\nfor mlm_forward in [f]: pass", 2, None),
        ("def f(a): pass\nglobals()['mlm_' + 'forward'] = f", 2, None),
        ("a, (b, mlm_forward) = x", 1, None),
        ("import mlm_forward", 1, None),
        ("try:\n    pass\nfinally:\n    def mlm_forward(a): pass", 4, 1),
    ],
)
def test_entry_is_found_however_it_is_bound(source: str, line: int, parameters: int | None) -> None:
    entry = analyze(source, RULES, ENTRY)["entry"]
    assert entry == {"defined": True, "line": line, "near": [], "parameters": parameters}


@pytest.mark.parametrize(
    ("source", "near"),
    [
        ("def mlm_foward(x): pass", ["mlm_foward"]),
        ("def MLMForward(x): pass\ndef mlm(x): pass", ["MLMForward"]),
        ("mlmforward = 1\nmlm_forwards = 2", ["mlmforward", "mlm_forwards"]),
        ("def solve(x): pass", []),
        ("class A:\n    def mlm_forward(self): pass", []),
        ("if __name__ == '__main__':\n    def mlm_forward(x): pass", []),
        ("def mlm_forward(x): pass\ndel mlm_forward", []),
        ("def f():\n    def mlm_forward(x): pass", []),
    ],
)
def test_missing_entry_names_what_looks_like_it(source: str, near: list[str]) -> None:
    entry = analyze(source, RULES, ENTRY)["entry"]
    assert entry == {"defined": False, "line": None, "near": near, "parameters": None}


def test_another_entry_name() -> None:
    source = "import torch\ndef train(x):\n    return torch.softmax(x)\ndef mlm_forward(x): pass\n"
    assert helpers(report(source, "train")["violations"]) == {"torch.softmax"}
    assert report(source)["violations"] == []


def test_allowed_wins_over_names_and_case_matters() -> None:
    data = {
        "rules": [
            {"id": "r", "title": "T", "why": "w", "instead": "Use X.", "names": ["torch.*"], "methods": ["m"]}
        ],
        "allowed": ["torch.exp", "torch.nn", "torch.Tensor", "torch.Tensor.m"],
        "array_libraries": ["torch"],
    }
    rules = Rules.from_dict(data)
    source = "import torch\ndef f(x):\n    torch.exp; torch.Exp; torch.nn.Z; torch.Tensor.m\n"
    found: Any = analyze(source, rules, "f")
    assert helpers(found["violations"]) == {"torch.Exp", "torch.nn.Z"}
    assert found["violations"][0]["message"] == "Line 3 uses torch.Exp, banned here (T); use X."


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(x):\n    return x.mean(axis=1)\n", {"numpy.ndarray.mean"}),
        ("import numpy as np\ndef f(x):\n    return np.abs(x).mean()\n", {"numpy.ndarray.mean"}),
        ("def f(x):\n    def g(y):\n        return y.T.mean()\n    return g(x)\n", {"numpy.ndarray.mean"}),
        ("def f(x):\n    return [sum(row) / len(row) for row in x]\n", set()),
        ("def mean(row):\n    return sum(row)\ndef f(x):\n    return mean(x)\n", set()),
        ("class C:\n    def mean(self):\n        return 1\ndef f(x):\n    return C().mean()\n", set()),
        ("import statistics\ndef f(x):\n    return statistics.mean(x[0].tolist())\n", set()),
    ],
)
def test_methods_of_arguments_are_found_without_an_import(source: str, found: set[str]) -> None:
    rules = Rules.from_dict(
        {
            "rules": [{"id": "r", "title": "T", "why": "w", "instead": "Use X.", "methods": ["mean"]}],
            "array_libraries": ["numpy"],
        }
    )
    reported: Any = analyze(source, rules, "f")
    assert helpers(reported["violations"]) == found


def test_pattern_for_any_library() -> None:
    data = {"rules": [dict(DATA["rules"][0], names=["*.softmax"])], "allowed": [], "array_libraries": []}
    found: Any = analyze("import mylib\nmlm_forward = mylib.softmax", Rules.from_dict(data), ENTRY)
    assert helpers(found["violations"]) == {"mylib.softmax"}


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Softmax helpers", "a softmax helper"),
        ("Attention helpers", "an attention helper"),
        ("GELU helpers", "a GELU helper"),
        ("Other things", "banned here (Other things)"),
    ],
)
def test_title_in_a_sentence(title: str, kind: str) -> None:
    rules = Rules.from_dict({"rules": [dict(DATA["rules"][0], title=title)]})
    assert rules.rules[0].kind == kind


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({}, "'rules'"),
        ({"rules": [3]}, "rule 1"),
        ({"rules": [{"id": "a"}]}, "'title'"),
        ({"rules": [dict(DATA["rules"][0], names="torch.*")]}, "'names'"),
        ({"rules": [], "allowed": [3]}, "'allowed'"),
    ],
)
def test_wrong_rules_are_refused_with_the_reason(data: dict[str, Any], part: str) -> None:
    with pytest.raises(ValueError, match="policy") as raised:
        Rules.from_dict(data)
    assert part in str(raised.value)


def test_import_pulls_in_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import grader.policy.analysis; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "grader" in loaded
    assert loaded - {"grader"} <= set(sys.stdlib_module_names)
    assert "typing" not in loaded


def test_analysis_does_not_run_the_source(tmp_path: Path) -> None:
    target = tmp_path / "made"
    report(f"open({str(target)!r}, 'w')\nexec('open({str(target)!r}, \"w\")')\ndef mlm_forward(x): pass\n")
    assert not target.exists()


def test_analysis_leaves_the_process_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    first = report("import torch\ndef mlm_forward(x):\n    return torch.softmax(x, '\\d')\n")
    assert sys.getrecursionlimit() == limit
    assert report("import torch\ndef mlm_forward(x):\n    return torch.softmax(x, '\\d')\n") == first
