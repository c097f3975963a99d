"""An exercise's folder read and checked: ``cases/NAME`` with its YAML files and ``frozen.json``."""

from __future__ import annotations

import ast
import graphlib
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from grader.errors import ExerciseError, Problem
from grader.exercise import expressions, frozen, yaml_source
from grader.exercise.checks import Check, Holds, Relation, Statistic, change_of
from grader.exercise.claims import ClaimError, parse
from grader.exercise.faults import clear_faults
from grader.exercise.frozen import Descriptor, Frozen
from grader.exercise.grading import Grading
from grader.exercise.models import Case, Exercise, Policy, RandomCases
from grader.exercise.near import did_you_mean
from grader.exercise.recipes import ArrayChange, Parameter
from grader.exercise.roots import reference_files
from grader.exercise.weights import Worth, course_points
from grader.exercise.yaml_source import Document, Item, KeyPath

RESERVED = ("exercise", "policy")

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Entry:
    """One item of a case file.

    Attributes:
        group: The case file's name without its ending.
        spec: The case or the random batch.
        file: The file as shown in messages.
        line: 1-based line of the item.
        item: The item in its file; None for one that stands in no file.
    """

    group: str
    spec: Case | RandomCases
    file: str
    line: int
    item: Item | None = field(default=None, repr=False, compare=False)

    def at(self, *key: str | int) -> int:
        """The line of a key, or of the nearest one around it."""
        return self.item.line(*key) if self.item is not None else self.line


@dataclass(frozen=True)
class PlacedCase:
    """A single case with its place; the members of a random batch have the batch's place."""

    case: Case
    group: str
    file: str
    line: int
    dtype: str | None = None
    drawn: bool = False
    item: Item | None = field(default=None, repr=False, compare=False)

    def at(self, *key: str | int) -> int:
        """The line of a key of the case or of its batch, or of the nearest one around it."""
        return self.item.line(*key) if self.item is not None else self.line


@dataclass(frozen=True)
class ExerciseSource:
    """Everything an author wrote about one exercise, validated."""

    name: str
    root: Path
    exercise: Exercise
    policy: Policy
    entries: tuple[Entry, ...]
    frozen: Frozen | None
    influence_line: int = 0
    driver: str = field(default="", repr=False)

    @property
    def frozen_path(self) -> Path:
        return self.root / "cases" / self.name / "frozen.json"

    @property
    def reference_folder(self) -> Path:
        return self.root / "reference" / self.name

    @cached_property
    def driven(self) -> frozenset[str]:
        """Names of the functions that the driver defines."""
        body = ast.parse(self.driver).body
        return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef))

    @cached_property
    def extra_credit(self) -> frozenset[str]:
        """Ids of the cases whose points are beyond the full marks."""
        grading = self.exercise.grading
        return _extra_credit(self.entries, grading.extra_credit if grading else ())

    @cached_property
    def digest(self) -> str:
        """Digest of what freezing depends on: dims, arrays and checks, and the reference's code.

        Titles, hints, points, visibility and the policy are left out: correcting them needs no new run.
        """
        parts = {"dims", "constraints", "parameters", "returns", "calls"}
        exercise = self.exercise.model_dump(mode="json", include=parts, exclude_defaults=True)
        told = {"title", "hint", "points", "visibility", "clause", "requires"}
        # Without what is left at its default, a new key of the models makes nothing that was frozen stale.
        cases = {
            e.spec.id: e.spec.model_dump(mode="json", exclude=told, exclude_defaults=True)
            for e in self.entries
        }
        hasher = hashlib.sha256(json.dumps([exercise, cases, self.driver], sort_keys=True).encode())
        for path in reference_files(self.reference_folder):
            hasher.update(path.relative_to(self.reference_folder).as_posix().encode() + b"\0")
            hasher.update(path.read_bytes())
        return f"sha256:{hasher.hexdigest()}"

    def require_fresh_frozen(self) -> Frozen:
        """``frozen.json``, made from these very sources.

        Raises:
            ExerciseError: It is missing or older than its sources.
        """
        command = f"grader validate {self.name} --write"
        if self.frozen is None:
            place = shown(self.frozen_path.with_name("exercise.yaml"))
            raise ExerciseError.at(
                place, 0, f"exercise {self.name} has no frozen.json yet; make it with: {command}"
            )
        if self.frozen.sources != self.digest:
            path = shown(self.frozen_path)
            message = f"{path} is older than the cases or the reference; refresh it with: {command}"
            raise ExerciseError.at(path, 0, message)
        if self.exercise.limits.times_reference is not None and not self.frozen.timed:
            path = shown(self.frozen_path)
            message = f"{path} holds no times of the reference, which times_reference needs; add them with: "
            raise ExerciseError.at(path, 0, f"{message}{command}")
        return self.frozen

    def cases(self, batches: Mapping[str, list[Descriptor]]) -> tuple[PlacedCase, ...]:
        """All single cases in order, random batches replaced by their drawn members."""
        placed: list[PlacedCase] = []
        for entry in self.entries:
            if isinstance(entry.spec, Case):
                placed.append(PlacedCase(entry.spec, entry.group, entry.file, entry.line, item=entry.item))
            else:
                for number, descriptor in enumerate(batches.get(entry.spec.id, []), start=1):
                    case = drawn_case(entry.spec, number, descriptor)
                    place = (entry.group, entry.file, entry.line)
                    dtype = descriptor.dtype
                    placed.append(PlacedCase(case, *place, dtype=dtype, drawn=True, item=entry.item))
        return tuple(placed)


def drawn_id(batch: RandomCases, number: int) -> str:
    """The id of a batch's member; numbers begin at 1."""
    return f"{batch.id}_{number:02d}"


def drawn_case(batch: RandomCases, number: int, descriptor: Descriptor) -> Case:
    """The case that a drawn descriptor stands for."""
    common = {k: getattr(batch, k) for k in batch.model_fields_set - {"random", "id", "arrays"}}
    arrays = dict(batch.arrays)
    for name, layout in descriptor.layouts.items():
        change = arrays.get(name, ArrayChange())
        update: dict[str, Any] = {"layout": layout}
        if descriptor.read_only:
            update["read_only"] = True
        arrays[name] = change.model_copy(update=update)
    return Case(
        **common, id=drawn_id(batch, number), dims=descriptor.dims, seed=descriptor.seed, arrays=arrays
    )


def shown(path: Path) -> str:
    """A path as a user would write it: relative when it lies below the current folder."""
    try:
        return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    except (OSError, ValueError):
        return str(path)


def load(folder: Path) -> ExerciseSource:
    """Read the ``cases/NAME`` folder of an exercise.

    Raises:
        ExerciseError: Faults in the files, all that could be found at once.
    """
    problems: list[Problem] = []
    exercise_document = yaml_source.load(folder / "exercise.yaml", shown(folder / "exercise.yaml"))
    exercise = validate_document(
        TypeAdapter(Exercise), exercise_document, exercise_document.data, (), problems
    )
    policy: Policy | None = Policy()
    policy_path = folder / "policy.yaml"
    policy_document = None
    if policy_path.exists():
        policy_document = yaml_source.load(policy_path, shown(policy_path))
        policy = validate_document(TypeAdapter(Policy), policy_document, policy_document.data, (), problems)
    if exercise is None or policy is None:
        raise ExerciseError(problems)
    if exercise.exercise != folder.name:
        problems.append(
            Problem(
                exercise_document.file,
                exercise_document.line(("exercise",)),
                "exercise",
                f"is {exercise.exercise!r}; expected {folder.name!r}, the folder's name",
            )
        )
    driver = _driver(folder, exercise, exercise_document, problems)
    entries: list[Entry] = []
    broken: set[str] = set()
    files = {p.stem: p for p in folder.glob("*.yaml") if p.stem not in RESERVED}
    problems += [
        Problem(shown(p), 0, "", "is not read; let its name end in .yaml")
        for p in sorted(folder.glob("*.yml"))
    ]
    for group in exercise.groups:
        if group not in files:
            where = exercise_document.line(("groups",))
            known = did_you_mean(group, sorted(files))
            problems.append(
                Problem(exercise_document.file, where, "groups", f"{group!r} is no case file{known}")
            )
    order = [g for g in exercise.groups if g in files]
    order += sorted(set(files) - set(order))
    for group in order:
        entries += _case_file(group, files[group], exercise, problems, broken)
    _check_requires(entries, broken, problems)
    _check_grading(exercise, exercise_document, entries, order, broken, problems)
    # Points can be told only of an exercise in which all else is right.
    if policy_document is not None and not problems:
        _check_effect(policy, policy_document, Amounts.of(exercise.grading, entries), problems)
    if problems:
        raise ExerciseError(sorted(problems))
    frozen_path = folder / "frozen.json"
    return ExerciseSource(
        name=folder.name,
        root=folder.parent.parent,
        exercise=exercise,
        policy=policy,
        entries=tuple(entries),
        frozen=frozen.load(frozen_path, shown(frozen_path)),
        influence_line=exercise_document.line(("influence",)),
        driver=driver,
    )


def _driver(folder: Path, exercise: Exercise, document: Document, problems: list[Problem]) -> str:
    """The text of the exercise's driver; empty where it has none, or a faulty one, which is told."""
    if exercise.driver is None:
        return ""
    path = folder / exercise.driver
    at = document.file, document.line(("driver",)), "driver"
    try:
        text = path.read_text("utf-8")
        tree = ast.parse(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else f"can't be read: {error}"
        problems.append(Problem(*at, f"{shown(path)} {reason}"))
        return ""
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 0
        problems.append(Problem(shown(path), line, "", f"is not valid Python: {error}"))
        return ""
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for call in exercise.call_names:
        name = call or exercise.entries[0]
        if name not in defined and name not in exercise.entries:
            where = ("calls", call) if call else ("driver",)
            hint = did_you_mean(name, sorted(defined))
            said = f"{shown(path)} defines no function {name!r}, and entry does not name it either{hint}"
            problems.append(Problem(document.file, document.line(where), yaml_source.show_path(where), said))
    return text


def validate_document(
    adapter: TypeAdapter[M], document: Document, data: Any, at: KeyPath, problems: list[Problem]
) -> M | None:
    """A model made from a part of a YAML file; None when faults were appended to ``problems``.

    Args:
        adapter: The model.
        document: The file, for lines.
        data: The part.
        at: Key path of the part.
        problems: Takes every fault with file, line and key.
    """
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        for path, message in clear_faults(error.errors(include_url=False), document, at):
            problems.append(Problem(document.file, document.line(path), yaml_source.show_path(path), message))
        return None


def _case_file(
    group: str, path: Path, exercise: Exercise, problems: list[Problem], broken: set[str]
) -> list[Entry]:
    """The items of a case file; the ids of those that hold faults are added to ``broken``."""
    file = shown(path)
    document = yaml_source.load(path, file)
    if not isinstance(document.data, list):
        problems.append(Problem(file, 1, "", "expected a list of cases, each beginning with '- id:'"))
        return []
    entries: list[Entry] = []
    for index, item in enumerate(document.data):
        line = document.line((index,))
        is_batch = isinstance(item, dict) and "random" in item
        adapter: TypeAdapter[Any] = TypeAdapter(RandomCases if is_batch else Case)
        spec = validate_document(adapter, document, item, (index,), problems)
        if spec is None:
            broken |= {str(item["id"])} if isinstance(item, dict) and "id" in item else set()
            continue

        def fault(key: KeyPath, message: str, index: int = index) -> None:
            at = (index, *key)
            problems.append(Problem(file, document.line(at), yaml_source.show_path(at), message))

        if spec.clause not in exercise.clauses:
            fault(
                ("clause",),
                f"unknown clause {spec.clause!r}{did_you_mean(spec.clause, list(exercise.clauses))}",
            )
        if spec.call and spec.call not in exercise.calls:
            known = did_you_mean(spec.call, list(exercise.calls))
            only = "is for an exercise with several calls, which this one is not"
            fault(("call",), f"unknown call {spec.call!r}{known}" if exercise.calls else only)
            broken.add(spec.id)
            continue
        view = exercise.view(spec.call)
        for name, changed in spec.arrays.items():
            if name not in view.slots:
                fault(("arrays", name), f"unknown array {name!r}{did_you_mean(name, list(view.slots))}")
            else:
                _check_change(view.slots[name], changed, ("arrays", name), fault)
        for name in change_of(spec.check):
            if name not in view.slots:
                known = did_you_mean(name, list(view.slots))
                fault(("check", "change", name), f"unknown parameter {name!r}{known}")
        if isinstance(spec.check, Relation):
            wanted = spec.check.argument
            if wanted is not None and wanted not in view.parameters:
                known = did_you_mean(wanted, list(view.parameters))
                fault(("check", "argument"), f"unknown parameter {wanted!r}{known}")
        _check_claims(spec.check, view, fault)
        _check_dims(spec, view, fault)
        entries.append(Entry(group, spec, file, line, Item(document, (index,))))
    return entries


def _check_claims(check: Check, exercise: Exercise, fault: Any) -> None:
    """The expressions of a check can be read and use names that there are."""
    if not isinstance(check, Holds | Statistic):
        return
    form = exercise.form
    items = form.items if isinstance(form.items, dict) else {}
    # A generator is no value: what is left of it after a call says nothing.
    values = {name for name, one in exercise.parameters.items() if one.generator is None}
    known = {*values, *items, "answer"}
    # Where a claim is meant to be about the item, it would hold of every answer.
    twice = set(exercise.parameters) & set(items)
    if change_of(check):
        known.add("changed")

    def look(text: Any, *at: str | int) -> None:
        if not isinstance(text, str):
            return
        try:
            used = parse(text).names
        except ClaimError as error:
            fault(("check", *at), str(error))
            return
        for name in sorted(used - known):
            fault(("check", *at), f"uses {name!r}{did_you_mean(name, sorted(known))}")
        for name in sorted(used & twice):
            said = f"uses {name!r}, an argument and an item of the answer; write answer.{name} for the item"
            fault(("check", *at), f"{said}, and let the argument have another name")

    for name, text in check.let.items():
        if name in known:
            fault(("check", "let", name), f"{name!r} is the name of something else already; take another one")
        look(text, "let", name)
        known.add(name)
        twice.discard(name)
    if isinstance(check, Holds):
        for number, claim in enumerate(check.holds):
            look(claim.claim, "holds", number, "claim")
    else:
        for key in ("successes", "trials", "probability", "counts", "probabilities", "against"):
            look(getattr(check, key), key)


def _check_change(parameter: Parameter, change: ArrayChange, at: KeyPath, fault: Any) -> None:
    """A case changes of an argument what an argument of its kind has."""
    given = change.model_fields_set
    if parameter.is_array and "value" in given:
        fault((*at, "value"), "is for an argument that is no array; an array has values")
    for key in sorted(given - {"value"}) if not parameter.is_array else ():
        fault((*at, key), "is for an array, which this argument is not; it has a value")
    if parameter.generator is not None and "value" in given and type(change.value) is not int:
        fault((*at, "value"), f"is {change.value!r}; expected a whole number, the generator's seed")


def _check_dims(spec: Case | RandomCases, exercise: Exercise, fault: Any) -> None:
    given = spec.dims if isinstance(spec, Case) else spec.random.dims
    where: KeyPath = ("dims",) if isinstance(spec, Case) else ("random", "dims")
    for name in given:
        if name not in exercise.dims:
            fault((*where, name), f"unknown dim {name!r}{did_you_mean(name, list(exercise.dims))}")
            return
    missing = [name for name in exercise.dims if name not in given]
    if missing:
        fault(where, f"lacks {', '.join(missing)}")
        return
    if isinstance(spec, RandomCases):
        for name, span in spec.random.dims.items():
            if span.to < span.from_:
                fault((*where, name), f"goes from {span.from_} to {span.to}, which is empty")
        return
    for name, bound in exercise.dims.items():
        if not expressions.evaluate(f"{name} {bound}", spec.dims):
            fault((*where, name), f"is {spec.dims[name]}; expected {bound}")
            return
    for constraint in exercise.constraints:
        try:
            holds = expressions.evaluate(constraint, spec.dims)
        except expressions.ExpressionError as error:
            fault(where, f"the constraint {error}")
            continue
        if not holds:
            fault(where, f"breaks the constraint {constraint}")


def case_ids(spec: Case | RandomCases) -> list[str]:
    """The ids by which an item's cases go; those of a random batch begin with the batch's own."""
    if isinstance(spec, Case):
        return [spec.id]
    return [spec.id, *(drawn_id(spec, number + 1) for number in range(spec.random.count))]


def _check_grading(
    exercise: Exercise,
    document: Document,
    entries: list[Entry],
    groups: list[str],
    broken: set[str],
    problems: list[Problem],
) -> None:
    """Weights are of all groups; gates and extra credit name what there is, and do something."""
    grading = exercise.grading
    if grading is None:
        return
    cases = [name for entry in entries for name in case_ids(entry.spec)]

    def fault(key: KeyPath, message: str) -> None:
        at = ("grading", *key)
        problems.append(Problem(document.file, document.line(at), yaml_source.show_path(at), message))

    def require(name: str, known: list[str], kind: str, *key: str | int) -> None:
        if name not in known and name not in broken:
            fault(key, f"unknown {kind} {name!r}{did_you_mean(name, known)}")

    if grading.weights is not None:
        for name in grading.weights:
            require(name, groups, "group", "weights", name)
        if missing := [name for name in groups if name not in grading.weights]:
            fault(("weights",), f"lacks {', '.join(missing)}; every group needs its weight")
    for number, name in enumerate(grading.extra_credit):
        require(name, groups + cases, "group or case", "extra_credit", number)
    for number, gate in enumerate(grading.gates):
        for kind, known in (("case", cases), ("clause", list(exercise.clauses)), ("group", groups)):
            if (named := getattr(gate, kind)) is not None:
                require(named, known, kind, "gates", number, kind)
    extra = set(grading.extra_credit)
    for group in groups:
        own = [e for e in entries if e.group == group]
        # A weight is shared by the cases that count towards full marks, where there are such.
        regular = [
            e
            for e in own
            if not (extra & {group, e.spec.id} or extra.issuperset(case_ids(e.spec)[1:] or [""]))
        ]
        if grading.weights is not None and own and not any(e.spec.points for e in regular or own):
            fault(("weights", group), f"the cases of {group} have no points that its weight could scale")
    # Points can be told only of an exercise in which all else is right.
    if not problems:
        _check_amounts(grading, entries, fault)


def _extra_credit(entries: Iterable[Entry], names: Iterable[str]) -> frozenset[str]:
    """Ids of the cases that groups, cases and random batches of these names hold."""
    named = set(names)
    found: set[str] = set()
    for entry in entries:
        ids = case_ids(entry.spec)
        found |= set(ids) if {entry.group, entry.spec.id} & named else named & set(ids)
    return frozenset(found)


def _check_amounts(grading: Grading, entries: Sequence[Entry], fault: Callable[[KeyPath, str], None]) -> None:
    """There are points towards full marks, and no gate is without effect."""
    full, most = Amounts.of(grading, entries)
    if grading.extra_credit and not full:
        fault(("extra_credit",), "leaves no points that count towards full marks, so these would be 0")
        return
    for number, gate in enumerate(grading.gates):
        if gate.cap is not None and _points_of(gate.cap, full) >= most:
            said = f"is no limit, since all cases together are worth {most:.10g} points; expected less"
            fault(("gates", number, "cap"), said)
        if gate.cost is not None and not _points_of(gate.cost, full):
            fault(("gates", number, "cost"), "takes nothing; expected more than 0")
    late = grading.late
    free = late is not None and not _points_of(late.cost, full)
    if late is not None and free and late.closed_after is None and late.marked is None:
        fault(("late", "cost"), "takes nothing, and nothing is closed; expected more than 0")


def _check_effect(policy: Policy, document: Document, amounts: Amounts, problems: list[Problem]) -> None:
    """Breaking a rule costs something, or is said to cost nothing."""
    effect = policy.effect
    said = ""
    if effect.cap is not None and effect.cap >= amounts.most:
        key = "cap"
        said = f"is no limit, since all cases together are worth {amounts.most:.10g} points; expected less"
    elif effect.deduct is not None and not effect.deduct:
        key = "deduct"
        said = "takes nothing; expected more than 0, or {note: true}"
    if said:
        at = ("effect", key)
        problems.append(Problem(document.file, document.line(at), yaml_source.show_path(at), said))


class Amounts(NamedTuple):
    """Full marks, and what all cases with extra credit are worth together; both in points."""

    full: float
    most: float

    @staticmethod
    def of(grading: Grading | None, entries: Sequence[Entry]) -> Amounts:
        """What the cases are worth to a course."""
        grading = grading or Grading()
        extra = _extra_credit(entries, grading.extra_credit)
        worths = [
            Worth(name, entry.group, entry.spec.points, name in extra)
            for entry in entries
            for name in (case_ids(entry.spec)[1:] or [entry.spec.id])
        ]
        points = course_points(worths, grading)
        full = round(math.fsum(points[w.id] for w in worths if not w.extra), 6)
        return Amounts(full, round(math.fsum(points.values()), 6))


def _points_of(amount: float | str, full: float) -> float:
    """An amount in points; a share of the full marks is rounded to the cent."""
    return round(full * float(amount.removesuffix("%")) / 100, 2) if isinstance(amount, str) else amount


def _check_requires(entries: list[Entry], broken: set[str], problems: list[Problem]) -> None:
    places: dict[str, Entry] = {}
    for entry in entries:
        for name in case_ids(entry.spec):
            first = places.setdefault(name, entry)
            if first is not entry:
                message = f"{name!r} is used twice; first in {first.file}:{first.line}"
                problems.append(Problem(entry.file, entry.at("id"), "id", message))
                break
    singles = {name: e for name, e in places.items() if isinstance(e.spec, Case)}
    for entry in entries:
        for number, needed in enumerate(entry.spec.requires):
            if needed in broken:
                continue
            if needed not in singles:
                message = f"unknown case {needed!r}{did_you_mean(needed, sorted(singles))}"
            elif entry.spec.visibility == "public" and singles[needed].spec.visibility == "hidden":
                message = f"is public and requires the hidden case {needed!r}; require a public one"
            else:
                continue
            line = entry.at("requires", number)
            problems.append(Problem(entry.file, line, "requires", f"{entry.spec.id}: {message}"))
    graph = {name: [n for n in e.spec.requires if n in singles] for name, e in singles.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        cycle = error.args[1]
        entry = singles[cycle[0]]
        line = entry.at("requires", entry.spec.requires.index(cycle[-2]))
        problems.append(Problem(entry.file, line, "requires", f"goes round: {' → '.join(cycle)}"))
