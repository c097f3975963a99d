"""Known mistakes as changes of single steps of the reference, each with the page that explains it.

A reference that is built from *steps* (``reference/NAME/model.py`` has ``STEPS``, a frozen dataclass whose
fields are functions in the order of their use, and ``run(steps, arguments, dtype)``, or a dictionary of such
functions where the exercise has several calls) can be run with some of its steps replaced.
``reference/NAME/misconceptions.py``, or a folder of that name, collects such replacements
in ``MISCONCEPTIONS``:

    MISCONCEPTIONS = Misconceptions()

    @MISCONCEPTIONS.add(clause="bidirectional", step="restrict_scores")
    def causal_mask(c, scores):
        \"\"\"Later positions are hidden.

        What it does:
            ...
        Why it is wrong:
            ...
        How it looks:
            scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
        What to write instead:
            ...
        \"\"\"

Without ``step`` the function takes nothing and returns the changes of several steps by name; it is called
once for every model that is made, so that what its functions keep between calls belongs to that model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from grader.errors import ExerciseError, GraderError
from grader.exercise.near import did_you_mean
from grader.exercise.pages import Page, read_page
from grader.exercise.reference import load_module
from grader.exercise.rehearsal import Functions, function_for

Function = Callable[..., Any]

# Where the collection may stand, below the folder of the reference.
_MODULES = ("misconceptions.py", "misconceptions/__init__.py")


@dataclass(frozen=True)
class Misconception:
    """A known mistake.

    Attributes:
        id: Its name, that of the function that makes it.
        title: One line for people.
        clause: The clause of the statement that it breaks.
        page: What it is and what to write instead.
        steps: Names of the steps that it replaces.
        make: Gives the replacements by step, anew for each model.
        stateful: What it does depends on earlier calls, or on chance.
        small: Its errors are meant to stay inside rounding tolerances: it explains errors of a submission
            that passes, and is no mistake that the cases have to catch.
        line: Where it stands in its file.
        file: The file that it stands in.
    """

    id: str
    title: str
    clause: str
    page: Page
    steps: tuple[str, ...]
    make: Callable[[], Mapping[str, Function]]
    stateful: bool = False
    small: bool = False
    file: str = ""
    line: int = 0


class Misconceptions:
    """A collection of known mistakes, in the order in which they were added."""

    def __init__(self, *parts: Misconceptions) -> None:
        self._all: dict[str, Misconception] = {}
        for part in parts:
            for one in part:
                self._put(one)

    def _put(self, one: Misconception) -> None:
        if one.id in self._all:
            message = f"{one.file}:{one.line}: the misconception {one.id} is there twice"
            raise ExerciseError.at(one.file, one.line, message)
        self._all[one.id] = one

    def __iter__(self) -> Iterator[Misconception]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, name: str) -> Misconception:
        return self._all[name]

    def add(
        self, *, clause: str, step: str | None = None, stateful: bool = False, small: bool = False
    ) -> Callable[[Function], Function]:
        """A decorator that adds a mistake; see the module's text.

        Raises:
            GraderError: The name is taken, or the docstring is no page.
        """

        def decorate(function: Function) -> Function:
            code = getattr(function, "__code__", None)
            if code is None:
                raise GraderError(f"{function!r} is no function that is defined by def")
            place = code.co_filename, code.co_firstlineno
            where = f"{place[0]}:{place[1]}: {function.__name__}"
            try:
                title, page = read_page(inspect.getdoc(function) or "", where)
            except GraderError as error:
                raise ExerciseError.at(*place, str(error)) from None

            def make() -> Mapping[str, Function]:
                return {step: function} if step is not None else function()

            try:
                steps = tuple(make())
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                message = f"{where}: expected changes of steps by name; it raises {told}"
                raise ExerciseError.at(*place, message) from error
            self._put(
                Misconception(
                    id=function.__name__,
                    title=title,
                    clause=clause,
                    page=page,
                    steps=steps,
                    make=make,
                    stateful=stateful,
                    small=small,
                    file=place[0],
                    line=place[1],
                )
            )
            return function

        return decorate


@dataclass(frozen=True)
class StepModel:
    """A reference that is built from steps.

    Attributes:
        steps: The right steps: a frozen dataclass of functions.
        run: Takes steps, the arguments of a call and a dtype; returns the answer. One for each call, by the
            call's name, where there are several.
    """

    steps: Any
    run: Function | Mapping[str, Function]

    @property
    def names(self) -> tuple[str, ...]:
        """The steps' names in the order of use."""
        return tuple(field.name for field in fields(self.steps))

    def entry(self, changes: Mapping[str, Function], dtype: str = "float64") -> Functions:
        """The entry point with some of its steps replaced; by the calls' names where there are several."""
        steps = replace(self.steps, **changes)

        def bound(run: Function) -> Function:
            def call(*arguments: Any) -> Any:
                return run(steps, arguments, dtype)

            return call

        if isinstance(self.run, Mapping):
            return {name: bound(run) for name, run in self.run.items()}
        return bound(self.run)

    def function(self, call: str, changes: Mapping[str, Function], dtype: str = "float64") -> Function:
        """The same for one call alone."""
        return function_for(self.entry(changes, dtype), call)


def load_model(folder: Path, calls: Sequence[str] = ()) -> StepModel | None:
    """The reference of a folder as a model of steps; None where it is not built from steps.

    Args:
        folder: The reference's.
        calls: Names of the exercise's calls, for which ``run`` has a function each.

    Raises:
        GraderError: The module can't be imported, or lacks a call.
    """
    module = load_module(folder, "model")
    steps, run = getattr(module, "STEPS", None), getattr(module, "run", None)
    if steps is None or not (callable(run) or isinstance(run, Mapping)):
        return None
    named = [call for call in calls if call]
    lacking = [call for call in named if not isinstance(run, Mapping) or not callable(run.get(call))]
    if lacking:
        path = f"{folder / 'model.py'}"
        known = did_you_mean(lacking[0], list(run)) if isinstance(run, Mapping) else ", it is one function"
        message = f"{path}: run has no function for the call {lacking[0]!r}{known}"
        raise ExerciseError.at(path, 0, f"{message}; expected a dictionary with one for each call")
    return StepModel(steps, run)


def load_misconceptions(folder: Path, clauses: Sequence[str]) -> Misconceptions:
    """The known mistakes of an exercise; an empty collection where there is no such module.

    Raises:
        GraderError: The module can't be imported, or names a step or a clause that there isn't.
    """
    if not (folder / "misconceptions.py").is_file() and not (folder / "misconceptions").is_dir():
        return Misconceptions()
    found = getattr(load_module(folder, "misconceptions"), "MISCONCEPTIONS", None)
    if not isinstance(found, Misconceptions):
        message = f"{folder}/misconceptions defines no MISCONCEPTIONS, a Misconceptions collection"
        module = next(p for p in _MODULES if (folder / p).is_file())
        raise ExerciseError.at(str(folder / module), 0, message)
    model = load_model(folder)
    if model is None:
        message = f"{folder}/model.py has no STEPS and run(steps, arguments, dtype) to change"
        raise ExerciseError.at(f"{folder}/model.py", 0, message)
    for one in found:
        where = f"{one.file}:{one.line}: {one.id}"
        for step in one.steps:
            if step not in model.names:
                message = f"{where}: no step {step!r}{did_you_mean(step, model.names)}"
                raise ExerciseError.at(one.file, one.line, message)
        if one.clause not in clauses:
            message = f"{where}: no clause {one.clause!r}{did_you_mean(one.clause, list(clauses))}"
            raise ExerciseError.at(one.file, one.line, message)
    return found


def compose(chosen: Sequence[Misconception]) -> dict[str, Function] | None:
    """The changes of several mistakes together; None when two of them replace the same step."""
    changes: dict[str, Function] = {}
    for one in chosen:
        if not changes.keys().isdisjoint(one.steps):
            return None
        changes |= one.make()
    return changes
