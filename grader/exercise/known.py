"""The known mistakes as a pack holds them: their pages, and by which answers they are recognized.

For every step of a phase there is a short list of the different answers that known mistakes give to it, as
fingerprints; a mistake is a row of numbers into these lists, 0 where its answer is the right one. Of two
mistakes together a few answers are kept, to steps on which both of them show: on those where one shows, the
answer is that of the one, and elsewhere it is right.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.pages import Page

# Stands for a step on which a mistake's answer can't be foreseen: rounding decides.
UNSTABLE = 0xFFFF
# Stands for no step.
NONE = 0xFFFF


@dataclass(frozen=True)
class KnownMistake:
    """A misconception in a pack.

    Attributes:
        id, title, clause, page: As in the reference.
        overwritten: Names of the arguments that it changes.
        aliased: An answer of its shares memory with an argument.
        unrepeatable: The same call gives it another answer at random.
        half: All its answers are numbers of float16.
    """

    id: str
    title: str
    clause: str
    page: Page
    overwritten: tuple[str, ...] = ()
    aliased: bool = False
    unrepeatable: bool = False
    half: bool = False


@dataclass(frozen=True)
class PhasePrints:
    """Fingerprints of one phase.

    S steps, R different answers, K known mistakes, P pairs, Q answers kept of each, F small errors.

    Attributes:
        kinds: The kinds of answers that occur.
        starts: (S + 1,) where the answers to each step begin; the first of them is the right one.
        rows: (R, 8) projections.
        row_kinds: (R,) numbers of their kinds.
        widths: (R,) how far a projection may lie off.
        index: (K, S) the answer of each mistake among those to the step, or `UNSTABLE`.
        touched: (K, S) the mistake changes what a step of the right model gives, seen in the answer or not.
        pair_steps: (P, Q) the steps whose answers are kept, or `NONE`.
        pair_rows, pair_kinds, pair_widths: (P, Q, 8), (P, Q), (P, Q) as above.
        small: (F, S, 8) change of the projections by a small error, relative to the answer's magnitude.
    """

    kinds: tuple[str, ...]
    starts: NDArray[np.int32]
    rows: NDArray[np.float32]
    row_kinds: NDArray[np.uint16]
    widths: NDArray[np.float32]
    index: NDArray[np.uint16]
    touched: NDArray[np.bool_]
    pair_steps: NDArray[np.uint16]
    pair_rows: NDArray[np.float32]
    pair_kinds: NDArray[np.uint16]
    pair_widths: NDArray[np.float32]
    small: NDArray[np.float32]

    def take(self, steps: Sequence[int]) -> PhasePrints:
        """The same of some of the steps, in the given order."""
        lengths = [int(self.starts[s + 1] - self.starts[s]) for s in steps]
        chosen = [np.arange(self.starts[s], self.starts[s + 1]) for s in steps]
        rows = np.concatenate(chosen) if chosen else np.zeros(0, np.intp)
        renamed = np.full(len(self.starts), NONE, np.uint16)
        renamed[np.asarray(steps, np.intp)] = np.arange(len(steps))
        known = self.pair_steps != NONE
        pair_steps = np.where(known, renamed[np.where(known, self.pair_steps, 0)], NONE).astype(np.uint16)
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            rows=self.rows[rows],
            row_kinds=self.row_kinds[rows],
            widths=self.widths[rows],
            index=self.index[:, list(steps)],
            touched=self.touched[:, list(steps)],
            pair_steps=pair_steps,
            small=self.small[:, list(steps)],
        )


@dataclass(frozen=True)
class Known:
    """All that a pack knows of mistakes.

    Attributes:
        mistakes: Those that a failing submission may have.
        pairs: (P, 2) numbers of mistakes that go together and show beside each other.
        small: Clause of each small error that a passing submission may have, and its words.
        phases: The fingerprints by phase.
        slips: Those of the small errors that have a page.
        raising: Names of exceptions that cases ask for.
        patterns: Ids of the cases that fail with a mistake, by its id, where answers hang on chance and tell
            nothing by themselves.
    """

    mistakes: tuple[KnownMistake, ...]
    pairs: NDArray[np.uint16]
    small: tuple[tuple[str, str], ...]
    phases: Mapping[str, PhasePrints]
    slips: tuple[KnownMistake, ...] = ()
    raising: tuple[str, ...] = ()
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


NOTHING_KNOWN = Known((), np.zeros((0, 2), np.uint16), (), {})


def to_tensors(known: Known) -> dict[str, NDArray[Any]]:
    """Everything as arrays, the longer ones compressed."""
    if not known.mistakes and not known.small:
        return {}
    meta = {
        "mistakes": [_row(m) for m in known.mistakes],
        "slips": [_row(m) for m in known.slips],
        "small": known.small,
        "raising": known.raising,
        "patterns": known.patterns,
        "kinds": {name: p.kinds for name, p in known.phases.items()},
    }
    tensors = {"meta": np.frombuffer(zlib.compress(json.dumps(meta, sort_keys=True).encode(), 9), np.uint8)}
    tensors["pairs"] = _packed(known.pairs)
    for name, prints in known.phases.items():
        for f in fields(prints):
            if f.name != "kinds":
                tensors[f"{name}.{f.name}"] = _packed(getattr(prints, f.name))
    return tensors


def _row(mistake: KnownMistake) -> dict[str, Any]:
    return {f.name: getattr(mistake, f.name) for f in fields(mistake)} | {"page": vars(mistake.page)}


def _mistake(row: dict[str, Any]) -> KnownMistake:
    return KnownMistake(**row | {"overwritten": tuple(row["overwritten"]), "page": Page(**row["page"])})


def _packed(array: NDArray[Any]) -> NDArray[np.uint8]:
    """dtype and shape as a line of JSON, then the bytes, compressed."""
    header = json.dumps([array.dtype.str, list(array.shape)]).encode() + b"\n"
    return np.frombuffer(zlib.compress(header + np.ascontiguousarray(array).tobytes(), 6), np.uint8)


def _unpacked(data: bytes) -> NDArray[Any]:
    header, _, body = zlib.decompress(data).partition(b"\n")
    dtype, shape = json.loads(header)
    return np.frombuffer(body, dtype).reshape(shape)


def from_tensors(tensors: Mapping[str, bytes]) -> Known:
    """The inverse of `to_tensors`, from the arrays' bytes. Raises ValueError, KeyError or TypeError."""
    if not tensors:
        return NOTHING_KNOWN
    try:
        meta = json.loads(zlib.decompress(tensors["meta"]))
        names = [f.name for f in fields(PhasePrints) if f.name != "kinds"]
        phases = {
            name: PhasePrints(
                kinds=tuple(kinds), **{key: _unpacked(tensors[f"{name}.{key}"]) for key in names}
            )
            for name, kinds in meta["kinds"].items()
        }
        pairs = _unpacked(tensors["pairs"])
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return Known(
        tuple([_mistake(row) for row in meta["mistakes"]]),
        pairs,
        tuple((clause, words) for clause, words in meta["small"]),
        phases,
        tuple([_mistake(row) for row in meta["slips"]]),
        tuple(meta["raising"]),
        {name: tuple(cases) for name, cases in meta["patterns"].items()},
    )
