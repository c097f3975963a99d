"""Constant folding: what a text, number or small container works out to, without running student code.

Only operations on plain constants are carried out, each with a bound on the size of its result, so a
hostile expression costs no more than an honest one.
"""

from __future__ import annotations

import ast
import binascii
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from typing import Any

LONGEST_TEXT = 20_000
LONGEST_CONTAINER = 2_000
LARGEST_NUMBER = 1 << 64


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set: long lists read better so."""
    return frozenset(text.split())


class Unfoldable(Exception):
    """The value cannot be worked out, or would be too large."""


def checked(value: object) -> object:
    """The value itself when it is a plain constant of bounded size; raises Unfoldable otherwise."""
    if isinstance(value, str | bytes | bytearray):
        if len(value) > LONGEST_TEXT:
            raise Unfoldable
    elif isinstance(value, int):
        if abs(value) > LARGEST_NUMBER:
            raise Unfoldable
    elif isinstance(value, tuple | list | dict):
        _measure(value)
    elif isinstance(value, range):
        if len(value) > LONGEST_CONTAINER:
            raise Unfoldable
    elif not isinstance(value, float | slice | None):
        raise Unfoldable
    return value


def _measure(value: object) -> None:
    """Refuse a container whose written form would be long: nesting multiplies it, memory does not."""
    size = 0
    waiting = [value]
    while waiting:
        at = waiting.pop()
        size += 1
        if isinstance(at, dict):
            waiting.extend(at.keys())
            waiting.extend(at.values())
        elif isinstance(at, tuple | list):
            waiting.extend(at)
        elif isinstance(at, str | bytes | bytearray):
            size += len(at) // 8
        if size + len(waiting) > 2 * LONGEST_CONTAINER:
            raise Unfoldable


_BINARY: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: operator.contains(right, left),
    ast.NotIn: lambda left, right: not operator.contains(right, left),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def binary(op: ast.operator, left: object, right: object) -> object:
    """`left op right`."""
    try:
        if isinstance(op, ast.Mod):
            if isinstance(left, str | bytes):
                return checked(_percent(left, right))
            if isinstance(left, int) and isinstance(right, int):
                return checked(left % right)
        elif isinstance(op, ast.Mult):
            return checked(_times(left, right))
        elif isinstance(op, ast.LShift):
            if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
                return checked(left << right)
        elif isinstance(op, ast.Pow):
            if isinstance(left, int) and isinstance(right, int) and abs(left) <= 1024 and 0 <= right <= 16:
                return checked(left**right)
        elif type(op) in _BINARY:
            return checked(_BINARY[type(op)](left, right))
    except Unfoldable:
        raise
    except Exception as error:
        raise Unfoldable from error
    raise Unfoldable


def _times(left: object, right: object) -> object:
    if isinstance(right, str | bytes | tuple | list):
        left, right = right, left
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left * right
    if not isinstance(right, int) or not isinstance(left, str | bytes | tuple | list):
        raise Unfoldable
    if len(left) * right > LONGEST_CONTAINER:
        raise Unfoldable
    return left * right


def _percent(template: str | bytes, values: Any) -> object:
    if isinstance(template, str):
        _no_wide_fields(template, "*")
        return template % values
    _no_wide_fields(template.decode("latin-1"), "*")
    return template % values


def _no_wide_fields(template: str, forbidden: str = "") -> None:
    # "{:999999999}" would build a text of that width.
    digits = 0
    for character in template:
        digits = digits + 1 if character.isdigit() else 0
        if digits > 3 or character in forbidden:
            raise Unfoldable


def unary(op: ast.unaryop, value: object) -> object:
    """`op value`."""
    if isinstance(op, ast.Not):
        return not value
    if not isinstance(value, int | float):
        raise Unfoldable
    if isinstance(op, ast.USub):
        return -value
    if isinstance(op, ast.Invert) and isinstance(value, int):
        return ~value
    return value


def compare(op: ast.cmpop, left: object, right: object) -> object:
    """`left op right` for a comparison."""
    try:
        return _COMPARE[type(op)](left, right)
    except Exception as error:
        raise Unfoldable from error


def subscript(value: Any, key: Any) -> object:
    """`value[key]`."""
    if not isinstance(value, str | bytes | bytearray | tuple | list | dict | range):
        raise Unfoldable
    try:
        return checked(value[key])
    except Exception as error:
        raise Unfoldable from error


def formatted(value: Any, conversion: int, spec: str) -> str:
    """One replacement field of an f-string."""
    _no_wide_fields(spec)
    try:
        if conversion == ord("r"):
            value = repr(value)
        elif conversion == ord("a"):
            value = ascii(value)
        elif conversion == ord("s"):
            value = str(value)
        return str(checked(format(checked(value), spec)))
    except Unfoldable:
        raise
    except Exception as error:
        raise Unfoldable from error


_TEXT_METHODS = words(
    """
    join lower upper title capitalize swapcase casefold strip lstrip rstrip replace split rsplit partition
    rpartition splitlines removeprefix removesuffix translate encode decode format format_map center ljust
    rjust zfill startswith endswith find rfind index count hex __add__ __getitem__ __mod__ __str__ isalpha
    isdigit isalnum islower isupper
    """
)
_CONTAINER_METHODS = frozenset({"get", "index", "count", "keys", "values", "items", "copy", "__getitem__"})
# Looking up any other encoding would import a module by the student's word.
_ENCODINGS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16", "utf-32", "unicode_escape"})


def method(value: object, name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """`value.name(*arguments, **keywords)` for a method of texts and containers that has no side effect."""
    if isinstance(value, str | bytes | bytearray):
        if name not in _TEXT_METHODS:
            raise Unfoldable
        _bounded(value, name, [*arguments, *keywords.values()])
    elif not (isinstance(value, tuple | list | dict) and name in _CONTAINER_METHODS):
        raise Unfoldable
    try:
        result = getattr(value, name)(*arguments, **keywords)
        if name in ("keys", "values", "items"):
            result = list(result)
        return checked(result)
    except Unfoldable:
        raise
    except Exception as error:
        raise Unfoldable from error


def _bounded(value: str | bytes | bytearray, name: str, arguments: Sequence[object]) -> None:
    """Refuse a method call whose result could be far larger than what goes in."""
    if name == "join":
        parts = arguments[0] if arguments else ()
        if isinstance(parts, tuple | list | dict | str) and len(parts) * (len(value) + 1) > LONGEST_TEXT:
            raise Unfoldable
    elif name in ("replace", "translate"):
        longest = 1
        for argument in arguments:
            if isinstance(argument, str | bytes):
                longest = max(longest, len(argument))
            elif isinstance(argument, dict):
                longest = max([longest, *(len(item) for item in argument.values() if isinstance(item, str))])
        if (len(value) + 1) * longest > 50 * LONGEST_TEXT:
            raise Unfoldable
    elif name in ("encode", "decode"):
        if any(argument not in _ENCODINGS for argument in arguments[:1]):
            raise Unfoldable
    elif name == "__mod__":
        _no_wide_fields(str(value), "*")
    elif name in ("format", "format_map"):
        _no_wide_fields(str(value))
        depth = 0
        for character in str(value).replace("{{", ""):
            depth += (character == "{") - (character == "}")
            if depth > 1:  # a width taken from an argument
                raise Unfoldable
    elif name in ("center", "ljust", "rjust", "zfill"):
        width = arguments[0] if arguments else 0
        if not isinstance(width, int) or width > 1000:
            raise Unfoldable


def _iterable(value: object) -> Iterable[object]:
    if isinstance(value, str | bytes | bytearray | tuple | list | dict | range):
        return value
    raise Unfoldable


def _listed(value: object) -> list[object]:
    items = _iterable(value)
    checked(items)
    return list(items)


def _rot13(text: str) -> str:
    turned = []
    for character in text:
        if "a" <= character <= "z":
            turned.append(chr((ord(character) - 97 + 13) % 26 + 97))
        elif "A" <= character <= "Z":
            turned.append(chr((ord(character) - 65 + 13) % 26 + 65))
        else:
            turned.append(character)
    return "".join(turned)


def _codecs_decode(value: object, encoding: object = "utf-8") -> object:
    if isinstance(value, str) and encoding in ("rot13", "rot_13", "rot-13"):
        return _rot13(value)
    if isinstance(value, str | bytes) and encoding in ("hex", "hex_codec"):
        return binascii.unhexlify(value)
    if isinstance(value, bytes) and encoding in ("base64", "base64_codec"):
        return binascii.a2b_base64(value)
    if isinstance(value, bytes) and encoding in _ENCODINGS:
        return value.decode(str(encoding))
    raise Unfoldable


def _str(value: object = "", encoding: str = "utf-8") -> str:
    if isinstance(value, bytes | bytearray):
        return str(method(value, "decode", [encoding], {}))
    return str(value)


def _bytes(value: Any = b"", encoding: str = "utf-8") -> bytes:
    if isinstance(value, str):
        return bytes(value, encoding) if encoding in _ENCODINGS else b""
    if isinstance(value, int):
        raise Unfoldable
    return bytes(value)


def _range(*arguments: int) -> range:
    return range(*arguments)


def _zip(*arguments: object) -> list[object]:
    return list(zip(*(_listed(item) for item in arguments), strict=False))


def _enumerate(value: object, start: int = 0) -> list[object]:
    return list(enumerate(_listed(value), start))


def _sorted(value: Any, *, reverse: bool = False) -> list[object]:
    items: list[Any] = _listed(value)
    return sorted(items, reverse=reverse)


def _base64(value: Any) -> bytes:
    return binascii.a2b_base64(value)


def _dedent(text: object) -> str:
    if not isinstance(text, str):
        raise Unfoldable
    lines = text.split("\n")
    margins = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip(" \t")]
    margin = min(margins, default=0)
    return "\n".join(line[margin:] if line.strip(" \t") else "" for line in lines)


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "builtins.chr": chr,
    "builtins.ord": ord,
    "builtins.str": _str,
    "builtins.repr": repr,
    "builtins.ascii": ascii,
    "builtins.int": lambda value, base=10: int(value, base) if isinstance(value, str) else int(value),
    "builtins.len": lambda value: len(_listed(value)),
    "builtins.hex": hex,
    "builtins.abs": abs,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
    "builtins.tuple": lambda value=(): tuple(_listed(value)),
    "builtins.list": lambda value=(): _listed(value),
    "builtins.iter": lambda value: _listed(value),
    "builtins.reversed": lambda value: _listed(value)[::-1],
    "builtins.sorted": _sorted,
    "builtins.range": _range,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.next": lambda value, *default: _listed(value)[0],
    "builtins.min": lambda *values: min(*values),
    "builtins.max": lambda *values: max(*values),
    "builtins.format": lambda value, spec="": formatted(value, -1, spec),
    "builtins.slice": slice,
    "builtins.bytes.fromhex": bytes.fromhex,
    "builtins.bytearray.fromhex": bytes.fromhex,
    "builtins.dict": lambda value=(), **named: dict(value, **named),
    "builtins.str.maketrans": str.maketrans,
    "base64.b64decode": _base64,
    "base64.standard_b64decode": _base64,
    "base64.b16decode": binascii.unhexlify,
    "binascii.a2b_base64": _base64,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "codecs.decode": _codecs_decode,
    "textwrap.dedent": _dedent,
    "inspect.cleandoc": _dedent,
    "operator.add": lambda left, right: binary(ast.Add(), left, right),
    "operator.concat": lambda left, right: binary(ast.Add(), left, right),
    "sys.intern": _str,
    "os.path.splitext": lambda text: tuple(text.rsplit(".", 1)) if "." in text else (text, ""),
}


def knows(name: str) -> bool:
    """Whether a function of that canonical dotted name can be folded."""
    return name in _FUNCTIONS or name.startswith(("builtins.str.", "builtins.bytes."))


def function(name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """`name(*arguments, **keywords)` for a library function without side effect."""
    try:
        if name in _FUNCTIONS:
            return checked(_FUNCTIONS[name](*arguments, **keywords))
        prefix, _, last = name.rpartition(".")
        if prefix in ("builtins.str", "builtins.bytes") and arguments:
            return method(arguments[0], last, arguments[1:], keywords)
    except Unfoldable:
        raise
    except Exception as error:
        raise Unfoldable from error
    raise Unfoldable
