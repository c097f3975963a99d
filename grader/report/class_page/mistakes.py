"""Which known mistakes a class makes, and who makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.report.class_page.groups import Group, Groups, who
from grader.report.texts import one_line
from grader.summary import Named, Summary

MAX_MISTAKES = 200


@dataclass(frozen=True)
class Mistake:
    """A known mistake and who has it.

    Attributes:
        sure: Students that have it; of the others, ``perhaps``, it is one of several explanations.
        group: Their submissions.
    """

    title: str
    clause: str
    sure: int
    perhaps: int
    group: Group


def sure_mistakes(summary: Summary) -> dict[str, tuple[Named, bool]]:
    """The mistakes that a submission's diagnoses name, by id, each with whether it is sure to have it."""
    alternatives = sum([d.counted for d in summary.diagnoses])
    told: dict[str, tuple[Named, bool]] = {}
    for diagnosis in summary.diagnoses:
        sure = not diagnosis.counted or alternatives == 1
        for one in diagnosis.mistakes:
            known = told.get(one.id)
            told[one.id] = (one, sure) if known is None else (known[0], known[1] or sure)
    return told


def class_mistakes(
    summaries: Sequence[Summary], titles: Mapping[str, str], groups: Groups
) -> tuple[list[Mistake], int]:
    """The mistakes that were named, those of most students first, and how many more there are.

    Args:
        summaries: The class.
        titles: Of the clauses, by name.
        groups: To which those who have a mistake are added.
    """
    known: dict[str, Named] = {}
    having: dict[str, list[tuple[int, bool]]] = {}
    for at, summary in enumerate(summaries):
        if summary.diagnoses:
            for name, (one, sure) in sure_mistakes(summary).items():
                known.setdefault(name, one)
                having.setdefault(name, []).append((at, sure))

    def count(name: str, *, sure: bool) -> int:
        members = [summaries[at].submission.members for at, is_sure in having[name] if is_sure == sure]
        return sum([max(len(one), 1) for one in members])

    counted = [(name, count(name, sure=True), count(name, sure=False)) for name in having]
    counted.sort(key=lambda one: (-one[1] - one[2], -one[1], mistake_title(known[one[0]]), one[0]))
    mistakes = []
    for name, surely, perhaps in counted[:MAX_MISTAKES]:
        found = sorted(having[name], key=lambda one: not one[1])
        rows = [at for at, _ in found]
        named = (who(summaries[at], "" if is_sure else "perhaps") for at, is_sure in found)
        title, clause = mistake_title(known[name]), known[name].clause
        group = groups.add(f"Mistake: {title}", rows, named)
        mistakes.append(Mistake(title, titles.get(clause) or one_line(clause, 120), surely, perhaps, group))
    return mistakes, len(counted) - len(mistakes)


def mistake_title(one: Named) -> str:
    """What the mistake is called."""
    return one_line(one.title or one.id, 200)


def explanation(summary: Summary) -> str:
    """The named mistakes of a submission in one line; empty when there are none.

    What comes together stands with a plus between; where the cases can't decide, only the first explanation
    is named, with the number of the others.
    """
    always = [mistake_title(m) for d in summary.diagnoses if not d.counted for m in d.mistakes]
    counted = [[mistake_title(m) for m in d.mistakes] for d in summary.diagnoses if d.counted]
    first = " + ".join([*(counted[0] if counted else ()), *always])
    if len(counted) < 2:
        return first
    others = len(counted) - 1
    return f"perhaps {first}, or {'another mistake' if others == 1 else f'one of {others} others'}"


def most_named(summaries: Iterable[Summary]) -> tuple[str, int]:
    """The explanation that most have, and how many; empty and 0 when none has one."""
    counts: dict[str, int] = {}
    for summary in summaries:
        if summary.diagnoses:
            told = explanation(summary)
            counts[told] = counts.get(told, 0) + 1
    if not counts:
        return "", 0
    best = max(counts, key=lambda told: (counts[told], told))
    return best, counts[best]
