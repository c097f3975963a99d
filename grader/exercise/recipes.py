"""How an exercise's YAML says what an argument's values are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from grader.exercise.fields import Dtype, Expression, Flag, Identifier, Layout, Model, fault


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
    """How a case's array differs from the exercise's recipe; applied in the order of the keys."""

    values: ValueRecipe | None = None
    shape: list[Expression] | None = None
    set: dict[str, ValueRecipe | PartChange] = {}
    scale: Expression | None = None
    edits: list[Edit] = []
    dtype: Dtype | None = None
    layout: Layout | None = None
    read_only: Flag | None = None


class Parts(Model):
    """Names for the slices along one axis."""

    axis: int
    names: list[Identifier]


class Parameter(Model):
    """One argument of the entry point: an array with a symbolic shape, or a scalar."""

    shape: list[Expression] | None = None
    values: ValueRecipe | None = None
    dtype: Dtype = "float64"
    parts: Parts | None = None
    scalar: Expression | None = None

    @model_validator(mode="after")
    def _array_or_scalar(self) -> Parameter:
        if (self.scalar is None) == (self.shape is None):
            raise fault("one_of", "expected shape and values, or scalar")
        if self.shape is not None and self.values is None:
            raise fault("one_of", "expected values beside shape")
        return self
