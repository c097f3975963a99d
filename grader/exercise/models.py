"""The YAML files of an exercise as validated models.

Every model refuses unknown keys with the near miss named. The models are also the source of the
JSON Schema that editors use (`grader schema`).
"""

from __future__ import annotations

import fnmatch
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from grader.exercise import expressions
from grader.exercise.near import did_you_mean


def _error(kind: str, said: str, **context: Any) -> PydanticCustomError:
    """An error whose text is complete; pydantic's own templates know no formatting."""
    return PydanticCustomError(kind, "{said}", {"said": said, **context})


Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Expression = str | int | float
SIZE = r"^[0-9]+ (B|KiB|MiB|GiB)$"
Dtype = Literal["float64", "float32", "int64", "int32", "uint8", "bool"]
Layout = Literal["c", "fortran", "strided"]


class Model(BaseModel):
    """A frozen mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, strict=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise _error("mapping", f"expected a mapping with the keys {', '.join(cls._keys())}")
        for key in data:
            if key not in cls._keys():
                hint = did_you_mean(str(key), cls._keys())
                raise _error("unknown_key", f"unknown key {key!r}{hint}", key=key)
        return data

    @classmethod
    def _keys(cls) -> list[str]:
        return [field.alias or name for name, field in cls.model_fields.items()]


def _number_only(value: Any) -> Any:
    """A flag is no number: ``points: true`` is a slip, not one point."""
    if isinstance(value, bool):
        raise _error("number", f"expected a number, found {str(value).lower()}")
    return value


def _flag_only(value: Any) -> Any:
    if not isinstance(value, bool):
        said = f"; write {'true' if value in ('yes', 'on', 'y') else 'false'}" if value in _SAID else ""
        raise _error("flag", f"expected true or false, found {value!r}{said}")
    return value


_SAID = ("yes", "no", "on", "off", "y", "n")
Points = Annotated[float, BeforeValidator(_number_only), Field(ge=0, le=1000)]
Flag = Annotated[bool, BeforeValidator(_flag_only)]
Text = Annotated[str, Field(pattern=r"\S")]
Whole = Annotated[int, BeforeValidator(_number_only)]
Count = Annotated[int, BeforeValidator(_number_only), Field(ge=0)]


# --- arrays ---------------------------------------------------------------------------------


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
            raise _error("one_of", f"expected exactly one of {', '.join(self._keys())}")
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
            raise _error("one_of", "expected shape and values, or scalar")
        if self.shape is not None and self.values is None:
            raise _error("one_of", "expected values beside shape")
        return self


# --- exercise.yaml --------------------------------------------------------------------------


class Returns(Model):
    """What the entry point returns."""

    container: Literal["array"] = "array"
    shape: list[Expression]
    dtype: list[Literal["float64", "float32"]] = ["float32", "float64"]


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        number, _, unit = value.strip().partition(" ")
        factors = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
        if number.isdigit() and unit in factors:
            return int(number) * factors[unit]
        raise _error("bytes", f"expected a size such as 64 KiB or 1 GiB, found {value!r}")
    return _number_only(value)


Bytes = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=1),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": SIZE}]}),
]


class Limits(Model):
    """What one submission may use. Seconds are of processor time; memory and output are in bytes."""

    seconds_per_call: Annotated[float, BeforeValidator(_number_only), Field(gt=0, le=3600)] = 5
    seconds: Annotated[float, BeforeValidator(_number_only), Field(gt=0, le=36000)] = 60
    memory: Bytes = 1 << 30
    output: Bytes = 64 << 10


class Work(Model):
    """Scalar multiply-adds of one call, and how many a case and the whole pack may need."""

    expression: str
    per_case: int = Field(1_000_000, gt=0)
    in_all: int = Field(5_000_000, gt=0)


class Clause(Model):
    """A sentence of the statement that can be wrong."""

    title: str
    text: str = ""


class Exercise(Model):
    """The content of ``exercise.yaml``.

    ``groups`` names the case files in the order in which their cases run and are shown; files that it
    leaves out follow by name.
    """

    exercise: Identifier
    title: str
    entry: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    packages: list[str] = ["numpy"]
    dims: dict[str, str]
    constraints: list[str] = []
    parameters: dict[str, Parameter]
    returns: Returns
    limits: Limits = Limits()
    work: Work | None = None
    clauses: dict[Identifier, Clause]
    groups: list[str] = []
    influence: Influence | None = None

    @field_validator("dims")
    @classmethod
    def _bounds(cls, dims: dict[str, str]) -> dict[str, str]:
        for name, bound in dims.items():
            try:
                expressions.evaluate(f"{name} {bound}", {name: 1})
            except expressions.ExpressionError:
                raise _error(
                    "bound", f"the bound of {name} is {bound!r}; expected one such as '>= 1'"
                ) from None
        return dims

    @model_validator(mode="after")
    def _names_are_known(self) -> Exercise:
        known = list(self.dims)
        returned = {e for e in self.returns.shape if isinstance(e, str) and e.isidentifier()}
        texts: list[tuple[tuple[str | int, ...], Any]] = [
            (("constraints", number), c) for number, c in enumerate(self.constraints)
        ]
        for number, e in enumerate(self.returns.shape):
            if e not in returned:  # a name alone that is no dim is bound by the reference's answer
                texts.append((("returns", "shape", number), e))
        for name, parameter in self.parameters.items():
            key = "scalar" if parameter.shape is None else "shape"
            used_in = [parameter.scalar] if parameter.shape is None else parameter.shape
            texts += [(("parameters", name, key), expression) for expression in used_in]
        if self.work:
            texts.append((("work", "expression"), self.work.expression))
        for where, text in texts:
            bound = sorted(returned - set(known)) if where[0] == "work" else []
            try:
                used = expressions.names(text) if isinstance(text, str) else set()
            except expressions.ExpressionError as error:
                raise _error("expression", str(error), at=where) from None
            for name in sorted(used - {*known, *bound}):
                raise _error("unknown_dim", f"uses {name!r}{did_you_mean(name, known + bound)}", at=where)
        return self


# --- case files -----------------------------------------------------------------------------


class Take(Model):
    """Keeps the given indices along an axis, in the given order."""

    axis: int = 0
    indices: list[int]


class Change(Model):
    """How an argument of a relation's second call differs from the first call's; exactly one key."""

    take: Take | None = None
    edits: list[Edit] | None = None
    fill: float | None = None
    values: ValueRecipe | None = None
    scalar: int | float | None = None

    @model_validator(mode="after")
    def _one(self) -> Change:
        if len(self.model_fields_set) != 1:
            raise _error("one_of", f"expected exactly one of {', '.join(self._keys())}")
        return self


RelationName = Literal[
    "equals", "differs", "same_on_repeat", "earlier_answer_kept", "inputs_unchanged", "output_not_aliased"
]


class Relation(Model):
    """A property of one or two calls that needs no expected value.

    - ``equals``: ``rows`` of the first answer equal ``other_rows`` of the second (all rows when left out).
    - ``differs``: each of ``rows`` differs from its partner in ``other_rows`` by at least ``at_least``,
      relative to the larger of the two answers.
    - ``same_on_repeat``: the same call gives the same answer again, also after another call in between
      (the one that ``change`` describes, when given).
    - ``earlier_answer_kept``: the first answer still holds the same bytes after a second call.
    - ``inputs_unchanged``: bytes, dtype and shape of ``argument`` are as before, in this call and in every
      other call.
    - ``output_not_aliased``: the answer shares no memory with an argument.
    """

    relation: RelationName
    change: dict[str, Change] = {}
    rows: list[int] | None = None
    other_rows: list[int] | None = None
    at_least: float = Field(1e-3, gt=0)
    argument: str | None = None

    @model_validator(mode="after")
    def _keys_fit(self) -> Relation:
        given = self.model_fields_set - {"relation"}
        allowed: dict[str, set[str]] = {
            "equals": {"change", "rows", "other_rows"},
            "differs": {"change", "rows", "other_rows", "at_least"},
            "same_on_repeat": {"change"},
            "earlier_answer_kept": {"change"},
            "inputs_unchanged": {"argument"},
            "output_not_aliased": set(),
        }
        needed: dict[str, set[str]] = {
            "equals": {"change"},
            "differs": {"change"},
            "earlier_answer_kept": {"change"},
            "inputs_unchanged": {"argument"},
        }
        for key in sorted(given - allowed[self.relation]):
            raise _error("unknown_key", f"the relation {self.relation} takes no {key!r}", key=key)
        for key in sorted(needed.get(self.relation, set()) - given):
            raise _error("needs", f"the relation {self.relation} needs {key!r}", key=key)
        if self.rows is not None and self.other_rows is not None and len(self.rows) != len(self.other_rows):
            said = f"names {len(self.other_rows)} rows, rows names {len(self.rows)}; they are held in pairs"
            raise _error("rows", said, at=("other_rows",))
        return self


Check = Literal["compare", "finite"] | Relation


class CaseBase(Model):
    """What a single case and a random batch have in common."""

    id: Identifier
    title: str = ""
    clause: str
    points: Points
    visibility: Literal["public", "hidden"] = "public"
    arrays: dict[str, ArrayChange] = {}
    check: Check = "compare"
    requires: list[str] = []
    hint: str = ""
    tolerance: Annotated[float, Field(gt=0, lt=1)] | None = None


class Case(CaseBase):
    """One case: dims and arrays of a call, and what is checked of its answer."""

    dims: dict[str, Whole]
    seed: Count | None = None


class Range(Model):
    """The smallest and the largest value that a dim is drawn from."""

    from_: Whole = Field(alias="from")
    to: Whole


class RandomBatch(Model):
    """How many cases are drawn, from which seed, and how large."""

    count: int = Field(ge=1, le=500)
    seed: Count
    dims: dict[str, Range]
    dtypes: list[Dtype] = ["float64"]
    layouts: list[Layout] = ["c"]
    read_only: Flag = False


class RandomCases(CaseBase):
    """A batch of cases whose descriptors Hypothesis draws; ids are ``ID_01``, ``ID_02`` and so on.

    ``points`` are for each of them.
    """

    random: RandomBatch


class View(Model):
    """One of the calls on which influence is looked at: how it differs from the others, and its rows.

    ``rows`` says which rows of the picture the rows of the answer are; in their order when left out.
    """

    change: dict[str, Change] = {}
    rows: list[int] | None = None


class Influence(Model):
    """Which elements of an argument move which rows of the answer; looked at after a failure.

    In each view every element of ``argument`` is changed in turn: a whole number to the next one of its
    range, another number by 1. Together the views have every row of the picture once.
    """

    argument: str
    dims: dict[str, Whole]
    seed: Count | None = None
    arrays: dict[str, ArrayChange] = {}
    views: list[View] = [View()]


# --- policy.yaml ----------------------------------------------------------------------------


class PolicyRule(Model):
    """Helpers that a submission may not use, and what to write instead."""

    id: Identifier
    title: Text
    why: Text
    instead: Text
    names: list[str] = []
    methods: list[str] = []


class PolicyEffect(Model):
    """What a violation does to the score; exactly one key."""

    no_points: Flag | None = None
    deduct: Points | None = None
    cap: Points | None = None
    note: Flag | None = None

    @model_validator(mode="after")
    def _one(self) -> PolicyEffect:
        if len(self.model_fields_set) != 1:
            raise _error("one_of", f"expected exactly one of {', '.join(self._keys())}")
        for key in self.model_fields_set:
            if getattr(self, key) is False or getattr(self, key) is None:
                raise _error("one_of", f"{key} is not set to anything, which says nothing; choose an effect")
        return self


DOTTED = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)+$"
DottedName = Annotated[str, Field(pattern=DOTTED, max_length=200)]


class Policy(Model):
    """The content of ``policy.yaml``.

    ``aliases`` maps names that are seen at run time (``torch.ops.aten._softmax``) to the helpers behind them.
    """

    effect: PolicyEffect = PolicyEffect(no_points=True)
    rules: list[PolicyRule] = []
    allowed: list[str] = []
    array_libraries: list[str] = []
    aliases: dict[DottedName, DottedName] = {}

    @model_validator(mode="after")
    def _aliases_are_of_helpers(self) -> Policy:
        patterns = [pattern for rule in self.rules for pattern in rule.names]
        for alias, helper in self.aliases.items():
            at = ("aliases", alias)
            if not any(fnmatch.fnmatchcase(helper, pattern) for pattern in patterns):
                raise _error(
                    "alias", f"{helper!r} is banned by no rule, so nothing can be an alias of it", at=at
                )
            if any(fnmatch.fnmatchcase(helper, pattern) for pattern in self.allowed):
                raise _error("alias", f"{helper!r} is allowed, so nothing can be an alias of it", at=at)
            if helper in self.aliases:
                raise _error("alias", f"{helper!r} is an alias itself; name the helper", at=at)
        return self
