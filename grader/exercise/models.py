"""The YAML files of an exercise as validated models.

Every model refuses unknown keys with the near miss named. The models are also the source of the
JSON Schema that editors use (`grader schema`).
"""

from __future__ import annotations

import fnmatch
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from grader.exercise import expressions
from grader.exercise.fields import (
    Bytes,
    Count,
    Dtype,
    Expression,
    Flag,
    Identifier,
    Layout,
    Model,
    Points,
    Text,
    Whole,
    fault,
    number_only,
)
from grader.exercise.grading import Grading
from grader.exercise.near import did_you_mean
from grader.exercise.recipes import ArrayChange, Edit, Parameter, ValueRecipe

# --- exercise.yaml --------------------------------------------------------------------------


class Returns(Model):
    """What the entry point returns."""

    container: Literal["array"] = "array"
    shape: list[Expression]
    dtype: list[Literal["float64", "float32"]] = ["float32", "float64"]


class Limits(Model):
    """What one submission may use. Seconds are of processor time; memory and output are in bytes.

    With ``times_reference`` a call, and all calls together, may take that many times what the reference needs
    on the machine that grades, where this is more than the seconds.
    """

    seconds_per_call: Annotated[float, BeforeValidator(number_only), Field(gt=0, le=3600)] = 5
    seconds: Annotated[float, BeforeValidator(number_only), Field(gt=0, le=36000)] = 60
    times_reference: Annotated[float, BeforeValidator(number_only), Field(gt=1, le=1000)] | None = None
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
    grading: Grading | None = None

    @field_validator("dims")
    @classmethod
    def _bounds(cls, dims: dict[str, str]) -> dict[str, str]:
        for name, bound in dims.items():
            try:
                expressions.evaluate(f"{name} {bound}", {name: 1})
            except expressions.ExpressionError:
                raise fault(
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
                raise fault("expression", str(error), at=where) from None
            for name in sorted(used - {*known, *bound}):
                raise fault("unknown_dim", f"uses {name!r}{did_you_mean(name, known + bound)}", at=where)
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
            raise fault("one_of", f"expected exactly one of {', '.join(self._keys())}")
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
            raise fault("unknown_key", f"the relation {self.relation} takes no {key!r}", key=key)
        for key in sorted(needed.get(self.relation, set()) - given):
            raise fault("needs", f"the relation {self.relation} needs {key!r}", key=key)
        if self.rows is not None and self.other_rows is not None and len(self.rows) != len(self.other_rows):
            said = f"names {len(self.other_rows)} rows, rows names {len(self.rows)}; they are held in pairs"
            raise fault("rows", said, at=("other_rows",))
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
    """Helpers that a submission may not use, and what to write instead.

    ``what`` says what a submission does that uses them, ``looks`` shows it in a line or two of code.
    """

    id: Identifier
    title: Text
    what: Text | None = None
    why: Text
    looks: Text | None = None
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
            raise fault("one_of", f"expected exactly one of {', '.join(self._keys())}")
        for key in self.model_fields_set:
            if getattr(self, key) is False or getattr(self, key) is None:
                raise fault("one_of", f"{key} is not set to anything, which says nothing; choose an effect")
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
                raise fault(
                    "alias", f"{helper!r} is banned by no rule, so nothing can be an alias of it", at=at
                )
            if any(fnmatch.fnmatchcase(helper, pattern) for pattern in self.allowed):
                raise fault("alias", f"{helper!r} is allowed, so nothing can be an alias of it", at=at)
            if helper in self.aliases:
                raise fault("alias", f"{helper!r} is an alias itself; name the helper", at=at)
        return self
