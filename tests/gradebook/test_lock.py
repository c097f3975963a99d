"""Two runs never write into one folder, and a process that is gone hinders nobody."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from grader.errors import GraderError
from grader.gradebook.lock import LOCK, hold

ROOT = Path(__file__).resolve().parents[2]
HOLDER = """
import subprocess, sys, time
from pathlib import Path
from grader.gradebook.lock import hold
with hold(Path(sys.argv[1]), "grader grade"):
    # What a run starts has nothing of its lock.
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(child.pid, flush=True)
    time.sleep(600)
"""


def test_a_second_one_is_told_who_holds_it_until_that_process_is_gone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        child = int(holder.stdout.readline())
    try:
        with pytest.raises(GraderError) as caught, hold(tmp_path, "grader adjust"):
            pass
        assert str(caught.value).startswith(
            f"{tmp_path} is being written by another run (grader grade, process {holder.pid} "
            f"on {socket.gethostname()}, since "
        )
        assert str(caught.value).endswith("wait until it has ended, or stop it: what it has graded is kept")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with hold(tmp_path, "grader adjust"):
            pass
    finally:
        holder.kill()
        holder.wait()
        os.kill(child, signal.SIGKILL)


def test_it_is_free_afterwards_whatever_happened(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError), hold(tmp_path, "grader grade"):
            raise ValueError
    with hold(tmp_path, "one"), pytest.raises(GraderError, match="one, process"), hold(tmp_path, "other"):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"since": "x"}', '{"since": 1e300, "doing": 1}'])
def test_a_lock_that_does_not_tell_who_holds_it_holds_all_the_same(tmp_path: Path, content: str) -> None:
    with hold(tmp_path, "grader grade"):
        (tmp_path / LOCK).write_text(content)
        with pytest.raises(GraderError, match="which one is not told"), hold(tmp_path, "other"):
            pass


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match="can't be written"), hold(tmp_path / "gone", "grader grade"):
        pass
