"""What GitHub Actions reads from a step: workflow commands, and Markdown for the job's summary.

Sources: "Workflow commands for GitHub Actions", docs.github.com/en/actions/reference/workflow-commands, for
``::error file=…,line=…,col=…,title=…::message``, ``::stop-commands::`` and the summary (at most 1 MiB a step;
ten annotations of a kind a step are shown); ``packages/core/src/command.ts`` of actions/toolkit for what is
escaped: ``%``, the ends of lines, and in properties ``:`` and ``,`` as well. GitHub Flavored Markdown:
https://github.github.com/gfm/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from grader.report.texts import clean, one_line

MAX_ANNOTATIONS = 10
SUMMARY_BYTES = 1_000_000

Kind = Literal["error", "warning", "notice"]


def command(kind: Kind, message: str, properties: Mapping[str, str | int]) -> str:
    """A workflow command on one line; empty properties are left out."""
    told = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{kind}{' ' if told else ''}{told}::{_data(message)}"


def _data(text: str) -> str:
    return clean(text, 4_000).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, 400)).replace(":", "%3A").replace(",", "%2C")


def as_many_as_shown(commands: Iterable[str], kind: Kind = "error") -> Iterator[str]:
    """The commands; where GitHub would leave some out the first of them, and how many more there are."""
    found = list(commands)
    yield from found[: MAX_ANNOTATIONS if len(found) <= MAX_ANNOTATIONS else MAX_ANNOTATIONS - 1]
    if len(found) > MAX_ANNOTATIONS:
        more = len(found) - MAX_ANNOTATIONS + 1
        yield command(kind, f"{more} more problems are in the summary", {"title": "More problems"})


def repository_path(file: str, workspace: str = "") -> str:
    """A file's path from the top of its repository, by which annotations go.

    Args:
        file: Its path from the current folder, or a whole one.
        workspace: ``GITHUB_WORKSPACE``; empty elsewhere.

    Returns:
        The path from the nearest folder around it that is a checkout, else from the workspace, else from the
        current folder; a whole path when it lies in none of them,
        and nothing for no file.
    """
    if not file:
        return ""
    path = Path.cwd() / file
    # The folder's links are followed as Git does; the file itself may be a link that is in the repository.
    path = path.parent.resolve() / path.name
    checkouts = [folder for folder in path.parents if (folder / ".git").exists()][:1]
    for top in (*checkouts, *([Path(workspace).resolve()] if workspace else []), Path.cwd()):
        if path.is_relative_to(top):
            return path.relative_to(top).as_posix()
    return path.as_posix()


# --- Markdown -------------------------------------------------------------------------------------

_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")


def code(text: str, limit: int = 300) -> str:
    """A text as ``code`` in Markdown, on one line; nothing in it can act or end the cell it stands in.

    GitHub looks for no mentions there, and every sign that could mean something is a character reference.
    """

    def reference(found: re.Match[str]) -> str:
        # Mentions and addresses are looked for in what is shown, so the sign does not stand alone.
        return f"&#{ord(found.group())};" + ("&#8203;" if found.group() == "@" else "")

    return f"<code>{_SIGNS.sub(reference, one_line(text, limit)) or '&nbsp;'}</code>"


def cut(text: str, limit: int = SUMMARY_BYTES) -> str:
    """The text within a limit of bytes, at the end of a line."""
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: data.rfind(b"\n", 0, max(limit, 0)) + 1].decode()
