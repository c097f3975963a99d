"""What someone sees while a class is graded: a bar at a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import ROOT, grader
from support.small import RIGHT, freeze_exercise, write_exercise

from grader.commands.progress import SECONDS_PER_LINE, WIDE, Progress, clock, rate


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with an exercise and a class of 24."""
    home = tmp_path_factory.mktemp("classroom")
    write_exercise(home)
    freeze_exercise(home)
    (home / "class").mkdir()
    for number in range(24):
        (home / "class" / f"s{number:02d}.py").write_text(f"{RIGHT}# {number}\n")
    return home


def seen(
    classroom: Path, out: Path, *options: str, columns: str = "100", term: str = "xterm-256color"
) -> str:
    """What a terminal gets on standard error while the class is graded."""
    reading, writing = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "NO_COLOR")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": columns, "TERM": term}
    command = [
        sys.executable,
        "-m",
        "grader",
        "grade",
        "class",
        "--out",
        str(out),
        "--workers",
        "1",
        *options,
    ]
    process = subprocess.Popen(
        command, cwd=classroom, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing
    )
    os.close(writing)
    told = b""
    try:
        # Linux ends a terminal that nobody writes to any more with an error.
        while data := os.read(reading, 65_536):
            told += data
    except OSError:
        pass
    finally:
        os.close(reading)
        assert process.wait(60) == 0
    return told.decode()


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_progress_has_how_many_the_rate_and_the_time_left(
    classroom: Path, tmp_path: Path, columns: int
) -> None:
    told = seen(classroom, tmp_path / "out", columns=str(columns))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    done = {int(number) for number in re.findall(r"(\d+)/24\b", text)}
    assert max(done) == 24 and len(done) > 1
    assert re.search(r"\d/(s|min)\b", text) and re.search(r"left \d:\d\d:\d\d", text)
    assert bool(re.search(r"\d:\d\d:\d\d left", text)) == (columns >= WIDE)
    assert all(len(line.rstrip()) <= columns for line in re.split(r"[\r\n]+", text))


def test_quiet_and_a_terminal_that_can_do_nothing_get_no_bar(classroom: Path, tmp_path: Path) -> None:
    assert seen(classroom, tmp_path / "quiet", "--quiet") == ""
    assert "/24" not in seen(classroom, tmp_path / "dumb", term="dumb")


def test_a_short_run_writes_nothing_into_a_log(classroom: Path, tmp_path: Path) -> None:
    done = grader("grade", "class", "--out", tmp_path / "out", "--workers", "1", cwd=classroom)
    assert done.status == 0 and done.err == ""


# --- in a log -----------------------------------------------------------------------------------


class Times:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_run_writes_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    times = Times()
    with Progress(now=times) as progress:
        for done in range(1, 401):
            progress.update(done, 400)
            times.now += 0.5
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "grader: 61 of 400 graded, 2.0/s, 0:02:50 left"
    assert lines[-1] == "grader: 361 of 400 graded, 2.0/s, 0:00:20 left"
    assert len(lines) == 6 == int(200 / SECONDS_PER_LINE)


def test_a_quiet_long_run_writes_its_warnings_alone(capsys: pytest.CaptureFixture[str]) -> None:
    times = Times()
    with Progress(quiet=True, now=times) as progress:
        for done in range(1, 10):
            progress.update(done, 10)
            times.now += 100
        progress.say("a warning")
    assert capsys.readouterr().err == "grader: a warning\n"


@pytest.mark.parametrize(
    ("done", "seconds", "told"),
    [(1000, 10.0, "100/s"), (25, 10.0, "2.5/s"), (5, 10.0, "30.0/min"), (0, 10.0, ""), (1, 0.0, "")],
)
def test_a_slow_rate_is_told_by_the_minute(done: int, seconds: float, told: str) -> None:
    assert rate(done, seconds) == told


@given(st.integers(0, 400_000))
def test_times_are_hours_minutes_and_seconds(seconds: int) -> None:
    hours, minutes, left = map(int, clock(seconds).split(":"))
    assert (hours * 60 + minutes) * 60 + left == seconds and minutes < 60 and left < 60
