"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """What a command left."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1, self.out + self.err
        return json.loads(self.out, parse_constant=lambda word: 1 / 0)


def save(commands: Mapping[str, Done], path: Path) -> None:
    """Keep what commands left in a file."""
    path.write_text(json.dumps({name: vars(done) for name, done in commands.items()}))


def load(path: Path) -> dict[str, Done]:
    """What `save` has kept."""
    return {name: Done(**fields) for name, fields in json.loads(path.read_text()).items()}


def grader(*arguments: str | Path, cwd: Path, **environment: str) -> Done:
    """Run ``python -m grader`` in a folder.

    No command may show a traceback of the grader, whatever it is given.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "NO_COLOR", "COLUMNS")}
    env |= {"PYTHONPATH": str(ROOT)} | environment
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback (most recent call last)" not in err, err
    return Done(done.returncode, out, err)
