"""What pydantic found in a part of a YAML file, as one clear fault for each place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from grader.exercise.yaml_source import Document, KeyPath

Fault = tuple[KeyPath, str]
# What a value was expected to be, by the beginning of pydantic's name for the fault.
_KINDS = {
    "float": "a number",
    "int": "a whole number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "dict": "a mapping",
}


def clear_faults(details: Sequence[Any], document: Document, at: KeyPath) -> list[Fault]:
    """The key path and message of each fault.

    Where a value may be one of several things, pydantic reports what is wrong with each of them. Of these
    only the one that was meant is kept; where none was, one message names them all.

    Args:
        details: The errors of a pydantic ValidationError.
        document: The file.
        at: Key path of the part that was validated.
    """
    return _resolve([(at, tuple(d["loc"]), d) for d in details], document)


def _resolve(open_: list[tuple[KeyPath, KeyPath, Any]], document: Document) -> list[Fault]:
    faults: list[Fault] = []
    unions: dict[KeyPath, dict[str | int, list[tuple[KeyPath, KeyPath, Any]]]] = {}
    for path, rest, detail in open_:
        while rest and (*path, rest[0]) in document.lines:
            path, rest = (*path, rest[0]), rest[1:]
        if not rest or rest == ("[key]",):
            faults.append((_place(path, detail), _message(detail)))
        elif detail["type"] == "missing" and len(rest) == 1:
            faults.append(((*path, rest[0]), "is missing"))
        else:
            # What is no key of the file is the name of the alternative that pydantic tried.
            unions.setdefault(path, {}).setdefault(rest[0], []).append((path, rest[1:], detail))
    for path, alternatives in unions.items():
        if len(alternatives) == 1:
            faults += _resolve(next(iter(alternatives.values())), document)
            continue
        found = {tag: _resolve(tried, document) for tag, tried in alternatives.items()}
        meant = [tag for tag, tried in alternatives.items() if not _other_kind(tried, path)]
        if meant:
            nearest: list[Fault] = max((found[tag] for tag in meant), key=_nearness)
            faults += nearest
        else:
            faults.append((path, _one_of([d for tried in alternatives.values() for _, _, d in tried])))
    return list(dict.fromkeys(faults))


def _other_kind(tried: list[tuple[KeyPath, KeyPath, Any]], path: KeyPath) -> bool:
    """Whether the value is of another kind than this alternative altogether."""
    kinds = ("literal_error", "mapping", "_type", "_parsing", "_from_float")
    return any(p == path and not rest and d["type"].endswith(kinds) for p, rest, d in tried)


def _nearness(faults: list[Fault]) -> tuple[bool, int, int]:
    return "did you mean" in faults[0][1], max(len(path) for path, _ in faults), -len(faults)


def _place(path: KeyPath, detail: Any) -> KeyPath:
    context = detail.get("ctx", {})
    if "key" in context:
        return (*path, context["key"])
    return (*path, *context.get("at", ()))


def _message(detail: Any) -> str:
    message = str(detail["msg"])
    kinds = ("literal_error", *(f"{kind}_type" for kind in _KINDS))
    if detail["type"] in kinds or "_parsing" in detail["type"]:
        message = f"expected {_wanted(detail)}"
    if detail["type"] == "too_short":
        least = detail["ctx"]["min_length"]
        message = f"expected at least {least} item{'s' if least != 1 else ''}"
    message = message.removeprefix("Input should be ").removeprefix("Value error, ")
    if message != detail["msg"] and not message.startswith("expected"):
        message = f"expected {message}"
    value = detail.get("input")
    told = detail["type"] in ("unknown_key", "one_of", "needs", "rows", "expression", "unknown_dim")
    if told or "found" in message or isinstance(value, dict | BaseModel):
        return message[0].lower() + message[1:]
    return f"{message[0].lower()}{message[1:]}, found {show_value(value)}"


def show_value(value: Any) -> str:
    """A YAML value as an author wrote it, more or less."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _wanted(detail: Any) -> str:
    if detail["type"] == "literal_error":
        return str(detail["ctx"]["expected"])
    if detail["type"] == "mapping":
        return str(detail["msg"]).removeprefix("expected ")
    return _KINDS.get(detail["type"].partition("_")[0], str(detail["msg"]))


def _one_of(details: list[Any]) -> str:
    wanted = list(dict.fromkeys(_wanted(d) for d in details))
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    return f"expected {', or '.join(wanted)}, found {show_value(details[0].get('input'))}"
