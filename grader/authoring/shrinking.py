"""Inputs made smaller as long as they still tell a mistake: fewer indices, fewer numbers, simpler numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.authoring.inputs import MOST_NUMBERS, Domain, Input
from grader.authoring.telling import Tell, Trial
from grader.exercise.expressions import names

Array = NDArray[Any]

# Numbers that a single number is replaced with, beside its own roundings.
SIMPLE = (1.0, -1.0, 2.0, 3.0)
# What is tried to make a difference larger: factors of a whole array, numbers in the place of one.
FACTORS = (10.0, 0.1, 3.0, -1.0, 100.0, 0.01)
BOLD = (0.0, 1.0, -1.0, 3.0, -3.0, 0.5)
GROWTH = 1.2
# So many indices at most are tried as the beginning of a run that is left out.
PLACES = 12
# With so many numbers left, or fewer, two at once are set to 0.
FEW = 16
# How many changes of an input of more than `MOST_NUMBERS` numbers are tried, and the shortest run of it
# that is set to 0: single numbers would take minutes, and such an input is read by which arrays are not 0.
TRIES = 150
LONG = 8


@dataclass(frozen=True)
class Move:
    """A change of some numbers of one array.

    Attributes:
        name: The array's parameter.
        index: Which numbers.
        change: Gives them anew.
    """

    name: str
    index: Any
    change: Callable[[Array], Array]

    def apply(self, domain: Domain, given: Input) -> Input | None:
        """The changed input; None where nothing changes or the recipe's range does not allow it."""
        array = given.arrays[self.name]
        old = array[self.index]
        new = np.asarray(self.change(old.astype(np.float64)))
        changed = array.copy()
        changed[self.index] = domain.bounded(domain.slots[self.name], new, given.dims)
        return None if np.array_equal(changed, array) else given.with_array(self.name, changed)


def shrink(domain: Domain, trial: Trial, given: Input, goal: Tell) -> Input:
    """The input made smaller until no move leaves it as good as ``goal``, which it reaches.

    A move is taken when it gives smaller dims, or the same with the parameters' dtypes or with less to write.
    """
    large = domain.size(given.dims)[0] > MOST_NUMBERS
    left = float(TRIES) if large else float("inf")

    def holds(new: Input) -> bool:
        nonlocal left
        left -= 1
        return trial.holds(new, goal) is not None

    moved = True
    while moved:
        moved = False
        for new in cut(domain, given):
            if holds(new):
                given, moved = new, True
                break
        if moved:
            continue
        usual = domain.usual(given)
        if usual.key != given.key and holds(usual):
            given, moved = usual, True
        weight = domain.weight(given)
        # A move that is taken does not begin the list anew: most of those before it would fail again.
        for move in simplifications(domain, given, LONG if large else 1):
            if left <= 0:
                return given
            new_ = move.apply(domain, given)
            if new_ is None or (lighter := domain.weight(new_)) >= weight:
                continue
            if holds(new_):
                given, weight, moved = new_, lighter, True
        if not moved:
            for new in without_two(given):
                if holds(new):
                    given, moved = new, True
                    break
    return given


def cut(domain: Domain, given: Input) -> Iterator[Input]:
    """Inputs without some indices, the smallest dims first.

    Every axis of a dim loses a run of indices; so do those of two dims together that a constraint binds.
    """
    dims = given.dims
    groups: list[tuple[str, ...]] = [(name,) for name in dims]
    for constraint in domain.exercise.constraints:
        groups += itertools.combinations([n for n in dims if n in names(constraint)], 2)
    for group in groups:
        lower = [_some(range(domain.lowest[name], dims[name])) for name in group]
        for sizes in itertools.product(*lower):
            new = dims | dict(zip(group, sizes, strict=True))
            if not domain.allows(new):
                continue
            axes = [name for name in group if domain.counts(name)]
            for kept in itertools.product(*(_remaining(dims[name], new[name]) for name in axes)):
                found = domain.restricted(given, new, dict(zip(axes, kept, strict=True)))
                if found is not None:
                    yield found


def _some(sizes: range) -> list[int]:
    """All of a few sizes; of many the smallest and those that are a power of 2 below the present one."""
    if len(sizes) <= 6:
        return list(sizes)
    return sorted({*sizes[:2], *(sizes.stop - (1 << n) for n in range((len(sizes)).bit_length()))})


def _remaining(old: int, new: int) -> list[list[int]]:
    """The indices that stay when a run of them is left out."""
    gone = old - new
    places = range(new + 1)
    if gone > 1 and len(places) > PLACES:
        places = range(0, new + 1, max(1, new // 4))
    return [[*range(start), *range(start + gone, old)] for start in places]


def simplifications(domain: Domain, given: Input, shortest: int = 1) -> list[Move]:
    """The changes that make an input's numbers fewer or simpler, the boldest first.

    An array, a named part, a matrix, a run of numbers or a single one becomes 0; a matrix becomes the
    identity; an array is scaled; its numbers, or a single one, become rounder. Runs have at least
    ``shortest`` numbers.
    """
    moves: list[Move] = []
    largest_first = sorted(given.arrays, key=lambda name: -given.arrays[name].size)
    if shortest > 1:
        # Where not everything is tried, every array as a whole comes before a part of one.
        moves += [Move(name, (...,), np.zeros_like) for name in largest_first]
    for name in largest_first:
        array = given.arrays[name]
        if not array.size:
            continue
        whole: Any = (slice(None),) * array.ndim
        moves.append(Move(name, whole, np.zeros_like))
        parts = domain.slots[name].parts
        if parts is not None:
            for number in range(len(parts.names)):
                part = [slice(None)] * array.ndim
                part[parts.axis] = slice(number, number + 1)
                moves.append(Move(name, tuple(part), np.zeros_like))
        matrices = list(np.ndindex(array.shape[:-2])) if array.ndim >= 2 else []
        moves += [Move(name, matrix, np.zeros_like) for matrix in matrices if matrix]
        moves += _runs(name, array.shape, shortest)
    for name in largest_first:
        array = given.arrays[name]
        if array.ndim >= 2 and array.size:
            moves += [Move(name, (*matrix, ...), _identity) for matrix in np.ndindex(array.shape[:-2])]
    for name in largest_first:
        whole = (slice(None),) * given.arrays[name].ndim
        moves += [Move(name, whole, change) for change in (_unit, np.abs, _whole, _tenths, _digit)]
        moves += [Move(name, whole, _times(factor)) for factor in (0.1, 10.0)]
    for name in largest_first:
        # What is 0 is as simple as can be.
        for index in map(tuple, np.argwhere(given.arrays[name] != 0).tolist()):
            moves += [Move(name, index, _becomes(number)) for number in SIMPLE]
            moves += [Move(name, index, change) for change in (_whole, _nearer, _tenths, _digit, np.abs)]
    return moves


def _runs(name: str, shape: tuple[int, ...], shortest: int) -> Iterator[Move]:
    """Zeros for runs of numbers along the last axes: halves, quarters and so on down to the shortest."""
    count = int(np.prod(shape))
    length = 1 << max(count - 1, 1).bit_length()
    while length > shortest:
        length //= 2
        for start in range(0, count, length):
            places = np.unravel_index(np.arange(start, min(start + length, count)), shape)
            yield Move(name, places, np.zeros_like)


def without_two(given: Input) -> Iterator[Input]:
    """Inputs with two numbers set to 0, where few are left: some can only go together."""
    places = [
        (name, tuple(place))
        for name, array in given.arrays.items()
        for place in np.argwhere(array != 0).tolist()
    ]
    if len(places) > FEW:
        return
    for pair in itertools.combinations(places, 2):
        new = given
        for name, place in pair:
            changed = new.arrays[name].copy()
            changed[place] = 0
            new = new.with_array(name, changed)
        yield new


def _identity(block: Array) -> Array:
    return np.eye(*block.shape[-2:])


def _unit(block: Array) -> Array:
    """Divided by the largest magnitude."""
    return block / (np.abs(block).max(initial=0.0) or 1.0)


def _whole(block: Array) -> Array:
    return np.round(block)


def _tenths(block: Array) -> Array:
    return np.round(block, 1)


def _digit(block: Array) -> Array:
    """Rounded to one significant digit."""
    rounded = [float(f"{number:.0e}") for number in block.ravel().tolist()]
    new: Array = np.array(rounded, np.float64).reshape(block.shape)
    return new


def _nearer(block: Array) -> Array:
    """One nearer to 0."""
    new: Array = np.sign(block) * np.maximum(np.abs(np.round(block)) - 1, 0)
    return new


def _becomes(number: float) -> Callable[[Array], Array]:
    return lambda block: np.full_like(block, number)


def _times(factor: float) -> Callable[[Array], Array]:
    def scaled(block: Array) -> Array:
        return np.round(block * factor, 9)

    return scaled


def climb(domain: Domain, trial: Trial, given: Input, tell: Tell, enough: float) -> tuple[Input, Tell]:
    """An input of the same dims with a larger difference.

    Args:
        domain: What inputs may be.
        trial: The mistake.
        given: An input that tells it.
        tell: How it does.
        enough: The margin to stop at.
    """
    moves: list[Move] = []
    for name, array in given.arrays.items():
        moves += [Move(name, (slice(None),) * array.ndim, _times(factor)) for factor in FACTORS]
    for name, array in given.arrays.items():
        for index in np.ndindex(array.shape):
            moves += [Move(name, index, _becomes(number)) for number in BOLD]
            moves += [Move(name, index, _times(factor)) for factor in FACTORS]
    moved = True
    while moved:
        moved = False
        for move in moves:
            if tell.margin >= enough:
                return given, tell
            new = move.apply(domain, given)
            if new is None:
                continue
            found = trial.holds(new, Tell(tell.empty, tell.kind, tell.margin * GROWTH))
            if found is not None:
                given, tell, moved = new, found, True
    return given, tell
