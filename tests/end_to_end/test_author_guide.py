"""The author's guide, followed to the letter: its files and commands give what it says that they print."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from support.commands import ROOT, grader

# All of it takes a quarter of a minute.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guide() -> ModuleType:
    spec = importlib.util.spec_from_file_location("guide", ROOT / "scripts" / "guide.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(guide: ModuleType) -> str:
    return str(guide.GUIDE.read_text("utf-8"))


@pytest.fixture(scope="module")
def followed(
    guide: ModuleType, page: str, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The page with what is printed today, and the folder in which its reader worked."""
    folder = tmp_path_factory.mktemp("reader") / "exercises"
    folder.mkdir()
    return guide.run(page, folder, cache), folder


def blocks(guide: ModuleType, page: str) -> list[tuple[str, str]]:
    """Every command with what the page says that it prints."""
    same = guide.same_everywhere(page)
    return [
        pair
        for block in guide.BLOCK.finditer(same)
        if block["kind"] == "console"
        for pair in guide.commands(block["body"])
    ]


def test_every_command_prints_what_the_page_says(
    guide: ModuleType, page: str, followed: tuple[str, Path]
) -> None:
    said, printed = blocks(guide, page), blocks(guide, followed[0])
    # Where this fails for a good reason: python scripts/guide.py
    for told, got in zip(said, printed, strict=True):
        assert told == got
    assert guide.same_everywhere(page) == guide.same_everywhere(followed[0])


def test_it_goes_all_the_way(guide: ModuleType, page: str) -> None:
    said = blocks(guide, page)
    words = [command.split()[:2] for command, _ in said]
    assert [w[1] for w in words if w[0] == "grader"] == [
        *("new", "validate", "validate", "validate", "validate", "release", "grade", "check")
    ]
    verdicts = [printed.splitlines()[0] for command, printed in said if "validate" in command]
    assert verdicts[0] == verdicts[3] == "softmax  ✓ sound"
    assert verdicts[1] == "softmax  ✗ weaknesses found"
    assert verdicts[2].endswith("refresh it with: grader validate softmax --write")


def test_no_line_of_the_first_exercise_is_left(followed: tuple[str, Path], tmp_path: Path) -> None:
    """Every file is replaced; one that was forgotten would be about the exercise of `grader new`."""
    assert grader("new", "softmax", cwd=tmp_path).status == 0
    folder = followed[1]
    files = [p.relative_to(folder) for name in ("cases", "reference") for p in (folder / name).rglob("*.*")]
    written = {p for p in files if p.suffix in (".py", ".yaml", ".md")}
    assert len(written) == 10
    for path in written:
        assert (folder / path).read_text("utf-8") != (tmp_path / path).read_text("utf-8"), path


def test_the_exercise_is_what_the_page_calls_it(followed: tuple[str, Path]) -> None:
    folder = followed[1]
    found = grader("validate", "softmax", "--json", cwd=folder).json
    assert found["sound"]
    kinds = [mistake["kind"] for mistake in found["mistakes"]]
    assert kinds.count("misconception") >= 5
    expected = sorted((folder / "submissions" / "softmax").glob("*.expected.yaml"))
    texts = [path.read_text("utf-8") for path in expected]
    assert sum("status: passed" in text for text in texts) == 2
    assert sum("status: failed" in text for text in texts) == 3
    records = [json.loads(line) for line in (folder / "reports/week1/results.jsonl").read_text().splitlines()]
    told = {record["submission"]["id"]: [d["ids"] for d in record["diagnoses"]] for record in records}
    assert told == {"ann": [], "ben": [["largest_kept"]], "cem": [["shifted_in_place"]]}


def test_what_is_left_out_is_no_more_than_figures(guide: ModuleType, page: str) -> None:
    """Words and verdicts are compared; times, sizes, rounding and isolation are not."""
    same = guide.same_everywhere
    for changed in (
        page.replace("✗ weaknesses found", "✓ sound"),
        page.replace("mistake_survives: largest_kept", "mistake_survives: largest_of_all"),
        page.replace("11 of 13 points", "12 of 13 points"),
        page.replace("1 of 1 case", "1 of 2 cases"),
        page.replace("x = [[2000]]", "x = [[1000]]"),
    ):
        assert changed != page and same(changed) != same(page)
    for changed in (
        page.replace("README.txt  1,", "README.txt  2,"),
        page.replace("landlock (version 7), ", ""),
    ):
        assert changed != page and same(changed) == same(page)
