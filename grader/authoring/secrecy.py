"""What a student's pack gives away of the hidden cases: nothing, if all is well."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import deserialize as parse_tensors

from grader.exercise.assemble import case_seed
from grader.exercise.calls import PlacedList, PlacedMapping, arrays_of
from grader.exercise.pack import Pack, PackCase
from grader.exercise.source import PlacedCase
from grader.outcomes import ArrayValue, StepOutcome

Array = NDArray[Any]
Outcomes = Mapping[str, Sequence[StepOutcome]]

# Fewer different numbers, or fewer bytes, may be alike by chance.
LEAST_BYTES = 64
LEAST_NUMBERS = 4
LEAST_DIFFERENT = 6
LEAST_SEED = 10_000


def revealed(
    placed: Mapping[str, PlacedCase], full: Pack, student: Pack, answers: Iterable[Outcomes]
) -> Iterator[tuple[str | None, str]]:
    """What the student's pack holds of hidden cases: the case, None for the whole pack, and what it is.

    Args:
        placed: All cases as their author wrote them, by id.
        full: The teacher's pack.
        student: The student's.
        answers: Outcomes by phase that no student may see for hidden cases: those of known mistakes.
    """
    content = _content(student)
    hidden = [case for case in full.cases if case.visibility == "hidden"]
    public = [case for case in full.cases if case.visibility != "hidden"]
    meta = _meta(student)
    texts = list(_texts(meta))
    yield from _phases(student)
    if "seed" not in full.exercise.parameters and ("seed", True) in texts:
        yield None, "it names a seed"
    told = "\n".join(text for text, _ in texts)
    own = "\n".join(text for case in public for text in (case.title, case.hint))
    known_names = {one.id for one in student.known.mistakes}
    graded = _graded(meta["exercise"].get("grading", {}))
    yield from _groups_and_batches(hidden, public, graded)
    for case in hidden:
        if case.id in graded or (case.id not in known_names and _names(case, student, content)):
            yield case.id, "its id is in the student's pack"
        for what, text in (("title", case.title), ("hint", case.hint)):
            if text and text in told and text not in own:
                yield case.id, f"its {what} is in the student's pack"
        seed = case_seed(placed[case.id].case)
        number = b"%d" % seed
        if seed >= LEAST_SEED and _stands_alone(number, content, rb"[0-9.]", rb"\.?[0-9]"):
            yield case.id, "its seed is in the student's pack"
    data = _Bytes(content)
    yield from _arrays(hidden, full, data, answers)
    yield from _fingerprints(full, data)


def _graded(grading: Mapping[str, Any]) -> set[str]:
    """The names of cases, random batches and groups in a course's policies."""
    gates = grading.get("gates", ())
    named = {gate[key] for gate in gates for key in ("case", "group") if key in gate}
    return {*named, *grading.get("weights", ()), *grading.get("extra_credit", ())}


def _groups_and_batches(
    hidden: Iterable[PackCase], public: Iterable[PackCase], graded: set[str]
) -> Iterator[tuple[str, str]]:
    """Names of groups and random batches without any public case, each at its first case."""
    told = {name for case in public for name in (case.id, case.batch, case.group)}
    for case in hidden:
        for what, name in (("random batch", case.batch), ("group", case.group)):
            if name in graded - told:
                told.add(name)
                yield case.id, f"the name of its {what} is in the student's pack, under grading"


def _content(pack: Pack) -> bytes:
    """The file, and everything in it that is compressed."""
    parts = [pack.data]
    for _, tensor in parse_tensors(pack.data):  # type: ignore[no-untyped-call]
        with contextlib.suppress(zlib.error):
            parts.append(zlib.decompress(tensor["data"]))
    return b"\0".join(parts)


def _names(case: PackCase, student: Pack, content: bytes) -> bool:
    named = {name for c in student.cases for name in (c.id, *c.requires)} | set(student.tensors)
    if case.id in named:
        return True
    # An id of one plain word may stand in a text by chance.
    return "_" in case.id and _stands_alone(case.id.encode(), content, rb"\w", rb"\w")


def _stands_alone(text: bytes, content: bytes, before: bytes, after: bytes) -> bool:
    """Whether a text occurs without such bytes right before and after it."""
    # Looking for plain text is a hundred times faster than looking for a pattern.
    return text in content and bool(re.search(rb"(?<!%b)%b(?!%b)" % (before, text, after), content))


def _phases(student: Pack) -> Iterator[tuple[None, str]]:
    for name in sorted({*student.blocks, *student.known.phases} - {"public"}):
        yield None, f"it holds the phase {name}"


def _meta(pack: Pack) -> Any:
    length = int.from_bytes(pack.data[:8], "little")
    header = json.loads(pack.data[8 : 8 + length])
    return json.loads(header["__metadata__"]["grader"])


def _texts(value: Any) -> Iterator[tuple[str, bool]]:
    """Every text in plain data, and whether it is a key."""
    if isinstance(value, str):
        yield value, False
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key), True
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _arrays(
    hidden: list[PackCase], full: Pack, data: _Bytes, answers: Iterable[Outcomes]
) -> Iterator[tuple[str, str]]:
    """Hidden cases of which inputs or answers are in the student's pack."""
    answers = list(answers)
    allowed = {text for case in full.cases if case.visibility != "hidden" for text in _inputs(full, case)}
    allowed |= {
        text
        for case in full.cases
        if case.visibility != "hidden" and case.id in full.tensors
        for text in _forms(full.expected(case))
    }
    for case in hidden:
        groups: dict[str, Iterable[bytes]] = {"an array of it": list(_inputs(full, case))}
        if case.id in full.tensors:
            groups["its expected answer"] = list(_forms(full.expected(case)))
        # Most mistakes give the right answer to most calls.
        given = {value for outcomes in answers for value in _answers(outcomes, case)}
        groups["the answer that a known mistake gives to it"] = {
            text for value in given for text in _forms(value.array())
        }
        for what, candidates in groups.items():
            if any(text not in allowed and data.holds(text) for text in candidates):
                yield case.id, f"{what} is in the student's pack"


def _fingerprints(full: Pack, data: _Bytes) -> Iterator[tuple[None, str]]:
    """Fingerprints of answers to hidden calls."""
    phases = full.known.phases
    shown = {row.tobytes() for name, prints in phases.items() if name == "public" for row in prints.rows}
    for name, prints in phases.items():
        rows = prints.rows if name != "public" else prints.rows[:0]
        # Those of few small whole numbers may be alike by chance.
        distinct = (row.tobytes() for row in rows if len(set(row.tolist())) >= LEAST_DIFFERENT)
        if any(row not in shown and data.holds(row, least=len(row)) for row in distinct):
            yield None, f"it holds fingerprints of answers to {name} calls"


def _inputs(pack: Pack, case: PackCase) -> Iterator[bytes]:
    block = pack.blocks[case.visibility]
    for number in case.steps:
        step = pack.plans[case.visibility][number]
        lists = [
            item.array
            for argument in (step if not isinstance(step, int) else ())
            for item in (
                [i for _, i in argument.items] if isinstance(argument, PlacedMapping) else [argument]
            )
            if isinstance(item, PlacedList)
        ]
        for array in arrays_of(step) + lists:
            yield block[array.offset : array.offset + array.length]
            yield from _forms(array.read(block))


def _answers(outcomes: Outcomes, case: PackCase) -> Iterator[ArrayValue]:
    steps = outcomes.get(case.visibility, ())
    for number in case.steps:
        value = steps[number].value if number < len(steps) else None
        if isinstance(value, ArrayValue) and value.data is not None:
            yield value


def _forms(array: Array) -> Iterator[bytes]:
    """An array's bytes in the dtypes in which it may be written."""
    yield np.ascontiguousarray(array).tobytes()
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            yield array.astype(np.float32).tobytes()
            yield array.astype(np.float64).tobytes()


class _Bytes:
    """Bytes that are searched for many texts."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        views = [np.frombuffer(data[n : n + (len(data) - n) // 8 * 8], np.uint64) for n in range(8)]
        self._words = np.sort(np.concatenate(views))

    def holds(self, text: bytes, *, least: int = LEAST_BYTES) -> bool:
        """Whether a text that is no chance stands in the data."""
        if len(text) < least:
            return False
        words = np.frombuffer(text, np.uint64, len(text) // 8)
        if len(set(words.tolist())) < LEAST_NUMBERS:
            return False
        places = np.searchsorted(self._words, words[:LEAST_NUMBERS])
        places = np.minimum(places, len(self._words) - 1)
        return bool((self._words[places] == words[:LEAST_NUMBERS]).all()) and text in self._data
