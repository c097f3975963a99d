"""The script that installs the grader gives pip the words that an author asked for, and runs none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.jobs import ACTIONS, ROOT

# Stands for python: makes an environment whose python writes down what it is called with.
PYTHON = f"""#!/bin/sh
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!{sys.executable}
import json, os, sys
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + chr(10))
END
chmod +x "$3/bin/python"
"""


def installed(folder: Path, **environment: str) -> list[str]:
    """The arguments that pip was called with."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "python").write_text(PYTHON)
    (programs / "python").chmod(0o755)
    calls = folder / "calls"
    subprocess.run(
        ["bash", str(ACTIONS / "install.sh")],
        cwd=folder,
        env={
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "RUNNER_TEMP": str(folder / "temp"),
            "CALLS": str(calls),
            **environment,
        },
        check=True,
    )
    (call,) = calls.read_text().splitlines()
    arguments: list[str] = json.loads(call)
    assert arguments[:4] == ["-m", "pip", "install", "--quiet"]
    return arguments[5:]


def test_the_grader_of_the_action_itself_is_installed(tmp_path: Path) -> None:
    constraints = str(ROOT / "constraints.txt")
    assert installed(tmp_path) == ["-c", constraints, str(ROOT)]
    assert (tmp_path / "temp" / "grader" / "bin" / "python").is_file()


def test_extras_are_those_of_the_author(tmp_path: Path) -> None:
    assert installed(tmp_path, EXTRAS="author,scipy")[-1] == f"{ROOT}[author,scipy]"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("mlm-grader[author]==1.0", ["mlm-grader[author]==1.0"]),
        ("  mlm-grader\njax>=0.4  ", ["mlm-grader", "jax>=0.4"]),
        ("$(touch made) `touch made`; touch made", ["$(touch", "made)", "`touch", "made`;", "touch", "made"]),
        ("* '?'", ["*", "'?'"]),
    ],
)
def test_what_is_named_is_installed_instead(tmp_path: Path, told: str, words: list[str]) -> None:
    assert installed(tmp_path, INSTALL=told, EXTRAS="author") == words
    assert not (tmp_path / "made").exists()
