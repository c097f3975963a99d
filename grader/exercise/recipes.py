"""How an exercise's YAML says what an argument's values are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from grader.exercise.fields import Dtype, Expression, Flag, Identifier, Layout, Model, Plain, fault


class Integers(Model):
    """Whole numbers drawn evenly from ``from`` up to but without ``below``."""

    from_: Expression = Field(0, alias="from")
    below: Expression


class Normal(Model):
    """Numbers of mean ``mean`` and standard deviation ``scale``; equal along ``same_along`` when given."""

    scale: Expression = 1
    mean: Expression = 0
    same_along: int | None = None


class Uniform(Model):
    """Numbers drawn evenly between ``low`` and ``high``."""

    low: Expression = 0
    high: Expression = 1


class Values(Model):
    """How an array's values are made; exactly one key."""

    integers: Integers | None = None
    bernoulli: Annotated[float, Field(ge=0, le=1)] | None = None
    normal: Normal | None = None
    uniform: Uniform | None = None
    constant: Expression | None = None
    literal: Any = None

    @model_validator(mode="after")
    def _one(self) -> Values:
        if len(self.model_fields_set) != 1:
            raise fault("one_of", f"expected exactly one of {', '.join(self._keys())}")
        return self


Word = Literal["zeros", "ones", "identity"]


class Edit(Model):
    """Sets the elements at ``at`` (one entry an axis, ``"*"`` for all, fewer entries leave the last axes
    whole) to a number or a list of numbers."""

    at: list[int | Literal["*"]]
    to: Any


ValueRecipe = Word | float | Values


class PartChange(Model):
    """A part of an array is replaced by other values, multiplied, or both."""

    values: ValueRecipe | None = None
    scale: Expression | None = None


class ArrayChange(Model):
    """How a case's argument differs from the exercise's recipe; applied in the order of the keys.

    ``value`` is for an argument that is no array: what it is in this case; of a generator, its seed.
    """

    values: ValueRecipe | None = None
    shape: list[Expression] | None = None
    set: dict[str, ValueRecipe | PartChange] = {}
    scale: Expression | None = None
    edits: list[Edit] = []
    dtype: Dtype | None = None
    layout: Layout | None = None
    read_only: Flag | None = None
    value: Plain | None = None


class Parts(Model):
    """Names for the slices along one axis."""

    axis: int
    names: list[Identifier]


class Parameter(Model):
    """One argument of a call; exactly one of ``shape``, ``scalar``, ``value``, ``generator``, ``mapping``.

    - An array has a symbolic ``shape`` and ``values``; with ``as_list`` it is handed over as nested lists.
    - A ``scalar`` is an expression of the dims.
    - A ``value`` is a number, a text, true, false, nothing, or a list of these.
    - A ``generator`` is one of numpy's (``numpy.random.default_rng``); its seed follows from the case's.
    - A ``mapping`` is a dictionary of arguments of these kinds.
    """

    shape: list[Expression] | None = None
    values: ValueRecipe | None = None
    dtype: Dtype = "float64"
    parts: Parts | None = None
    as_list: Flag = False
    scalar: Expression | None = None
    value: Plain | None = None
    generator: Literal["numpy"] | None = None
    mapping: dict[Identifier, Parameter] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Parameter:
        kinds = ("shape", "scalar", "value", "generator", "mapping")
        # Nothing is a value, and none of the others.
        given = [
            k for k in kinds if k in self.model_fields_set and (k == "value" or getattr(self, k) is not None)
        ]
        if len(given) != 1:
            raise fault("one_of", "expected shape and values, or one of scalar, value, generator, mapping")
        if self.shape is not None and self.values is None:
            raise fault("one_of", "expected values beside shape")
        for key in sorted(self.model_fields_set & {"values", "dtype", "parts", "as_list"}):
            if self.shape is None:
                raise fault("one_of", f"{key} goes with shape, not with {given[0]}", key=key)
        for key, inner in (self.mapping or {}).items():
            if inner.mapping is not None:
                raise fault("mapping_in_mapping", "is a mapping in a mapping", at=("mapping", key))
        if self.mapping is not None and not self.mapping:
            raise fault("one_of", "is a mapping of nothing", key="mapping")
        return self

    @property
    def is_array(self) -> bool:
        """Whether it is an array, handed over as such or as lists."""
        return self.shape is not None


def slots(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The arguments with those of a mapping one by one, ``weights.w_q`` for item w_q of weights."""
    found: dict[str, Parameter] = {}
    for name, parameter in parameters.items():
        if parameter.mapping is None:
            found[name] = parameter
        else:
            found |= {f"{name}.{key}": inner for key, inner in parameter.mapping.items()}
    return found
