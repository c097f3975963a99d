"""What someone who sits at a terminal sees while a class is graded."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from support.commands import ROOT
from support.small import RIGHT, freeze_exercise, write_exercise


def test_progress_has_how_many_the_rate_and_the_time_left(tmp_path: Path) -> None:
    write_exercise(tmp_path)
    freeze_exercise(tmp_path)
    (tmp_path / "class").mkdir()
    for number in range(24):
        (tmp_path / "class" / f"s{number:02d}.py").write_text(f"{RIGHT}# {number}\n")
    reading, writing = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "NO_COLOR")}
    env |= {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "grader", "grade", "class", "--out", "out", "--workers", "1"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing
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
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told.decode())
    done = {int(number) for number in re.findall(r"(\d+)/24\b", text)}
    assert max(done) == 24 and len(done) > 1
    assert re.search(r"\d+/s\b", text) and re.search(r"\d:\d\d:\d\d", text)
