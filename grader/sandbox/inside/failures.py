"""Exceptions as plain data."""

import builtins
from typing import Any

MAX_MESSAGE = 2_000
MAX_FRAMES = 20

_type = type
_isinstance = isinstance
_mro: Any = type.__dict__["__mro__"].__get__
_text = str.__str__
_traceback: Any = BaseException.__dict__["__traceback__"].__get__
# By their own names; as they are before student code runs.
_BUILTIN = {
    kind.__name__: kind
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def describe(error: BaseException, filename: str) -> dict[str, Any]:
    """Type, message and the student's own lines of an exception; never raises."""
    kind = _type(error)
    # Read past whatever the exception's own class defines under these names.
    names = [_name(base) for base in _mro(kind)[:10]]
    try:
        message = str(error)
        message = message if _type(message) is str else ""
    except BaseException:
        message = "(its message can't be read)"
    cut = len(message) > MAX_MESSAGE
    described: dict[str, Any] = {
        "type": names[0],
        "bases": names[1:],
        "message": message[:MAX_MESSAGE].encode("utf-8", "replace").decode() + ("…" if cut else ""),
        "frames": _frames(error, filename),
    }
    if kind in (SyntaxError, IndentationError, TabError) and isinstance(error, SyntaxError):
        told, line, column = error.filename, error.lineno, error.offset
        if _type(told) is str and told == filename and _type(line) is int:
            described["line"] = line
            described["column"] = column if _type(column) is int else 0
    return described


def _name(kind: type) -> str:
    name: Any = _type.__dict__["__name__"].__get__(kind)
    if not _isinstance(name, str):
        return "Exception"
    # A plain text: that of a derived class would be asked for its hash.
    name = _text(name)
    own = _BUILTIN.get(name)
    if own is None or kind is own:
        return str(name[:100])
    # A class that only goes by the name of a built-in one: `except` of that name elsewhere does not catch it.
    module: Any = _type.__dict__["__module__"].__get__(kind)
    return f"{module if _type(module) is str else 'other'}.{name}"[:100]


def _frames(error: BaseException, filename: str) -> list[list[Any]]:
    """``[line, function]`` of the frames in the student's file, outermost first."""
    frames: list[list[Any]] = []
    trace = _traceback(error)
    steps = 0
    while trace is not None and steps < 100_000:
        code = trace.tb_frame.f_code
        if code.co_filename == filename:
            frames.append([trace.tb_lineno, code.co_name[:100]])
            if len(frames) > 2 * MAX_FRAMES:
                del frames[MAX_FRAMES // 2]
        trace = trace.tb_next
        steps += 1
    return frames if len(frames) <= MAX_FRAMES else frames[: MAX_FRAMES // 2] + frames[-MAX_FRAMES // 2 :]


def memory_error(error: BaseException) -> bool:
    """Whether the exception says that memory ran out."""
    if issubclass(_type(error), MemoryError):
        return True
    if _type(error) is not RuntimeError or not error.args or _type(error.args[0]) is not str:
        return False
    return "can't allocate memory" in error.args[0]
