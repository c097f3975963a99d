"""What a case checks, as it stands in YAML: a relation, an exception, claims, a statistic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from grader.exercise.fields import Identifier, Model, Name, Plain, Text, fault
from grader.exercise.near import near_misses
from grader.exercise.recipes import Edit, ValueRecipe


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
    rows: Annotated[list[int], Field(min_length=1)] | None = None
    other_rows: Annotated[list[int], Field(min_length=1)] | None = None
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
    mentions: list[Annotated[str, Field(min_length=1)]] = []

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
    category with its ``probabilities``; ``categories`` are their names for people. All others are
    expressions as in `Holds`; what is counted is added up over the calls. ``against`` is what the test has
    to tell from the right behaviour: another probability, or other probabilities. ``level`` is the chance
    that a right submission fails; when it is left out, all such tests of the exercise share one in a
    thousand million. With fewer trials than ``least_trials`` in all calls together a submission fails; when
    it is left out, it follows from what the reference gives (see `grader.exercise.trials`).
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
    categories: list[Text] = []
    against: str | float
    level: Annotated[float, Field(gt=0, le=1e-9)] | None = None
    least_trials: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _keys_fit(self) -> Statistic:
        binomial = {"successes", "trials", "probability"}
        multinomial = {"counts", "probabilities"}
        needed = binomial if self.statistic == "binomial" else multinomial
        for key in sorted((binomial | multinomial) - needed):
            if getattr(self, key) is not None:
                raise fault("unknown_key", f"a {self.statistic} statistic takes no {key!r}", key=key)
        if self.categories and self.statistic == "binomial":
            raise fault("unknown_key", "a binomial statistic takes no 'categories'", key="categories")
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
