"""A terminal: its console, and the signs and words that its reports share."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from grader.report.texts import STATUS_SIGNS

# Yellow can't be read on a light ground, nor dim text on many: dim is only what nobody misses.
VERDICT_STYLES: Mapping[str, str] = {"passed": "green", "skipped": "", "grader_fault": "magenta"}
STATUS_STYLES: Mapping[str, str] = {
    "passed": "bold green",
    "failed": "bold red",
    "not_loadable": "bold red",
    "grader_fault": "bold magenta",
}


def words(verdict: str) -> str:
    """``wrong_value`` as ``wrong value``."""
    return verdict.replace("_", " ")


def signed_status(status: str) -> Text:
    """A status in words with its sign; the colour only repeats them."""
    return Text(f"{STATUS_SIGNS[status]} {words(status)}", style=STATUS_STYLES[status])


class Trimmed:
    """The same without blanks at the ends of lines, which tables leave and files need not hold."""

    def __init__(self, content: RenderableType) -> None:
        self.content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in Segment.split_lines(console.render(self.content, options)):
            yield from _trim(line)
            yield Segment.line()


def _trim(line: Iterable[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control and not kept[-1].text.rstrip(" "):
        kept.pop()
    if kept and not kept[-1].control:
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


def show(console: Console, content: RenderableType) -> None:
    """Print what one of these functions made; a line that is there to be copied is not cut to the window."""
    console.print(content, crop=False)


def height(console: Console, content: RenderableType) -> int:
    """How many lines of the window `show` fills with it; one that is not cut goes on in the next."""
    width = max(console.width, 1)
    lines = console.render_lines(content, pad=False)
    return sum(max(1, math.ceil(Segment.get_line_length(line) / width)) for line in lines)


def console(*, stderr: bool = False) -> Console:
    """A console that honours NO_COLOR, with no escapes at all, and the window's width."""
    plain = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    made = Console(stderr=stderr, highlight=False, soft_wrap=False, **plain)  # type: ignore[arg-type]
    if made.is_dumb_terminal:
        # Rich takes such a one for 80 columns wide, whatever it is.
        import shutil

        made.size = ConsoleDimensions(*shutil.get_terminal_size())
    return made
