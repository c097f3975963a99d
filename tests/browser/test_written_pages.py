"""The pages that the commands write, of submissions that do their worst, opened as a user opens them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from looking import NARROW, NARROWEST, Looker, ask, unfold, violations
from playwright.sync_api import Page
from support.commands import grader
from support.known import write_stepped
from support.small import RIGHT, WRONG, freeze_exercise
from texts import HOSTILE

pytestmark = pytest.mark.slow

CALM = "def row_scale(x, w, factor):\n    "
MARKUP = "</script><script>globalThis.acted = 1</script><img src=x onerror=alert(1)>"
SUBMISSIONS = {
    "right": RIGHT,
    "wrong": WRONG,
    "prints": f"{CALM}print({MARKUP!r} * 600_000)\n    return x @ w\n",
    "raises": f"{CALM}raise ValueError({MARKUP!r} * 600_000)\n",
    "names": f"{CALM}raise type('W' * 10_000 + '<b>', (Exception,), {{}})('\\u202e' * 100_000)\n",
    "syntax": f"def row_scale(x: {MARKUP!r} \n",
    "returns": f"{CALM}return {MARKUP!r} * 600_000\n",
    "loud": f"import sys\nsys.stderr.write('\\x1b[31m' * 10_000_000)\n{RIGHT}",
    # Names of files are the students'.
    "<img src=x onerror=alert(1)>": WRONG,
    "\u202egnp.exe": WRONG,
    "W" * 200: WRONG,
    "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301b": WRONG,
    "محمد بن موسى": RIGHT,
    "' onmouseover='alert(2)": WRONG,
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an exercise, and with the class graded in ``reports``."""
    home = tmp_path_factory.mktemp("written")
    write_stepped(home)
    freeze_exercise(home)
    folder = home / "class"
    folder.mkdir()
    for name, text in SUBMISSIONS.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    done = grader(
        "grade", "class", "--out", "reports", "--workers", "1", cwd=home, GRADER_CACHE=str(home / "cache")
    )
    assert done.status == 0, done.err
    yield home


def pages(home: Path) -> list[Path]:
    return [home / "reports" / "index.html", *sorted((home / "reports").glob("*/*.html"))]


def assert_calm(page: Page) -> None:
    unfold(page)
    assert page.evaluate("() => globalThis.acted") is None
    for width in (NARROW, NARROWEST):
        page.set_viewport_size({"width": width, "height": 900})
        assert ask(page, "overflowing") == []


def test_every_page_of_a_graded_class_is_calm(looker: Looker, graded: Path) -> None:
    found = pages(graded)
    assert len(found) == 1 + 2 * len(SUBMISSIONS)
    for path in found:
        size = path.stat().st_size
        assert size < (200_000 if path.parent.name == "students" else 600_000), path
        assert_calm(looker.open(path))
        looker.close()


def test_axe_finds_nothing_on_the_pages_of_a_graded_class(looker: Looker, graded: Path) -> None:
    reports = graded / "reports"
    wrong = [p for p in pages(graded) if p.stem.startswith(("wrong", "raises"))]
    assert len(wrong) == 4
    for path in [reports / "index.html", *wrong]:
        page = looker.open(path, scheme="dark", width=NARROW)
        unfold(page)
        assert violations(page) == [], path.name


def test_every_link_leads_somewhere(looker: Looker, graded: Path) -> None:
    reports = graded / "reports"
    # Here pages are left for others, and those are asked for.
    page = looker.page(allowed=lambda url: url.startswith(reports.as_uri()))
    page.goto((reports / "index.html").as_uri())
    links = page.locator("a[href$='.html']").evaluate_all("(all) => [...new Set(all.map((a) => a.href))]")
    assert len(links) == 2 * len(SUBMISSIONS)
    for link in links:
        page.goto(link)
        assert page.locator("main h2").count() > 1
        back = page.locator("nav a[href$='index.html']")
        if back.count():
            back.first.click()
            assert page.url == (reports / "index.html").as_uri()


def test_the_page_of_check_and_that_of_validate_are_calm(looker: Looker, graded: Path) -> None:
    cache = str(graded / "cache")
    checked = grader("check", "class/raises.py", "--html", "mine.html", cwd=graded, GRADER_CACHE=cache)
    assert checked.status == 1, checked.err
    validated = grader(
        "validate", "row_scale", "--fast", "--html", "exercise.html", cwd=graded, GRADER_CACHE=cache
    )
    assert validated.status in (0, 1), validated.err
    for name in ("mine.html", "exercise.html"):
        page = looker.open(graded / name)
        assert violations(page) == []
        assert_calm(page)


def test_a_name_that_no_encoding_takes_does_not_break_the_page(looker: Looker, graded: Path) -> None:
    folder = graded / "odd"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.py")).write_text(WRONG, "utf-8")
    (folder / "\x1b[31mred\x07.py").write_text(RIGHT, "utf-8")
    (folder / f"{HOSTILE['zalgo'][:60]}.py").write_text(RIGHT, "utf-8")
    done = grader(
        "grade", "odd", "--out", "odd_out", "--workers", "1", cwd=graded, GRADER_CACHE=str(graded / "cache")
    )
    assert done.status == 0, done.err
    page = looker.open(graded / "odd_out" / "index.html")
    assert page.locator("#table tbody tr").count() == 3
    assert_calm(page)
