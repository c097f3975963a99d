"""Commands on the folder of a graded class: ``report``."""

from __future__ import annotations

import argparse
from pathlib import Path

import grader
from grader.commands.shared import OK
from grader.errors import GraderError


def report(chosen: argparse.Namespace) -> int:
    """``grader report``."""
    from grader.gradebook.journal import FILE, Gradebook
    from grader.report import files

    folder: Path = chosen.folder
    if not (folder / FILE).is_file():
        raise GraderError(f"{folder} holds no {FILE}; name the --out folder of a grader grade")
    files.prepare_folder(folder, fresh=False)
    with Gradebook(folder, None) as gradebook:
        for result in gradebook.newest():
            try:
                files.write_pages(folder, result)
            except OSError as error:
                raise GraderError(f"{folder} can't be written: {error}") from None
        written = files.write_gradebook(folder, gradebook, grader.__version__)
    print(f"{len(written)} submissions: {folder / 'index.html'}")
    return OK
