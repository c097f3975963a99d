"""The YAML files of an exercise as validated models.

Every model refuses unknown keys with the near miss named. The models are also the source of the
JSON Schema that editors use (`grader schema`).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from grader.exercise import expressions
from grader.exercise.fields import (
    Bytes,
    Count,
    Dtype,
    Flag,
    Identifier,
    Layout,
    Model,
    Plain,
    Points,
    Text,
    Whole,
    fault,
    number_only,
)
from grader.exercise.forms import Form
from grader.exercise.grading import Grading
from grader.exercise.near import did_you_mean, near_misses
from grader.exercise.recipes import ArrayChange, Edit, Parameter, ValueRecipe, Values, slots

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


Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


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
    value: Plain | None = None

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

    ``part`` names the one part of an answer of several (``logits``, ``items[0]``) of which it is to hold.
    """

    relation: RelationName
    change: dict[str, Change] = {}
    part: str | None = None
    rows: list[int] | None = None
    other_rows: list[int] | None = None
    at_least: float = Field(1e-3, gt=0)
    argument: str | None = None

    @model_validator(mode="after")
    def _keys_fit(self) -> Relation:
        given = self.model_fields_set - {"relation"}
        allowed: dict[str, set[str]] = {
            "equals": {"change", "part", "rows", "other_rows"},
            "differs": {"change", "part", "rows", "other_rows", "at_least"},
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


class Raises(Model):
    """The call must end in an exception.

    ``raises`` names its class, or one of the classes that it may derive from; of several any will do. Every
    text of ``mentions`` must be in its message, whatever the case of its letters; a number there is not part
    of a longer number.
    """

    raises: Name | Annotated[list[Name], Field(min_length=1)]
    mentions: list[str] = []

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the exceptions that will do."""
        return (self.raises,) if isinstance(self.raises, str) else tuple(self.raises)


class Claim(Model):
    """What must hold of an answer: an expression, and the same in words for a student."""

    claim: str
    says: Text


class Holds(Model):
    """Claims about the answer to one call, or to two that differ by ``change``.

    In an expression the arguments stand under their names, ``answer`` is the answer, and the items of an
    answer that is a dictionary with texts as keys stand under their keys. Of the second call all of these are
    items of ``changed``. ``let`` gives names to expressions, in their order.
    """

    holds: list[Claim] = Field(min_length=1)
    let: dict[Identifier, str] = {}
    change: dict[str, Change] = {}


class Statistic(Model):
    """A test of what many calls do, each with random numbers of its own.

    The calls are made with ``calls`` seeds for the arguments that are generators. ``binomial``: of
    ``trials`` each is a success with ``probability``; ``multinomial``: of ``counts`` each falls into a
    category with its ``probabilities``. All of these are expressions as in `Holds`; what is counted is
    added up over the calls. ``against`` is what the test has to tell from the right behaviour: another
    probability, or other probabilities. ``level`` is the chance that a right submission fails; when it is
    left out, all such tests of the exercise share one in a thousand million.
    """

    statistic: Literal["binomial", "multinomial"]
    says: Text
    calls: int = Field(20, ge=1, le=1000)
    let: dict[Identifier, str] = {}
    successes: str | None = None
    trials: str | None = None
    probability: str | float | None = None
    counts: str | None = None
    probabilities: str | None = None
    against: str | float
    level: Annotated[float, Field(gt=0, le=1e-9)] | None = None

    @model_validator(mode="after")
    def _keys_fit(self) -> Statistic:
        binomial = {"successes", "trials", "probability"}
        multinomial = {"counts", "probabilities"}
        needed = binomial if self.statistic == "binomial" else multinomial
        for key in sorted((binomial | multinomial) - needed):
            if getattr(self, key) is not None:
                raise fault("unknown_key", f"a {self.statistic} statistic takes no {key!r}", key=key)
        for key in sorted(needed):
            if getattr(self, key) is None:
                raise fault("needs", f"a {self.statistic} statistic needs {key!r}", key=key)
        return self


Check = Literal["compare", "finite"] | Relation | Raises | Holds | Statistic


def check_name(check: Check) -> str:
    """A check in one word: the name of a relation, or how its key or itself goes."""
    match check:
        case Relation():
            return check.relation
        case Raises():
            return "raises"
        case Holds():
            return "holds"
        case Statistic():
            return "statistic"
    return check


def change_of(check: Check) -> Mapping[str, Change]:
    """How a check's second call differs from the first; nothing where it makes none."""
    return check.change if isinstance(check, Relation | Holds) else {}


# A mapping is the check that its key makes it, or one near to it, so that faults are told of that one alone.
_CHECKS: Mapping[str, type[Model]] = {
    "relation": Relation,
    "raises": Raises,
    "holds": Holds,
    "statistic": Statistic,
}


def _kind_of_check(value: Any) -> str | None:
    if isinstance(value, Model):
        return type(value).__name__
    if isinstance(value, dict):
        known = [key for key in _CHECKS if key in value]
        near = [key for one in value for key in near_misses(str(one), list(_CHECKS))]
        return _CHECKS[[*known, *near][0]].__name__ if known or near else None
    return "word" if isinstance(value, str) and value in ("compare", "finite") else None


CheckField = Annotated[
    Annotated[Literal["compare", "finite"], Tag("word")]
    | Annotated[Relation, Tag("Relation")]
    | Annotated[Raises, Tag("Raises")]
    | Annotated[Holds, Tag("Holds")]
    | Annotated[Statistic, Tag("Statistic")],
    Discriminator(
        _kind_of_check,
        custom_error_type="check",
        custom_error_message=(
            "expected 'compare' or 'finite', or a mapping with the key "
            f"{', '.join([*_CHECKS][:-1])} or {[*_CHECKS][-1]}"
        ),
    ),
]


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
