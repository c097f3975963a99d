"""Properties: whatever way a helper takes to its use, it is found; own code is never accused."""

from __future__ import annotations

import ast
import json
import string
import textwrap
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from policy_samples import ENTRY, RULES, helpers
from test_policy_clean import CLEAN, NOTED
from test_policy_violations import CASES

from grader.policy.analysis import analyze

# No test here is about time: a busy machine must not fail one.
common = settings(deadline=None)
thorough = settings(common, suppress_health_check=[HealthCheck.too_slow], max_examples=200)

names = st.text(string.ascii_lowercase, min_size=2, max_size=5).map(lambda text: f"v_{text}")

# Each step takes an expression and gives statements and an expression that stands for the same.
STEPS = {
    "name": "{n} = {e}",
    "chain": "{n} = {m} = {e}",
    "unpacking": "{n}, {m} = {e}, 1",
    "starred": "*{m}, {n} = 1, 2, {e}",
    "walrus": "({n} := {e})",
    "annotated": "{n}: object = {e}",
    "conditional": "{n} = {e} if {m}_ else None",
    "branch": "if 1 < 2:\n    {n} = {e}\nelse:\n    {n} = None",
    "attempt": "try:\n    {n} = {e}\nexcept Exception:\n    {n} = None",
    "loop": "for {n} in ({e},):\n    pass",
    "listed": "{m} = [{e}, 1]\n{n} = {m}[0]",
    "dictionary": "{m} = {{'k': {e}}}\n{n} = {m}['k']",
    "nested": "{m} = {{'k': [({e},)]}}\n{n} = {m}['k'][0][0]",
    "stored": "{m} = {{}}\n{m}['k'] = {e}\n{n} = {m}['k']",
    "appended": "{m} = []\n{m}.append({e})\n{n} = {m}[-1]",
    "grown": "{m} = []\n{m} += [{e}]\n{n} = {m}[0]",
    "function": "def {m}():\n    return {e}\n{n} = {m}()",
    "identity": "def {m}(a):\n    return a\n{n} = {m}({e})",
    "default": "def {m}(a={e}):\n    return a\n{n} = {m}()",
    "keyword": "def {m}(*, a):\n    return a\n{n} = {m}(a={e})",
    "lambda": "{n} = (lambda: {e})()",
    "class": "class {m}:\n    k = {e}\n{n} = {m}.k",
    "instance": "class {m}:\n    def __init__(self, a):\n        self.k = a\n{n} = {m}({e}).k",
    "method": "class {m}:\n    def get(self):\n        return {e}\n{n} = {m}().get()",
    "namespace": "import types\n{m} = types.SimpleNamespace(k={e})\n{n} = {m}.k",
    "comprehension": "{n} = [{m} for {m} in [{e}]][0]",
    "next": "{n} = next(iter([{e}]))",
    "zip": "for {m}, {n} in zip([1], [{e}]):\n    pass",
    "globals": "globals()['{n}'] = {e}",
    "partial": "import functools\n{n} = functools.partial({e})",
    "with": "import contextlib\nwith contextlib.nullcontext({e}) as {n}:\n    pass",
    "or": "{n} = None or {e}",
}
# Ways that keep it unknown what the value is, so that only code that names the helper is found.
OPAQUE = frozenset({"namespace", "partial"})


@st.composite
def roads(draw: st.DrawFn, steps: list[str], start: str) -> tuple[list[str], str]:
    chosen = draw(st.lists(st.sampled_from(steps), min_size=1, max_size=4))
    used = iter(draw(st.lists(names, min_size=8, max_size=8, unique=True)))
    lines: list[str] = []
    expression = start
    for step in chosen:
        n, m = next(used), next(used)
        lines.extend(STEPS[step].format(n=n, m=m, e=expression).split("\n"))
        expression = n
    return lines, expression


def placed(lines: list[str], last: str, *, inside: bool) -> str:
    if inside:
        body = "".join(f"    {line}\n" for line in lines)
        return f"import torch\ndef mlm_forward(x):\n{body}    return {last}\n"
    return "import torch\n" + "\n".join(lines) + f"\ndef mlm_forward(x):\n    return {last}\n"


@common
@given(roads(sorted(STEPS), "torch.softmax"), st.booleans())
def test_helper_is_found_whatever_way_it_takes(road: tuple[list[str], str], inside: bool) -> None:
    lines, expression = road
    source = placed(lines, f"{expression}(x, -1)", inside=inside)
    found: Any = analyze(source, RULES, ENTRY)
    assert helpers(found["violations"]) == {"torch.softmax"}, source
    line = next(i for i, text in enumerate(source.split("\n"), 1) if "torch.softmax" in text)
    assert found["violations"][0]["line"] == line


@common
@given(roads(sorted(set(STEPS) - OPAQUE), "torch"), st.booleans())
def test_library_is_known_whatever_way_it_takes(road: tuple[list[str], str], inside: bool) -> None:
    lines, expression = road
    source = placed(lines, f"{expression}.nn.GELU()(x)", inside=inside)
    found: Any = analyze(source, RULES, ENTRY)
    assert helpers(found["violations"]) == {"torch.nn.GELU"}, source


@common
@given(roads(sorted(STEPS), "softmax"), st.booleans())
def test_own_function_is_clean_whatever_way_it_takes(road: tuple[list[str], str], inside: bool) -> None:
    lines, expression = road
    own = ["def softmax(a, d=0):", "    return torch.exp(a) / torch.exp(a).sum(d)"]
    source = placed([*own, *lines], f"{expression}(x, -1)", inside=inside)
    found: Any = analyze(source, RULES, ENTRY)
    assert found["violations"] == [], source
    assert found["notes"] == [], source


@common
@given(roads(sorted(STEPS), "torch.softmax"))
def test_same_way_in_a_function_that_nothing_calls_is_a_note(road: tuple[list[str], str]) -> None:
    lines, expression = road
    if any("globals" in line for line in lines):
        return
    body = "".join(f"    {line}\n" for line in lines)
    source = (
        f"import torch\ndef check(x):\n{body}    return {expression}(x)\ndef mlm_forward(x):\n    return x\n"
    )
    found: Any = analyze(source, RULES, ENTRY)
    assert found["violations"] == [], source
    assert helpers(found["notes"]) == {"torch.softmax"}


@common
@given(st.sampled_from(["softmax", "relu", "nn.GELU", "nn.functional.gelu"]), st.data())
def test_name_cut_into_pieces_is_put_together_again(name: str, data: st.DataObject) -> None:
    path, _, last = name.rpartition(".")
    base = f"torch.{path}" if path else "torch"
    expression = repr(last)
    for _ in range(data.draw(st.integers(0, 4))):
        cut = data.draw(st.integers(0, len(last)))
        how = data.draw(st.integers(0, 6))
        expression = [
            f"{last[:cut]!r} + {last[cut:]!r}",
            f"{last[::-1]!r}[::-1]",
            f"''.join({list(last)!r})",
            f"'%s' % ({expression})",
            f"'{{}}{{}}'.format({last[:cut]!r}, {last[cut:]!r})",
            f"bytes({list(last.encode())!r}).decode()",
            f'f"{{{last[:cut]!r}}}" + {last[cut:]!r}',
        ][how]
    source = f"import torch\ndef mlm_forward(x):\n    return getattr({base}, {expression})(x)\n"
    found: Any = analyze(source, RULES, ENTRY)
    assert helpers(found["violations"]) == {f"{base}.{last}"}, source


@common
@given(st.integers(0, 400), st.integers(0, 30), st.text("é∑𝓈 a", max_size=6))
def test_place_counts_lines_and_characters(blank: int, indent: int, text: str) -> None:
    before = f"y = {text!r}; "
    source = "import torch\n" + "\n" * blank + "def mlm_forward(x):\n"
    source += " " * (indent + 1) + before + "return torch.softmax(x)\n"
    found: Any = analyze(source, RULES, ENTRY)
    (entry,) = found["violations"]
    assert (entry["line"], entry["column"]) == (blank + 3, indent + 2 + len(before) + len("return "))


def check_form(found: Any) -> None:
    json.dumps(found)
    for kind in ("violations", "suspicious", "notes"):
        order = [(entry["line"], entry["column"]) for entry in found[kind]]
        assert order == sorted(order)
        assert all(line >= 1 and column >= 1 for line, column in order)
    if found["syntax_error"] is not None:
        assert found["violations"] == []


@common
@given(st.text(max_size=200))
@example("\0")
@example("\ud800")
@example("\ufeff\ufeff")
@example("return torch.softmax")
@example("yield; await x; nonlocal a; global b")
@example("def f(a, a): pass")
@example("class A(A): A = A.A")
@example("def mlm_forward(x): global x; nonlocal y")
@example("import torch\ndef mlm_forward(x):\n    global act\n    return act(torch.exp(x))")
@example("import torch\nx: int\nclass mlm_forward:\n    y: int\n    z = y, x, torch.softmax")
@example("lambda: (yield)")
@example("import torch\nmlm_forward = mlm_forward.mlm_forward(mlm_forward)")
@example("from torch import *\nmlm_forward = softmax = softmax")
@example("[x := 1 for x in y]")
@example("del x, (y, [z]), a.b, c[d]")
@example("(a.b): int = torch\nc[0]: int = 3")
def test_any_text_gets_a_report(source: str) -> None:
    check_form(analyze(source, RULES, ENTRY))


SAMPLES = [source for _, source in (*CASES.values(), *NOTED.values())] + list(CLEAN.values())
SAMPLES = [source.replace("¤", "") for source in SAMPLES if len(source) < 2000]
SAMPLES.extend(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


@thorough
@given(st.sampled_from([s for s in SAMPLES if len(s) < 2000]), st.data())
def test_damaged_source_gets_a_report(source: str, data: st.DataObject) -> None:
    lines = source.split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        other = data.draw(st.integers(0, len(lines) - 1))
        match data.draw(st.integers(0, 4)):
            case 0:
                del lines[at : at + 1]
                lines = lines or [""]
            case 1:
                lines[at], lines[other % len(lines)] = lines[other % len(lines)], lines[at]
            case 2:
                lines.insert(at, lines[other])
            case 3:
                cut = data.draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + data.draw(st.sampled_from("()[]{}:.,*=")) + lines[at][cut:]
            case 4:
                lines[at] = lines[at].replace("torch", "x", 1).replace("x", "torch", 1)
    check_form(analyze("\n".join(lines), RULES, ENTRY))


@thorough
@given(st.sampled_from([s for s in SAMPLES if len(s) < 2000]), st.data())
def test_mixed_trees_get_a_report(source: str, data: st.DataObject) -> None:
    """Expressions moved to other places make code that nobody would write and Python still reads."""
    tree = ast.parse(textwrap.dedent(source).lstrip("\n"))
    spots = [
        (node, field, at)
        for node in ast.walk(tree)
        for field, value in ast.iter_fields(node)
        for at, item in enumerate(value if isinstance(value, list) else [value])
        if isinstance(item, ast.expr) and not isinstance(getattr(item, "ctx", None), ast.Store | ast.Del)
    ]
    for _ in range(data.draw(st.integers(1, 4))):
        if not spots:
            return
        node, field, at = data.draw(st.sampled_from(spots))
        other, other_field, other_at = data.draw(st.sampled_from(spots))
        taken = getattr(other, other_field)
        taken = taken[other_at] if isinstance(taken, list) else taken
        if any(inner is node for inner in ast.walk(taken)):
            continue
        if isinstance(getattr(node, field), list):
            getattr(node, field)[at] = taken
        else:
            setattr(node, field, taken)
    try:
        mixed = ast.unparse(tree)
    except (ValueError, AttributeError, TypeError):
        return
    check_form(analyze(mixed, RULES, ENTRY))


def test_sources_of_this_package_get_a_report() -> None:
    for path in sorted((Path(__file__).parents[2] / "grader" / "policy").glob("*.py")):
        found: Any = analyze(path.read_text(encoding="utf-8"), RULES, "analyze")
        assert found["syntax_error"] is None
        assert found["violations"] == []
