"""Regions of the shared memory: apart from each other, inside it, and as large as what goes there."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from grader.sandbox.inside import slots, streams
from grader.sandbox.layout import DESCRIPTION_ROOM, FINDINGS, Layout

sizes = st.integers(0, 1 << 24)
arguments = st.fixed_dictionaries(
    {
        "source": sizes,
        "blocks": st.lists(sizes, max_size=4),
        "steps": st.integers(0, 500),
        "answer": st.integers(0, 1 << 32),
        "answers": st.integers(0, 1 << 34),
        "output": sizes,
    }
)


@given(arguments)
def test_regions_follow_each_other_without_touching(given_: dict[str, int]) -> None:
    layout = Layout(**given_)  # type: ignore[arg-type]
    table = (0, slots.table_size(layout.count))
    regions = [table, layout.source, *layout.blocks, layout.data, layout.log]
    for (at, size), (after, _) in itertools.pairwise(regions):
        assert at + size <= after
    assert all(at >= 0 and size >= 0 for at, size in regions)
    # The log is the last: writing on beyond it meets the end.
    assert sum(layout.log) == layout.size


@given(arguments)
def test_every_region_is_as_large_as_what_goes_there(given_: dict[str, int]) -> None:
    layout = Layout(**given_)  # type: ignore[arg-type]
    assert layout.count == slots.FIRST_STEP + given_["steps"]
    assert layout.source[1] == given_["source"]
    assert [size for _, size in layout.blocks] == given_["blocks"]
    # Twice an answer of the expected size, as a wrong one may be larger or of a larger dtype.
    assert layout.room >= 2 * given_["answer"] + slots.RECORD.size
    # Room for all answers, for every description, and for what is written of banned helpers again and again.
    wanted = 2 * given_["answers"] + (layout.count + FINDINGS) * DESCRIPTION_ROOM
    assert layout.data[1] >= wanted and layout.data[1] < wanted + layout.room + 2 * 4096
    assert layout.log[1] == streams.PARTS * (given_["output"] + streams.HEADER)


@given(arguments)
def test_blocks_begin_where_arrays_are_aligned(given_: dict[str, int]) -> None:
    assert all(at % 64 == 0 for at, _ in Layout(**given_).blocks)  # type: ignore[arg-type]


@given(arguments)
def test_the_child_is_told_the_same(given_: dict[str, int]) -> None:
    layout = Layout(**given_)  # type: ignore[arg-type]
    job = layout.to_job()
    assert (job["source"], job["blocks"], job["data"], job["log"]) == (
        layout.source,
        layout.blocks,
        layout.data,
        layout.log,
    )
    assert (job["room"], job["size"]) == (layout.room, layout.size)
