"""Samples of a language model: JSON Lines with a ``task_id`` and a ``solution`` or a ``completion``.

A ``solution`` is a whole program. A ``completion`` is what the model wrote after the prompt: a whole program,
too, when it defines the entry point, else the body after the entry point's signature. Both may stand in a
Markdown fence.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from grader.intake.asked import Asked
from grader.intake.layouts.attempts import Attempt, Reading
from grader.intake.tree import Entry, HandedIn, LeftOut, UnreadableError
from grader.intake.unpack import CHUNK, Unpacked
from grader.people import Person

name = "samples"
title = "samples of a language model"
expected = "JSON Lines with task_id and solution or completion, in a file that ends with .jsonl or .jsonl.gz"

ENDINGS = (".jsonl", ".jsonl.gz")
FILE = "solution.py"
MAX_LINE = 16 << 20
MAX_SAMPLES = 1_000_000
# What was unpacked from a .gz; a line that never ends is cut long before.
MAX_UNPACKED = 64 << 30
INDENT = "    "
# Prompts of the field import what the signature's annotations and most bodies need.
ASSUMED = {"numpy": ("np", "import numpy as np"), "torch": ("torch", "import torch")}

_FENCE = re.compile(
    r"(?P<white>[ \t]*)(?P<mark>```+(?=[^`]*$)|~~~+)[ \t]*\{?\.?(?P<language>[\w+#.-]*)(?P<more>.*)"
)
_SHALLOW = 3
_PYTHON = re.compile(r"|(?:i?python|py)(?:[23](?:\.\d+)*)?|pycon")
_MARKDOWN = frozenset({"markdown", "md"})
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_OPENED = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)


class _OddLineError(Exception):
    """A line holds no sample; the message says why."""


class Counts:
    """How many samples each task has had, over all files."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, task: str) -> int:
        """The number of the next sample, from 1."""
        self._counts[task] += 1
        return self._counts[task]


def is_samples(file: str) -> bool:
    """Whether a file is one of samples, by its name."""
    return file.lower().endswith(ENDINGS)


def read_samples(open_file: Callable[[], BinaryIO], shown: str, asked: Asked, counts: Counts) -> Reading:
    """All samples of a file, which is never whole in memory.

    Args:
        open_file: Gives the file at its start; raises UnreadableError. It may be packed with gzip.
        shown: Its path for people.
        asked: What is asked for.
        counts: The numbers of the samples so far.
    """
    attempts: list[Attempt] = []
    left_out: list[LeftOut] = []
    problems: list[str] = []
    try:
        with open_file() as file:
            for number, line in _lines(file, shown):
                if len(attempts) == MAX_SAMPLES:
                    problems.append(
                        f"{shown} holds more than {MAX_SAMPLES:,} samples; those from line {number:,} on are "
                        "not read"
                    )
                    break
                try:
                    attempts.append(_sample(line, f"{shown}:{number}", asked, counts))
                except _OddLineError as error:
                    left_out.append(LeftOut(shown, f"line {number}: {error}"))
    except UnreadableError as error:
        problems.append(f"{shown}: {error}" if shown not in str(error) else str(error))
    except OSError as error:
        problems.append(f"{shown} can't be read: {error.strerror}")
    if not attempts and not problems:
        problems.append(f"{shown} holds no sample; expected {expected}")
    return Reading(tuple(attempts), tuple(left_out), tuple(problems))


def opener(path: Path) -> Callable[[], BinaryIO]:
    """Opens a file that a user names."""
    return lambda: path.open("rb")


def _lines(file: BinaryIO, shown: str) -> Iterator[tuple[int, bytes]]:
    """The lines that aren't blank, with their numbers from 1; of a line that is too long its start."""
    head = file.read(2)
    file.seek(0)
    source: Callable[[int], bytes] = file.read
    if head == b"\x1f\x8b":
        source = Unpacked(file, "gzip", MAX_UNPACKED, "The file has no end.").read
    number, length = 1, 0
    begun: list[bytes] = []
    while chunk := source(CHUNK):
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            line = b"".join([*begun, piece]) if begun else piece
            if line.strip():
                yield number, line
            number, begun, length = number + 1, [], 0
        if rest and length <= MAX_LINE:
            begun.append(rest)
            length += len(rest)
    line = b"".join(begun)
    if line.strip():
        yield number, line


def _sample(line: bytes, shown: str, asked: Asked, counts: Counts) -> Attempt:
    """One line's sample. Raises ValueError that says what is wrong."""
    task, source, notes = _read(line, asked, counts)
    number = counts.next(task)
    raw = source.encode()
    identity = f"{task}-{number:04d}"
    entry = Entry(FILE, len(raw), None, lambda limit: raw[: limit + 1], shown)
    return Attempt(
        key=f"{task}#{number}",
        name=f"{task} #{number}",
        identity=identity,
        people=(Person(f"{task} #{number}"),),
        files=(HandedIn(FILE, entry),),
        order=(number,),
        label=f"sample {number}",
        notes=notes,
        task=task,
    )


def _read(line: bytes, asked: Asked, counts: Counts) -> tuple[str, str, tuple[str, ...]]:
    if len(line) > MAX_LINE:
        raise _OddLineError(f"it has more than {MAX_LINE:,} bytes")
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _OddLineError("it is not UTF-8") from None
    except RecursionError:
        raise _OddLineError("it is nested too deeply") from None
    except ValueError as error:
        raise _OddLineError(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _OddLineError(
            f"expected an object with task_id and solution or completion, found {_kind(found)}"
        )
    task = found.get("task_id")
    if isinstance(task, int) and not isinstance(task, bool):
        task = str(task)
    if not isinstance(task, str) or not task.strip() or not _is_text(task):
        raise _OddLineError(f"expected a task_id that is a text, found {_told(found, 'task_id')}")
    key = "solution" if isinstance(found.get("solution"), str) else "completion"
    text = found.get(key)
    if not isinstance(text, str) or not _is_text(text):
        # Whatever becomes of this line, the other samples of its task keep their numbers.
        counts.next(task)
        raise _OddLineError(f"expected a solution or a completion that is a text, found {_told(found, key)}")
    source, notes = program(text, asked, whole=key == "solution")
    return task, source, notes


def _is_text(text: str) -> bool:
    """Whether it holds no half of a surrogate pair, which JSON can write and no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _told(found: dict[str, object], key: str) -> str:
    return _kind(found[key]) if key in found else f"no {key}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "half of a surrogate pair in it" if not _is_text(value) else "an empty one"
    kinds = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


# --- from what a model wrote to a program -------------------------------------------------------


def program(text: str, asked: Asked, *, whole: bool) -> tuple[str, tuple[str, ...]]:
    """The program that a model's text stands for, and what was done to get it.

    Args:
        text: What the model wrote.
        asked: What is asked for.
        whole: It is a program and not what follows the prompt.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    notes: tuple[str, ...] = ()
    answer = _answer(text, asked.entry, whole=whole)
    if answer != text and answer.strip():
        text, notes = answer, ("What the model wrote while it was thinking is not read.",)
    inner = unfenced(text, asked.entry)
    if inner != text:
        notes += ("The code was taken out of its Markdown fence.",)
    if whole or _defines(inner, asked.entry):
        return inner, notes
    lines = [_signature(asked), indented(inner)]
    above = [
        statement
        for package, (word, statement) in ASSUMED.items()
        if package in asked.packages and _uses(inner, word) and not _imports(inner, word)
    ]
    notes += (f"The completion was put behind the signature {lines[0]!r}.",)
    if above:
        notes += (f"As prompts do, {' and '.join(above)} stands above it.",)
    return "\n".join([*above, *lines]), notes


def _answer(text: str, entry: str, *, whole: bool) -> str:
    """The text without what a model thinks before it answers.

    A program may hold the mark as well, in a string or a comment; with one at its start it is none.
    """
    ends = [found.end() for found in _THOUGHT.finditer(text)]
    opened = _OPENED.match(text) is not None
    if not ends or (whole and not opened):
        return text
    pieces = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    defining = [n for n, piece in enumerate(pieces) if _defines(piece, entry)]
    if not opened and defining == [0]:
        return text
    return text[ends[(defining[-1:] or [0])[0] - 1] :]


def unfenced(text: str, entry: str) -> str:
    """The code in a text with Markdown fences; the text itself when there is none.

    Of several blocks the first one that defines the entry point is taken, else all that are Python.
    """
    inner = _unfenced(text, entry)
    return inner if inner != text else _unfenced(text, entry, deep=True)


def _fence(line: str, *, deep: bool) -> re.Match[str] | None:
    """A line that begins or ends a block; as far within the line as may be, or as Markdown has it."""
    found = _FENCE.fullmatch(line)
    return found if found and (deep or len(found["white"]) <= _SHALLOW) else None


def _unfenced(text: str, entry: str, *, deep: bool = False, nested: bool = False) -> str:
    """The code in a text with fences; ``nested``: the text is itself within one.

    Deep fences stand in lists, but also in docstrings, so that only what defines the entry point is taken.
    """
    blocks: list[tuple[str, list[str]]] = []
    before: list[str] = []
    outside: list[str] = []
    mark = white = ""
    for line in text.split("\n"):
        found = _fence(line, deep=deep)
        if mark:
            bare = found is not None and not found["language"] and not found["more"].strip()
            if found and found["mark"].startswith(mark) and bare:
                mark = ""
            else:
                blocks[-1][1].append(_undented(line, white))
        elif found:
            mark, white = found["mark"], found["white"]
            blocks.append((found["language"].lower(), []))
        else:
            outside.append(line)
            before += [] if blocks else [line]
    if not blocks:
        return text
    # The prompt has opened a fence that the model closes; what follows is talk, perhaps with an example.
    closed = not blocks[0][0] and (mark or any(_fence(line, deep=deep) for line in blocks[0][1]))
    if not deep and closed and _is_code(before):
        return "\n".join(before) + "\n"
    codes = []
    for language, lines in blocks:
        code = "\n".join(lines) + "\n"
        if language in _MARKDOWN and not nested:
            inner = _unfenced(code, entry, deep=deep, nested=True)
            codes += [inner] if inner != code else []
        elif _PYTHON.fullmatch(language):
            codes.append(code)
    defining = next((code for code in codes if _defines(code, entry)), None)
    if defining is not None and not (deep and _defines("\n".join(outside), entry)):
        return defining
    # The fences stand in a docstring.
    if deep or _defines("\n".join(outside), entry):
        return text
    return "\n".join(codes) if codes else text


def _undented(line: str, white: str) -> str:
    """A line of a block without what its fence is indented by, as far as it is."""
    width = 0
    while width < len(white) and line[width : width + 1] in (" ", "\t"):
        width += 1
    return line[width:]


def _is_code(lines: Iterable[str]) -> bool:
    """Whether lines above a lone closing fence are a body or a program, and no talk."""
    first = next((line for line in lines if line.strip()), "")
    return first.startswith((" ", "\t", "def ", "import ", "from ", "class ", "@", "#", "return "))


def indented(body: str) -> str:
    """A function's body with an indentation: many models, and many who store their texts, lose it."""
    lines = body.split("\n")
    filled = [n for n, line in enumerate(lines) if line.strip()]
    if not filled:
        return f"{INDENT}pass\n"
    first = lines[filled[0]]
    if first[:1] in (" ", "\t"):
        return body
    depths = [len(lines[n]) - len(lines[n].lstrip(" \t")) for n in filled[1:]]
    least = min(depths, default=0)
    # Only the first line has lost its blanks, unless the others are a block that it opens.
    opens = first.rstrip().endswith(":") and depths[:1] == [least] and least <= len(INDENT)
    stripped = least > 0 and not opens
    if stripped:
        white = lines[filled[1]][:least]
        lines[filled[0]] = (white if not white.strip() else INDENT) + first
        return "\n".join(lines)
    return "\n".join(INDENT + line if line.strip() else line for line in lines)


def _signature(asked: Asked) -> str:
    return f"def {asked.entry}({', '.join(asked.parameters)}):"


def _defines(text: str, entry: str) -> bool:
    word = re.escape(entry)
    found = re.search(
        rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{word}\b|^{word}[ \t]*[=:]", text, re.MULTILINE
    )
    return found is not None


def _uses(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.]){word}\.", text) is not None


def _imports(text: str, word: str) -> bool:
    return re.search(rf"^[ \t]*(?:import|from)\b[^\n]*\b{word}\b", text, re.MULTILINE) is not None
