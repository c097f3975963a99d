"""Every key of a command's JSON document stands in docs/json.md, below the heading of its document."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.commands import ROOT, Done, grader

PAGE = (ROOT / "docs" / "json.md").read_text("utf-8")


def keys_below(heading: str) -> set[str]:
    """The keys that a part of the page names."""
    return set(re.findall(r"`(\w+)`", PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]))


def keys_of_kind(kind: str) -> set[str]:
    """The keys that the page's table names for a kind of topic."""
    (row,) = re.findall(rf"^\| `{kind}` \| (.*) \|$", PAGE, re.M)
    return {"kind", "id", "title"} | set(re.findall(r"`(\w+)`", row))


def assert_told(document: dict[str, Any], heading: str) -> None:
    assert f"`{document['schema']}`" in PAGE
    assert document.keys() - {"schema"} <= keys_below(heading)


def test_records_and_intake(home: Path) -> None:
    for name in ("right", "wrong", "syntax"):
        (record,) = grader("check", f"class/{name}.py", "--json", cwd=home).json
        assert_told(record, "A Result record")
    assert_told(grader("intake", "class", "--json", cwd=home).json, "Intake")


def test_a_run_of_a_class(graded: tuple[Done, Path]) -> None:
    assert_told(graded[0].json, "A run of a class")


def test_a_validation(home: Path) -> None:
    assert_told(grader("validate", "--fast", "--json", cwd=home).json, "A validation")


def test_a_demonstration(home: Path) -> None:
    document = grader("demo", "--json", cwd=home).json
    assert_told(document, "A demonstration")
    for example in document["examples"]:
        assert example.keys() <= keys_below("A demonstration")
        for part in (*example["matrices"], *example["vectors"], *example["metrics"]):
            assert part.keys() <= keys_below("A demonstration")


@pytest.mark.parametrize("name", ["scale", "ones_row", "product_helpers", "wrong_value"])
def test_explanations(home: Path, name: str) -> None:
    document = grader("explain", name, "--json", cwd=home).json
    assert_told(document, "Explanations")
    for topic in document["topics"]:
        assert topic.keys() == keys_of_kind(topic["kind"])


def test_the_explanation_of_a_mistake() -> None:
    (topic,) = grader("explain", "causal_mask", "--json", cwd=ROOT).json["topics"]
    assert topic["kind"] == "mistake" and topic.keys() == keys_of_kind("mistake")
