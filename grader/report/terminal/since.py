"""What changed from one check of a submission to the next, for someone who works on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from grader.listing import labelled
from grader.report.figures import points
from grader.report.terminal.console import Trimmed, signed_status, words
from grader.report.texts import one_line
from grader.result import CaseResult, Result

MAX_LISTED = 8
MAX_FIRST = 3
# The statuses of files that could be loaded.
JUDGED = ("passed", "failed")


@dataclass(frozen=True)
class Since:
    """What changed; hidden checks are counted, since their names are not told.

    Attributes:
        before, after: Status and score.
        most: Full marks.
        passing, failing: Ids of visible checks that pass now and did not, and that fail now and did not.
        uncounted: Ids of visible checks that passed and are not counted now.
        otherwise: Visible checks that fail for another reason: id, verdict before, verdict now.
        hidden_passing, hidden_failing: How many hidden checks pass now, and how many fail now.
        mistakes: The titles of what was found before, and of what is found now.
    """

    before: tuple[str, float | None]
    after: tuple[str, float | None]
    most: float
    passing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    otherwise: tuple[tuple[str, str, str], ...] = ()
    hidden_passing: int = 0
    hidden_failing: int = 0
    mistakes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def nothing(self) -> bool:
        """Neither points nor a check nor a mistake changed."""
        checks = (self.passing, self.failing, self.uncounted, self.otherwise)
        hidden = self.hidden_passing + self.hidden_failing
        return self.before == self.after and not any(checks) and not hidden and len(set(self.mistakes)) == 1


def since(before: Result, after: Result) -> Since:
    """What changed between two records of one submission by one pack.

    Where the file could not be loaded, its checks say nothing.
    """
    before, after = before.for_student(), after.for_student()
    judged = before.status in JUDGED and after.status in JUDGED
    old = {case.id: case for case in before.cases} if judged else {}
    pairs = [(old[case.id], case) for case in after.cases if case.id in old]
    seen = [pair for pair in pairs if pair[1].visibility == "public"]
    hidden = [pair for pair in pairs if pair[1].visibility != "public"]
    return Since(
        before=(before.status, before.score),
        after=(after.status, after.score),
        most=after.max_score,
        passing=tuple([now.id for was, now in seen if _passes(was, now)]),
        failing=tuple([now.id for was, now in seen if _fails(was, now)]),
        uncounted=tuple(
            [now.id for was, now in seen if was.verdict == "passed" and now.verdict == "skipped"]
        ),
        otherwise=tuple(
            [
                (now.id, was.verdict, now.verdict)
                for was, now in seen
                if was.failed and now.failed and was.verdict != now.verdict
            ]
        ),
        hidden_passing=sum(_passes(*pair) for pair in hidden),
        hidden_failing=sum(_fails(*pair) for pair in hidden),
        mistakes=(_mistakes(before), _mistakes(after)),
    )


def _passes(was: CaseResult, now: CaseResult) -> bool:
    return now.verdict == "passed" and was.verdict != "passed"


def _fails(was: CaseResult, now: CaseResult) -> bool:
    return now.failed and not was.failed


def _mistakes(result: Result) -> tuple[str, ...]:
    return tuple([one_line(str(found["title"]), 200) for found in result.diagnoses if found.get("title")])


def since_report(found: Since, than: str = "the last run") -> RenderableType:
    """The same in a few lines.

    Args:
        found: What changed.
        than: What it is compared with.
    """
    if found.nothing:
        return Text(f"Nothing changed since {than}: no check, no points.", style="bold")
    before, after = (f"{points(score)} ({words(status)})" for status, score in (found.before, found.after))
    rows: list[tuple[str, RenderableType]] = []
    if found.before != found.after:
        rows.append(("points", Text(f"{before} → {after} of {points(found.most)}")))
    for label, style, ids, hidden in (
        ("✓ pass now", "green", found.passing, found.hidden_passing),
        ("✗ fail now", "red", found.failing, found.hidden_failing),
        ("– skipped", "", found.uncounted, 0),
    ):
        if ids or hidden:
            rows.append((label, Text(_listed(ids, hidden), style=style)))
    if found.otherwise:
        moved = [f"{name} ({words(was)} → {words(now)})" for name, was, now in found.otherwise]
        rows.append(("✗ differs", Text(_listed(moved, 0), style="red")))
    if found.mistakes[0] != found.mistakes[1]:
        was, now = ("; ".join(side) or "none found" for side in found.mistakes)
        rows.append(("mistake", Text(f"{was} → {now}")))
    return Trimmed(Group(Text(f"What changed since {than}", style="bold"), labelled(rows)))


def closing(results: Sequence[Result], room: int) -> RenderableType:
    """What matters of reports that are too long to be seen whole: to be shown below them.

    Args:
        results: The records; of a single one it is said what to fix first too.
        room: For so many lines of several.
    """
    if len(results) == 1:
        return Trimmed(Group(_status(results[0]), *_first(results[0].for_student())))
    # Who has something to do looks for what does not hold.
    order = sorted(results, key=lambda result: result.status == "passed")
    shown = order[: max(room, 1)]
    left = len(order) - len(shown)
    return Trimmed(Group(*map(_status, shown), *([Text(f"and {left} more")] if left else [])))


def _status(result: Result) -> Text:
    return Text.assemble(
        (one_line(result.submission.name, 80), "bold"),
        "  ",
        signed_status(result.status),
        f"  {points(result.score)} of {points(result.max_score)} points",
    )


def _first(result: Result) -> Iterator[Text]:
    """What to fix first, a line each."""
    if result.status not in JUDGED:
        yield Text(one_line(result.message, 300))
        return
    told = [one_line(violation.message, 200) for violation in result.policy.violations[:1]]
    told += _mistakes(result)[:MAX_FIRST]
    for line in told:
        yield Text.assemble(("✗ ", "red"), line)
    if not told and result.status == "failed":
        yield Text(one_line(result.message, 300))


def _listed(ids: Sequence[str], hidden: int) -> str:
    more = f" and {len(ids) - MAX_LISTED} more" if len(ids) > MAX_LISTED else ""
    seen = f"{len(ids)}: {', '.join(ids[:MAX_LISTED])}{more}" if ids else ""
    return "; ".join(filter(None, (seen, f"{hidden} hidden" if hidden else "")))
