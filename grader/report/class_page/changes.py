"""What another pack has changed in a class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grader.report.class_page.groups import page_id
from grader.report.figures import short_digest
from grader.report.submission_page.view import MAX_LISTED
from grader.report.texts import VERDICT_WORDS, one_line

MAX_CASES = 5


def changes_view(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of it, those first whose score changed most.

    Args:
        changes: As `grader.gradebook.changes.Changes.to_dict` gives it.
    """

    def moved(change: Mapping[str, Any]) -> float:
        before, after = change["before"]["score"], change["after"]["score"]
        return math.inf if before is None or after is None else abs(after - before)

    changed = sorted(changes["changed"], key=moved, reverse=True)
    rows = [
        {
            "href": page_id(change["id"]),
            "name": one_line(str(change["name"] or change["id"]), 80),
            "told": "",
            "before": change["before"],
            "after": change["after"],
            "anew": change["anew"],
            "cases": [
                {
                    "id": one_line(case["id"], 80),
                    "before": VERDICT_WORDS.get(case["before"], "not there"),
                    "after": VERDICT_WORDS.get(case["after"], "not there"),
                }
                for case in change["cases"][:MAX_CASES]
            ],
            "more": len(change["cases"]) - MAX_CASES,
        }
        for change in changed[:MAX_LISTED]
    ]
    return {
        "rows": rows,
        "compared": changes["compared"],
        "total": len(changed),
        "more": len(changed) - len(rows),
        "packs": sorted({short_digest(c["before"]["pack"]) for c in changed})[:5],
    }
