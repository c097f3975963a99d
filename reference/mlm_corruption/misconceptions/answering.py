"""Known mistakes about what is returned, and about the arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.exercise.misconceptions import Misconceptions

from ..steps import STEPS as RIGHT
from ..steps import Array, Context

ANSWERING = Misconceptions()


@ANSWERING.add(clause="targets", step="read_targets")
def targets_after_corruption(c: Context, corrupted: Array, positions: Array) -> Array:
    """Targets are read after the tokens were replaced

    What it does:
        The targets are mostly sentinels.
    Why it is wrong:
        The model is to find the token that was there, and it is gone.
    How it looks:
        targets = corrupted.ravel()[positions]
    What to write instead:
        targets = token_ids.ravel()[positions]
    """
    return np.asarray(np.ravel(corrupted)[positions])


@ANSWERING.add(clause="targets", step="read_targets")
def targets_of_one_byte(c: Context, corrupted: Array, positions: Array) -> Array:
    """Targets lose their upper bytes

    What it does:
        Ids are kept in two bytes, and 65,536 becomes 0.
    Why it is wrong:
        Vocabularies are larger than that.
    How it looks:
        targets = token_ids.astype(np.uint16)
    What to write instead:
        targets = token_ids.ravel()[positions]
    """
    return RIGHT.read_targets(c, corrupted, positions).astype(np.uint16).astype(np.int64)


@ANSWERING.add(clause="targets", step="read_targets")
def targets_sorted(c: Context, corrupted: Array, positions: Array) -> Array:
    """Targets are sorted by themselves

    What it does:
        The targets ascend, and no longer belong to their positions.
    Why it is wrong:
        targets[i] is the token at positions[i].
    How it looks:
        targets = np.sort(token_ids[chosen])
    What to write instead:
        targets = token_ids.ravel()[positions]
    """
    return np.sort(RIGHT.read_targets(c, corrupted, positions))


@ANSWERING.add(clause="positions")
def positions_by_columns() -> dict[str, Any]:
    """Flat positions count along the columns

    What it does:
        A position is column * N + row.
    Why it is wrong:
        Arrays are flattened row by row: row * T + column.
    How it looks:
        positions = cols * N + rows
    What to write instead:
        positions = rows * T + cols
    """

    def locate(c: Context, chosen: Array) -> Array:
        rows, columns = np.nonzero(chosen)
        return np.asarray(columns * c.shape[0] + rows)

    def read_targets(c: Context, corrupted: Array, positions: Array) -> Array:
        return np.ravel(c.token_ids, order="F")[positions]

    def find_rows(c: Context, positions: Array) -> Array:
        return positions % c.shape[0]

    return {"locate": locate, "read_targets": read_targets, "find_rows": find_rows}


@ANSWERING.add(clause="positions")
def positions_in_drawn_order() -> dict[str, Any]:
    """Positions are not sorted

    What it does:
        They come in the order in which they were drawn.
    Why it is wrong:
        Whoever gathers rows of the model by them expects ascending order.
    How it looks:
        positions = rng.permutation(np.flatnonzero(valid))[:k]
    What to write instead:
        positions = np.flatnonzero(chosen)
    """

    def locate(c: Context, chosen: Array) -> Array:
        return RIGHT.locate(c, chosen)[::-1]

    return {"locate": locate}


@ANSWERING.add(clause="positions")
def positions_among_real() -> dict[str, Any]:
    """Positions count the real tokens alone

    What it does:
        Padding is left out before positions are counted.
    Why it is wrong:
        A position is a place in the padded batch: row * T + column.
    How it looks:
        positions = np.flatnonzero(chosen[valid])
    What to write instead:
        positions = np.flatnonzero(chosen)
    """
    kept: dict[str, Array] = {}

    def locate(c: Context, chosen: Array) -> Array:
        kept["right"] = RIGHT.locate(c, chosen)
        return np.flatnonzero(chosen[c.valid])

    def read_targets(c: Context, corrupted: Array, positions: Array) -> Array:
        return np.asarray(RIGHT.read_targets(c, corrupted, kept["right"][: len(positions)]))

    def find_rows(c: Context, positions: Array) -> Array:
        return np.asarray(RIGHT.find_rows(c, kept["right"][: len(positions)]))

    return {"locate": locate, "read_targets": read_targets, "find_rows": find_rows}


@ANSWERING.add(clause="positions", step="locate")
def columns_as_positions(c: Context, chosen: Array) -> Array:
    """Positions are columns

    What it does:
        The position in its own sequence is returned, 0 to T - 1.
    Why it is wrong:
        A flat position tells the row, too: row * T + column.
    How it looks:
        rows, positions = np.nonzero(chosen)
    What to write instead:
        rows, cols = np.nonzero(chosen)
        positions = rows * T + cols
    """
    return np.nonzero(chosen)[1]


@ANSWERING.add(clause="row_of", step="find_rows")
def columns_as_rows(c: Context, positions: Array) -> Array:
    """row_of holds columns

    What it does:
        Rows and columns are swapped.
    Why it is wrong:
        Column is what is left of position by T; the row is the quotient.
    How it looks:
        row_of = positions % T
    What to write instead:
        row_of = positions // T
    """
    return np.asarray(positions % c.shape[1])


@ANSWERING.add(clause="row_of", step="find_rows")
def rows_by_number_of_rows(c: Context, positions: Array) -> Array:
    """Positions are divided by the number of rows

    What it does:
        row_of is positions // N, which is right in square batches only.
    Why it is wrong:
        A row has T positions.
    How it looks:
        row_of = positions // len(token_ids)
    What to write instead:
        row_of = positions // token_ids.shape[1]
    """
    return np.asarray(positions // c.shape[0])


@ANSWERING.add(clause="inputs")
def corrupted_in_place() -> dict[str, Any]:
    """token_ids is overwritten

    What it does:
        The sentinel is written into the caller's array, and targets read from it are sentinels, too.
    Why it is wrong:
        The caller needs the text again, for the next epoch and its mask.
    How it looks:
        corrupted = token_ids
        corrupted[use_sentinel] = sentinel_id
    What to write instead:
        corrupted = token_ids.copy()
    """
    kept: list[Array] = []

    def copy_ids(c: Context) -> Array:
        kept[:] = [np.array(c.token_ids)]
        return c.token_ids

    def read_targets(c: Context, corrupted: Array, positions: Array) -> Array:
        return np.asarray(np.ravel(kept[0])[positions])

    return {"copy_ids": copy_ids, "read_targets": read_targets}


@ANSWERING.add(clause="inputs", step="force")
def lengths_overwritten(c: Context, chosen: Array) -> Array:
    """lengths is overwritten

    What it does:
        1 is subtracted where the lengths stand, to make last positions of them.
    Why it is wrong:
        The caller still needs the lengths.
    How it looks:
        lengths -= 1
    What to write instead:
        last = lengths - 1
    """
    if not chosen.any():
        c.lengths -= 1
        rows = np.flatnonzero(c.lengths >= 0)
        chosen[rows, c.lengths[rows]] = True
    return chosen
