"""``grader check --watch``: what someone sees who saves a file again and again."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.commands import ROOT, grader
from support.small import RIGHT, WRONG

# Nothing takes so long; it ends a test that would hang.
PATIENCE = 120.0
CLEAR = "\x1b[2J"
READY = "; Ctrl-C ends\n"

SYNTAX = RIGHT.replace("def row_scale(", "def row_scale")
HELPED = "from helper import product\n\n\ndef row_scale(x, w, factor):\n    return product(x, w, factor)\n"
PACKAGED = HELPED.replace("from helper", "from tools.helper")
HELPER, WRONG_HELPER = (text.replace("def row_scale", "def product") for text in (RIGHT, WRONG))


def save(path: Path, text: str) -> None:
    """As careful editors do: another file takes the name."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, "utf-8")
    beside.replace(path)


class Watching:
    """A running command and what it prints, into a pipe or at a terminal."""

    def __init__(self, folder: Path, *arguments: str, terminal: bool = False, lines: int = 25) -> None:
        env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "NO_COLOR")}
        env |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "LINES": str(lines), "TERM": "xterm-256color"}
        self._reading, writing = pty.openpty() if terminal else os.pipe()
        command = [sys.executable, "-m", "grader", "check", *arguments, "--watch"]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
        os.close(writing)
        self._unread = b""

    def upto(self, mark: str = READY) -> str:
        """What it prints next, up to and with a mark."""
        end = time.monotonic() + PATIENCE
        while mark.encode() not in self._unread:
            assert self._read(end), f"{mark!r} did not come; so far: {self._unread.decode()}"
        at = self._unread.index(mark.encode()) + len(mark.encode())
        told, self._unread = self._unread[:at], self._unread[at:]
        return told.decode()

    def interrupt(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Its status and the rest of what it prints after a signal to it and to all that it started."""
        os.killpg(self.process.pid, number)
        status = self.process.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while self._read(end):
            pass
        return status, self._unread.decode()

    def _read(self, end: float) -> bool:
        """Take what comes next; False at its end and when it is too late."""
        if not select.select([self._reading], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._reading, 65_536)
        except OSError:
            # Linux ends a terminal that nobody writes to any more with an error.
            return False
        self._unread = (self._unread + data).replace(b"\r\n", b"\n")
        return bool(data)

    def close(self) -> None:
        """End it."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
        os.close(self._reading)


Start = Callable[..., Watching]


@pytest.fixture
def watching(home: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts the command in the test's own folder, with the exercise at hand."""
    started: list[Watching] = []

    def start(*arguments: str, terminal: bool = False, lines: int = 25) -> Watching:
        exercise = ("--exercise", str(home / "row_scale.pack"))
        started.append(Watching(tmp_path, *arguments, *exercise, terminal=terminal, lines=lines))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_a_save_is_checked_and_it_is_said_what_changed(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py")
    first = run.upto()
    assert "ann  ✗ failed" in first and "What changed" not in first and "\x1b" not in first
    save(file, RIGHT)
    second = run.upto()
    assert "ann.py changed" in second and "ann  ✓ passed" in second
    told = second.partition("What changed since the last run\n")[2].splitlines()
    assert told[0].startswith("points") and "(failed) → " in told[0] and "(passed) of " in told[0]
    assert told[1].startswith("✓ pass now") and "hidden" in second
    assert "zq7" not in second  # hidden checks are counted
    file.write_text(WRONG)  # as other editors do: the same file, written anew
    third = run.upto()
    assert "✗ fail now" in third and "(passed) → " in third
    status, rest = run.interrupt()
    assert (status, rest) == (130, "grader: interrupted\n")


def test_a_file_that_is_half_written_gone_or_back_ends_nothing(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "work" / "ann.py"
    file.parent.mkdir()
    file.write_text(WRONG)
    run = watching("work/ann.py")
    run.upto()
    save(file, SYNTAX)
    broken = run.upto()
    assert "! not loadable" in broken and "skipped" not in broken.partition("What changed")[2]
    save(file, RIGHT)
    mended = run.upto()
    assert "What changed since the last run that got so far" in mended and "✓ pass now" in mended
    file.unlink()
    assert "work/ann.py does not exist" in run.upto()
    save(file, WRONG)
    assert "✗ fail now" in run.upto()
    shutil.rmtree(file.parent)
    assert "work/ann.py does not exist" in run.upto()
    file.parent.mkdir()
    file.write_text(RIGHT)
    assert "✓ pass now" in run.upto("What changed since the last run\n") + run.upto()


@pytest.mark.slow
def test_a_folder_that_goes_and_comes_is_never_lost_sight_of(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "work" / "ann.py"
    file.parent.mkdir()
    file.write_text(WRONG)
    run = watching("work/ann.py")
    run.upto()
    for content in (RIGHT, WRONG) * 10:
        shutil.rmtree(file.parent)
        run.upto("work/ann.py does not exist")
        # The new folder has the inode of the one before on many file systems.
        file.parent.mkdir()
        save(file, content)
        run.upto("What changed since the last run\n")
        run.upto()


def test_a_file_that_comes_back_as_it_was_has_its_report_shown_again(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py")
    first = run.upto()
    file.unlink()
    assert "ann.py does not exist" in run.upto()
    save(file, WRONG)
    again = run.upto()
    assert "ann  ✗ failed" in again and "What changed" not in again
    assert again.strip() == first.strip()


def test_what_is_saved_unchanged_is_not_run_again(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py")
    run.upto()
    save(file, WRONG)
    (tmp_path / "notes.txt").write_text("of no concern")
    file.touch()
    save(file, RIGHT)
    told = run.upto()
    assert told.count("ann.py changed") == 1 and "ann  ✓ passed" in told
    save(file, RIGHT + "# a remark\n")
    assert "Nothing changed since the last run" in run.upto()


@pytest.mark.parametrize(("text", "place"), [(HELPED, "helper.py"), (PACKAGED, "tools/helper.py")])
def test_modules_that_it_imports_are_watched_too(
    watching: Start, tmp_path: Path, text: str, place: str
) -> None:
    (tmp_path / "ann.py").write_text(text)
    run = watching("ann.py")
    assert "! not loadable" in run.upto()
    helper = tmp_path / place
    helper.parent.mkdir(exist_ok=True)
    save(helper, WRONG_HELPER)
    assert "ann  ✗ failed" in run.upto()
    save(helper, HELPER)
    assert "ann  ✓ passed" in run.upto()


def test_a_folder_and_a_notebook_are_watched(watching: Start, tmp_path: Path) -> None:
    book = {
        "nbformat": 4,
        "nbformat_minor": 4,
        "metadata": {},
        "cells": [
            {"cell_type": "code", "metadata": {}, "source": WRONG, "outputs": [], "execution_count": None}
        ],
    }
    (tmp_path / "class" / "bob").mkdir(parents=True)
    notebook = tmp_path / "class" / "bob" / "work.ipynb"
    notebook.write_text(json.dumps(book))
    (tmp_path / "class" / "ann.py").write_text(WRONG)
    run = watching("class")
    first = run.upto()
    assert "ann  ✗ failed" in first and "bob  ✗ failed" in first
    book["cells"][0]["source"] = RIGHT  # type: ignore[index]
    save(notebook, json.dumps(book))
    second = run.upto()
    assert "bob  ✓ passed" in second and "ann" not in second
    (tmp_path / "class" / "cleo").mkdir()
    (tmp_path / "class" / "cleo" / "cleo.py").write_text(RIGHT)
    third = run.upto()
    assert "cleo  ✓ passed" in third and "bob" not in third and "What changed" not in third


def test_quiet_shows_a_line_a_run(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py", "--quiet")
    assert run.upto("points\n").startswith("ann  ✗ failed  ")
    save(file, RIGHT)
    assert run.upto("points\n").startswith("ann  ✓ passed  ")
    status, rest = run.interrupt(signal.SIGTERM)
    assert (status, rest) == (130, "grader: interrupted\n")


def test_the_page_is_written_anew(watching: Start, tmp_path: Path) -> None:
    file, page = tmp_path / "ann.py", tmp_path / "page.html"
    file.write_text(WRONG)
    run = watching("ann.py", "--html", "page.html")
    run.upto()
    assert "Full marks" not in page.read_text("utf-8")
    save(file, RIGHT)
    run.upto()
    assert "Full marks" in page.read_text("utf-8")


def test_a_terminal_is_cleared_before_a_run_but_not_before_the_first(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py", terminal=True)
    assert CLEAR not in run.upto()
    save(file, RIGHT)
    told = run.upto()
    assert told.count(CLEAR) == 1 and told.index(CLEAR) < told.index("ann.py changed")
    assert "✓ passed" in told.replace("\x1b[1;32m", "")
    assert run.interrupt()[0] == 130


def test_an_impatient_second_interrupt_changes_nothing(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py", terminal=True)
    run.upto()
    save(file, RIGHT)
    run.upto("ann.py changed")
    os.killpg(run.process.pid, signal.SIGINT)
    status, rest = run.interrupt()
    assert status == 130 and "Traceback" not in rest and rest.endswith("grader: interrupted\n")


def plain(text: str) -> str:
    """Without the escapes of a terminal."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def test_what_matters_is_in_the_window_though_the_report_is_longer(watching: Start, tmp_path: Path) -> None:
    file = tmp_path / "ann.py"
    file.write_text(WRONG)
    run = watching("ann.py", terminal=True, lines=18)
    first = plain(run.upto()).splitlines()
    assert len(first) > 18 and "ann  ✗ failed" in first[0]
    (verdict,) = [line for line in first[-17:] if line.startswith("ann  ✗ failed")]
    assert "points" in verdict
    save(file, WRONG.replace("factor *", "2 * factor *"))
    told = plain(run.upto()).splitlines()
    assert len(told) > 18
    for part in ("What changed since", "ann  ✗ failed"):
        assert any(line.startswith(part) for line in told[-17:]), told
    save(file, SYNTAX)
    told = plain(run.upto()).splitlines()
    assert "ann  ! not loadable" in told[-3] and told[-2].startswith("Line 4 is not valid Python")


def test_of_several_long_reports_each_has_a_line_at_the_end(watching: Start, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name in ("ann", "bob", "cleo"):
        (tmp_path / "class" / f"{name}.py").write_text(RIGHT if name == "ann" else WRONG)
    run = watching("class", terminal=True, lines=20)
    told = plain(run.upto()).splitlines()
    statuses = [line.split("  ")[:2] for line in told[-4:-1]]
    assert statuses == [["bob", "✗ failed"], ["cleo", "✗ failed"], ["ann", "✓ passed"]]


def test_a_report_that_fits_the_window_is_not_repeated(watching: Start, tmp_path: Path) -> None:
    (tmp_path / "ann.py").write_text(WRONG)
    told = plain(watching("ann.py", terminal=True, lines=200).upto())
    assert told.count("ann  ✗ failed") == 1


@pytest.mark.parametrize("option", ["--json", "--snippet"])
def test_options_that_do_not_go_with_watching_are_refused(home: Path, option: str) -> None:
    done = grader("check", "class/right.py", "--case", "plain", option, "--watch", cwd=home)
    assert done.status == 2 and f"leave out {option}" in done.err


def test_without_watchfiles_it_is_said_how_to_get_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "watchfiles.py").write_text("raise ImportError('not here')\n")
    done = grader("check", "class/right.py", "--watch", cwd=home, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (done.status, done.out) == (2, "")
    assert done.err == 'grader: --watch needs the package watchfiles: pip install "mlm-grader[watch]"\n'
