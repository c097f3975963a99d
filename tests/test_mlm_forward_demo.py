"""What ``grader demo mlm_forward`` shows is what the reference does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.authoring.demo import demonstration_of
from grader.demonstration import Demonstration, Matrix
from grader.exercise.reference import load_entry, load_module
from grader.exercise.source import load

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "reference" / "mlm_forward"


@pytest.fixture(scope="module")
def demo() -> Any:
    return load_module(REFERENCE, "demo")


@pytest.fixture(scope="module")
def shown() -> Demonstration:
    return demonstration_of(load(ROOT / "cases" / "mlm_forward"))


def attention(demonstration: Demonstration) -> list[Matrix]:
    return [m for e in demonstration.examples for m in e.matrices if m.scale == (0, 1)]


def matrix(demonstration: Demonstration, example: str, at: int) -> Any:
    (found,) = [e for e in demonstration.examples if e.id == example]
    return np.array(found.matrices[at].values)


def test_every_row_of_attention_is_a_distribution_over_the_keys(shown: Demonstration) -> None:
    tables = attention(shown)
    assert len(tables) == 10
    for table in tables:
        values = np.array(table.values)
        assert values.shape == (5, 5) and (values > 0).all()
        np.testing.assert_allclose(values.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_the_logits_that_are_shown_are_the_answers_of_the_reference(shown: Demonstration, demo: Any) -> None:
    entry = load_entry(REFERENCE, "model", "mlm_forward")
    crosscheck = load_entry(REFERENCE, "crosscheck", "mlm_forward")
    for example, at, selected in (
        ("selection", 0, (1, 3)),
        ("selection", 1, (0, 1, 4)),
        ("logits", 0, range(5)),
    ):
        call = demo.arguments(demo.IDS, tuple(selected), 2)
        answer = matrix(shown, example, at)
        np.testing.assert_array_equal(answer, entry(*call))
        np.testing.assert_allclose(answer, np.asarray(crosscheck(*call)), rtol=0, atol=1e-9)


def test_the_change_that_is_shown_is_that_of_the_answers(shown: Demonstration, demo: Any) -> None:
    entry = load_entry(REFERENCE, "model", "mlm_forward")
    one, other = (entry(*demo.arguments(ids, tuple(range(5)), 2)) for ids in (demo.IDS, (2, 0, 4, 0, 2)))
    change = matrix(shown, "logits", 1)
    np.testing.assert_array_equal(change, other - one)
    # Earlier positions read a later one.
    assert np.abs(change[:4]).max(axis=1).min() > 0.01


def test_what_the_notes_say_is_so(shown: Demonstration) -> None:
    token, near = matrix(shown, "attention", 0), matrix(shown, "attention", 1)
    assert token[1, 1] == pytest.approx(token[1, 3]) and token[1, [1, 3]].sum() > 0.9
    assert token[2].argmin() == 4 and token[2, 4] < 0.01
    for query in range(5):
        order = np.argsort(-near[query], kind="stable")
        assert sorted(abs(order - query)) == list(abs(order - query))
    first, second = matrix(shown, "selection", 0), matrix(shown, "selection", 1)
    np.testing.assert_array_equal(first[0], second[1])
    assert list(matrix(shown, "logits", 0).argmax(axis=1)) == [2, 0, 4, 0, 5]
    before, after = matrix(shown, "logits", 2), matrix(shown, "logits", 3)
    assert before[0, 0] > 0.8 and after[0, 0] == pytest.approx(after[0, 4]) and after[0, 0] > 0.4
    half = matrix(shown, "heads", 1)
    # Half of a pattern can't tell id 0 from id 4.
    assert half[1, 1] == pytest.approx(half[1, 2])


def test_other_heads_have_other_attention(shown: Demonstration) -> None:
    two, one = matrix(shown, "attention", 0), matrix(shown, "heads", 0)
    assert np.abs(two - one).max() > 0.1
