"""Who waits at a terminal for a submission that takes long sees how far it is, and nothing of it stays."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from support.commands import ROOT
from support.small import RIGHT

from grader.batch.standing import Standing
from grader.commands import waiting as waiting_module
from grader.commands.waiting import PATIENCE_S, REFRESH_S, Waiting, told

# Waits without working: one public and one hidden call.
SLOW = RIGHT.replace(
    "    return", "    import time\n    time.sleep(1.8 if x.shape == (3, 4) else 0.2)\n    return"
)
HIDDEN = ("x_matters", "drawn")


def check(root: Path, *options: str, term: str = "xterm-256color", columns: int = 80) -> tuple[str, str]:
    """What ``grader check`` writes on standard error, which is a terminal, and on standard output."""
    reading, writing = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "NO_COLOR")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": str(columns), "TERM": term}
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "check", "solution.py", *options],
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=writing,
    )
    os.close(writing)
    said = b""
    try:
        # Linux ends a terminal that nobody writes to any more with an error.
        while data := os.read(reading, 65_536):
            said += data
    except OSError:
        pass
    finally:
        os.close(reading)
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait(60) == 0
    return said.decode(), out


@pytest.fixture
def slow(root: Path) -> Path:
    (root / "solution.py").write_text(SLOW)
    return root


@pytest.mark.slow
def test_a_long_call_is_shown_while_it_runs_and_is_gone_afterwards(slow: Path) -> None:
    err, out = check(slow)
    assert re.search(r"large_rows, call 2 of \d+", err)
    assert "a hidden check, call " in err and not any(name in err for name in HIDDEN)
    # The last thing that is done is to clear the line and to show the cursor again.
    assert "\x1b[?25l" in err and err.count("\x1b[?25h") == 1
    *_, last = re.split(r"call \d+ of \d+", err)
    assert "\x1b[2K" in last and not re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]", "", last)
    assert "call 2 of" not in out and "passed" in out


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_quiet_and_json_show_nothing(slow: Path, option: str) -> None:
    err, out = check(slow, option)
    assert err == "" and "call 2 of" not in out


@pytest.mark.slow
def test_a_terminal_that_can_do_nothing_shows_nothing(slow: Path) -> None:
    assert "call" not in check(slow, term="dumb")[0]


def test_nothing_is_shown_of_what_is_done_at_once(root: Path) -> None:
    (root / "solution.py").write_text(RIGHT)
    err, _ = check(root)
    assert "call" not in err


# --- by a clock that goes on when it is told to -----------------------------------------------------


class Times:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    made = Console(file=io.StringIO(), force_terminal=True, width=30, legacy_windows=False)
    monkeypatch.setattr(waiting_module, "console", lambda *, stderr: made)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    return made


def written(terminal: Console) -> str:
    assert isinstance(terminal.file, io.StringIO)
    return terminal.file.getvalue()


def test_it_begins_after_a_second_of_the_same_submission(terminal: Console) -> None:
    times = Times()
    waiting = Waiting(now=times)
    for number in (1, 2):
        with waiting.during(number, 2):
            for _ in range(9):
                times.now += PATIENCE_S / 10
                waiting.update(Standing(1, 9, "loss_falls", 0.5))
    assert written(terminal) == ""
    with waiting.during(2, 2):
        times.now += PATIENCE_S
        waiting.update(Standing(1, 9, "loss_falls", 0.5))
        assert "submission 2 of 2, loss_falls…" in written(terminal)


def test_it_is_written_anew_only_where_it_says_something_else(terminal: Console) -> None:
    times = Times()
    waiting = Waiting(now=times)
    with waiting.during():
        times.now += PATIENCE_S
        for step in range(1000):
            times.now += REFRESH_S / 100
            waiting.update(Standing(1, 9, "falls", step / 1000))
        for _ in range(100):
            times.now += 1.0
            waiting.update(Standing(1, 9, "falls", 1.0))
    shown = re.findall(r"falls: (\d+) %", written(terminal))
    assert shown == sorted(shown, key=int) and 5 <= len(shown) <= 13 and shown.count("100") <= 2


def test_a_quiet_one_asks_for_no_terminal(monkeypatch: pytest.MonkeyPatch, terminal: Console) -> None:
    times = Times()
    waiting = Waiting(quiet=True, now=times)
    with waiting.during():
        times.now += 100
        waiting.update(Standing(1, 9, "", 0.5))
    assert written(terminal) == ""


def test_an_interrupt_leaves_no_line_behind(terminal: Console) -> None:
    times = Times()
    waiting = Waiting(now=times)
    with pytest.raises(KeyboardInterrupt), waiting.during():
        times.now += PATIENCE_S
        waiting.update(Standing(1, 9, "falls", 0.0))
        raise KeyboardInterrupt
    assert written(terminal).endswith("\x1b[2K")


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    flush = write  # type: ignore[assignment]


def test_a_terminal_that_is_gone_costs_the_submission_nothing(terminal: Console) -> None:
    terminal.file = Gone()
    times = Times()
    waiting = Waiting(now=times)
    for _ in range(2):
        with waiting.during():
            for _ in range(3):
                times.now += PATIENCE_S
                waiting.update(Standing(1, 9, "falls", 0.0))


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing(3, 11, "loss_falls", 0.999), "loss_falls: 99 %, call 3 of 11"),
        (Standing(3, 11, "loss_falls", 1.0), "loss_falls: 100 %, call 3 of 11"),
        (Standing(1, 1, "loss_falls", 0.0), "loss_falls, call 1 of 1"),
        (Standing(9, 11, "", 0.25), "a hidden check: 25 %, call 9 of 11"),
    ],
)
def test_it_is_told_in_words(standing: Standing, words: str) -> None:
    assert told(standing) == words
