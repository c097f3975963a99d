"""An answer as plain data: a tree of small descriptions beside the bytes of its arrays.

Nothing here runs a method that a student's class could define: arrays are viewed through numpy's own C
functions, and what is of a class that derives from one of Python's own counts by what it holds, read by C
functions too: a defaultdict is a dict, a named tuple a tuple. Everything else is described by the name of its
type.
"""

import itertools
import json
import sys
from typing import Any

import numpy as np

MAX_NODES = 10_000
MAX_DEPTH = 20
MAX_TEXT = 2_000
MAX_BITS = 1024
# Part of a slot that arrays leave to the description.
DESCRIPTION_ROOM = 4_096

# json.dumps makes an encoder anew for each call whose arguments are not the defaults.
_dumps = json.JSONEncoder(separators=(",", ":")).encode
_ndarray = np.ndarray
_view = np.ndarray.view
_tobytes = np.ndarray.tobytes
_generic = np.generic
_longdouble, _float64 = np.longdouble, np.float64
_array = np.array
_type = type
_isinstance = isinstance
_modules = sys.modules
_islice = itertools.islice
_items_of = dict.items
_SOME = slice(MAX_NODES)
# From an object of a derived class one of the class itself.
_UNDERIVED: tuple[tuple[type, Any], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (list, lambda value, part=list.__getitem__: part(value, _SOME)),
    (tuple, lambda value, part=tuple.__getitem__: part(value, _SOME)),
)
_PLAIN = frozenset("biufc")
# numpy makes up a dtype's name in Python at each look.
_NAMES = {np.dtype(name): name for name in ("float64", "float32", "int64")}


class Encoder:
    """Encodes one answer into ``room`` bytes; ``ranges`` are the memory ranges of its arrays."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.capacity = room - DESCRIPTION_ROOM
        self.chunks: list[bytes] = []
        self.size = 0
        self.nodes = 0
        self.ranges: list[tuple[int, int]] = []
        self.cut = False

    def encode(self, value: Any) -> bytes:
        """The description as JSON; the bytes are in ``chunks``."""
        text = _dumps(self._node(value, 0)).encode()
        if len(text) + self.size > self.room:
            self.cut = True
            self.chunks.clear()
            text = _dumps({"kind": "object", "type": _type_name(_type(value))}).encode()
        return text

    def _node(self, value: Any, depth: int) -> dict[str, Any]:
        self.nodes += 1
        kind = _type(value)
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            return {"kind": "object", "type": "..."}
        if value is None:
            return {"kind": "none"}
        if kind is bool:
            return {"kind": "bool", "value": value}
        if kind is int:
            if value.bit_length() > MAX_BITS:
                return {"kind": "object", "type": "int of more than 1024 bits"}
            return {"kind": "int", "value": str(value)}
        if kind is float:
            return {"kind": "float", "value": value.hex()}
        if kind is complex:
            return {"kind": "complex", "value": [value.real.hex(), value.imag.hex()]}
        if kind is str:
            return {"kind": "str", "value": value[:MAX_TEXT].encode("utf-8", "replace").decode()}
        if kind is list or kind is tuple:
            items = [self._node(item, depth + 1) for item in value[:MAX_NODES]]
            return {"kind": kind.__name__, "items": items}
        # By the type alone: isinstance also asks the value's own __class__.
        if issubclass(kind, dict):
            some = _islice(_items_of(value), MAX_NODES)
            pairs = [[self._node(k, depth + 1), self._node(v, depth + 1)] for k, v in some]
            return {"kind": "dict", "items": pairs}
        if issubclass(kind, _ndarray):
            return self._array(_view(value, _ndarray), "array")
        if issubclass(kind, _generic):
            # A single longdouble is a number like any other; whoever asks for arrays says of which dtype.
            return self._array(_array(value, _float64 if kind is _longdouble else None), "scalar")
        tensor: Any = getattr(_modules.get("torch"), "Tensor", None)
        if _isinstance(tensor, _type) and issubclass(kind, tensor):
            return self._tensor(value)
        for own, underived in _UNDERIVED:
            # After numpy's: a float64 is a float too.
            if issubclass(kind, own):
                self.nodes -= 1
                return self._node(underived(value), depth)
        return {"kind": "object", "type": _type_name(kind)}

    def _tensor(self, tensor: Any) -> dict[str, Any]:
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype == "bfloat16":
            return {"kind": "tensor", "dtype": dtype, "shape": [int(n) for n in tensor.shape]}
        try:
            array = tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
        except Exception:
            # Sparse, quantized and other tensors that numpy has no form for.
            return {"kind": "tensor", "dtype": dtype[:60], "shape": [int(n) for n in tensor.shape]}
        return self._array(array, "tensor")

    def _array(self, array: Any, kind: str) -> dict[str, Any]:
        dtype = array.dtype
        shape = [int(n) for n in array.shape]
        node: dict[str, Any] = {"kind": kind, "dtype": _NAMES.get(dtype) or dtype.name[:60], "shape": shape}
        if dtype.kind not in _PLAIN or dtype.itemsize > 16 or dtype.names is not None:
            return node
        if array.size:
            low, high = _byte_bounds(array)
            self.ranges.append((low, high))
        count = 1
        for n in shape:
            count *= n
        nbytes = count * dtype.itemsize
        if nbytes > self.capacity - self.size:
            self.cut = True
            return node
        if dtype.byteorder == ">":
            array = array.astype(dtype.newbyteorder("<"))
        node["offset"] = self.size
        self.chunks.append(_tobytes(array))
        self.size += nbytes
        return node


def _byte_bounds(array: Any) -> tuple[int, int]:
    low = high = array.__array_interface__["data"][0]
    for n, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return low, high + array.itemsize


def _type_name(kind: type) -> str:
    name: Any = _type.__dict__["__name__"].__get__(kind)
    module: Any = _type.__dict__["__module__"].__get__(kind)
    if not _isinstance(name, str):
        return "object"
    if _isinstance(module, str) and module not in ("builtins", "__main__"):
        return f"{module}.{name}"[:200]
    return str(name[:200])
