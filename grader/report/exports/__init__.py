"""Files for learning platforms, build servers and people who work with data, all made from Result records.

What reaches students is made from `Result.for_student`; a grader's fault is never exported as a mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.errors import GraderError
from grader.report.exports import (
    brightspace,
    canvas,
    data,
    feedback,
    github,
    gradescope,
    junit,
    moodle,
    pass_at_k,
)
from grader.report.exports.base import Export, Exported, ExportOptions, suggestion
from grader.result import Result

__all__ = ["EXPORTS", "Export", "ExportOptions", "Exported", "export", "find"]

EXPORTS: Mapping[str, Export] = {
    one.name: one
    for one in (
        Export("gradescope", "Gradescope results.json", gradescope.write, student=True),
        Export("canvas", "Canvas gradebook CSV", canvas.write, template=canvas.WHAT),
        Export("moodle", "Moodle grading worksheet", moodle.write, template=moodle.WHAT),
        Export("moodle-feedback", "Moodle feedback files", feedback.write_moodle, student=True),
        Export("brightspace", "Brightspace grades CSV", brightspace.write, template=brightspace.WHAT),
        Export(
            "brightspace-feedback",
            "Brightspace feedback files",
            feedback.write_brightspace,
            template="index.html of Brightspace's download",
            student=True,
        ),
        Export("junit", "JUnit XML", junit.write, student=True),
        Export("github", "GitHub annotations and job summary", github.write, student=True),
        Export("csv", "CSV, a row a student and a column a case", data.write_csv),
        Export("jsonl", "JSON Lines", data.write_jsonl),
        Export("parquet", "Parquet", data.write_parquet, extra="parquet"),
        Export("pass-at-k", "pass@k of a model's samples", pass_at_k.write),
    )
}


def find(name: str) -> Export:
    """The format of a name. Raises GraderError."""
    if name not in EXPORTS:
        raise GraderError(f"no format {name!r}{suggestion(name, list(EXPORTS))}")
    return EXPORTS[name]


def export(
    name: str, results: Iterable[Result], folder: Path, options: ExportOptions | None = None
) -> Exported:
    """Write records in a format into a folder, which is made when it is missing.

    Args:
        name: The format.
        results: Full records; each is asked for once, so they may come from a gradebook one by one.
        folder: Files of the same names are replaced.
        options: What the user asks.

    Raises:
        GraderError: There is no such format, an option is at fault, a package is missing, or the folder
            can't be written.
    """
    chosen, options = find(name), options or ExportOptions()
    if options.template is not None and not chosen.template:
        fillable = ", ".join(one.name for one in EXPORTS.values() if one.template)
        raise GraderError(
            f"the format {name} fills nothing in, so leave --template out; it is for {fillable}"
        )
    return chosen.write(results, folder, options)
