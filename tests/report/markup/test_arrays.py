"""What of an array is shown, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from grader.report.markup.arrays import Part, read_part, shown_array
from grader.report.markup.room import Room


@pytest.mark.parametrize(
    ("values", "shape", "about"),
    [
        ([[1.0, 2.0]], None, "float64 (1, 2)"),
        ([1.0, 2.0, 3.0], None, "float64 (3,)"),
        # Without elements nested lists don't tell how many axes there are.
        ([], None, "float64"),
        ([], [0, 7], "float64 (0, 7)"),
        ([[1.0], [2.0, 3.0]], None, "float64 nested lists of unequal length"),
        (1.5, None, "float64"),
    ],
)
def test_an_array_is_called_by_dtype_and_shape(values: Any, shape: Any, about: str) -> None:
    assert shown_array(Room(10_000), "x", values, dtype="float64", shape=shape).about == about


def test_indices_within_a_part_are_counted_from_its_corner() -> None:
    cells = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    part = Part(cells, cells, (1,), 10, 20, 3, "")
    corners = [(1, 10, 20), (1, 11, 22)]
    outside = [(0, 10, 20), (1, 9, 20), (1, 12, 20), (1, 10, 19), (1, 10, 23), (10, 20)]
    assert part.inside([*corners, *outside]) == [(0, 0), (1, 2)]


def test_a_part_of_a_long_array_of_one_axis_has_one_row() -> None:
    data = {"obtained": [[0.0, 1.0]], "expected": [[0.0, 0.0]], "shape": [90], "at": [], "first": [0, 40]}
    part = read_part(data)
    assert part is not None and part.words == "Around the largest error: elements 40–41 of (90,)."
    assert part.inside([(39,), (40,), (41,), (42,)]) == [(0, 0), (0, 1)]
    assert read_part(data | {"shape": [], "first": [0, 40]}) is None
    assert read_part(data | {"at": [0]}) is None
