"""The frames of a traceback, of whatever a record holds in its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.frames import Frame, read_frames

ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.floats() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=8,
)


def test_frames_are_read_outermost_first() -> None:
    assert read_frames({"traceback": [[3, "f"], (9, "g")]}) == [(3, "f"), (9, "g")]
    assert read_frames({"traceback": [[7, ""]]}) == [Frame(7, "")], "a line that is no Python"
    assert read_frames({}) == []


@pytest.mark.parametrize("odd", [3, None, [], [True, "f"], ["3", "f"], [-1, "f"], [0, "f"], [2**63, "f"]])
def test_of_an_odd_frame_the_line_is_not_known(odd: Any) -> None:
    ((line, function),) = read_frames({"traceback": [odd]})
    assert line == 0 and function in ("f", "?")


@given(ANYTHING)
def test_anything_has_frames_that_can_be_shown(found: Any) -> None:
    for line, function in read_frames({"traceback": found}):
        assert 0 <= line < 2**63 and isinstance(function, str)
        str(line)
