"""What a call returns: an array, a number, a text, or containers of these, as ``returns`` says it in YAML.

returns: {container: array, shape: [N, D]}
returns: {container: dict, items: {loss: {container: number}, count: {container: integer}}}
returns: {container: dict, keys: integer, values: {container: list, of: {container: integer}, length: K}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import model_validator

from grader.exercise.fields import Expression, Model, fault

Container = Literal["array", "number", "integer", "boolean", "text", "none", "list", "tuple", "dict"]
AnswerDtype = Literal["float64", "float32", "int64", "int32", "bool"]

# Which keys go with which container, and which of them are needed.
_KEYS: dict[str, tuple[set[str], set[str]]] = {
    "array": ({"shape", "dtype"}, {"shape"}),
    "number": (set(), set()),
    "integer": (set(), set()),
    "boolean": (set(), set()),
    "text": (set(), set()),
    "none": (set(), set()),
    "list": ({"of", "items", "length", "also"}, set()),
    "tuple": ({"of", "items", "length", "also"}, set()),
    "dict": ({"items", "keys", "values"}, set()),
}


class Form(Model):
    """The form of an answer or of a part of it.

    - ``array``: of ``shape`` and of one of the ``dtype``. Whole numbers and truth values are compared
      exactly.
    - ``number``: a float or an int, of Python or numpy; ``integer`` is compared exactly.
    - ``boolean``, ``text``, ``none``.
    - ``list``, ``tuple``: either ``items``, the form of each, or all of one form (``of``), ``length`` of
      them. ``also`` names other containers that will do; an array will where all items are numbers.
    - ``dict``: either ``items`` by text, or ``keys`` (``integer`` or ``text``) and the form of all
      ``values``.

    A name alone in ``shape`` or ``length`` that is no dim takes its value from the answer.
    """

    container: Container = "array"
    shape: list[Expression] | None = None
    dtype: list[AnswerDtype] = ["float32", "float64"]
    of: Form | None = None
    items: list[Form] | dict[str, Form] | None = None
    length: Expression | None = None
    keys: Literal["integer", "text"] | None = None
    values: Form | None = None
    also: list[Literal["list", "tuple", "array"]] = []

    @model_validator(mode="after")
    def _keys_fit(self) -> Form:
        allowed, needed = _KEYS[self.container]
        for key in sorted(self.model_fields_set - {"container"} - allowed):
            raise fault("unknown_key", f"the container {self.container} takes no {key!r}", key=key)
        for key in sorted(needed - self.model_fields_set):
            raise fault("needs", f"the container {self.container} needs {key!r}", key=key)
        if self.container in ("list", "tuple"):
            if (self.of is None) == (self.items is None):
                raise fault("one_of", "expected exactly one of of, items")
            if isinstance(self.items, dict):
                raise fault("one_of", "expected a list of forms", at=("items",))
            if self.length is not None and self.items is not None:
                raise fault("unknown_key", "length goes with of; items are counted", key="length")
        if self.container == "dict":
            if (self.items is None) == (self.values is None) or (self.keys is None) != (self.values is None):
                raise fault("one_of", "expected either items, or keys and values")
            if isinstance(self.items, list):
                raise fault("one_of", "expected a mapping of forms", at=("items",))
        return self

    @property
    def is_array(self) -> bool:
        """Whether the whole answer is one array."""
        return self.container == "array"

    @property
    def lenient(self) -> bool:
        """Whether it, or a part of it, lets other containers through than its own."""
        return bool(self.also) or any(form.lenient for _, form in self.inner())

    def inner(self) -> Iterator[tuple[tuple[str | int, ...], Form]]:
        """The forms of its parts, each with its place in the YAML."""
        for key, form in (("of", self.of), ("values", self.values)):
            if form is not None:
                yield (key,), form
        if isinstance(self.items, dict):
            yield from ((("items", key), form) for key, form in self.items.items())
        elif self.items is not None:
            yield from ((("items", number), form) for number, form in enumerate(self.items))

    def sizes(self, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Expression]]:
        """Every size that is stated in it, with its place in the YAML."""
        for number, size in enumerate(self.shape or []):
            yield (*at, "shape", number), size
        if self.length is not None:
            yield (*at, "length"), self.length
        for place, form in self.inner():
            yield from form.sizes((*at, *place))

    def free(self, dims: Any) -> set[str]:
        """Names that stand alone where a size is expected and are no dims: the answer decides them."""
        return {s for _, s in self.sizes() if isinstance(s, str) and s.isidentifier() and s not in dims}


def words(form: Form) -> str:
    """A form in a few words, for people: ``an array of shape (N, D)``."""
    match form.container:
        case "array":
            sizes = form.shape or []
            return f"an array of shape ({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
        case "number":
            return "a number"
        case "integer":
            return "a whole number"
        case "boolean":
            return "True or False"
        case "text":
            return "a text"
        case "none":
            return "None"
        case "dict" if isinstance(form.items, dict):
            return f"a dictionary with the keys {', '.join(form.items)}"
        case "dict":
            keys = "whole numbers" if form.keys == "integer" else "texts"
            assert form.values is not None
            return f"a dictionary of {keys} to {words(form.values)} each"
    if form.items is not None:
        return f"a {form.container} of {len(form.items)} items"
    assert form.of is not None
    return f"a {form.container} with {words(form.of)} at each place"
