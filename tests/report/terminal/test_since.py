"""What changed from one run to the next is told by name, and hidden checks by number."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from terminals import case, failing, result

from grader.report.terminal.since import MAX_LISTED, since, since_report
from grader.result import Result

CHOICES = ("passed", "wrong_value", "raised", "skipped")
verdicts = st.lists(st.sampled_from(CHOICES), min_size=4, max_size=4)


def judged(found: list[Any], **changes: Any) -> Result:
    """Two visible and two hidden cases with these verdicts."""
    cases = []
    for number, verdict in enumerate(found):
        made = case(number) if verdict == "passed" else failing(number, verdict=verdict)
        hidden = {"visibility": "hidden", "id": f"secret_{number}"} if number > 1 else {}
        cases.append(replace(made, **hidden))
    return result(*cases, **changes)


def text(before: Result, after: Result, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(since_report(since(before, after)))
    return out.getvalue()


@given(verdicts, verdicts)
def test_every_check_that_changed_stands_in_one_place(old: list[Any], new: list[Any]) -> None:
    found = since(judged(old), judged(new))
    for number in (0, 1):
        name, was, now = f"case_{number}", old[number], new[number]
        places = [name in found.passing, name in found.failing, name in found.uncounted]
        places.append(name in [moved[0] for moved in found.otherwise])
        # What failed and is not counted now, or the other way round, is no news of its own.
        silent = was == now or (was in ("wrong_value", "raised") and now == "skipped")
        assert sum(places) == (0 if silent else 1)
        assert places[0] == (now == "passed" and was != "passed")
    pairs = list(zip(old[2:], new[2:], strict=True))
    assert found.hidden_passing == sum(n == "passed" and w != "passed" for w, n in pairs)
    assert found.nothing == (text(judged(old), judged(new)).startswith("Nothing changed"))
    assert "secret" not in text(judged(old), judged(new))


@given(verdicts, verdicts, st.integers(20, 200))
def test_no_line_is_wider_than_the_window(old: list[Any], new: list[Any], width: int) -> None:
    assert all(len(line) <= width for line in text(judged(old), judged(new), width).splitlines())


def test_points_and_the_mistake_are_told() -> None:
    mistake = {
        "ids": ["m"],
        "title": "Rows are mixed",
        "clause": "product",
        "fits": 1,
        "of": 1,
        "message": "",
    }
    before = replace(judged(["wrong_value", "passed", "raised", "passed"]), diagnoses=(mistake,))
    told = text(before, judged(["passed"] * 4)).splitlines()
    assert told == [
        "What changed since the last run",
        "points      2 (failed) → 4 (passed) of 4",
        "✓ pass now  1: case_0; 1 hidden",
        "mistake     Rows are mixed → none found",
    ]


def test_a_file_that_could_not_be_loaded_says_nothing_of_the_checks() -> None:
    broken = judged(["skipped"] * 4, status="not_loadable")
    for told in (text(judged(["passed"] * 4), broken), text(broken, judged(["passed"] * 4))):
        assert "points" in told and "case_" not in told and "hidden" not in told


def test_the_same_result_is_said_to_be_the_same() -> None:
    same = judged(["passed", "raised", "passed", "skipped"])
    assert text(same, same) == "Nothing changed since the last run: no check, no points.\n"


def test_as_many_as_there_is_room_for_are_named_and_the_others_counted() -> None:
    for count in (MAX_LISTED, MAX_LISTED + 2):
        before = result(*(failing(number) for number in range(count)))
        told = " ".join(text(before, result(*(case(number) for number in range(count)))).split())
        assert f"{count}: " in told and f"case_{MAX_LISTED - 1}" in told
        assert ("and 2 more" in told, " more" in told) == (count > MAX_LISTED, count > MAX_LISTED)
