"""The pages of ``grader explain`` in a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console, RenderableType

from grader.report.terminal.console import show
from grader.report.terminal.explain import EFFECTS, explanation, overview

MISTAKE: dict[str, Any] = {
    "kind": "mistake",
    "id": "sum_kept",
    "title": "The sum is not divided",
    "clause": "mean",
    "clause_title": "Mean",
    "what": "Each row is summed\nand returned as it is.",
    "why": "The mean is the sum divided by the number of columns.",
    "looks": "sums = x.sum(axis=1)\nreturn sums",
    "instead": "return x.mean(axis=1)",
    "small": False,
    "caught_by": [{"id": "two_rows", "title": "Two rows of three"}],
    "hidden": 2,
    "example": {
        "dims": {"N": 1, "D": 2},
        "inputs": [{"name": "x", "dtype": "float64", "shape": [1, 2], "values": [[0.0, 1.0]]}],
        "expected": [0.5],
        "trace": None,
    },
}
CASE: dict[str, Any] = {
    "kind": "case",
    "id": "two_rows",
    "title": "Two rows of three",
    "clause": "mean",
    "clause_title": "Mean",
    "clause_text": "Each row is summed and divided by its length.",
    "group": "basics",
    "visibility": "public",
    "points": 1,
    "extra": False,
    "drawn": False,
    "requires": [],
    "hint": "Divide by the number of columns.",
    "check": "compare",
    "asks": "The answer is compared with the expected one, element by element.",
    "dims": {"N": 2, "D": 3},
    "inputs": [
        {"name": "x", "dtype": "float64", "shape": [2, 3], "values": [[1.0, 2.0, 3.0], [0.0, 0.0, 3.0]]}
    ],
    "changes": [],
    "shape": [2],
    "tolerance": 1e-6,
    "allowed": 2e-6,
    "catches": [{"id": "sum_kept", "title": "The sum is not divided"}],
    "expected": [2.0, 1.0],
}
RULE: dict[str, Any] = {
    "kind": "rule",
    "id": "mean",
    "title": "Mean helpers",
    "what": "A library computes the mean.",
    "why": "It is the exercise.",
    "looks": "np.mean(x)",
    "instead": "divide the sum",
    "names": ["numpy.*mean"],
    "methods": ["mean"],
    "effect": {"no_points": True},
}
CLAUSE: dict[str, Any] = {
    "kind": "clause",
    "id": "mean",
    "title": "Mean",
    "text": "Each row is summed and divided by its length.",
    "points": 3,
    "cases": [{"id": "two_rows", "title": "Two rows of three"}],
    "hidden": 1,
    "mistakes": [{"id": "sum_kept", "title": "The sum is not divided"}],
}
VERDICT: dict[str, Any] = {
    "kind": "verdict",
    "id": "raised",
    "title": "A call ends in an exception",
    "what": "It raises.",
    "why": "It should not.",
    "looks": "",
    "instead": "Look at the traceback.",
}


def printed(content: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    show(Console(file=file, width=width, color_system=None, highlight=False), content)
    return file.getvalue()


def test_a_mistake_has_four_sections_in_their_order_and_code_keeps_its_lines() -> None:
    text = printed(explanation([MISTAKE]))
    headings = ["What it does", "Why it is wrong", "How it looks", "What to write instead"]
    places = [text.index(f"\n{heading}\n") for heading in headings]
    assert places == sorted(places)
    assert "  Each row is summed and returned as it is.\n" in text
    assert "  sums = x.sum(axis=1)\n  return sums\n" in text
    assert "two_rows  Two rows of three" in text and "and 2 hidden ones" in text
    assert "x = [[0, 1]]" in text and "0.5" in text


def test_a_mistake_inside_rounding_says_that_it_costs_nothing() -> None:
    said = "Its errors stay inside the tolerances"
    assert said in printed(explanation([MISTAKE | {"small": True, "caught_by": [], "hidden": 0}]))
    assert said not in printed(explanation([MISTAKE]))


def test_a_case_says_what_it_asks_and_how_to_run_it() -> None:
    text = printed(explanation([CASE], "grader check solution.py"))
    for part in (
        "check of the clause Mean (mean), 1 point\n",
        "N = 2, D = 3",
        "x = [[1, 2, 3], [0, 0, 3]]",
        "a difference of 2e-06",
        "Divide by the number of columns.",
        "sum_kept  The sum is not divided",
        "grader check solution.py --case two_rows\n",
    ):
        assert part in text
    assert "requires" not in text, "what is not there has no line"


def test_a_hidden_case_says_so() -> None:
    text = printed(explanation([CASE | {"visibility": "hidden"}]))
    assert "hidden check of the clause" in text and "Students see its clause and verdict" in text
    assert "Students" not in printed(explanation([CASE]))


@pytest.mark.parametrize("effect", [{"no_points": True}, {"deduct": 2.0}, {"cap": 10}, {"note": True}])
def test_a_rule_says_what_a_violation_costs(effect: dict[str, Any]) -> None:
    text = printed(explanation([RULE | {"effect": effect}]))
    ((key, amount),) = effect.items()
    assert EFFECTS[key].format(amount if isinstance(amount, int) else 2) in text
    assert (
        "numpy.*mean (* stands for anything)" in text and "What to write instead\n  Divide the sum.\n" in text
    )


def test_topics_of_one_name_stand_below_each_other() -> None:
    text = printed(explanation([CLAUSE, RULE]))
    assert (
        text.index("clause of the statement") < text.index("\n\nmean  Mean helpers") < text.index("rule of")
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_window(width: int) -> None:
    listed = [{key: t[key] for key in ("kind", "id", "title", "clause") if key in t} for t in TOPICS]
    text = printed(explanation(TOPICS, "grader check solution.py"), width)
    text += printed(overview("row_mean", "Mean of each row", listed), width)
    wide = [line for line in text.splitlines() if len(line) > width]
    assert [line for line in wide if not line.startswith("run it: ")] == []
    assert "run it: grader check solution.py --case two_rows\n" in text, "in one piece, to be copied"
    assert not [line for line in text.splitlines() if line != line.rstrip()]


TOPICS = [CLAUSE, CASE, MISTAKE, RULE, VERDICT]


def test_the_overview_counts_checks_and_mistakes() -> None:
    listed = [{key: t[key] for key in ("kind", "id", "title", "clause") if key in t} for t in TOPICS]
    text = printed(overview("row_mean", "Mean of each row", listed))
    assert "mean  Mean       1         1\n" in text
    assert "rules of the policy: mean\n" in text and "verdicts: raised\n" in text


def test_what_an_author_wrote_acts_on_no_terminal() -> None:
    evil = "\x1b[31mred\x1b[0m [bold]x[/bold]\x07"
    for topic in TOPICS:
        texts = {
            k: evil
            for k, v in topic.items()
            if isinstance(v, str) and k not in ("kind", "check", "visibility")
        }
        text = printed(explanation([topic | texts]))
        assert "\x1b" not in text and "\x07" not in text and "[bold]x[/bold]" in text
