"""The page of a submission as a student gets it, from her files."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from support.commands import grader

BANNED = """\
import numpy as np


def row_scale(x, w, factor):
    product = np.einsum("ij,jk->ik", x, w)
    return factor * product / (1 + (x * x).mean(1, keepdims=True))
"""

MAIN = "from steps import scaled\n\n\ndef row_scale(x, w, factor):\n    return scaled(x, w, factor)\n"
STEPS = """\
def scaled(x, w, factor):
    # of the rows
    if x.shape[0] != 2:
        raise ValueError("two rows, please")
    return factor * (x @ w)
"""


def page(home: Path, path: Path, out: Path) -> str:
    """The page that ``grader check --html`` writes."""
    done = grader("check", path, "--html", out, cwd=home)
    assert done.status == 1, done.err
    assert done.out.splitlines()[-1] == f"page: {out}"
    return out.read_text("utf-8")


def hits(source: str) -> list[str]:
    """The marked lines of the submission's text."""
    return [re.sub(r"<.*?>", "", line) for line in re.findall(r'<span class="hit">(.*?)\n</span>', source)]


def test_a_banned_helper_is_marked_in_its_line(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "ann.py"
    path.write_text(BANNED, "utf-8")
    source = page(home, path, tmp_path / "page.html")
    (line,) = hits(source)
    assert "product = np.einsum(" in line and "<mark>np.einsum</mark>" in source
    assert "Line 5, column 15" in source and "this costs all points" in source


def test_a_traceback_through_a_helper_module_shows_the_lines_of_both(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ann"
    folder.mkdir()
    (folder / "solution.py").write_text(MAIN, "utf-8")
    (folder / "steps.py").write_text(STEPS, "utf-8")
    source = page(home, folder, tmp_path / "page.html")
    assert '<pre class="line">return scaled(x, w, factor)</pre>' in source
    assert any('raise ValueError("two rows, please")' in html.unescape(line) for line in hits(source))
    assert "steps.py, line 4" in source


def test_a_text_that_is_not_python_shows_its_line(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "torn.py"
    path.write_text("import numpy as np\n\n\ndef row_scale(x, w, factor)\n    return x\n", "utf-8")
    source = page(home, path, tmp_path / "page.html")
    assert "Where loading ended" in source
    assert any("def row_scale(x, w, factor)" in line for line in hits(source))


def test_the_record_holds_the_lines_it_refers_to_and_no_others(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "ann.py"
    path.write_text("SECRET = 1\n" * 20 + STEPS.replace("scaled", "row_scale"), "utf-8")
    done = grader("check", path, "--json", cwd=home)
    (record,) = done.json
    assert [number for number, _ in record["excerpt"]] == [22, 23, 24, 25]
    assert "SECRET" not in json.dumps(record["excerpt"])
