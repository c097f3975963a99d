"""Pages for students, in the folders in which Moodle and Brightspace take feedback back.

Moodle (``Upload multiple feedback files in a zip``): read from its own source
(``mod/assign/feedback/file/importziplib.php``). The first part of a path that is split by ``_`` into a name,
a participant's number, ``assignsubmission`` and a plugin's name says whose file it is; the rest is the file's
name. Files that begin with ``.`` or ``~`` are passed over.

Brightspace (``Add Feedback Files`` in the list of an assignment's submissions): the zip has the folders of
the download, unchanged, at its top, with the files for each. The download has an ``index.html`` beside them;
it is taken from ``--template`` where that is given, else a short one is put in its place. The program's
source is not public, and no page of its maker's was found that tells more, so try it with one student first.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.errors import GraderError
from grader.report import zips
from grader.report.exports.base import Exported, ExportOptions, unwritable
from grader.report.html import student_page
from grader.report.texts import one_line
from grader.result import Result, SubmissionInfo

MOODLE, BRIGHTSPACE = "moodle-feedback.zip", "brightspace-feedback.zip"
PAGE = "feedback.html"
INDEX = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Feedback</title></head>'
    "<body><p>Feedback files, one folder a submission.</p></body></html>\n"
)
MAX_INDEX = 16 << 20
# The time that every member of the archive has, so that the same records make the same file.

_MOODLE_FOLDER = re.compile(r"[^/\\]*?_(\d+)_assignsubmission_[a-z]+_?", re.DOTALL)


def write_moodle(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``moodle-feedback.zip``. Raises GraderError."""
    return _write(results, folder / MOODLE, _moodle_folder, {})


def write_brightspace(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``brightspace-feedback.zip``. Raises GraderError."""
    index = INDEX.encode()
    if options.template is not None:
        try:
            if options.template.stat().st_size > MAX_INDEX:
                raise GraderError(
                    f"{options.template} is no index.html: it is larger than {MAX_INDEX >> 20} MiB"
                )
            index = options.template.read_bytes()
        except OSError as error:
            raise GraderError(
                f"{options.template} can't be read: {error.strerror}; name the download's index.html"
            ) from None
    return _write(results, folder / BRIGHTSPACE, _brightspace_folder, {"index.html": index})


def _moodle_folder(info: SubmissionInfo) -> str:
    found = _MOODLE_FOLDER.fullmatch(info.feedback)
    if info.layout == "moodle" and found:
        return info.feedback
    if info.layout == "moodle" and len(info.people) == 1 and info.people[0].platform_id.isdigit():
        # Moodle itself puts blanks for what would be taken for a separator.
        name = re.sub(r"[_/\\\x00-\x1f\ud800-\udfff]", " ", info.people[0].name).strip(" .~") or "student"
        return f"{name}_{info.people[0].platform_id}_assignsubmission_file"
    return ""


def _brightspace_folder(info: SubmissionInfo) -> str:
    return info.feedback if info.layout == "brightspace" else ""


def _write(
    results: Iterable[Result], path: Path, name: Callable[[SubmissionInfo], str], more: dict[str, bytes]
) -> Exported:
    unknown, faults, twice = [], [], []
    seen: set[str] = set()
    new = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, data in more.items():
                zips.add(archive, file, data)
            for result in results:
                said = one_line(result.submission.id, 80)
                below = name(result.submission)
                if result.score is None:
                    faults.append(said)
                elif not _is_name(below):
                    unknown.append(said)
                elif below in seen:
                    twice.append(said)
                else:
                    seen.add(below)
                    page = student_page(result).encode("utf-8", "replace")
                    zips.add(archive, f"{below}/{PAGE}", page)
        new.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    warnings = [
        f"{what}: {', '.join(who[:20])}{' …' if len(who) > 20 else ''}"
        for what, who in (
            ("no page, since the grader failed; grade with --faults and export again", faults),
            ("no page, since it did not come in this platform's download", unknown),
            ("no page, since another submission has the same folder", twice),
        )
        if who
    ]
    return Exported((path,), tuple(warnings))


def _is_name(text: str) -> bool:
    """Whether it names one folder and nothing else, wherever it is unpacked."""
    return bool(text.strip(" .")) and not re.search(r"[/\\\x00-\x1f\ud800-\udfff]", text)
