"""What ``grader validate`` tells GitHub: annotations at the lines at fault, and a summary of the job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from grader.errors import Problem
from grader.report.exercise_page.view import FATES, Measure, measures, place
from grader.report.figures import plural, points
from grader.report.github.workflow import code, command, cut
from grader.validation import Validation, Weakness

# More rows of one kind are counted, not shown.
ROWS = 200

# Gives a file's path from the top of the repository.
Where = Callable[[str], str]


def weakness_commands(weaknesses: Sequence[Weakness], where: Where) -> Iterator[str]:
    """A command for each weakness, at its line; at the first line when a file as a whole is meant."""
    for one in weaknesses:
        yield command("error", one.message, _properties(one, _words(one.code), where))


def problem_commands(problems: Sequence[Problem], where: Where) -> Iterator[str]:
    """The same for faults that keep an exercise from being checked."""
    for one in problems:
        message = f"{one.key}: {one.message}" if one.key else one.message
        yield command("error", message, _properties(one, "The exercise is at fault", where))


def _properties(one: Weakness | Problem, title: str, where: Where) -> dict[str, str | int]:
    file = where(one.file)
    return {"file": file, "line": (one.line or 1) if file else 0, "title": title}


def _words(weakness: str) -> str:
    return weakness.replace("_", " ").capitalize()


def problem_summary(exercise: str, problems: Sequence[Problem], where: Where) -> str:
    """The summary where the exercise could not be checked."""
    parts = [f"### {code(exercise)}: at fault", "", "| place | what is wrong |", "| --- | --- |"]
    for one in problems[:ROWS]:
        message = f"{one.key}: {one.message}" if one.key else one.message
        parts.append(f"| {code(place(where(one.file), one.line))} | {code(message, 1_000)} |")
    return cut("\n".join([*parts, *_more(len(problems)), ""]))


def summary(validation: Validation, where: Where) -> str:
    """The summary of a validation: verdict, weaknesses, what the cases kill, and what survives."""
    count = len(validation.weaknesses)
    verdict = "sound" if validation.sound else plural(count, "weakness", "weaknesses")
    cases = validation.cases
    counts = f"{cases['total']} cases ({cases['public']} public, {cases['hidden']} hidden)"
    worth = f"{points(cases['points'])} points ({points(cases['public_points'])} public)"
    parts = [
        f"### {code(validation.exercise)}: {verdict}",
        "",
        f"{counts}, {worth}.",
    ]
    if validation.fast:
        parts += ["", "Mutants, worked submissions and what the student's pack reveals were left out."]
    if validation.weaknesses:
        parts += ["", "| place | weakness | what was found |", "| --- | --- | --- |"]
        for one in validation.weaknesses[:ROWS]:
            there = code(place(where(one.file), one.line))
            parts.append(f"| {there} | {_words(one.code)} | {code(one.message, 1_000)} |")
        parts += _more(count)
    parts += ["", "| | all cases | public cases alone |", "| --- | ---: | ---: |"]
    parts += [_row(measure) for measure in measures(validation)]
    survivors = [one for one in validation.survivors if one.fate != "equivalent"]
    if survivors:
        parts += ["", "| what survives | change | fate | figures |", "| --- | --- | --- | --- |"]
        for survivor in survivors[:ROWS]:
            there = code(place(where(survivor.file), survivor.line))
            told = f"{code(survivor.change)} | {FATES[survivor.fate][1]} | {code(survivor.figures, 600)}"
            parts.append(f"| {there} | {told} |")
        parts += _more(len(survivors))
    return cut("\n".join([*parts, ""]))


def _more(count: int) -> list[str]:
    return ["", f"{count - ROWS} more are left out."] if count > ROWS else []


def _row(measure: Measure) -> str:
    both = [str(some) if total is None else f"{some} of {total}" for some, total in measure[1:]]
    return f"| {measure.name} | {both[0]} | {both[1]} |"
