"""Sources made to break the analysis end in a report, after a bounded amount of work."""

from __future__ import annotations

from typing import Any

import pytest
from policy_samples import ENTRY, RULES, helpers

from grader.policy import analysis, names, texts
from grader.policy.analysis import analyze

BODY = "import torch\ndef mlm_forward(x):\n"
HEAD = "import torch\ndef mlm_forward(x):\n    return "

DEEP = {
    "parentheses": "(" * 5000 + ")" * 5000,
    "lists": HEAD + "[" * 5000,
    "minus": HEAD + "-" * 2900 + "x",
    "not": HEAD + "not " * 2900 + "x",
    "sum": HEAD + " + ".join(["x"] * 50_000),
    "power": HEAD + "**".join(["x"] * 2000),
    "calls": HEAD + "x" + "()" * 2500,
    "subscripts": HEAD + "x" + "[0]" * 2500,
    "lambdas": HEAD + "lambda: " * 1000 + "x",
    "conditions": HEAD + "1 if x else " * 1000 + "x",
    "blocks": "".join(" " * depth + "if x:\n" for depth in range(99)) + " " * 99 + "pass",
    "functions": "".join(" " * depth + "def f():\n" for depth in range(99)) + " " * 99 + "pass",
    "fstrings": HEAD + "f'{" * 150,
    "patterns": "match x:\n    case " + "[" * 199 + "]" * 199 + ": pass",
    "attributes": HEAD + "x" + ".a" * 50_000,
    "comparisons": HEAD + " < ".join(["x"] * 5000),
    "decorators": "@f\n" * 5000 + "def mlm_forward(x): pass",
    "targets": "(" * 150 + "a" + ",)" * 150 + " = x",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_deep_nesting_ends_in_a_report(source: str) -> None:
    found: Any = analyze(source, RULES, ENTRY)
    if found["syntax_error"] is not None:
        assert found["syntax_error"]["message"]
        assert found["syntax_error"]["line"] >= 1


def test_too_deep_says_so_with_its_place() -> None:
    found: Any = analyze(HEAD + "-" * 1000 + "x", RULES, ENTRY)
    assert "nested too deeply" in found["syntax_error"]["message"]
    assert found["syntax_error"]["line"] == 3


@pytest.mark.parametrize(
    "source",
    [
        HEAD + "+".join(["x"] * 2000) + " + torch.softmax(x)",
        BODY + "".join(f"    if x == {i}: pass\n" for i in range(2000)) + "g = 1\n",
        "import torch\ndef mlm_forward(x):\n    if x == 0:\n        pass\n"
        + "    elif x == 1:\n        pass\n" * 1500
        + "    else:\n        torch.softmax(x)\n",
        HEAD + "f(" * 90 + "torch.softmax(x)" + ")" * 90,
        HEAD + "torch" + ".a" * 1000 + ".softmax",
        HEAD + "x.reshape(3)" * 1 + ".view(3)" * 80 + " + torch.softmax(x)",
    ],
)
def test_long_but_flat_code_is_read(source: str) -> None:
    found: Any = analyze(source, RULES, ENTRY)
    assert found["syntax_error"] is None
    assert ("softmax" in source) == bool(found["violations"])


def rules_of(source: str) -> set[str]:
    found: Any = analyze(source, RULES, ENTRY)
    assert found["syntax_error"] is None
    return {entry["rule"] for entry in found["suspicious"]}


def test_source_beyond_the_bound_is_reported_as_such() -> None:
    found: Any = analyze("mlm_forward = 1\n" + "a = 1\n" * 400_000, RULES, ENTRY)
    assert [entry["rule"] for entry in found["suspicious"]] == ["too_complex"]
    assert found["entry"]["defined"]
    assert found["syntax_error"] is None


def test_megabyte_of_comments_is_read_in_full() -> None:
    source = HEAD + "torch.softmax(x)\n" + "# a comment\n" * 90_000
    assert len(source) > 1_000_000
    found: Any = analyze(source, RULES, ENTRY)
    assert helpers(found["violations"]) == {"torch.softmax"}
    assert found["suspicious"] == []


def test_too_many_findings_are_cut_and_the_cut_is_reported() -> None:
    source = "import torch\ndef mlm_forward(x):\n" + "    torch.softmax(x)\n" * 1000
    found: Any = analyze(source, RULES, ENTRY)
    assert len(found["violations"]) == analysis.MOST_REPORTED
    assert "too_complex" in {entry["rule"] for entry in found["suspicious"]}


TRAPS = {
    "one_name_bound_very_often": "import torch\na = torch\n" + "if a: a = a or a\n" * 3000 + HEAD + "a.b(x)",
    "names_that_feed_each_other": "import torch\n"
    + "".join(f"a{i} = a{i * 7 % 300} or a{i * 13 % 300} or a{i + 1}\n" for i in range(300))
    + HEAD
    + "a1.b(x)",
    "stores_that_feed_each_other": "import torch\n" + "x.a = x.a\n" * 3000 + HEAD + "x.a.b(x)",
    "items_that_feed_each_other": "d = {}\n"
    + "".join(f"d[{i}] = d[{i + 1}]\n" for i in range(3000))
    + HEAD
    + "d[0]",
    "functions_that_call_each_other": "".join(
        f"def f{i}(x): return f{(i + 1) % 200}(f{i * 7 % 200}(x))\n" for i in range(200)
    )
    + HEAD
    + "f0(torch).b",
    "calls_of_one_function": "def f(x): return x.b\n" + "f(torch)\n" * 3000 + HEAD + "f(x)",
    "classes_in_a_chain": "class A0: pass\n"
    + "".join(f"class A{i}(A{i - 1}):\n    def b(self): self.b()\n" for i in range(1, 1000))
    + HEAD
    + "A999().b()",
    "starred_imports": "".join(f"from torch.m{i} import *\n" for i in range(500))
    + BODY
    + "".join(f"    z{i}\n" for i in range(500)),
    "members": "d = {" + ", ".join(f"{i}: torch.exp" for i in range(5000)) + "}\n" + HEAD + "d[x]",
    "texts": "".join(f"exec('a{i} = 1')\n" for i in range(500)) + HEAD + "a7",
    "lookups": BODY + "".join(f"    getattr(torch, 'n{i}' + x)\n" for i in range(2000)),
    "doubling": "a = 'a'\n" + "a = a + a\n" * 300 + HEAD + "getattr(torch, a)",
    "branching": "a = ''\n" + "".join(f"if x: a += '{i}'\n" for i in range(300)) + HEAD + "getattr(torch, a)",
    "doubling_calls": "".join(f"def f{i}(s): return f{i + 1}(s) + f{i + 1}(s)\n" for i in range(60))
    + "def f60(s): return s\n"
    + HEAD
    + "getattr(torch, f0('s'))",
    "recursion": "def f(s): return f(s + 'a')\n" + HEAD + "getattr(torch, f('s'))",
    "loops": HEAD
    + "getattr(torch, ''.join(c for a in range(2000) for b in range(2000) for c in 'abc' if 0))",
    "power": HEAD + "getattr(torch, str(9 ** 9 ** 9))",
    "shift": HEAD + "getattr(torch, str(1 << 10 ** 9))",
    "repetition": HEAD + "getattr(torch, 'a' * 10 ** 9)",
    "nested_repetition": "a = (1,) * 1000\nb = (a,) * 1000\nc = (b,) * 1000\n"
    + HEAD
    + "getattr(torch, str(c))",
    "width": HEAD + "getattr(torch, '{:>999999999}'.format('a'))",
    "width_from_an_argument": HEAD + "getattr(torch, '{:{}}'.format('a', 999999999))",
    "width_in_an_fstring": HEAD + "getattr(torch, f'{1:999999999}')",
    "percent_width": HEAD + "getattr(torch, '%999999999d' % 1)",
    "percent_star": HEAD + "getattr(torch, '%*d' % (999999999, 1))",
    "replacement": "a = 'a' * 2000\nb = a.replace('a', a)\n" + HEAD + "getattr(torch, b)",
    "joining": "a = 'a' * 2000\nb = a.join(a)\nc = b.join(b)\n" + HEAD + "getattr(torch, c)",
    "padding": HEAD + "getattr(torch, 'a'.zfill(10 ** 9))",
    "foreign_encoding": HEAD + "getattr(torch, 'a'.encode('idna').decode('punycode'))",
}


@pytest.mark.parametrize("source", TRAPS.values(), ids=TRAPS)
def test_work_stays_bounded(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolvers: list[names.Resolver] = []
    make = names.Resolver.__init__

    def remember(self: names.Resolver, *args: Any) -> None:
        make(self, *args)
        resolvers.append(self)

    monkeypatch.setattr(names.Resolver, "__init__", remember)
    found: Any = analyze(source, RULES, ENTRY)
    assert found["violations"] == []
    for resolver in resolvers:
        assert resolver._steps <= names.MOST_STEPS + 20_000
        assert resolver.texts._steps <= texts.MOST_STEPS + 1000


@pytest.mark.parametrize("name", ["one_name_bound_very_often", "starred_imports", "classes_in_a_chain"])
def test_bound_that_is_hit_is_reported(name: str) -> None:
    assert "too_complex" in rules_of(TRAPS[name])


@pytest.mark.parametrize("name", [name for name in TRAPS if "getattr(torch, " in TRAPS[name]])
def test_lookup_that_costs_too_much_counts_as_unknown(name: str) -> None:
    assert "unresolved_lookup" in rules_of(TRAPS[name])


def test_bound_on_resolution_is_reported_and_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "MOST_STEPS", 20)
    source = "import torch\ndef mlm_forward(x):\n    torch.softmax(x)\n" + "    x = torch.a(x).gelu\n" * 50
    found: Any = analyze(source, RULES, ENTRY)
    assert "torch.softmax" in helpers(found["violations"])
    assert "too_complex" in {entry["rule"] for entry in found["suspicious"]}


def test_recursion_error_inside_the_analysis_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: names.Resolver, node: object) -> None:
        raise RecursionError

    monkeypatch.setattr(names.Resolver, "resolve", fail)
    assert "too_complex" in rules_of("import torch\ndef mlm_forward(x):\n    return torch.softmax(x)\n")


def test_order_of_the_report_does_not_depend_on_hashes() -> None:
    source = "import torch\n" + "".join(
        f"class A{i}:\n    def f{i}(self): return torch.softmax(1)\n" for i in range(20)
    )
    source += HEAD + "[" + ", ".join(f"A{i}().f{i}()" for i in range(20)) + "]"
    first: Any = analyze(source, RULES, ENTRY)
    lines = [entry["line"] for entry in first["violations"]]
    assert lines == sorted(lines)
    assert len(lines) == 20
