"""The class page in a browser: filtering, sorting and paging by keyboard and mouse, and what it tells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from looking import Looker
from playwright.sync_api import Page, expect
from samples import HOSTILE, class_of, every_kind, info

from grader.people import Person
from grader.report.class_page.table import ROWS_SHOWN
from grader.report.class_page.view import class_rows
from grader.report.html import class_page, page_of_rows

# Its tests together take long.
pytestmark = pytest.mark.slow

RECORDS = [
    *class_of(120),
    *[replace(r, submission=info(f"Kind {k}", f"kind-{k}")) for k, r in every_kind().items()],
]
TOTAL = len(RECORDS)


def rows(page: Page) -> list[list[str]]:
    """The texts of the table's rows."""
    found: list[list[str]] = page.locator("#table tbody").evaluate(
        "(body) => [...body.rows].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    )
    return found


def column(page: Page, title: str) -> list[str]:
    """The texts of one column."""
    heads = page.locator("#table thead th").all_inner_texts()
    at = [head.split("\n")[0].strip() for head in heads].index(title)
    return [row[at] for row in rows(page)]


def told(page: Page) -> str:
    return page.locator("#shown").inner_text()


@pytest.fixture(scope="module")
def source() -> str:
    return class_page(RECORDS)


def test_scripts_show_the_same_rows_as_the_page_without(looker: Looker, source: str) -> None:
    without = rows(looker.open(source, script=False))
    assert len(without) == ROWS_SHOWN
    assert rows(looker.open(source)) == without


def test_sorting_by_keyboard_sorts_all_and_says_so(looker: Looker, source: str) -> None:
    page = looker.open(source)
    head = page.locator("#table th", has_text="Score")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, "Score") == ["20"] * ROWS_SHOWN
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "ascending"
    scores = [float(score.replace("−", "-")) for score in column(page, "Score")]
    assert scores == sorted(scores)
    known = sorted(r.score for r in RECORDS if r.score is not None)
    assert scores == pytest.approx(known[:ROWS_SHOWN], abs=1e-4)
    # Whoever has no score stands at the end either way.
    while page.get_by_role("button", name="Next").first.is_enabled():
        page.get_by_role("button", name="Next").first.press("Enter")
    assert column(page, "Score")[-1] == "–"
    page.locator("#table th", has_text="Name").locator("button").press("Enter")
    assert page.locator("#table [aria-sort]").count() == 1
    assert column(page, "Name")[0].startswith("Ada")


def test_filters_act_on_all_rows_go_together_and_are_told(looker: Looker, source: str) -> None:
    page = looker.open(source)
    assert told(page) == f"All {TOTAL} submissions."
    page.get_by_label("Status").select_option("passed")
    passed = sum(r.status == "passed" for r in RECORDS)
    assert told(page) == f"{passed} of {TOTAL} submissions: Full marks."
    page.get_by_label("Search").press_sequentially("kind SUSP")
    assert told(page) == f"1 of {TOTAL} submissions: “kind SUSP”; Full marks."
    assert column(page, "Id") == ["kind-suspicious"]
    page.get_by_role("button", name="Show all", exact=True).press("Enter")
    assert told(page) == f"All {TOTAL} submissions."
    assert page.get_by_label("Search").input_value() == page.get_by_label("Status").input_value() == ""
    assert page.get_by_label("Search").evaluate("(box) => box === document.activeElement")
    page.get_by_label("Percent from").fill("50")
    page.get_by_label("to below").fill("90")
    percents = [100 * (r.score / r.max_score) for r in RECORDS if r.score is not None]
    assert told(page).startswith(f"{sum(50 <= one < 90 for one in percents)} of {TOTAL} ")
    page.get_by_label("Search").fill("no such name")
    assert rows(page) == [] and told(page).startswith("0 of")


def test_what_a_row_of_another_table_counts_is_what_it_shows(looker: Looker, source: str) -> None:
    page = looker.open(source)
    bars = page.locator("#bars button")
    for at in range(bars.count()):
        bar = bars.nth(at)
        count = int(bar.locator(".unseen").inner_text().split()[0])
        bar.press("Enter")
        assert told(page).startswith(f"{count} of {TOTAL} "), bar.inner_text()
    for place, number in (("#clauses", 1), ("#mistakes", 2), ("#clusters", 2)):
        for row in page.locator(f"section:has({place}) > .scroll tbody tr").all()[:4]:
            cell = row.locator("th, td").nth(number).inner_text()
            row.get_by_role("button", name="Show in the table").press("Enter")
            assert int(told(page).split()[0]) >= int(cell.split()[0]) > 0
            if place != "#mistakes":
                # A mistake counts students, and for some it is one of several explanations.
                assert told(page).startswith(f"{cell.split()[0]} of {TOTAL} ")
    for row in page.locator("section:has(#checks) tbody tr").all()[:4]:
        passed, _, judged = row.locator("td").nth(1).inner_text().split()[:3]
        row.get_by_role("button").press("Enter")
        assert told(page).startswith(f"{int(judged) - int(passed)} of {TOTAL} ")
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Submissions"


def test_pages_of_the_table_hold_everyone_once(looker: Looker, source: str) -> None:
    page = looker.open(source)
    seen = column(page, "Id")
    following = page.locator("#pager").get_by_role("button", name="Next")
    while following.is_enabled():
        following.press("Enter")
        seen += column(page, "Id")
    assert len(seen) == TOTAL and set(seen) >= {r.submission.id for r in RECORDS[:120]}
    page.get_by_label("Rows on a page").select_option("500")
    assert len(rows(page)) == TOTAL


def test_coming_back_finds_the_table_as_it_was(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_label("Search").fill("ada")
    page.locator("#table th", has_text="Seconds").locator("button").click()
    before, said = rows(page), told(page)
    page.goto("about:blank")
    page.go_back()
    assert (rows(page), told(page)) == (before, said)
    assert page.get_by_label("Search").input_value() == "ada"


def test_the_back_button_leads_to_where_a_jump_began(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_label("Search").fill("a")
    page.locator("#table th", has_text="Score").locator("button").click()
    states = [(rows(page), told(page))]
    heat = page.get_by_role("application")
    for jump in (
        lambda: heat.click(position={"x": 9, "y": 9}),
        lambda: page.locator("#rows").get_by_role("button", name="Softmax").click(),
        lambda: page.locator("section:has(#mistakes) tbody button").first.click(),
        lambda: page.locator("#bars button").last.click(),
        lambda: page.get_by_role("button", name="Show all", exact=True).click(),
    ):
        jump()
        assert told(page) != states[-1][1]
        states.append((rows(page), told(page)))
    for _ in range(2):
        for state in reversed(states[:-1]):
            page.go_back()
            assert (rows(page), told(page)) == state
        for state in states[1:]:
            page.go_forward()
            assert (rows(page), told(page)) == state


def test_the_back_button_scrolls_to_where_a_jump_began(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_role("button", name="Show in the table: Softmax").scroll_into_view_if_needed()
    began = page.evaluate("scrollY")
    page.get_by_role("button", name="Show in the table: Softmax").click()
    assert page.evaluate("scrollY") < began
    page.go_back()
    page.wait_for_function("(began) => Math.abs(scrollY - began) < 2", arg=began)
    assert told(page) == f"All {TOTAL} submissions."


def test_going_to_another_part_of_the_page_leaves_the_table_as_it_is(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_label("Status").select_option("failed")
    said = told(page)
    page.locator("nav").get_by_role("link", name="Mistakes").click()
    assert told(page) == said and page.evaluate("scrollY") > 1000
    page.go_back()
    assert told(page) == said


def test_what_a_jump_shows_has_an_address_of_its_own(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_role("application").click(position={"x": 9, "y": 9})
    shown, said, address = rows(page), told(page), page.url
    assert said.startswith(f"1 of {TOTAL} submissions: ")
    page.goto("about:blank")
    page.goto(address)
    assert (rows(page), told(page)) == (shown, said)
    assert page.evaluate("document.getElementById('submissions').getBoundingClientRect().top") < 100


def test_a_field_of_several_submissions_can_be_come_back_to(looker: Looker) -> None:
    page = looker.open(class_page(class_of(1_000)))
    page.get_by_role("application").click(position={"x": 300, "y": 9})
    said = told(page)
    assert said.startswith("3 of 1000 submissions: 3 submissions, ")
    page.get_by_role("button", name="Show all", exact=True).click()
    page.go_back()
    assert told(page) == said and len(rows(page)) == 3


def test_search_looks_where_it_says_and_nowhere_else(looker: Looker, source: str) -> None:
    page = looker.open(source)
    assert page.get_by_text("Search names, ids, reasons", exact=True).is_visible()
    box = page.get_by_label("Search")
    # Words of the statuses and of the helpers have lists of their own.
    for word in ("marks", "clean", "violated"):
        box.fill(word)
        named = [r for r in RECORDS if word in f"{r.submission.name} {r.submission.id}"]
        assert told(page).startswith(f"{len(named)} of {TOTAL} ")
    box.fill("EMILE stöne")
    assert rows(page) and all(name.startswith("Émile Stone") for name in column(page, "Name"))
    box.fill("E\u0301mile")
    assert rows(page) and all(name.startswith("Émile") for name in column(page, "Name"))
    box.fill("s0042")
    assert column(page, "Id") == ["s0042"]
    box.fill("was never closed")
    assert set(column(page, "Status")) == {"! Not loadable"}
    box.fill("banned helper")
    assert rows(page) and all("banned helper" in reason for reason in column(page, "Reason"))


@pytest.mark.parametrize(
    "hash",
    [
        "#?group=99999&clause=-1&case=x&status=constructor&sort=__proto__&size=3&first=-7",
        "#?group=length&clause=length&case=length&status=toString&sort=undefined",
        "#?rows=99999",
        "#?rows=1.x.2",
        "#?rows=1..2",
        "#?low=%3Cimg%3E&words=%00%22&first=1e9",
        "#?%E0%A4%A",
        "#mistakes",
    ],
)
def test_an_address_that_makes_no_sense_does_no_harm(looker: Looker, source: str, hash: str) -> None:
    page = looker.open(source)
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(address + hash)
    page.get_by_label("Status").select_option("failed")
    assert " of " in told(page) and page.locator("#table tbody img").count() == 0


def test_the_heat_map_is_read_by_keyboard_and_has_a_table(looker: Looker, source: str) -> None:
    page = looker.open(source)
    heat = page.get_by_role("application")
    heat.focus()
    cell = page.locator("#cell")
    first = cell.inner_text()
    assert "Token embeddings:" in first
    page.keyboard.press("ArrowDown")
    assert "Position embeddings:" in cell.inner_text()
    page.keyboard.press("End")
    assert cell.inner_text() != first
    name = cell.inner_text().split(", Position")[0]
    page.keyboard.press("Enter")
    assert told(page) == f"1 of {TOTAL} submissions: {name}." and column(page, "Name") == [name]
    # It shows whom the table shows, and so does its table.
    page.locator("#heat-table summary").press("Enter")
    lines = page.locator("#heat-table tbody tr")
    # It is filled after it has unfolded.
    expect(lines).to_have_count(1)
    assert lines.first.locator("th").inner_text() == name
    page.get_by_role("button", name="Show all", exact=True).click()
    assert lines.count() == ROWS_SHOWN
    page.locator("#rows").get_by_role("button", name="Softmax").press("Enter")
    assert "clause Softmax fails" in told(page)


def test_fields_of_the_heat_map_are_as_dark_as_the_table_says(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.get_by_label("Columns by").select_option("table")
    page.locator("#heat-table summary").click()
    expect(page.locator("#heat-table tbody tr")).to_have_count(ROWS_SHOWN)
    shades: list[list[int]] = page.evaluate(
        """() => {
          const svg = document.querySelector("#map svg");
          const { width, height } = svg.viewBox.baseVal;
          const point = (x, y) => Object.assign(svg.createSVGPoint(), { x: x + .5, y: y + .5 });
          const paths = [...svg.querySelectorAll("path")];
          return [...Array(Math.min(width, 25)).keys()].map((x) => [...Array(height).keys()].map(
            (y) => paths.findIndex((path) => path.isPointInFill(point(x, y)))));
        }"""
    )
    figures = page.locator("#heat-table tbody").evaluate(
        "(body) => [...body.rows].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent))"
    )
    assert len(shades) == len(figures) == ROWS_SHOWN
    for column_of, row in zip(shades, figures, strict=True):
        for shade, figure in zip(column_of, row, strict=True):
            if figure == "–":
                assert shade == -1
            else:
                failed, judged = map(int, figure.split(" of "))
                assert shade == -(-4 * failed // judged)


def test_what_nobody_was_judged_in_is_hatched_and_passed_fields_are_not(looker: Looker, source: str) -> None:
    page = looker.open(source)
    legend = page.locator("section:has(#clauses) .legend li")
    assert legend.last.inner_text().strip() == "not judged"
    hatched = legend.last.locator("svg").evaluate("(one) => getComputedStyle(one).backgroundImage")
    assert hatched.startswith("repeating-linear-gradient")
    # Fields lie over the hatching of the whole map, so each must hide it.
    assert page.locator("#map").evaluate("(one) => getComputedStyle(one).backgroundImage") == hatched
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        fills = [
            page.locator(f"#map .h{shade}").evaluate("(one) => getComputedStyle(one).fill")
            for shade in range(5)
        ]
        assert len(set(fills)) == 5 and all(fill.startswith("rgb(") for fill in fills)
    page.get_by_label("Search").fill("no such name")
    assert not page.locator("#map").is_visible()
    assert page.locator("#cell").inner_text() == "No submission is shown."
    page.get_by_label("Search").fill("")
    assert page.locator("#map").is_visible() and page.locator("#cell").inner_text() == ""


@pytest.mark.parametrize("width", [1280, 1100, 800, 390, 320])
def test_rows_of_tiles_are_full(looker: Looker, width: int) -> None:
    everyone = class_of(30)
    unscored = [r for r in everyone if r.status == "grader_fault"] or [every_kind()["grader_fault"]]
    for records in (everyone, unscored):
        for missing in ([], [Person("Nora Late", "0017")]):
            page = looker.open(page_of_rows(class_rows(records), missing=missing), width=width)
            boxes = [tile.bounding_box() for tile in page.locator(".tiles > div").all()]
            assert len(boxes) == 5 + 2 * (records is everyone) + len(missing)
            ends: dict[float, float] = {}
            for box in boxes:
                assert box is not None
                ends[box["y"]] = max(ends.get(box["y"], 0), box["x"] + box["width"])
            assert max(ends.values()) - min(ends.values()) < 1
            assert page.locator(".tiles").evaluate("(one) => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [1280, 390])
def test_counts_of_a_large_class_stay_on_a_line(looker: Looker, width: int) -> None:
    page = looker.open(class_page(class_of(5_000)), width=width)
    for place, digits in (("#bars .count", 4), (".look b", 3)):
        counts = page.locator(place)
        assert max(len(text) for text in counts.all_inner_texts()) >= digits
        heights = {box["height"] for one in counts.all() if (box := one.bounding_box()) and box["height"]}
        assert len(heights) == 1


def test_a_class_of_5000_answers_at_once(looker: Looker) -> None:
    page = looker.open(class_page(class_of(5_000)))
    assert told(page) == "All 5000 submissions."
    page.get_by_label("Search").fill("émile stone 49")
    assert told(page).startswith(f"{len(rows(page))} of 5000") and rows(page)
    assert all(name.startswith("Émile Stone") and "49" in name for name in column(page, "Name"))
    page.get_by_label("Search").fill("")
    assert "Each column stands for 13 submissions." in page.locator("#cell").inner_text()


def test_names_are_behind_a_click(looker: Looker, source: str) -> None:
    page = looker.open(source)
    names = page.locator("section:has(#mistakes) details.who p").first
    assert not names.is_visible()
    page.locator("section:has(#mistakes) details.who summary").first.press("Enter")
    assert names.is_visible()
    for one in page.locator("details[data-rest]").all():
        count = int(one.locator("summary").inner_text().split()[0])
        one.locator("summary").press("Enter")
        shown = min(count, 100)
        # A browser tells of the unfolding a moment later.
        expect(one.locator("a")).to_have_count(shown)
        assert (f"and {count - shown} more" in one.inner_text()) == (count > 100)
    assert page.locator("details[data-rest]").count() > 0


def test_the_list_of_where_to_look_shows_those_it_counts(looker: Looker, source: str) -> None:
    page = looker.open(source)
    lines = page.locator(".look li")
    assert lines.count() > 1
    for line in lines.all():
        for link in line.locator("a").all():
            assert page.locator(link.get_attribute("href") or "").count() == 1
        if line.locator("button").count():
            line.locator("button").press("Enter")
            count = int(line.locator("b").inner_text())
            assert told(page).startswith(f"{count} of ")


def test_rows_stand_below_one_another_where_there_is_no_room(looker: Looker, source: str) -> None:
    page = looker.open(source, width=390)
    for table in page.locator(".scroll:has(> .list)").all():
        assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    page.locator("#table th button", has_text="Score").press("Enter")
    assert page.locator("#table th[aria-sort]").inner_text().startswith("Score")


def test_hostile_names_stay_texts_when_scripts_write_them(looker: Looker) -> None:
    records = [replace(r, submission=info(HOSTILE, f"s{k}")) for k, r in enumerate(class_of(60))]
    page = looker.open(class_page(records), width=390)
    page.locator("#table th", has_text="Name").locator("button").click()
    page.locator("#pager").get_by_role("button", name="Next").click()
    assert page.locator("#table tbody").locator("script, img, b, i").count() == 0
    assert "<script>" in column(page, "Name")[0]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_printing_shows_all_rows_and_folds_nothing(looker: Looker, source: str) -> None:
    page = looker.open(source)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(rows(page)) == TOTAL and page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(rows(page)) == ROWS_SHOWN and page.locator("details[open]").count() == 0
