"""What ``grader grade`` shows in a terminal at its end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from grader.listing import Listing
from grader.report.figures import points
from grader.report.terminal.console import STATUS_STYLES, Trimmed, signed_status
from grader.result import Result
from grader.summary import Summary


def batch_summary(
    results: Sequence[Result | Summary], seconds: float, graded: int, rejudged: int = 0
) -> RenderableType:
    """What ``grader grade`` shows at its end.

    Args:
        results: All that the gradebook holds.
        seconds: How long it took.
        graded: How many were run.
        rejudged: How many were judged without running: from what that gave before, or because
            nothing was there to run.
    """
    counts: dict[str, int] = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    rows = [
        (signed_status(status), Text(str(counts[status]))) for status in STATUS_STYLES if counts.get(status)
    ]
    violated = sum(r.policy.status == "violated" for r in results)
    if violated:
        rows.append((Text("of these with a banned helper"), Text(str(violated))))
    table = Listing(("status", "submissions"), rows, right=("submissions",))
    scores = [r.score for r in results if r.score is not None]
    mean = (
        f"mean score {points(round(sum(scores) / len(scores), 2))} of {points(results[0].max_score)}; "
        if scores
        else ""
    )
    rate = f" ({graded / seconds:.1f} a second)" if graded and seconds > 0 else ""
    kept = len(results) - graded - rejudged
    reused = f"{kept} kept from earlier runs" if kept else ""
    took = f"{graded} graded in {seconds:.1f} s{rate}" if graded else ""
    again = f"{rejudged} judged without running them" if rejudged else ""
    return Trimmed(Group(table, Text(mean + ", ".join(filter(None, (took, again, reused))))))
