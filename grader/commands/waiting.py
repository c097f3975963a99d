"""How far a submission's calls are, for someone who waits at a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grader.commands.shared import console

if TYPE_CHECKING:
    from rich.live import Live

    from grader.batch.standing import Standing

# Who waits longer than this wants to know for what; and so often is often enough.
PATIENCE_S = 1.0
REFRESH_S = 0.1


class Waiting:
    """A line on standard error once a submission takes longer than a second; it is gone when that is done.

    Args:
        quiet: Show nothing.
        now: A clock, in seconds.
    """

    def __init__(self, *, quiet: bool = False, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._shown = not quiet and sys.stderr.isatty()
        self._before = self._line = ""
        self._begin = self._told = now()
        self._live: Live | None = None

    @contextlib.contextmanager
    def during(self, number: int = 1, total: int = 1) -> Iterator[None]:
        """While a submission runs: which one of how many it is."""
        self._before = f"submission {number} of {total}, " if total > 1 else ""
        self._begin = self._now()
        self._told = self._begin - REFRESH_S
        try:
            yield
        finally:
            live, self._live = self._live, None
            if live is not None:
                with contextlib.suppress(OSError):
                    live.stop()

    def update(self, standing: Standing) -> None:
        """Show where the submission stands; a terminal that is gone is nobody who waits."""
        now = self._now()
        if not self._shown or now - self._begin < PATIENCE_S or now - self._told < REFRESH_S:
            return
        self._told = now
        try:
            self._show(self._before + told(standing))
        except OSError:
            self._shown = False

    def _show(self, line: str) -> None:
        from rich.text import Text

        if self._live is None:
            self._live, self._line = self._start(), ""
        if self._live is not None and line != self._line:
            self._line = line
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _start(self) -> Live | None:
        from rich.live import Live

        terminal = console(stderr=True)
        if not terminal.is_terminal or terminal.is_dumb_terminal:
            self._shown = False
            return None
        # Nothing is printed while it stands there, so nothing has to be led around it.
        live = Live(
            console=terminal, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        live.start()
        return live


def told(standing: Standing) -> str:
    """Where a submission stands, in words.

    Example:
        >>> from grader.batch.standing import Standing
        >>> told(Standing(3, 11, "loss_falls", 0.456)), told(Standing(9, 11, "", 0.0))
        ('loss_falls: 45 %, call 3 of 11', 'a hidden check, call 9 of 11')
    """
    share = f": {int(100 * standing.fraction)} %" if standing.fraction else ""
    return f"{standing.case or 'a hidden check'}{share}, call {standing.call} of {standing.calls}"
