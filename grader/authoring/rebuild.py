"""An exercise's packs built once more, by another process: the student's, then the full one.

In this order, a reference that remembers earlier calls gives itself away in the full pack.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from grader.errors import OwnFaultError
from grader.exercise.build import build_pack
from grader.exercise.source import ExerciseSource, load


class Rebuild:
    """A build that goes on beside other work until it is asked for; use it in a ``with`` block."""

    def __init__(self, source: ExerciseSource) -> None:
        self._folder = source.root / "cases" / source.name

    def __enter__(self) -> Rebuild:
        self._out = tempfile.TemporaryDirectory(prefix="grader-rebuild-")
        # Without -P the current folder's modules would come before the installed ones.
        command = [sys.executable, "-P", "-m", __name__, str(self._folder.resolve()), self._out.name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *failure: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._out.cleanup()

    def packs(self) -> tuple[bytes, bytes]:
        """The bytes of the full pack and of the student's.

        Raises:
            OwnFaultError: The other process failed.
        """
        _, said = self._process.communicate()
        if self._process.returncode:
            raise OwnFaultError(f"building the pack in another process failed: {said.strip()[-2000:]}")
        return (Path(self._out.name, "full").read_bytes(), Path(self._out.name, "student").read_bytes())


def main(folder: str, out: str) -> None:
    """What the other process does."""
    source = load(Path(folder))
    frozen = source.require_fresh_frozen()
    Path(out, "student").write_bytes(build_pack(source, frozen, student=True))
    # Made anew in every part, also where a cache holds what was made before.
    Path(out, "full").write_bytes(build_pack(source, frozen, remember=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
