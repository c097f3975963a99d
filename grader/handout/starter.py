"""The starter file: the signature and a docstring, and nothing that gives points."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from grader.errors import GraderError
from grader.exercise.models import Exercise, Policy
from grader.exercise.recipes import Parameter

WIDTH = 88


def starter_text(exercise: Exercise, policy: Policy) -> str:
    """The Python text of the starter file. Raises GraderError as `starter_code` does."""
    said = f"{_plain(exercise.title)}. Check this file with: grader check {exercise.exercise}.py"
    opening = f'"""{said}"""'
    if len(opening) > WIDTH:
        title, _, command = said.rpartition(". ")
        wrapped = "\n".join(_wrapped(f'"""{title}.', WIDTH))
        opening = f'{wrapped}\n\n{command}\n"""'
    code = starter_code(exercise, policy)
    # Two blank lines above a function, one above imports.
    blank = "\n" if code.startswith("import ") else "\n\n"
    return f"{opening}\n{blank}{code}"


def starter_code(exercise: Exercise, policy: Policy) -> str:
    """The same without what it says of the file.

    Raises:
        GraderError: A parameter's name is no name in Python.
    """
    for name in (exercise.entry, *exercise.parameters):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GraderError(
                f"{exercise.exercise}: {name!r} can't be the name of a function or a parameter in Python; "
                "rename it in exercise.yaml"
            )
    imports = "import numpy as np\n\n\n" if "numpy" in exercise.packages else ""
    return (
        f"{imports}{_signature(exercise)}\n"
        f'    """{_docstring(exercise, policy)}\n    """\n'
        f"    raise NotImplementedError\n"
    )


def starter(exercise: Exercise, policy: Policy) -> Callable[..., Any]:
    """The function that a student starts from: that of `starter_code`. Raises GraderError."""
    module: dict[str, Any] = {"__name__": exercise.exercise}
    exec(compile(starter_code(exercise, policy), f"{exercise.exercise}.py", "exec"), module)
    function: Callable[..., Any] = module[exercise.entry]
    return function


def _signature(exercise: Exercise) -> str:
    line = f"def {exercise.entry}({', '.join(exercise.parameters)}):"
    if len(line) <= WIDTH:
        return line
    return f"def {exercise.entry}(\n" + "".join(f"    {name},\n" for name in exercise.parameters) + "):"


def _docstring(exercise: Exercise, policy: Policy) -> str:
    """Its lines, indented but for the first; the last line has no end."""
    # With the quotation marks before it.
    first, *more = _wrapped(f'"""{_plain(exercise.title)}.', WIDTH - 4)
    lines = [first.removeprefix('"""'), *more, "", *_dims(exercise), "", "Args:"]
    for name, parameter in exercise.parameters.items():
        lines += _item(f"{name}: {_argument(name, parameter)}")
    returns = exercise.returns
    lines += [
        "",
        "Returns:",
        *_item(f"An array of shape {_shape(returns.shape)}, {' or '.join(returns.dtype)}."),
    ]
    unknown = [s for s in returns.shape if isinstance(s, str) and s.isidentifier() and s not in exercise.dims]
    if unknown:
        lines += _item(f"{_listed(unknown)} follows from the arguments: see the statement.")
    lines += ["", *_paragraph(f"You may use {_listed(['the standard library', *exercise.packages])}.")]
    if policy.rules:
        lines.append("Not allowed:")
        for rule in policy.rules:
            lines += _item(f"- {_plain(rule.title)}", hang=2)
    text = "\n".join(f"    {line}".rstrip() for line in lines)
    return text.strip()


def _dims(exercise: Exercise) -> list[str]:
    """Bounds of the dims, those with the same bound together, and what relates them."""
    same: dict[str, list[str]] = {}
    for name, bound in exercise.dims.items():
        same.setdefault(bound, []).append(name)
    told = [f"{', '.join(names)} {bound}" for bound, names in same.items()]
    return _paragraph(f"Sizes: {'; '.join([*told, *exercise.constraints])}.")


def _argument(name: str, parameter: Parameter) -> str:
    if parameter.shape is None:
        return "A number." if parameter.scalar in (None, name) else f"A number, {parameter.scalar}."
    told = f"Array of shape {_shape(parameter.shape)}, usually {parameter.dtype}."
    if parameter.parts is not None:
        told += f" Along axis {parameter.parts.axis}: {', '.join(parameter.parts.names)}."
    return told


def _shape(sizes: Sequence[str | int | float]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _paragraph(text: str) -> list[str]:
    return _wrapped(text, WIDTH - 4)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _item(text: str, hang: int = 4) -> list[str]:
    """A line of a section, the lines that it goes on in further indented."""
    return textwrap.wrap(
        text,
        WIDTH - 4,
        initial_indent="    ",
        subsequent_indent=" " * (4 + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _listed(names: Sequence[str]) -> str:
    """The names with commas and an "and"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _plain(text: str) -> str:
    """A text that ends no docstring, on one line, without a full stop at its end."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'").rstrip(".")
