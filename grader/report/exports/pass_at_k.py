"""pass@k of a language model's samples.

Of a task with ``n`` samples, ``c`` of which have full marks, the chance that at least one of ``k`` samples
drawn without putting back has full marks is ``1 - C(n - c, k) / C(n, k)``. It is an unbiased estimate of the
chance that one of ``k`` fresh samples has: Chen et al., "Evaluating Large Language Models Trained on Code",
2021, arXiv:2107.03374, section 2.1, equation 1. It is computed in whole numbers and rounded once, at the end.
A model's figure is the mean over its tasks.

Submissions that name no task, as those of a class, count as samples of one, and that is told: of students who
hand in once each, pass@1 is no more than the share with full marks, and a larger ``k`` means nothing.

Samples on which the grader failed are neither right nor wrong: they are left out and counted apart.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.report.exports.base import Exported, ExportOptions, save
from grader.report.figures import plural
from grader.report.texts import csv_cell, one_line
from grader.result import Result

SCHEMA = "grader.pass_at_k/1"
JSON, CSV = "pass_at_k.json", "pass_at_k.csv"


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The estimate for one task; None when there are fewer than ``k`` samples.

    Raises:
        ValueError: Not ``0 <= c <= n``, or ``k`` is below 1.
    """
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"expected 0 <= c <= n and k >= 1, found n={n}, c={c}, k={k}")
    if k > n:
        return None
    drawn = math.comb(n, k)
    return (drawn - math.comb(n - c, k)) / drawn


@dataclass
class _Counts:
    right: int = 0
    judged: int = 0
    faults: int = 0


def table(results: Iterable[Result], ks: Iterable[int]) -> dict[str, Any]:
    """The figures as plain data: per task, and the mean over the tasks with ``k`` samples for each ``k``.

    Raises:
        GraderError: A ``k`` is below 1.
    """
    chosen = sorted(set(ks))
    if not chosen or chosen[0] < 1:
        raise GraderError(f"pass@k needs numbers of samples of 1 or more, found {chosen or 'none'}")
    tasks: dict[str, _Counts] = {}
    untold = 0
    for result in results:
        untold += not result.submission.task
        name = result.submission.task or str(result.exercise.get("name", ""))
        counts = tasks.setdefault(name, _Counts())
        if result.status == "grader_fault":
            counts.faults += 1
        else:
            counts.judged += 1
            counts.right += result.status == "passed"
    rows: list[dict[str, Any]] = [
        {
            "task": one_line(name, 300),
            "n": counts.judged,
            "c": counts.right,
            "faults": counts.faults,
            "pass_at": {str(k): pass_at_k(counts.judged, counts.right, k) for k in chosen},
        }
        for name, counts in tasks.items()
    ]
    means = {}
    for k in chosen:
        known = [row["pass_at"][str(k)] for row in rows if row["pass_at"][str(k)] is not None]
        means[str(k)] = {
            "mean": math.fsum(known) / len(known) if known else None,
            "tasks": len(known),
            "too_few_samples": [row["task"] for row in rows if row["n"] < k],
        }
    return {
        "schema": SCHEMA,
        "estimator": "1 - C(n - c, k) / C(n, k); Chen et al. 2021, arXiv:2107.03374, section 2.1",
        "samples": sum(row["n"] for row in rows),
        "faults": sum(row["faults"] for row in rows),
        "without_task": untold,
        "pass_at": means,
        "tasks": rows,
    }


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``pass_at_k.json`` and ``pass_at_k.csv``. Raises GraderError."""
    found = table(results, options.ks)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ks = list(found["pass_at"])
    writer.writerow(["task", "n", "c", "faults", *(f"pass@{k}" for k in ks)])
    for row in found["tasks"]:
        writer.writerow(
            [
                csv_cell(row["task"]),
                row["n"],
                row["c"],
                row["faults"],
                *(_shown(row["pass_at"][k]) for k in ks),
            ]
        )
    paths = (
        save(folder / JSON, json.dumps(found, indent=1, allow_nan=False) + "\n"),
        save(folder / CSV, text.getvalue()),
    )
    warnings = []
    if found["without_task"]:
        warnings.append(_untold(found["without_task"], found["samples"] + found["faults"]))
    for k, mean in found["pass_at"].items():
        few = mean["too_few_samples"]
        if few:
            shown = ", ".join(few[:5]) + (" …" if len(few) > 5 else "")
            warnings.append(
                f"pass@{k}: {plural(len(few), 'task has', 'tasks have')} fewer than {k} judged samples "
                f"({shown}): not in the mean"
            )
    if found["faults"]:
        warnings.append(
            f"{plural(found['faults'], 'sample is', 'samples are')} left out, since the grader failed there: "
            "grade with --faults"
        )
    lines = [
        f"pass@{k}: {'none' if mean['mean'] is None else format(mean['mean'], '.4f')} "
        f"({plural(mean['tasks'], 'task')})\n"
        for k, mean in found["pass_at"].items()
    ]
    lines.append(f"{len(paths)} files: {', '.join(map(str, paths))}\n")
    return Exported(paths, tuple(warnings), "".join(lines))


def _untold(count: int, of: int) -> str:
    """What to know of submissions that no model's samples are, as far as they tell."""
    some = plural(count, "submission") if count == of else f"{count} of {plural(of, 'submission')}"
    verbs = ("names", "is") if count == 1 else ("name", "are")
    return (
        f"{some} {verbs[0]} no task and {verbs[1]} taken for samples of one; pass@k is for a language "
        "model's samples (JSON Lines with a task_id each), and says nothing of a class of students"
    )


def _shown(value: float | None) -> str:
    return "" if value is None else repr(value)
