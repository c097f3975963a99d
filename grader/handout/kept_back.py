"""Whether what a student reads first, statement and starter, tells of cases that are hidden."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.errors import Problem
from grader.exercise.source import PlacedCase
from grader.handout.statement import Statement


def told_of_hidden(statement: Statement, starter: str, placed: Iterable[PlacedCase]) -> list[Problem]:
    """Where the statement or the starter names a hidden case, or the statement holds the hint of one.

    Args:
        statement: The statement.
        starter: The starter's text.
        placed: Cases; public ones are passed over.
    """
    problems = set()
    words = " ".join(statement.text.split())
    for one in placed:
        case = one.case
        if case.visibility != "hidden":
            continue
        # Members of a random batch are named after it; an id of one plain word may stand there by chance.
        names = {case.id, case.id.rpartition("_")[0]} if one.drawn else {case.id}
        for name in (n for n in names if "_" in n):
            if match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement.text):
                line = statement.text.count("\n", 0, match.start()) + 1
                problems.add(Problem(statement.file, line, "", f"names the hidden case {name}"))
            elif re.search(rf"(?<!\w){re.escape(name)}(?!\w)", starter):
                problems.add(Problem(one.file, one.line, "", f"the starter names the hidden case {name}"))
        hint = " ".join(case.hint.split())
        if hint and hint in words:
            said = f"{statement.file} holds the hint of {case.id}, which is hidden; word the hint otherwise"
            problems.add(Problem(one.file, one.line, "", said))
    return sorted(problems)
