"""Texts to paste, run as a student would: each in a process of its own, beside the submission's file.

The processes are forked from one that has numpy (and torch) imported, as importing takes most of the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_SERVER = """
import json, os, sys, traceback
for name in sys.argv[1:]:
    __import__(name)
sys.dont_write_bytecode = True
for line in sys.stdin:
    folder, text = json.loads(line)
    pid = os.fork()
    if not pid:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(os.path.join(folder, name), os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            exec(compile(text, "snippet.py", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    print("done", flush=True)
"""


class Snippets:
    """Runs texts; close it when done."""

    def __init__(self, folder: Path, *packages: str) -> None:
        self._folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, *packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, source: str, text: str) -> tuple[str, str]:
        """What a text prints, and what goes to stderr, beside a submission in ``ann.py``."""
        (self._folder / "ann.py").write_text(source, "utf-8")
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps([str(self._folder), text]) + "\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline() == "done\n"
        return (self._folder / "out").read_text("utf-8"), (self._folder / "err").read_text("utf-8")

    def close(self) -> None:
        """End the process."""
        self._server.communicate()
