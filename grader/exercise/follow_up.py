"""What is run after a failure, as a pack holds it: the calls of the influence map and small examples."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import PhaseBuilder, Step, read_plan, unplaced, value_of
from grader.exercise.fingerprints import Fingerprint
from grader.exercise.influence import InfluenceMap


@dataclass(frozen=True)
class Example:
    """A small input with its answers.

    Attributes:
        misconception: The known mistake that it tells; empty for one of the ladder.
        clause: The clause that this mistake breaks; empty for one of the ladder.
        title: The mistake's title; empty for one of the ladder.
        dims: Value of each dim.
        numbers: How many numbers its arguments hold.
        shape: Shape of the right answer.
        expected: Its elements in C order.
        wrong: Fingerprint of the mistake's answer; None for one of the ladder.
        call: Which of the exercise's calls it makes; empty where there is only one.
        leaves: What the elements belong to, where the answer is no array: path, shape, whether it is compared
            exactly, and group.
        answer_text: The right answer as people read it, where it is no array.
        part: Where the mistake's run first parts from the right one: ``step``, ``title``, ``times``,
            ``expected`` and ``obtained``; None where the values are many or the answer alone differs.
    """

    misconception: str
    clause: str
    title: str
    dims: Mapping[str, int]
    numbers: int
    shape: tuple[int, ...]
    expected: tuple[float, ...]
    wrong: Fingerprint | None
    part: Mapping[str, Any] | None
    call: str = ""
    leaves: tuple[Any, ...] = ()
    answer_text: str = ""

    def answer(self) -> NDArray[np.float64]:
        """The right answer."""
        return np.array(self.expected, np.float64).reshape(self.shape)


@dataclass(frozen=True)
class FollowUp:
    """Everything that may be run after a failure.

    Attributes:
        block: The calls of the influence map, then one for each example, as a phase's block.
        influence: The map; None where the exercise has none.
        examples: The examples in the order of their calls.
    """

    block: bytes = field(repr=False)
    influence: InfluenceMap | None
    examples: tuple[Example, ...]

    @cached_property
    def plan(self) -> list[Step]:
        """The calls."""
        return read_plan(self.block)

    def step(self, example: int) -> int:
        """The number of an example's call."""
        return (self.influence.calls if self.influence is not None else 0) + example

    def arguments(self, example: int) -> list[Any]:
        """The arguments of an example's call."""
        placed = self.plan[self.step(example)]
        assert not isinstance(placed, int)
        return [value_of(a, self.block) for a in placed]

    def part(self, examples: Sequence[int]) -> bytes:
        """A block with the calls of the influence map and of some examples."""
        builder = PhaseBuilder()
        steps = range(self.influence.calls if self.influence is not None else 0)
        for step in [*steps, *(self.step(n) for n in examples)]:
            placed = self.plan[step]
            assert not isinstance(placed, int)
            builder.add_call([unplaced(a, self.block) for a in placed], placed.call)
        return builder.finish()


def to_tensors(follow: FollowUp) -> dict[str, NDArray[np.uint8]]:
    """Everything as compressed bytes."""
    examples = []
    for example in follow.examples:
        row = asdict(example)
        if example.wrong is not None:
            kind, values, scale = example.wrong
            row["wrong"] = [kind, values.tolist(), scale]
        examples.append(row)
    meta = {
        "influence": asdict(follow.influence) if follow.influence is not None else None,
        "examples": examples,
    }
    text = json.dumps(meta, separators=(",", ":")).encode()
    return {
        "meta": np.frombuffer(zlib.compress(text, 9), np.uint8),
        "block": np.frombuffer(zlib.compress(follow.block, 9), np.uint8),
    }


def from_tensors(tensors: Mapping[str, bytes]) -> FollowUp:
    """The inverse of `to_tensors`. Raises ValueError, KeyError or TypeError on damage."""
    try:
        meta = json.loads(zlib.decompress(tensors["meta"]))
        block = zlib.decompress(tensors["block"])
    except zlib.error as error:
        raise ValueError(str(error)) from None
    influence = None
    if meta["influence"] is not None:
        data = meta["influence"]
        rows = tuple(tuple(view) for view in data["rows"])
        names = tuple(data["axes"])
        influence = InfluenceMap(data["argument"], tuple(data["shape"]), names, rows, tuple(data["expected"]))
    examples = []
    for row in meta["examples"]:
        if row["wrong"] is not None:
            kind, values, scale = row["wrong"]
            row["wrong"] = Fingerprint(kind, np.array(values), scale)
        row["shape"], row["expected"] = tuple(row["shape"]), tuple(row["expected"])
        row["leaves"] = tuple(row["leaves"])
        examples.append(Example(**row))
    return FollowUp(block, influence, tuple(examples))
