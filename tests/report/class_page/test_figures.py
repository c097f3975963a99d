"""Every figure of a class's page is what a plain count of its results.jsonl gives."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page
from samples import CLAUSES, cases, class_of, every_kind, result

from grader.people import Person
from grader.report.class_page.view import class_rows
from grader.report.html import page_of_rows
from grader.report.tables import jsonl
from grader.result import Isolation, PolicyResult, Result, SubmissionInfo, Timing

KINDS = every_kind()
UNJUDGED = ("passed", "skipped", "grader_fault")
VERDICTS = ("passed", "wrong_value", "raised", "skipped")
FULL = 10.0
FEW = 10


@st.composite
def records(draw: st.DrawFn) -> list[Result]:
    """A class that shares its cases, with scores below zero and beyond the full marks."""
    known = cases()[: draw(st.integers(1, 8))]
    made = []
    for number in range(draw(st.integers(0, 25))):
        who = SubmissionInfo(f"s{number}", f"S {number}", (f"S {number}",), "", str(number))
        status = draw(
            st.sampled_from(("passed", "failed", "failed", "failed", "not_loadable", "grader_fault"))
        )
        more: dict[str, Any] = {
            "submission": who,
            "status": status,
            "isolation": Isolation(draw(st.sampled_from(("full", "partial", "none"))), ()),
            "timing": Timing(draw(st.integers(0, 99_999)) / 10_000, 0.0),
            "policy": PolicyResult(
                draw(st.sampled_from(("clean", "clean", "violated", "suspicious"))), (), ()
            ),
            "max_score": FULL,
            "score": None if status == "grader_fault" else draw(st.integers(-20, 60)) / 4,
            "cases": (),
        }
        if status in ("passed", "failed"):
            judged = st.sampled_from(VERDICTS[:1] if status == "passed" else VERDICTS)
            more["cases"] = tuple([replace(case, verdict=draw(judged)) for case in known])
        made.append(result(**more))
    return made


def plain(text: str) -> str:
    return " ".join(text.split())


def shown(value: float) -> str:
    """Points as people write them, by another way than the page's."""
    rounded = round(value, 4)
    text = str(int(rounded)) if rounded == int(rounded) else str(rounded)
    return text.replace("-", "\N{MINUS SIGN}")


def head_of(page: Page, *head: str) -> list[list[str]]:
    """The rows of the table whose head begins so; none where there is no such table."""
    found = [t for t in page.tables if t[0][: len(head)] == list(head)]
    return [[plain(cell) for cell in row] for row in found[0][1:]] if found else []


def verify(made: list[Result], missing: int) -> None:
    """Count the lines as somebody would who has nothing else, and look for each count on the page."""
    lines = [json.loads(line) for line in "".join(jsonl(made)).splitlines()]
    source = page_of_rows(class_rows(made), missing=[Person(f"M {k}") for k in range(missing)])
    # On the screen a tile's figure stands below its name.
    page = Page(source.replace("</dt>", "</dt> "))
    numbers = plain(page.text.partition("In numbers")[2])
    status = Counter(line["status"] for line in lines)
    scores = [line["score"] for line in lines if line["score"] is not None]
    tiles = [f"Submission{'s' * (len(lines) != 1)} {len(lines)}"]
    tiles += [f"Handed in nothing {missing}"] if missing else []
    signs = {
        "passed": "✓ Full marks",
        "failed": "✗ Not full marks",
        "not_loadable": "! Not loadable",
        "grader_fault": "? Grader fault",
    }
    tiles += [f"{told} {status[name]}" for name, told in signs.items()]
    if scores:
        full = shown(max(line["max_score"] for line in lines))
        mean = shown(round(statistics.fmean(scores), 2))
        tiles += [f"Median {shown(statistics.median(scores))} / {full}", f"Mean {mean} / {full}"]
    assert numbers.startswith(" ".join(tiles))

    bins = [0] * 11
    for line in lines:
        if line["score"] is not None:
            bins[min(10, max(0, int(10 * line["score"] / line["max_score"])))] += 1
    assert [int(row[1]) for row in head_of(page, "Share of the full marks")] == (bins if scores else [])

    table = head_of(page, "Name")
    assert len(table) == min(len(lines), 25)
    for row, line in zip(table, lines, strict=False):
        failed = sum(case["verdict"] not in UNJUDGED for case in line["cases"])
        judged = failed + sum(case["verdict"] == "passed" for case in line["cases"])
        assert row[3] == ("–" if line["score"] is None else shown(line["score"]))
        assert row[5] == (f"{failed} / {judged}" if judged else "–")
        assert row[6].split()[-1] == line["policy"]["status"]
        assert row[-1] == f"{line['timing']['wall_s']:.3f}"

    examined = [line for line in lines if line["status"] in ("passed", "failed")]
    broken = Counter(
        clause
        for line in examined
        for clause in {case["clause"] for case in line["cases"] if case["verdict"] not in UNJUDGED}
    )
    found = {row[0]: row[1] for row in head_of(page, "Clause", "Submissions that fail it")}
    percents = {clause: round(100 * count / len(examined)) for clause, count in broken.items()}
    assert found == {
        CLAUSES[clause]: f"{count} of {len(examined)} {percents[clause]} %"
        for clause, count in broken.items()
    }

    checks = {row[0]: row[2:5] for row in head_of(page, "Check")}
    marks: dict[str, dict[str, list[float]]] = {}
    for line in examined:
        passed = sum(case["verdict"] == "passed" for case in line["cases"])
        for case in line["cases"]:
            if case["verdict"] in ("skipped", "grader_fault"):
                continue
            told = f"{case['title']} {case['id']}".strip() + (
                " hidden" if case["visibility"] == "hidden" else ""
            )
            one = marks.setdefault(told, {"passed": [], "others": []})
            one["passed"].append(case["verdict"] == "passed")
            one["others"].append(passed - (case["verdict"] == "passed"))
    assert checks.keys() == marks.keys()
    negative = nobody = 0
    for told, one in marks.items():
        right, judged = int(sum(one["passed"])), len(one["passed"])
        share, figure, flag = checks[told]
        assert share == f"{right} of {judged} {round(100 * right / judged)} %"
        defined = judged >= FEW and 0 < right < judged and len(set(one["others"])) > 1
        correlation = np.corrcoef(one["passed"], one["others"])[0, 1] if defined else 0.0
        if defined:
            assert float(figure.replace("\N{MINUS SIGN}", "-")) == pytest.approx(correlation, abs=0.00501)
        else:
            assert figure == "–"
        bound = max(0.1, 2 / max(judged - 1, 1) ** 0.5)
        if abs(correlation + bound) > 1e-9:
            assert (flag == "Strong submissions fail it more often than weak ones") == (correlation < -bound)
        assert (flag == "Nobody passes") == (right == 0)
        assert (flag == "Everybody passes") == (right == judged)
        negative += flag.startswith("Strong")
        nobody += right == 0

    alike = sum(int(row[2]) for row in head_of(page, "What they have in common"))
    alone = re.search(r"(\d+) submissions? fails? like no other", plain(page.text))
    failing = sum(any(case["verdict"] not in UNJUDGED for case in line["cases"]) for line in lines)
    assert alike + int(alone[1]) == failing if alone else alike == 0

    policy = Counter(line["policy"]["status"] for line in lines)
    for count, words in (
        (status["not_loadable"], "files? that can’t be loaded"),
        (policy["suspicious"], "sources? with suspicions"),
        (policy["violated"], "sources? with a banned helper"),
        (negative, "checks? that strong submissions fail more often"),
        (nobody, "checks? that nobody passes"),
    ):
        assert re.findall(rf"(\d+) {words}", numbers) == ([str(count)] if count else [])
    levels = Counter(line["isolation"]["level"] for line in lines)
    said = re.findall(r"(full|partial|none) for (\d+) submission", plain(page.text.partition("What ran")[2]))
    assert {level: int(count) for level, count in said} == levels


@settings(max_examples=60)
@given(records(), st.integers(0, 3))
def test_the_figures_of_any_class_are_those_of_its_records(made: list[Result], missing: int) -> None:
    verify(made, missing)


@pytest.mark.parametrize("size", [1, 24, 300])
def test_the_figures_of_a_class_are_those_of_its_records(size: int) -> None:
    verify(class_of(size), 2)
