"""Worked submissions: examples beside which the result stands that they must get.

``submissions/NAME/FILE.py`` has its expectation in ``FILE.expected.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, TypeAdapter

from grader.errors import Problem
from grader.exercise import yaml_source
from grader.exercise.fields import Model
from grader.exercise.near import did_you_mean
from grader.exercise.pack import Pack
from grader.exercise.source import shown, validate_document
from grader.exercise.yaml_source import Item, KeyPath
from grader.result import CaseResult, Result

ENDING = ".expected.yaml"


class ExpectedPolicy(Model):
    """What the policy check must say; each of ``lines`` must be among the lines it names."""

    status: Literal["clean", "violated", "suspicious"] = "clean"
    rules: list[str] = Field(default_factory=list)
    lines: list[int] = Field(default_factory=list)


class Expected(Model):
    """The result that a worked submission must get.

    ``full`` is full marks or more, as extra credit comes on top; ``partial`` and ``below_full`` are less.
    ``loses`` names clauses in each of which at least one case must fail, ``keeps`` clauses in which none
    may fail; a case that was skipped counts for neither. ``names`` are known mistakes that the report must
    name.
    """

    status: Literal["passed", "failed", "not_loadable"]
    score: Literal["full", "zero", "partial", "below_full"]
    loses: list[str] = Field(default_factory=list)
    keeps: list[str] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
    policy: ExpectedPolicy = ExpectedPolicy()


@dataclass(frozen=True)
class Worked:
    """One worked submission."""

    path: Path
    expected: Expected
    file: str
    item: Item


def read_worked(folder: Path, problems: list[Problem]) -> Iterator[Worked]:
    """The worked submissions of a folder; faults of their expectations are appended to ``problems``."""
    for beside in sorted(folder.glob(f"*{ENDING}")):
        if not beside.with_name(beside.name.removesuffix(ENDING) + ".py").is_file():
            problems.append(Problem(shown(beside), 0, "", "has no .py file beside it"))
    for path in sorted(folder.glob("*.py")):
        beside = path.with_name(path.stem + ENDING)
        if not beside.is_file():
            problems.append(Problem(shown(path), 0, "", f"has no {beside.name} beside it"))
            continue
        document = yaml_source.load(beside, shown(beside))
        expected = validate_document(TypeAdapter(Expected), document, document.data, (), problems)
        if expected is not None:
            yield Worked(path, expected, shown(beside), Item(document, ()))


class Disagreement(NamedTuple):
    """The key of an expectation that is not met, and in what."""

    key: KeyPath
    message: str


def unknown_names(expected: Expected, pack: Pack) -> list[Disagreement]:
    """Clauses, mistakes and rules that an expectation names though the exercise has none of that name."""
    clauses = list(pack.exercise.clauses)
    mistakes = [one.id for one in pack.known.mistakes]
    rules = [rule["id"] for rule in pack.exercise.policy.get("rules", [])]
    found = [
        Disagreement((key, number), f"unknown clause {c!r}{did_you_mean(c, clauses)}")
        for key, named in (("loses", expected.loses), ("keeps", expected.keeps))
        for number, c in enumerate(named)
        if c not in clauses
    ]
    found += [
        Disagreement(("names", number), f"unknown mistake {m!r}{did_you_mean(m, mistakes)}")
        for number, m in enumerate(expected.names)
        if m not in mistakes
    ]
    return found + [
        Disagreement(("policy", "rules", number), f"unknown rule {r!r}{did_you_mean(r, rules)}")
        for number, r in enumerate(expected.policy.rules)
        if r not in rules
    ]


def failing_clauses(cases: tuple[CaseResult, ...]) -> set[str]:
    """Clauses with at least one case that was judged and did not pass."""
    return {c.clause for c in cases if c.failed}


def disagreements(expected: Expected, result: Result) -> list[Disagreement]:
    """In what a result is not the expected one; empty when it is."""
    found: list[Disagreement] = []

    def disagree(message: str, *key: str | int) -> None:
        found.append(Disagreement(key, message))

    if result.status != expected.status:
        disagree(f"status {result.status}, expected {expected.status} ({result.message})", "status")
    score, full = result.score or 0.0, result.max_score
    fits, meant = {
        "full": (score >= full, f"full ({full:g} or more)"),
        "zero": (score == 0, "zero"),
        "partial": (0 < score < full, f"partial (more than 0 and less than {full:g})"),
        "below_full": (score < full, f"below full (less than {full:g})"),
    }[expected.score]
    if not fits:
        disagree(f"score {score:g} of {full:g}, expected {meant}", "score")
    failing = failing_clauses(result.cases)
    for number, clause in enumerate(expected.loses):
        if clause not in failing:
            disagree(f"loses nothing in the clause {clause}", "loses", number)
    for number, clause in enumerate(expected.keeps):
        if clause in failing:
            disagree(f"loses points in the clause {clause}, which it should keep", "keeps", number)
    named = {one for record in result.diagnoses for one in record.get("ids", ())}
    for number, mistake in enumerate(expected.names):
        if mistake not in named:
            disagree(f"the report does not name the mistake {mistake}", "names", number)
    if result.policy.status != expected.policy.status:
        disagree(f"policy {result.policy.status}, expected {expected.policy.status}", "policy", "status")
    rules = {v.rule for v in result.policy.violations}
    lines = {v.line for v in result.policy.violations}
    for number, rule in enumerate(expected.policy.rules):
        if rule not in rules:
            disagree(f"no violation of the rule {rule}", "policy", "rules", number)
    for number, line in enumerate(expected.policy.lines):
        if line not in lines:
            disagree(f"no violation named in line {line}", "policy", "lines", number)
    return found
