"""A live function checked in this process: for a student's own work, in a notebook or a test.

Nothing confines it and nothing looks for banned helpers, so it gets the visible checks only: the inputs of
hidden ones would be in its reach.
"""

from __future__ import annotations

import inspect
import linecache
import time
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from grader.errors import GraderError
from grader.exercise.calls import read_plan
from grader.exercise.driving import bound
from grader.exercise.pack import Pack
from grader.exercise.rehearsal import Functions, rehearse
from grader.exercise.select import select
from grader.judge import submission as judging
from grader.judge.follow_up import choose, complete
from grader.outcomes import Execution, LoadOutcome
from grader.result import Isolation, Result, SubmissionInfo

NOTE = (
    "A live function is checked in this process, without the sandbox: no limits hold, banned helpers are not "
    "looked for, and hidden checks are left out. Check the file that you hand in with grader check."
)


def check_function(pack: Pack, function: Callable[..., Any] | ModuleType) -> Result:
    """The Result record of a function that lives in this process, or of a module with what is asked for.

    Args:
        pack: The exercise's pack; of a whole one the visible cases are taken.
        function: Called with the arguments by position. Where several names are asked for, the module that
            defines them.

    Raises:
        GraderError: It can't be called, or the pack has no visible case.
    """
    calls = _calls_of(pack, function)
    pack = visible(pack)
    begin, cpu = time.perf_counter(), time.process_time()
    name = getattr(function, "__name__", type(function).__name__)
    context = judging.Context(
        pack=pack,
        submission=SubmissionInfo(name, name, (name,), _file_of(function), ""),
        isolation=Isolation("none", ()),
        notes=(NOTE,),
        source=_text_of(function),
    )
    steps = {phase: rehearse(calls, block, pack.plans[phase]) for phase, block in pack.blocks.items()}
    load = LoadOutcome("returned", found=True, callable=True, type=type(function).__name__)
    result = judging.judge(context, Execution(None, load, steps, cpu_s=time.process_time() - cpu))
    small = choose(pack, result)
    if small is not None:
        outcomes = rehearse(calls, small.block, read_plan(small.block))
        result = complete(pack, result, small, outcomes, context.submission.filename)
    wall = round(time.perf_counter() - begin, 6)
    return replace(result, timing=replace(result.timing, wall_s=wall))


def _calls_of(pack: Pack, given: Callable[..., Any] | ModuleType) -> Functions:
    """What makes the exercise's calls."""
    exercise = pack.exercise
    if isinstance(given, ModuleType):
        missing = [name for name in exercise.entries if not callable(getattr(given, name, None))]
        if len(missing) == len(exercise.entries):
            raise GraderError(f"the module {given.__name__} defines no {', nor '.join(missing)}")
        return bound(exercise.driver, given, tuple(exercise.calls), exercise.entry)
    if len(exercise.entries) > 1 or exercise.driver:
        raise GraderError(
            f"{exercise.name} asks for {' and '.join(exercise.entries)}; give the module that defines them, "
            "or a path"
        )
    if not callable(given):
        raise GraderError(
            f"{type(given).__name__} can't be called; give the function {exercise.entry}, or a path"
        )
    return given


def visible(pack: Pack) -> Pack:
    """The pack with its visible cases alone."""
    if all(case.visibility == "public" for case in pack.cases):
        return pack
    shown = [case.id for case in pack.cases if case.visibility == "public"]
    if not shown:
        raise GraderError(f"{pack.exercise.name} has no visible case to check a live function with")
    requires = {case.id: case.requires for case in pack.cases}
    part = select(pack, cases=shown, clauses=[])
    cases = tuple([replace(case, requires=requires[case.id]) for case in part.cases])
    changed = replace(part, cases=cases, student=True)
    # What is known of mistakes was cut to the part's steps; the data of the whole pack doesn't fit them.
    changed.__dict__["known"] = part.known
    return changed


def _text_of(function: Callable[..., Any] | ModuleType) -> str:
    """The text of its file or of its cell of a notebook; empty where Python knows none."""
    if isinstance(function, ModuleType):
        return "".join(linecache.getlines(function.__file__ or ""))
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code is not None else ""


def _file_of(function: Callable[..., Any] | ModuleType) -> str:
    if isinstance(function, ModuleType):
        return function.__file__ or function.__name__
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if code is not None else getattr(function, "__name__", "function")
