"""What would be graded can be read in a narrow window too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from grader.intake.asked import Asked
from grader.intake.collect import collect
from grader.intake.preview import preview


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120])
def test_ids_files_and_rules_are_whole_in_any_window(tmp_path: Path, width: int) -> None:
    for name in ("ann", "bob_with_a_name"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "solution.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "ann" / "notes.txt").write_text("nothing")
    found = collect([tmp_path], Asked("f", ("numpy",)))
    out = io.StringIO()
    Console(file=out, width=width).print(preview(found))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    table = lines[: lines.index("left out")]
    assert all(len(line) <= width for line in lines)
    words = " ".join(table).split()
    # A column of single letters would break these.
    for word in ("ann", "bob_with_a_name", "ann/solution.py", "Python", "chosen"):
        if len(word) <= width - len("chosen by") - 2:
            assert any(word in one for one in words), table
