"""The starter file: the signature and a docstring, and nothing that gives points."""

from __future__ import annotations

import keyword
import textwrap
import traceback
import types
from collections.abc import Sequence
from pathlib import Path

from grader.errors import ExerciseError, GraderError
from grader.exercise.driving import DRIVER_FILE, bound
from grader.exercise.forms import words
from grader.exercise.models import Exercise, Policy
from grader.exercise.recipes import Parameter
from grader.exercise.rehearsal import Functions
from grader.exercise.source import ExerciseSource, shown

WIDTH = 88


def starter_text(source: ExerciseSource) -> str:
    """The Python text of the starter file.

    The author's own where there is ``cases/NAME/starter.py``. Raises GraderError as `starter_code` does.
    """
    if (own := _own(source)) is not None:
        return own
    exercise = source.exercise
    said = f"{_plain(exercise.title)}. Check this file with: grader check {exercise.exercise}.py"
    opening = f'"""{said}"""'
    if len(opening) > WIDTH:
        title, _, command = said.rpartition(". ")
        wrapped = "\n".join(_wrapped(f'"""{title}.', WIDTH))
        opening = f'{wrapped}\n\n{command}\n"""'
    code = starter_code(source)
    # Two blank lines above a function, one above imports.
    blank = "\n" if code.startswith("import ") else "\n\n"
    return f"{opening}\n{blank}{code}"


def _own(source: ExerciseSource) -> str | None:
    path = source.root / "cases" / source.name / "starter.py"
    return path.read_text("utf-8") if path.is_file() else None


def starter_code(source: ExerciseSource) -> str:
    """The same without what it says of the file.

    Raises:
        GraderError: A parameter's name is no name in Python, or nothing is known of a name that is asked for.
    """
    if (own := _own(source)) is not None:
        return own
    exercise = source.exercise
    views = [exercise.view(name) for name in exercise.call_names]
    functions = [view.entries[0] for view in views]
    for name in (*functions, *(name for view in views for name in view.parameters)):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GraderError(
                f"{exercise.exercise}: {name!r} can't be the name of a function or a parameter in Python; "
                "rename it in exercise.yaml"
            )
    if exercise.driver is not None or set(exercise.entries) - set(functions):
        path = f"cases/{exercise.exercise}/starter.py"
        raise GraderError(
            f"{exercise.exercise}: what its driver uses can't be told; write what a student begins with "
            f"as {path}"
        )
    imports = "import numpy as np\n\n\n" if "numpy" in exercise.packages else ""
    bodies = [
        f'{_signature(view)}\n    """{_docstring(view, source.policy)}\n    """\n'
        "    raise NotImplementedError\n"
        for view in views
    ]
    return imports + "\n\n".join(bodies)


def starter(source: ExerciseSource) -> Functions:
    """What makes the calls of the file that a student starts from.

    Raises:
        GraderError: There is no such file, or it or the driver can't be run.
    """
    exercise = source.exercise
    folder = source.root / "cases" / source.name
    module = types.ModuleType(exercise.exercise)
    code = starter_code(source)
    file = f"{exercise.exercise}.py"
    try:
        exec(compile(code, file, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise _fails(folder / "starter.py", error, file) from error
    try:
        return bound(source.driver, module, exercise.call_names, exercise.entries[0])
    except (Exception, SystemExit) as error:
        raise _fails(folder / (exercise.driver or "driver.py"), error, DRIVER_FILE) from error


def _fails(path: Path, error: BaseException, file: str) -> ExerciseError:
    """A file of the author's that can't be run, told with its line."""
    lines = [
        frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
    ]
    line = (error.lineno or 0) if isinstance(error, SyntaxError) else lines[-1] if lines else 0
    place = f"{shown(path)}:{line}" if line else shown(path)
    said = f"{place}: can't be run: {type(error).__name__}: {error}"
    return ExerciseError.at(shown(path), line, said)


def _signature(exercise: Exercise) -> str:
    name = exercise.entries[0]
    line = f"def {name}({', '.join(exercise.parameters)}):"
    if len(line) <= WIDTH:
        return line
    return f"def {name}(\n" + "".join(f"    {name},\n" for name in exercise.parameters) + "):"


def _docstring(exercise: Exercise, policy: Policy) -> str:
    """Its lines, indented but for the first; the last line has no end."""
    # With the quotation marks before it.
    first, *more = _wrapped(f'"""{_plain(exercise.title)}.', WIDTH - 4)
    sizes = _dims(exercise)
    lines = [first.removeprefix('"""'), *more, *(["", *sizes] if sizes else []), "", "Args:"]
    for name, parameter in exercise.parameters.items():
        lines += _item(f"{name}: {_argument(name, parameter)}")
    form = exercise.form
    dtypes = f", {' or '.join(form.dtype)}" if form.is_array else ""
    told = words(form)
    lines += ["", "Returns:", *_item(f"{told[:1].upper()}{told[1:]}{dtypes}.")]
    unknown = list(
        dict.fromkeys(s for _, s in form.sizes() if isinstance(s, str) and s in form.free(exercise.dims))
    )
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
    for name, limit in exercise.dims.items():
        same.setdefault(limit, []).append(name)
    told = [f"{', '.join(names)} {limit}" for limit, names in same.items()]
    return _paragraph(f"Sizes: {'; '.join([*told, *exercise.constraints])}.") if told else []


def _argument(name: str, parameter: Parameter) -> str:
    if parameter.mapping is not None:
        items = "; ".join(f"{key}: {_argument(key, item)}" for key, item in parameter.mapping.items())
        return f"Dictionary. {items}"
    if parameter.generator is not None:
        return "Random generator, as numpy.random.default_rng makes it."
    if parameter.shape is None:
        if parameter.scalar is None:
            kind = type(parameter.value).__name__
            return {"str": "A text.", "bool": "True or False.", "NoneType": "None."}.get(kind, "A number.")
        return "A number." if parameter.scalar == name else f"A number, {parameter.scalar}."
    if parameter.as_list:
        return f"Nested lists of shape {_shape(parameter.shape)}."
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
