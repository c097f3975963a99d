"""What to fix first, read from a Result record: named mistakes, a small example, the map of influence.

Every text is as the record has it, to be cleaned by whoever shows it; what has not the form of a record of
this version is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from grader.report.influence import InfluenceMap, read_influence
from grader.report.texts import one_line
from grader.report.values import differing
from grader.result import Result

MAX_DIAGNOSES = 10

# What a diagnosis says of itself, and how it is said of several; and how it names the others.
_OF_EACH = {"This explains ": "Each explains ", "These two together explain ": "Each pair explains "}
_OTHERS = re.compile(r"; the cases can't tell it from [\w ]{1,40}\.\Z")
_SENTENCE = re.compile(r"[A-Z][a-z']+ \w")


class MistakePage(NamedTuple):
    """What there is to read about a mistake.

    Attributes:
        clause: The clause's title.
        what, why: Prose.
        looks, instead: Mostly lines of code, else a sentence (`is_prose`); empty for some.
    """

    id: str
    title: str
    clause: str
    what: str
    why: str
    looks: str
    instead: str


class Diagnosis(NamedTuple):
    """A mistake, or two that come together, with what was said of it."""

    title: str
    clause: str
    message: str
    pages: tuple[MistakePage, ...]


class Answers(NamedTuple):
    """Two answers, as nested lists, a number or None.

    Attributes:
        differing: Indices at which they differ, where both have the same shape.
        texts: Name and text of each answer that is no array.
    """

    obtained: Any
    expected: Any
    differing: tuple[tuple[int, ...], ...]
    texts: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(data: Mapping[str, Any]) -> Answers:
        """Those of a record's entry."""
        obtained, expected = data.get("obtained"), data.get("expected")
        return Answers(obtained, expected, differing(obtained, expected), read_texts(data.get("texts")))


def read_texts(data: Any) -> tuple[tuple[str, str], ...]:
    """Names and texts of answers as a record has them; what is of another form is passed over."""
    rows = [row for row in data[:4] if isinstance(row, list | tuple)] if isinstance(data, list) else []
    pairs = [row for row in rows if len(row) == 2 and all(isinstance(part, str) for part in row)]
    return tuple((one_line(name, 40), text) for name, text in pairs)


class Step(NamedTuple):
    """The first step after which the two ways part; ``times`` counts its runs, from 1."""

    name: str
    title: str
    times: int
    answers: Answers


class Given(NamedTuple):
    """An argument: an array (its values None where they are left out) or, with ``dtype`` empty, a number."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: Any


@dataclass(frozen=True)
class Example:
    """A small input with both answers.

    Attributes:
        dims: The value of each dim in words.
        message: What was obtained, in words, where it is no array of the right shape.
        snippet: Python text that makes the call.
        step: Where the two ways part, if that is known.
    """

    dims: str
    given: tuple[Given, ...]
    answers: Answers
    message: str
    snippet: str
    step: Step | None


@dataclass(frozen=True)
class Advice:
    """What to fix first.

    Attributes:
        alternatives: Explanations of the answers; of several one holds.
        choice: Where there are several, that they are, and what holds of all of them.
        others: What holds beside that.
        undiagnosed: What is said when nothing explains the answers.
        clause: Title of the clause that holds least.
    """

    alternatives: tuple[Diagnosis, ...]
    choice: str
    others: tuple[Diagnosis, ...]
    undiagnosed: str
    clause: str
    example: Example | None
    influence: InfluenceMap | None


def read_advice(result: Result) -> Advice | None:
    """What a record has of it; None when there is nothing."""
    if not (result.diagnoses or result.undiagnosed or result.counterexample or result.influence):
        return None
    titles = result.exercise.get("clauses")
    clauses = titles if isinstance(titles, Mapping) else {}
    found = [d for d in result.diagnoses[:MAX_DIAGNOSES] if isinstance(d, Mapping)]
    broken = result.broken_clauses()
    alternatives, choice = _one_of([_diagnosis(d, clauses) for d in found if d.get("of")])
    advice = Advice(
        alternatives=tuple(alternatives),
        choice=choice,
        others=tuple(_diagnosis(d, clauses) for d in found if not d.get("of")),
        undiagnosed=result.undiagnosed if isinstance(result.undiagnosed, str) else "",
        clause=str(clauses.get(broken[0], broken[0])) if broken else "",
        example=read_example(result.counterexample),
        influence=read_influence(result.influence),
    )
    empty = not (advice.alternatives or advice.others or advice.undiagnosed)
    return None if empty and advice.example is None and advice.influence is None else advice


def _one_of(found: Sequence[Diagnosis]) -> tuple[Sequence[Diagnosis], str]:
    """Explanations of which one holds, and what is said of them together, so that none of them repeats it."""
    if len(found) < 2:
        return found, ""
    # Each says after a semicolon that there are others.
    said = [_OTHERS.sub(".", one.message) for one in found]
    choice = f"One of these {len(found)}; the checks can't tell which."
    for alone, every in _OF_EACH.items():
        if len(set(said)) == 1 and said[0].startswith(alone):
            told = f"{choice} {every}{said[0].removeprefix(alone)}"
            return [one._replace(message="") for one in found], told
    return [one._replace(message=text) for one, text in zip(found, said, strict=True)], choice


def is_prose(text: str) -> bool:
    """Whether a page's section is sentences, to be set as such; else it is code, whose lines are kept.

    Example:
        >>> is_prose("Return the answer."), is_prose("x = x.copy()"), is_prose("Model.run(x)")
        (True, False, False)
    """
    stripped = text.strip()
    return stripped.endswith(".") and _SENTENCE.match(stripped) is not None


def sentence(text: str) -> str:
    """The end of a sentence as one of its own.

    Example:
        >>> sentence("write the product with @"), sentence("Use @.")
        ('Write the product with @.', 'Use @.')
    """
    told = " ".join(text.split())
    begins = told.partition(" ")[0]
    told = told[:1].upper() + told[1:] if begins.isalpha() and begins.islower() else told
    return told if not told or told.endswith((".", "!", "?")) else f"{told}."


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list | tuple) else []


def _clause(data: Mapping[str, Any], clauses: Mapping[str, Any]) -> str:
    name = _text(data, "clause")
    return str(clauses.get(name, name))


def _diagnosis(data: Mapping[str, Any], clauses: Mapping[str, Any]) -> Diagnosis:
    pages = [
        MistakePage(
            _text(page, "id"),
            _text(page, "title"),
            _clause(page, clauses),
            *(_text(page, key) for key in ("what", "why", "looks", "instead")),
        )
        for page in _mappings(data.get("pages"))[:2]
    ]
    return Diagnosis(_text(data, "title"), _clause(data, clauses), _text(data, "message"), tuple(pages))


def read_example(data: Any) -> Example | None:
    """A small input with its answers, as a record's ``counterexample`` has it; None when there is none."""
    if not isinstance(data, Mapping) or not data:
        return None
    dims = data.get("dims")
    items = dims.items() if isinstance(dims, Mapping) else ()
    return Example(
        ", ".join([f"{name} = {size}" for name, size in items if type(size) is int and abs(size) < 1e9]),
        tuple(_given(entry) for entry in _mappings(data.get("inputs"))[:60]),
        Answers.of(data),
        _text(data, "message"),
        _text(data, "snippet"),
        _step(data.get("trace")),
    )


def _given(data: Mapping[str, Any]) -> Given:
    name = _text(data, "name")
    if "value" in data:
        return Given(name, "", (), data["value"])
    shape = data.get("shape")
    sizes = tuple(n for n in shape if type(n) is int)[:32] if isinstance(shape, list | tuple) else ()
    return Given(name, _text(data, "dtype") or "array", sizes, data.get("values"))


def _step(data: Any) -> Step | None:
    if not isinstance(data, Mapping):
        return None
    times = data.get("times")
    run = times if type(times) is int and 1 <= times < 1e6 else 1
    return Step(_text(data, "step"), _text(data, "title"), run, Answers.of(data))
