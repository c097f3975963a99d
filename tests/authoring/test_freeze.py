"""Freezing: drawn cases on which honest runs differ much are replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.small import load_source, write_exercise

from grader.authoring import freeze as freezing
from grader.exercise.models import RandomCases


def batches(root: Path) -> dict[str, list[dict[str, int]]]:
    """The dims of each batch's members."""
    frozen = freezing.freeze(load_source(root))
    return {name: [d.dims for d in members] for name, members in frozen.batches.items()}


@pytest.mark.parametrize("loose", ["some", "all"])
def test_a_drawn_case_that_tells_little_apart_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loose: str
) -> None:
    write_exercise(tmp_path)
    before = batches(tmp_path)
    (name,) = before
    refused = before[name][0]
    honest = freezing.measure_case

    def measure(runs: Any, assembled: Any, answers: Any, *, chance: bool) -> Any:
        found = honest(runs, assembled, answers, chance=chance)
        poor = assembled.placed.drawn and (loose == "all" or assembled.case.dims == refused)
        return replace(found, tolerance=5e-3) if poor else found

    monkeypatch.setattr(freezing, "measure_case", measure)
    after = batches(tmp_path)
    (entry,) = (e for e in load_source(tmp_path).entries if isinstance(e.spec, RandomCases))
    assert len(after[name]) == entry.spec.random.count
    if loose == "some":
        assert refused not in after[name]
    else:
        assert after == before
