"""GitHub: annotations on the lines of a submission's file, and a summary of a job.

Everything shown is what a student may see. In the summary each text that is not ours stands in ``code``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from grader.report.exports.base import Exported, ExportOptions, save
from grader.report.exports.saying import adjustments, case_name, clause_title, frames, verdict
from grader.report.figures import plural, points
from grader.report.github.workflow import SUMMARY_BYTES, as_many_as_shown, code, command, cut
from grader.report.texts import STATUS_WORDS, one_line
from grader.result import UNJUDGED, Result

ANNOTATIONS, SUMMARY = "annotations.txt", "summary.md"
_LINE = re.compile(r"Line (\d{1,7}) |Loading the file raised \w+ in line (\d{1,7})\b")


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``annotations.txt``, which is meant for standard output too, and ``summary.md``. Raises GraderError."""
    kept = [result.for_student() for result in results]
    text = "".join(f"{line}\n" for result in kept for line in annotate(result, options.base))
    markdown = summary(kept)
    paths = save(folder / ANNOTATIONS, text), save(folder / SUMMARY, markdown)
    return Exported(paths, text=text)


# --- Annotations ----------------------------------------------------------------------------------


def annotate(result: Result, base: str = "", line: int = 0) -> Iterator[str]:
    """The commands for one submission, the most telling first; at most as many as GitHub shows.

    Args:
        result: Any view of the record.
        base: The folder in the repository in which the file lies.
        line: The line of the text for what is said of the function as a whole; 0 for none.
    """
    yield from as_many_as_shown(_annotations(result.for_student(), base, line))


def _annotations(result: Result, base: str, line: int) -> Iterator[str]:
    file = _file(base, result.submission.filename)
    whole, _ = _place(result, base, line, 0)
    if result.status == "grader_fault":
        yield command("warning", result.message, {"file": file, "title": "The grader failed"})
        return
    if result.status == "not_loadable":
        place, where = _place(result, base, _told_line(result), 0)
        yield command("error", result.message, {**place, "title": f"The file could not be loaded{where}"})
        return
    for violation in result.policy.violations:
        place, where = _place(result, base, violation.line, violation.column)
        title = f"A rule is broken{where}: {violation.helper or violation.rule}"
        yield command("error", violation.message, {**place, "title": title})
    for found in result.diagnoses:
        if found.get("told_by") == "values":
            title = f"Likely mistake: {found.get('title', '')}"
            yield command("error", "\n".join(_explained(found)), {**whole, "title": title})
    ranks = {clause: number for number, clause in enumerate(result.broken_clauses())}
    failing = sorted([c for c in result.cases if c.failed], key=lambda c: (c.drawn, ranks[c.clause]))
    for case in failing:
        if case.visibility == "hidden":
            continue
        lines = frames(case.details)
        place, where = _place(result, base, lines[-1][0], 0) if lines else (whole, "")
        message = f"{case.message}\nHint: {case.hint}" if case.hint else case.message
        title = f"{verdict(case)}{where}: {case_name(result, case)}"
        yield command("error", message or verdict(case), {**place, "title": title})
    hidden = [c for c in failing if c.visibility == "hidden"]
    if hidden:
        clauses = ", ".join(dict.fromkeys(clause_title(result, case) for case in hidden))
        said = f"{plural(len(hidden), 'hidden check fails', 'hidden checks fail')}: {clauses}"
        yield command("error", said, {**whole, "title": "Hidden checks"})


def _explained(found: Mapping[str, Any]) -> Iterator[str]:
    """A diagnosis in lines: what tells of it, why it is wrong, what to write instead."""
    yield str(found.get("message", ""))
    pages = found.get("pages")
    for page in pages if isinstance(pages, list | tuple) else ():
        if isinstance(page, Mapping):
            # The reasons are paragraphs, broken where the author's lines ended; the rest is mostly code.
            yield f"Why it is wrong: {one_line(str(page.get('why', '')), 1_500)}"
            yield f"What to write instead: {page.get('instead', '')}"


def _told_line(result: Result) -> int:
    """The line of the file that the message names when it can't be loaded; 0 for none."""
    if result.submission.parts:
        return 0
    told = _LINE.match(result.message)
    return int(told[1] or told[2]) if told else 0


def _file(base: str, name: str) -> str:
    return str(PurePosixPath(base) / PurePosixPath(name).name)


def _place(result: Result, base: str, line: int, column: int) -> tuple[dict[str, str | int], str]:
    """The properties for a place, and its name where the file has no such line: that of a notebook's cell."""
    info = result.submission
    file = _file(base, info.filename)
    if line <= 0:
        return {"file": file}, ""
    name, within = info.positions.within(line)
    kind = next((part.kind for part in info.parts if part.name == name), "main")
    if kind == "cell":
        return {"file": file}, f" in {info.positions.name(line)}"
    if kind == "module":
        file = str(PurePosixPath(base) / name)
    return {"file": file, "line": within, "col": column}, ""


# --- Summary --------------------------------------------------------------------------------------


def summary(results: Sequence[Result]) -> str:
    """The job's summary: a table of the submissions, and for each what is not right."""
    names = Counter(map(_name, results))
    who = [code(_name(one) if names[_name(one)] == 1 else _name_and_id(one), 240) for one in results]
    parts = ["### Grader", "", "| submission | status | points |", "| --- | --- | ---: |"]
    for result, told in zip(results, who, strict=True):
        mark = "" if result.score is None else f"{points(result.score)} of {points(result.max_score)}"
        parts.append(f"| {told} | {STATUS_WORDS[result.status]} | {mark} |")
    size = sum(len(part.encode()) + 1 for part in parts)
    for at, result in enumerate(results):
        section = "\n".join(_section(result.for_student(), who[at]))
        size += len(section.encode()) + 1
        if size > SUMMARY_BYTES:
            parts += [
                "",
                f"{len(results) - at} more submissions are left out, since a summary may be no longer.",
            ]
            break
        parts.append(section)
    return cut("\n".join(parts) + "\n")


def _name(result: Result) -> str:
    return one_line(result.submission.name or result.submission.id, 120)


def _name_and_id(result: Result) -> str:
    """What two students of the same name are told apart by."""
    return f"{_name(result)} ({one_line(result.submission.id, 100)})"


def _section(result: Result, who: str) -> Iterator[str]:
    yield from ("", f"#### {who}", "", code(result.message, 1_000))
    for violation in result.policy.violations[:50]:
        where = f" ({code(result.submission.positions.name(violation.line))})" if violation.line > 0 else ""
        yield f"\n- A rule is broken{where}: {code(violation.message, 600)}"
    for adjustment in adjustments(result):
        yield f"\n- {points(adjustment.points, signed=True)} points: {code(adjustment.reason, 400)}"
    for note in result.notes[:50]:
        yield f"\n- Note: {code(note, 500)}"
    for found in result.diagnoses[:10]:
        title, message = str(found.get("title", "")), str(found.get("message", ""))
        yield f"\n- Likely mistake: {code(title)} {code(message, 600)}"
    shown = [case for case in result.cases if case.verdict != "passed" and case.verdict not in UNJUDGED]
    if shown:
        yield from ("", "| check | verdict | points | what was found |", "| --- | --- | ---: | --- |")
        for case in shown[:200]:
            mark = f"{points(case.points)} of {points(case.max_points)}"
            hint = f" Hint: {code(case.hint, 400)}" if case.hint else ""
            said = f"{code(case.message, 600)}{hint}"
            yield f"| {code(case_name(result, case))} | {verdict(case)} | {mark} | {said} |"
    passed = sum(case.verdict == "passed" for case in result.cases)
    yield from ("", f"{passed} of {len(result.cases)} checks passed.")
