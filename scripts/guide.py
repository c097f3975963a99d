"""Runs the author's guide: ``python scripts/guide.py`` puts what its commands print today into the page.

Files are written and commands run in the order of the page, in a folder in which there is nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "author_guide.md"
# What the page says for the folder in which its reader works.
HOME = "/home/you/exercises"

BLOCK = re.compile(r"^(?P<fence>```+)(?P<kind>\w*)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S)
NAMED = re.compile(r"^`(?P<path>[\w./]+)`(?:, in place of the case `(?P<case>\w+)`:)?\n\n\Z", re.M)


def run(page: str, folder: Path, cache: Path) -> str:
    """The page with what its commands print in ``folder``, which is filled as the page says."""
    environment = _environment(folder.parent, cache)
    parts: list[str] = []
    end = 0
    for block in BLOCK.finditer(page):
        parts.append(page[end : block.start("body")])
        end = block.end("body")
        body = block["body"]
        if block["kind"] == "console":
            body = "".join(_printed(command, folder, environment) for command, _ in commands(body))
        elif named := NAMED.search(page[: block.start()]):
            _write(folder / named["path"], named["case"], body)
        parts.append(body)
    return "".join([*parts, page[end:]])


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what the page says that it prints."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M)


def same_everywhere(text: str) -> str:
    """The page without what differs from machine to machine: times, sizes, rounding, isolation."""
    for pattern, put in (
        (r"\d+ graded in .*", "graded"),
        (r"[\d,]+ bytes", "bytes"),
        (r"\d[\d.e-]* ×", "×"),
        (r"drawn_\d+", "drawn"),
        (r"^isolation: (?:[^`]*?\n)(?=```|\$ )", "isolation\n"),
    ):
        text = re.sub(pattern, put, text, flags=re.M)
    return text


def _environment(beside: Path, cache: Path) -> Mapping[str, str]:
    """The reader's: `grader` on the path, a terminal of 80 columns, no other root."""
    programs = beside / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "grader"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m grader "$@"\n', "utf-8")
    program.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "GRADER_DEBUG")}
    return kept | {
        "PATH": f"{programs}:{kept['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
        "GRADER_CACHE": str(cache),
    }


def _printed(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """A command and all that it prints, as a terminal shows it."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = done.stdout.decode("utf-8").replace("\ufeff", "").replace(str(folder), HOME)
    return f"$ {command}\n{said}"


def _write(path: Path, case: str | None, text: str) -> None:
    if case is not None:
        whole = path.read_text("utf-8")
        items = re.split(r"(?m)^(?=- id: )", whole)
        (old,) = [number for number, item in enumerate(items) if item.startswith(f"- id: {case}\n")]
        items[old] = f"{text}\n"
        text = "".join(items)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> None:
    """Write the page anew, where anything else than times, sizes and rounding has changed."""
    page = GUIDE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as beside:
        folder = Path(beside).resolve() / "exercises"
        folder.mkdir()
        written = run(page, folder, Path(beside) / "cache")
    if same_everywhere(written) != same_everywhere(page):
        GUIDE.write_text(written, "utf-8")
        print(f"{GUIDE} is written anew", file=sys.stderr)


if __name__ == "__main__":
    main()
