"""How long reports take: ``python benchmarks/reports.py``.

Prints, from the worked submissions graded anew and made more by other names and small changes:

1. the seconds in which one process writes the folder of a class from a gradebook that is there: the pages of
   each submission (student and teacher), ``gradebook.csv``, ``results.jsonl`` and the class page. Grading is
   not in it;
2. how long Chromium takes to open the class page from a file, for each size, beside an empty page in the same
   run: to the event ``load``, when the table can be sorted and filtered, and to the first painted contents;
   and how long a word in the search box takes until the table is drawn anew;
3. the size of the largest student page of the worked submissions, and of the class pages.

Machines differ and so does one machine from minute to minute: compare figures of one run only.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import classes

sys.path.insert(0, str(classes.ROOT))

from grader.batch.asking import asked_of
from grader.batch.grading import grade_class
from grader.exercise.resolve import resolve_pack
from grader.gradebook.journal import Gradebook
from grader.intake.collect import collect
from grader.report import files
from grader.report.class_page.view import class_rows
from grader.report.html import page_of_rows
from grader.result import Result

EMPTY = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Empty</title><p>Empty</p></html>\n'
TIMES = """() => {
  const [navigation] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return [navigation.loadEventEnd, paint ? paint.startTime : null];
}"""
SEARCH = """() => new Promise((done) => {
  const begin = performance.now();
  const box = document.getElementById("words");
  box.value = "4";
  box.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
})"""


def worked(folder: Path) -> list[Result]:
    """The records of the worked submissions."""
    pack = resolve_pack("mlm_forward", classes.ROOT)
    submissions = list(collect([classes.EXAMPLES], asked_of(pack)).submissions)
    grade_class(pack, submissions, folder, reports=False, weak_isolation=True)
    with Gradebook(folder, None, reading=True) as gradebook:
        return list(gradebook.newest())


def class_of(records: Sequence[Result], size: int) -> list[Result]:
    """A class of other people: a third has full marks, and of the rest few fail quite the same."""
    drawn = random.Random(size)
    weights = [3 if record.status == "passed" else 1 for record in records]
    made = []
    for number in range(size):
        record = drawn.choices(records, weights)[0]
        cases = [
            replace(case, verdict="wrong_value", points=0.0)
            if case.verdict == "passed" and record.status != "passed" and drawn.random() < 0.004
            else case
            for case in record.cases
        ]
        submission = replace(
            record.submission,
            id=f"s{number:05d}",
            name=f"Student {number}",
            members=(f"Student {number}",),
            digest=str(number),
            submitted_at=f"2026-10-01T12:{number % 60:02d}:00+02:00",
            late=number % 17 == 0,
        )
        made.append(replace(record, submission=submission, cases=tuple(cases)))
    return made


def write_folder(folder: Path, records: Sequence[Result]) -> dict[str, float]:
    """Seconds that writing a folder from a gradebook takes; a busy machine moves the clock most."""
    files.prepare_folder(folder, fresh=False)
    with Gradebook(folder, "mlm_forward") as gradebook:
        for record in records:
            gradebook.add(record)
    del records
    with Gradebook(folder, None) as gradebook:
        clocks = [(time.perf_counter(), time.process_time())]
        for record in gradebook.newest():
            files.write_pages(folder, record)
        clocks.append((time.perf_counter(), time.process_time()))
        files.write_gradebook(folder, gradebook, "benchmark")
        clocks.append((time.perf_counter(), time.process_time()))
    begin, pages, end = clocks
    return {
        "by the clock": end[0] - begin[0],
        "of processor time": end[1] - begin[1],
        "of it pages": pages[1] - begin[1],
        "the class's files": end[1] - pages[1],
    }


def opening(pages: dict[str, Path], times: int) -> dict[str, list[list[float]]]:
    """Milliseconds to ``load``, to the first contents and of a search, for each page and time, in turn."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium was found; set CHROMIUM to one")
    found: dict[str, list[list[float]]] = {name: [] for name in pages}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for at in range(times + 1):
            for name, path in pages.items():
                page: Any = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(path.as_uri())
                page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
                figures = page.evaluate(TIMES)
                if page.locator("#words").count():
                    figures.append(page.evaluate(SEARCH))
                # The first of all is colder than any teacher's browser.
                if at:
                    found[name].append(figures)
                page.close()
        browser.close()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=int, default=1_000, help="students in the folder that is written")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 5_000], help="students on a page")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--no-browser", action="store_true", help="leave Chromium out")
    chosen = parser.parse_args()
    with TemporaryDirectory() as name:
        top = Path(name)
        records = worked(top / "worked")
        (top / "sizes").mkdir()
        files.prepare_folder(top / "sizes", fresh=False)
        for record in records:
            files.write_pages(top / "sizes", record)
        sizes = {p.name: p.stat().st_size for p in (top / "sizes" / files.STUDENTS).glob("*.html")}
        largest = max(sizes, key=lambda page: sizes[page])
        print(f"largest of {len(sizes)} student pages: {sizes[largest] / 1000:.0f} KB ({largest})")
        if chosen.folder:
            parts = write_folder(top / "folder", class_of(records, chosen.folder))
            told = ", ".join(f"{seconds:.2f} s {part}" for part, seconds in parts.items())
            print(f"folder of {chosen.folder} students, one process: {told}")
        if chosen.no_browser:
            return
        pages = {"empty": top / "empty.html"}
        pages["empty"].write_text(EMPTY, "utf-8")
        for size in chosen.sizes:
            pages[str(size)] = top / f"class{size}.html"
            begin = time.perf_counter()
            source = page_of_rows(class_rows(class_of(records, size)))
            made = time.perf_counter() - begin
            pages[str(size)].write_text(source, "utf-8")
            kilobytes = len(source.encode()) / 1000
            print(f"class page of {size}: {kilobytes:.0f} KB, class and page made in {made:.2f} s")
        found = opening(pages, chosen.times)
        columns = ("load", "first contents", "search")
        alone = [statistics.median(one) for one in zip(*found["empty"], strict=True)]
        for page, figures in found.items():
            medians = [statistics.median(one) for one in zip(*figures, strict=True)]
            said = []
            for at, (what, value) in enumerate(zip(columns, medians, strict=False)):
                ratio = f" ({value / alone[at]:.1f} x empty)" if at < len(alone) and page != "empty" else ""
                said.append(f"{what} {value:.0f} ms{ratio}")
            print(f"{page:>6}: " + ", ".join(said))


if __name__ == "__main__":
    main()
