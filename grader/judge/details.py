"""What a page shows of a failing public case: inputs, both answers, the largest errors, a snippet."""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.exercise.calls import GeneratorArgument, PlacedArray
from grader.exercise.pack import Pack, PackCase
from grader.judge.relations import Judgement
from grader.outcomes import ArrayValue, StepOutcome
from grader.result import Shared, SubmissionInfo

Array = NDArray[Any]

MAX_SHOWN = 240
MAX_COLUMNS = 40
# Rows and columns that are shown of a larger array.
PART = (12, 10)
MAX_SNIPPET = 1_500


def file_named(submission: SubmissionInfo) -> str:
    """The file that a snippet imports, as the student called it; a live function has none."""
    return submission.filename if submission.digest else ""


def plain(array: Array) -> Any:
    """Nested lists of numbers; what JSON can't hold (NaN, infinity) as text."""
    if array.dtype.kind != "f":
        return array.tolist()
    if np.isfinite(array).all():
        return array.astype(np.float64).tolist()

    def clean(value: Any) -> Any:
        if isinstance(value, list):
            return [clean(v) for v in value]
        return value if math.isfinite(value) else str(value)

    with np.errstate(all="ignore"):
        return clean(array.astype(np.float64).tolist())


def _plain_number(value: Any) -> float | str:
    """As `plain`, for one element of an array."""
    number: float = value.item()
    return number if math.isfinite(number) else str(number)


def case_details(
    pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome], judgement: Judgement, filename: str
) -> dict[str, Any]:
    """Plain data about a failing public case.

    Keys, each only where it applies: ``inputs`` (name, dtype, shape, and values when the array is small),
    ``texts`` (name and text of each answer, where they are no arrays that are held against each other),
    ``obtained``, ``expected``, ``answers`` (name and values of two of her answers that were held against each
    other), ``changed`` (an argument's ``name``, and ``before`` and ``after`` the call its values, or a
    ``part`` of them), ``part`` (of large answers what lies around the largest error, see `telling_part`),
    ``worst`` (index, obtained, expected), ``traceback`` (line and function of the student's frames),
    ``exception``, ``stdout``, ``stderr``, ``snippet``.
    """
    details: dict[str, Any] = {}
    key = ("inputs", case.id, 0)
    if key not in pack.texts:
        pack.texts[key] = Shared(describe_inputs(pack.arguments(case)))
    details["inputs"] = pack.texts[key]
    obtained, expected = judgement.obtained, judgement.expected
    call = pack.call(case)
    if not call.is_array or case.chance or case.check == "raises":
        details |= _texts(case, outcomes)
        return details | _happened(pack, case, outcomes, filename)
    if judgement.verdict in ("wrong_shape", "wrong_type") and case.check == "compare":
        obtained, expected = _refused(outcomes[0], call.dtypes), pack.expected(case)
    if obtained is not None and obtained.size <= MAX_SHOWN:
        details["obtained"] = plain(obtained)
    if expected is not None and expected.size <= MAX_SHOWN:
        details["expected"] = plain(expected)
    if judgement.answers and all(answer.size <= MAX_SHOWN for _, answer in judgement.answers):
        details["answers"] = [[name, plain(answer)] for name, answer in judgement.answers]
    if judgement.comparison is not None and obtained is not None and expected is not None:
        details["worst"] = [
            {"index": list(i), "obtained": _plain_number(obtained[i]), "expected": _plain_number(expected[i])}
            for i in judgement.comparison.worst
        ]
        wide = obtained.ndim > 1 and obtained.shape[-1] > MAX_COLUMNS
        if (wide or obtained.size > MAX_SHOWN) and judgement.comparison.worst:
            details["part"] = telling_part(obtained, expected, judgement.comparison.worst)
    if judgement.verdict == "input_mutated":
        details |= _changed_argument(pack, case, outcomes[0])
    return details | _happened(pack, case, outcomes, filename)


def _texts(case: PackCase, outcomes: Sequence[StepOutcome]) -> dict[str, Any]:
    """The answers as people read them, where they are no arrays that could be held against each other."""
    from grader.exercise.written import written

    returned = [outcome.value for outcome in outcomes if outcome.state == "returned"]
    if case.check in ("equals", "differs", "same_on_repeat", "earlier_answer_kept") and len(returned) > 1:
        later = "Second answer" if case.check in ("equals", "differs") else "Last answer"
        return {"texts": [["First answer", written(returned[0])], [later, written(returned[-1])]]}
    texts = [["Obtained", written(returned[0])]] if returned else []
    texts += [["Expected", case.answer]] if case.answer else []
    return {"texts": texts} if texts else {}


def _happened(pack: Pack, case: PackCase, outcomes: Sequence[StepOutcome], filename: str) -> dict[str, Any]:
    """How the calls ended, what they printed, and the text to paste."""
    details: dict[str, Any] = {}
    failed = next((o for o in outcomes if o.failure is not None), None)
    if failed is not None and failed.failure is not None:
        details["exception"] = f"{failed.failure.type}: {failed.failure.message}".removesuffix(": ")
        details["traceback"] = [list(frame) for frame in failed.failure.frames]
    for name in ("stdout", "stderr"):
        text = "".join(getattr(o, name) for o in outcomes)
        if text:
            details[name] = text[-4_000:]
    text = snippet(pack, case, filename)
    if text:
        details["snippet"] = text
    return details


def _changed_argument(pack: Pack, case: PackCase, outcome: StepOutcome) -> dict[str, Any]:
    """What the case's call made of the argument that it asks about; empty where that is not known."""
    name = str(case.options["argument"])
    value = dict(outcome.after).get(pack.parameters(case).index(name))
    before = dict(pack.arguments(case))[name]
    if not isinstance(value, ArrayValue) or not isinstance(before, np.ndarray):
        return {}
    after = value.array()
    off = [tuple(map(int, index)) for index in np.argwhere(~_same(before, after))]
    if after.shape != before.shape or not off:
        return {}
    if after.size <= MAX_SHOWN and (after.ndim < 2 or after.shape[-1] <= MAX_COLUMNS):
        return {"changed": {"name": name, "before": plain(before), "after": plain(after)}}
    return {"changed": {"name": name, "part": telling_part(after, before, off)}} if after.ndim else {}


def _same(one: Array, other: Array) -> NDArray[np.bool_]:
    """Where two arrays of one shape and dtype are the same, NaN included."""
    with np.errstate(all="ignore"):
        same: NDArray[np.bool_] = (one == other) | ((one != one) & (other != other))
    return same


def _refused(outcome: StepOutcome, dtypes: Sequence[str]) -> Array | None:
    """A small answer of another shape than the right one; None where there is no such array."""
    value = outcome.value
    if not isinstance(value, ArrayValue) or value.data is None or value.dtype not in dtypes:
        return None
    # What the child says of the shape is believed only where it fits the bytes that are there.
    size = math.prod(value.shape)
    fits = len(value.shape) <= 8 and all(n >= 0 for n in value.shape) and size <= MAX_SHOWN
    return value.array() if fits and len(value.data) == size * np.dtype(value.dtype).itemsize else None


def telling_part(obtained: Array, expected: Array, worst: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """The rows and columns around the largest error of an array that is too large to be shown.

    Keys: ``shape`` of the whole array; ``at``, the index of the matrix in it (empty for one or two axes);
    ``first``, the first row and the first column that are shown; ``obtained`` and ``expected``, matrices.

    Args:
        obtained, expected: Of one shape, with at least one axis.
        worst: Indices, that of the largest error first.
    """
    at = worst[0][:-2]
    matrices = [np.atleast_2d(side[at]) for side in (obtained, expected)]
    near = [index[-2:] if len(index) > 1 else (0, *index) for index in worst if index[:-2] == at]
    sizes = matrices[0].shape
    windows = [
        _window([index[axis] for index in near], size, most)
        for axis, (size, most) in enumerate(zip(sizes, PART, strict=True))
    ]
    rows, columns = (slice(first, first + count) for first, count in windows)
    return {
        "shape": list(obtained.shape),
        "at": list(at),
        "first": [first for first, _ in windows],
        "obtained": plain(matrices[0][rows, columns]),
        "expected": plain(matrices[1][rows, columns]),
    }


def _window(places: Sequence[int], size: int, most: int) -> tuple[int, int]:
    """First index and length of a stretch with the first place and as many of the next ones as fit in."""
    low = high = places[0]
    for place in places[1:]:
        if max(high, place) - min(low, place) < most:
            low, high = min(low, place), max(high, place)
    count = min(size, most)
    first = (low + high + 1 - count) // 2
    return min(max(first, 0), size - count), count


def describe_inputs(arguments: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Every argument described; those of a dictionary one by one."""
    slots = [
        (f"{name}.{key}" if key else name, item)
        for name, value in arguments
        for key, item in (value.items() if isinstance(value, dict) else [("", value)])
    ]
    return [describe_input(name, value) for name, value in slots]


def describe_input(name: str, value: Any) -> dict[str, Any]:
    """Name, dtype, shape and values of an argument; without values when there are many."""
    if isinstance(value, GeneratorArgument):
        return {"name": name, "value": f"numpy.random.default_rng({value.seed})", "type": "generator"}
    if not isinstance(value, np.ndarray):
        text = value if isinstance(value, bool | int | float | str) or value is None else repr(value)
        # JSON can't hold it as a number.
        text = str(text) if isinstance(text, float) and not math.isfinite(text) else text
        cut = text if len(str(text)) <= MAX_SHOWN else f"{str(text)[:MAX_SHOWN]}…"
        return {"name": name, "value": cut} | ({"type": "list"} if isinstance(value, list) else {})
    shown: dict[str, Any] = {"name": name, "dtype": value.dtype.name, "shape": list(value.shape)}
    if value.size <= MAX_SHOWN:
        shown["values"] = plain(value)
    return shown


def _literal(value: Any) -> str:
    """Python text that gives the value again, an array with its dtype and its layout in memory."""
    if isinstance(value, GeneratorArgument):
        return f"np.random.default_rng({value.seed})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(item)}" for key, item in value.items()) + "}"
    if not isinstance(value, np.ndarray):
        return repr(value)
    text = _array_text(value)
    if value.flags.c_contiguous:
        return text
    if value.flags.f_contiguous:
        return f"np.asfortranarray({text})"
    return f"np.repeat({text}, 2, axis=-1)[..., ::2]"


def _array_text(value: Array) -> str:
    dtype = f"np.{value.dtype.name}" if value.dtype.name != "bool" else "bool"
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        # As text: nan and inf are no names of Python.
        return f"np.array({value.astype(str).tolist()!r}, dtype={dtype})"
    if not value.size:
        return f"np.zeros({value.shape}, dtype={dtype})"
    if (value == value.flat[0]).all():
        return f"np.full({value.shape}, {value.flat[0].item()!r}, dtype={dtype})"
    return f"np.array({value.tolist()!r}, dtype={dtype})"


def snippet(pack: Pack, case: PackCase, filename: str) -> str:
    """Python text that makes the case's calls and says whether what it checks holds; empty when too long.

    It stands on its own beside the submission. Each call gets arguments made for it, as in grading, and the
    last line that it prints is ``holds: True`` or ``holds: False``.

    Args:
        pack: The pack.
        case: A public case.
        filename: As `file_named` gives it, or the file's path when the text is not to stand beside it.
    """
    call = pack.call(case)
    if not call.is_array or call.driven or case.chance or case.check in ("raises", "holds", "statistic"):
        return _plain_snippet(pack, case, filename)
    if _numbers(pack, case) > MAX_SNIPPET:
        return ""
    key = ("snippet", case.id, 0)
    if key not in pack.texts:
        pack.texts[key] = _after_imports(pack, case)
    text: str = pack.texts[key]
    return _imports(pack.exercise.called(case.call), filename) + text


def _plain_snippet(pack: Pack, case: PackCase, filename: str) -> str:
    """Python text that makes the case's first call and prints the answer; empty when too long."""
    arguments = pack.arguments(case)
    if sum(_size(value) for _, value in arguments) > MAX_SNIPPET:
        return ""
    name = pack.exercise.called(case.call)
    names = [argument for argument, _ in arguments]
    driven = pack.call(case).driven
    imports = _driver_imports(pack, filename, names) if driven else _imports(name, filename)
    if not imports:
        return ""
    call = f"{name}({', '.join(['submission', *names] if driven else names)})"
    lines = [*_assignments(pack, case, 0), f"print({call})"]
    if case.answer:
        lines += ["# Expected:", *(f"# {line}" for line in case.answer.splitlines())]
    elif case.check == "raises":
        lines.append(f"# Expected: the exception {' or '.join(case.options['raises'])}")
    elif case.check == "holds":
        lines += [f"# Expected: {claim['says']}" for claim in case.options["holds"]]
    elif case.check == "compare" and pack.expected(case).size <= MAX_SNIPPET:
        lines += [f"expected = {_literal(pack.expected(case))}", _printed("expected", "expected")]
    return imports + "\n".join(lines) + "\n"


def _size(value: Any) -> int:
    """How many numbers or texts an argument holds."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return value.size if isinstance(value, np.ndarray) else 1


def _driver_imports(pack: Pack, filename: str, arguments: Sequence[str]) -> str:
    """The first lines of a snippet whose call the driver makes; empty where the two don't go together.

    They import the submission as ``submission`` and hold the driver as its author wrote it.
    """
    driver = pack.exercise.driver.strip("\n")
    tree = ast.parse(driver)
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {name.partition(".")[0] for node in tree.body for name in _defined(node)}
    # An argument of the same name would take the place of what the driver needs.
    if own & {*arguments, "submission"} or any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    ):
        return ""
    if "progress" in found - own:
        driver += "\n\n\ndef progress(done, total):\n    pass"
    path = PurePath(filename)
    if not filename or filename.lower().endswith(".ipynb"):
        where = (
            "where what was checked is defined" if not filename else "in the notebook, after its other cells"
        )
        # A copy, as functions of the driver may have the names of those that they call.
        copied = "submission = types.SimpleNamespace(**globals())"
        taken = f"# To be run {where}.\nimport types\n\n{copied}"
    elif path.stem.isidentifier() and not keyword.iskeyword(path.stem) and path.name == filename:
        taken = f"import {path.stem} as submission"
    else:
        # What the file imports lies beside it.
        beside = f"sys.path.insert(0, {str(path.parent)!r})"
        run = f"submission = types.SimpleNamespace(**runpy.run_path({filename!r}))"
        taken = f"import runpy\nimport sys\nimport types\n\n{beside}\n{run}"
    return f"{taken}\n\n\n# How the grader makes the call:\n{driver}\n\n\nimport numpy as np\n\n"


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]


def example_snippet(
    entry: str,
    filename: str,
    arguments: Sequence[tuple[str, Any]],
    expected: Array | None,
    changed: Sequence[str] = (),
    shared: Sequence[str] = (),
) -> str:
    """Python text that makes one call and prints what it gives beside what it should give.

    Args:
        entry: Name of the entry point.
        filename: As `file_named` gives it.
        arguments: Name and value of each argument.
        expected: The right answer; None where the answer is right and not worth printing.
        changed: Names of the arguments that the call changes: each is printed as it is after the call and as
            it was before.
        shared: Names of the arguments with which the answer shares memory; for a right answer.
    """
    call = f"{entry}({', '.join(name for name, _ in arguments)})"
    lines = [f"{name} = {_literal(value)}" for name, value in arguments]
    lines += [f"{name}_before = {name}.copy()" for name in changed]
    if expected is not None:
        lines += [f"print({call})", f"expected = {_literal(expected)}", _printed("expected", "expected")]
    else:
        lines.append(f"answer = {call}")
    if shared:
        lines.append('answer = answer.detach().numpy() if hasattr(answer, "detach") else answer')
        lines += [f'print("shares memory with {n}:", np.shares_memory(answer, {n}))' for n in shared]
    for name in changed:
        before = f"{name}_before"
        lines += [_printed(f"{name} now", name), _printed("expected", before), _holds(name, before)]
    return _imports(entry, filename).rstrip("\n") + "\n\n" + "\n".join(lines) + "\n"


def _printed(label: str, name: str) -> str:
    """The line that prints an array below its label."""
    return f'print("{label}:", {name}, sep="\\n")'


def _holds(name: str, before: str) -> str:
    """The line that says whether an argument is as it was."""
    same = " and ".join(f"{name}.{what} == {before}.{what}" for what in ("shape", "dtype", "tobytes()"))
    return f'print("holds:", {same})'


def _numbers(pack: Pack, case: PackCase) -> int:
    """How many numbers the arguments hold, or the expected answer if these are more."""
    key = ("numbers", case.id, 0)
    if key not in pack.texts:
        sizes = [v.size for _, v in pack.arguments(case) if isinstance(v, np.ndarray)]
        expected = pack.expected(case).size if case.check == "compare" else 0
        pack.texts[key] = max(sum(sizes), expected)
    count: int = pack.texts[key]
    return count


def _after_imports(pack: Pack, case: PackCase) -> str:
    """What follows the lines that import a submission."""
    calls = [
        number for number, s in enumerate(case.steps) if not isinstance(pack.plans[case.visibility][s], int)
    ]
    arguments = pack.arguments(case)
    entry = pack.exercise.called(case.call)
    names = ", ".join(name for name, _ in arguments)
    # What is asked of an answer's memory is asked of the answer itself; else it is kept as it was given.
    kept = "np.asarray" if case.check in ("earlier_answer_kept", "output_not_aliased") else "np.array"
    checked = _CHECKED.format(dtypes=pack.call(case).dtypes, kept=kept)
    lines = [*checked.splitlines(), "", ""]
    made = _assignments(pack, case, 0)
    if len(calls) > 1:
        lines += ["def inputs():", *(f"    {line}" for line in made), f"    return {names}", "", ""]
        lines += [f"{names} = inputs()"]
    else:
        lines += made
    if case.check == "inputs_unchanged":
        lines.append(f"before = {case.options['argument']}.copy()")
    for number in calls:
        if number:
            lines += ["", f"{names} = inputs()", *_changes(pack, case, number)]
        answer = ANSWERS[number] if number < len(calls) - 1 or case.check != "same_on_repeat" else "again"
        lines.append(f"{answer} = checked({entry}({names}), {case.shapes[number]})")
        if not number and case.check == "earlier_answer_kept":
            lines.append("kept = answer.copy()")
    arrays = [name for name, value in arguments if isinstance(value, np.ndarray)]
    expected = _literal(pack.expected(case)) if case.check == "compare" else ""
    return "\n".join([*lines, *_verdict(case, arrays, expected)]) + "\n"


ANSWERS = ("answer", "other")

_CHECKED = """\
def checked(answer, shape):
    answer = answer.detach().numpy() if hasattr(answer, "detach") else answer
    print(answer)
    assert isinstance(answer, np.ndarray), f"expected an array, found {{type(answer).__name__}}"
    assert answer.shape == shape, f"expected the shape {{shape}}, found {{answer.shape}}"
    assert answer.dtype.name in {dtypes}, f"found the dtype {{answer.dtype}}"
    return {kept}(answer)
"""


@lru_cache(maxsize=16)
def _imports(entry: str, filename: str) -> str:
    """The first lines of a snippet; the first one is a comment where it is not to stand beside a file."""
    if not filename:
        return f"# To be run where {entry} is the function that was checked.\nimport numpy as np\n\n\n"
    if filename.lower().endswith(".ipynb"):
        return f"# A cell to run in the notebook, after those that define {entry}.\nimport numpy as np\n\n\n"
    path = PurePath(filename)
    if path.stem.isidentifier() and not keyword.iskeyword(path.stem) and path.name == filename:
        return f"import numpy as np\nfrom {path.stem} import {entry}\n\n\n"
    run = f"{entry} = runpy.run_path({filename!r})[{entry!r}]\n\n\n"
    if path.name == filename:
        return f"import runpy\n\nimport numpy as np\n\n{run}"
    # What the file imports lies beside it.
    beside = f"sys.path.insert(0, {str(path.parent)!r})\n"
    return f"import runpy\nimport sys\n\nimport numpy as np\n\n{beside}{run}"


def _assignments(pack: Pack, case: PackCase, call: int) -> list[str]:
    """Lines that make the arguments of one of the case's calls."""
    key = ("assignments", case.id, call)
    if key not in pack.texts:
        lines = [f"{name} = {_literal(value)}" for name, value in pack.arguments(case, call)]
        lines += [f"{name}.flags.writeable = False" for name in _read_only(pack, case, call)]
        pack.texts[key] = tuple(lines)
    return list(pack.texts[key])


def _changes(pack: Pack, case: PackCase, call: int) -> list[str]:
    """Those of these lines by which a call differs from the first one."""
    first = set(_assignments(pack, case, 0))
    lines = [line for line in _assignments(pack, case, call) if line not in first]
    remade = {line.partition(" = ")[0] for line in lines}
    flags = [f"{name}.flags.writeable = False" for name in _read_only(pack, case, call) if name in remade]
    return lines + [line for line in flags if line not in lines]


def _read_only(pack: Pack, case: PackCase, call: int) -> list[str]:
    step = pack.plans[case.visibility][case.steps[call]]
    placed = step if not isinstance(step, int) else []
    pairs = zip(pack.parameters(case), placed, strict=True)
    return [name for name, argument in pairs if isinstance(argument, PlacedArray) and argument.read_only]


def _verdict(case: PackCase, arrays: Sequence[str], expected: str) -> list[str]:
    """Lines that print what must hold and whether it does; `grader.judge.cases` decides the same."""
    first, second = (
        f"np.float64({name}[{list(case.options[key])}])"
        if case.options.get(key) is not None
        else f"np.float64({name})"
        for name, key in (("answer", "rows"), ("other", "other_rows"))
    )
    largest = "np.abs({0}[np.isfinite({0})]).max(initial=0)"
    if case.check == "compare":
        return [
            f"expected = {expected}",
            _printed("expected", "expected"),
            'print("largest difference:", np.abs(answer - expected).max(initial=0))',
            f"allowed = {case.tolerance!r} * {case.scale!r}",
            'print("allowed:", allowed)',
            'print("holds:", np.allclose(answer, expected, rtol=0, atol=allowed, equal_nan=True))',
        ]
    if case.check == "finite":
        return ["# Every value must be finite.", 'print("holds:", bool(np.isfinite(answer).all()))']
    if case.check == "equals":
        return [
            "# These rows must be equal but for rounding.",
            f"first, second = {first}, {second}",
            f"scale = max({largest.format('answer')}, {largest.format('other')}) or 1.0",
            'print("largest difference:", np.abs(second - first).max(initial=0))',
            f"allowed = {case.tolerance!r} * float(scale)",
            'print("allowed:", allowed)',
            "finite = np.isfinite(first).all() and np.isfinite(second).all()",
            'print("holds:", bool(finite and np.allclose(second, first, rtol=0, atol=allowed)))',
        ]
    if case.check == "differs":
        return [
            "# Each of these rows must differ.",
            f"first, second = {first}, {second}",
            "difference = np.atleast_1d(np.abs(second - first))",
            f"scale = max({largest.format('first')}, {largest.format('second')}) or 1.0",
            "change = difference.max(axis=tuple(range(1, difference.ndim)), initial=0) / scale",
            'print("relative change of each row:", change)',
            f'print("at least:", {case.options["at_least"]!r})',
            f'print("holds:", bool(change.size and (change >= {case.options["at_least"]!r}).all()))',
        ]
    if case.check == "same_on_repeat":
        return [
            "# The same call must give the same answer again.",
            "first, last = np.float64(answer), np.float64(again)",
            'print("largest difference:", np.abs(last - first).max(initial=0))',
            f"allowed = {case.tolerance!r} * float({largest.format('first')} or 1.0)",
            'print("allowed:", allowed)',
            'print("holds:", np.allclose(last, first, rtol=0, atol=allowed, equal_nan=True))',
        ]
    if case.check == "earlier_answer_kept":
        return [
            "# The later call must leave the first answer as it was.",
            _printed("first answer now", "answer"),
            'print("holds:", answer.shape == kept.shape and answer.tobytes() == kept.tobytes())',
        ]
    if case.check == "inputs_unchanged":
        name = case.options["argument"]
        return [
            f"# {name} must be as before, in this call and in those of all other checks.",
            _printed(f"{name} now", name),
            _holds(name, "before"),
        ]
    assert case.check == "output_not_aliased", case.check
    return [
        "# The answer must share no memory with an argument.",
        f'print("holds:", not any(np.shares_memory(answer, a) for a in [{", ".join(arrays)}]))',
    ]
