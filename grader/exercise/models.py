"""The YAML files of an exercise as validated models.

Every model refuses unknown keys with the near miss named. The models are also the source of the
JSON Schema that editors use (`grader schema`).
"""

from __future__ import annotations

import fnmatch
import keyword
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from grader.exercise import expressions
from grader.exercise.checks import Change, CheckField
from grader.exercise.fields import (
    Bytes,
    Count,
    Dtype,
    Flag,
    Identifier,
    Layout,
    Model,
    Name,
    Points,
    Text,
    Whole,
    fault,
    number_only,
)
from grader.exercise.forms import Form
from grader.exercise.grading import Grading
from grader.exercise.near import did_you_mean
from grader.exercise.recipes import ArrayChange, Parameter, Values, slots

# --- exercise.yaml --------------------------------------------------------------------------


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


class Call(Model):
    """One of several calls of an exercise: what goes in, what comes out, and how much work it is."""

    parameters: dict[str, Parameter]
    returns: Form
    work: Work | None = None


class Exercise(Model):
    """The content of ``exercise.yaml``.

    An exercise asks for one function, and then ``parameters`` and ``returns`` are those of ``entry``; or it
    has several ``calls``, each with its own. A call goes to the function of that name in the ``driver``, a
    Python file beside ``exercise.yaml``, where there is one, else to the submission's own. ``entry`` then
    lists the names that a submission has to define.

    ``groups`` names the case files in the order in which their cases run and are shown; files that it
    leaves out follow by name.
    """

    exercise: Identifier
    title: str
    entry: Name | list[Name]
    packages: list[str] = ["numpy"]
    dims: dict[str, str] = {}
    constraints: list[str] = []
    driver: str | None = Field(None, pattern=r"^[a-z][a-z0-9_]*\.py$")
    parameters: dict[str, Parameter] = {}
    returns: Form | None = None
    calls: dict[Identifier, Call] = {}
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
    def _one_call_or_several(self) -> Exercise:
        several = bool(self.calls)
        for key in ("parameters", "returns", "work"):
            if several and key in self.model_fields_set:
                raise fault("one_of", f"stands beside calls; give {key} of each call instead", key=key)
        for key in ("parameters", "returns"):
            if not several and key not in self.model_fields_set:
                raise fault("needs", "is missing", at=(key,))
        if not several and self.returns is None:
            keys = ", ".join(Form._keys())
            raise fault("mapping", f"expected a mapping with the keys {keys}, found nothing", at=("returns",))
        if not self.entries:
            raise fault("needs", "names nothing that a submission has to define", key="entry")
        for name in self.entries:
            if keyword.iskeyword(name):
                raise fault(
                    "name", f"{name!r} is a word of Python's, which nothing can be called", key="entry"
                )
            if self.entries.count(name) > 1:
                raise fault("twice", f"names {name!r} twice", key="entry")
        if self.driver is None:
            for call in self.calls:
                if call not in self.entries:
                    said = f"is no name of entry; a call goes to a function of {self.entry!r} or of a driver"
                    raise fault("unknown_call", said, at=("calls", call))
            if len(self.entries) > 1 and not several:
                raise fault("one_of", "names several, so calls are needed, or a driver", key="entry")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> Exercise:
        for number, text in enumerate(self.constraints):
            self._require_names(("constraints", number), text, set())
        for name, call in self.calls.items() or (("", self),):
            at: tuple[str | int, ...] = ("calls", name) if name else ()
            assert call.returns is not None
            free = call.returns.free(self.dims)
            for place, size in call.returns.sizes():
                if size not in free:
                    self._require_names((*at, "returns", *place), size, free)
            for slot, parameter in slots(call.parameters).items():
                path = (*at, "parameters", *slot.replace(".", ".mapping.", 1).split("."))
                used = [("scalar", parameter.scalar)] if parameter.scalar is not None else []
                used += [("shape", size) for size in parameter.shape or []]
                for key, expression in used:
                    self._require_names((*path, key), expression, set())
            if call.work:
                self._require_names((*at, "work", "expression"), call.work.expression, free)
        return self

    def _require_names(self, where: tuple[str | int, ...], text: Any, more: set[str]) -> None:
        """Raises a fault where an expression uses a name that is no dim and none of ``more``."""
        known = list(self.dims) + sorted(more - set(self.dims))
        try:
            used = expressions.names(text) if isinstance(text, str) else set()
        except expressions.ExpressionError as error:
            raise fault("expression", str(error), at=where) from None
        for name in sorted(used - set(known)):
            hint = did_you_mean(name, known) if known else "; dims names none"
            raise fault("unknown_dim", f"uses {name!r}{hint}", at=where)

    @property
    def entries(self) -> tuple[str, ...]:
        """The names that a submission has to define; the first is the one by which it goes."""
        return (self.entry,) if isinstance(self.entry, str) else tuple(self.entry)

    @property
    def call_names(self) -> tuple[str, ...]:
        """The names of the calls; one empty name where there is but one call."""
        return tuple(self.calls) or ("",)

    def call_named(self, call: str) -> str:
        """A call as a case names it; the first one where it names none."""
        return call or self.call_names[0]

    def view(self, call: str = "") -> Exercise:
        """The exercise as if it had one call alone, with the dims and constraints that matter to it.

        Args:
            call: The call's name; the first call where it is empty.
        """
        if not self.calls:
            return self
        return self._views[self.call_named(call)]

    @cached_property
    def _views(self) -> dict[str, Exercise]:
        return {name: self._view(name, call) for name, call in self.calls.items()}

    def _view(self, name: str, call: Call) -> Exercise:
        dims = _names_in(call.parameters, call.returns) & set(self.dims)
        chosen = [c for c in self.constraints if expressions.names(c) <= dims]
        return self.model_copy(
            update={
                "entry": name,
                "dims": {d: bound for d, bound in self.dims.items() if d in dims},
                "constraints": chosen,
                "parameters": call.parameters,
                "returns": call.returns,
                "work": call.work,
                "calls": {},
                "influence": self.influence if self.influence and self.influence.call == name else None,
            }
        )

    @property
    def slots(self) -> dict[str, Parameter]:
        """The arguments of the only call, those of mappings one by one."""
        return slots(self.parameters)

    @property
    def form(self) -> Form:
        """What the only call returns."""
        assert self.returns is not None
        return self.returns


def _names_in(parameters: Mapping[str, Parameter], returns: Form) -> set[str]:
    """Every name that occurs in the sizes, recipes and scalars of a call."""
    texts: list[Any] = [size for _, size in returns.sizes()]
    for parameter in slots(parameters).values():
        texts += [parameter.scalar, *(parameter.shape or []), *_expressions(parameter.values)]
    found: set[str] = set()
    for text in texts:
        if isinstance(text, str):
            try:
                found |= expressions.names(text)
            except expressions.ExpressionError:
                # Told where the expression is used.
                continue
    return found


def _expressions(recipe: Any) -> list[Any]:
    """The expressions in a recipe of values."""
    if not isinstance(recipe, Values):
        return []
    inner = [getattr(recipe, key) for key in recipe.model_fields_set]
    return [
        value
        for one in inner
        for value in ([one] if isinstance(one, str) else vars(one).values() if isinstance(one, Model) else [])
    ]


# --- case files -----------------------------------------------------------------------------


class CaseBase(Model):
    """What a single case and a random batch have in common.

    ``call`` names the call that is made, where the exercise has several; the first one when left out.
    """

    id: Identifier
    call: str = ""
    title: str = ""
    clause: str
    points: Points
    visibility: Literal["public", "hidden"] = "public"
    arrays: dict[str, ArrayChange] = {}
    check: CheckField = "compare"
    requires: list[str] = []
    hint: str = ""
    tolerance: Annotated[float, Field(gt=0, lt=1)] | None = None


class Case(CaseBase):
    """One case: dims and arrays of a call, and what is checked of its answer."""

    dims: dict[str, Whole] = {}
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
    call: str = ""
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
