"""What to fix first: read from a record, on the page and in the terminal."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page, assert_inert
from samples import (
    BY_WIDTH,
    CHANGED,
    HOSTILE,
    LATER_HIDDEN,
    NOT_SCALED,
    RAISED,
    counterexample,
    details,
    diagnosed,
    diagnosis,
    failing,
    influence,
    named,
    page,
    paired,
    passing,
    raising,
    undecided,
    undiagnosed,
)
from terminals import HOSTILE_TEXTS, shown

from grader.judge.explanations import PAGES, TITLES
from grader.report.advice import is_prose, read_advice
from grader.report.html import student_page, teacher_page
from grader.report.influence import read_influence
from grader.report.submission_page import influence_markup as drawing
from grader.report.values import differing, slices
from grader.result import Result
from grader.summary import Summary

ADVISED = {
    "diagnosed": diagnosed(),
    "paired": paired(),
    "undecided": undecided(),
    "undiagnosed": undiagnosed(),
    "raising": raising(),
}
EVERY = pytest.mark.parametrize("kind", ADVISED)


def section(source: str) -> str:
    """The source of the section on what to fix first."""
    begin = source.index('<section class="advice"')
    return source[begin : source.index("</section>", begin) + len("</section>")]


def widest(out: str) -> int:
    """Characters of the longest line, without the one that is there to be copied."""
    return max(len(line) for line in out.splitlines() if not line.startswith("reproduce it"))


def plain(source: str) -> str:
    return " ".join(Page(section(source)).text.split())


# --- The record -----------------------------------------------------------------------------------


@EVERY
def test_a_record_survives_json_and_its_students_view_keeps_what_to_fix(kind: str) -> None:
    record = ADVISED[kind]
    assert Result.from_dict(json.loads(record.to_json())) == record
    seen = record.for_student()
    for field in ("diagnoses", "undiagnosed", "counterexample", "influence"):
        assert getattr(seen, field) == getattr(record, field)


@EVERY
def test_both_views_say_the_same(kind: str) -> None:
    assert section(student_page(ADVISED[kind])) == section(teacher_page(ADVISED[kind]))


def test_a_record_of_an_earlier_version_loads_and_has_nothing_to_fix() -> None:
    data = json.loads(failing().to_json())
    for key in ("undiagnosed", "influence", "demands", "loading", "excerpt"):
        del data[key]
    record = Result.from_dict(data)
    assert record == failing()
    assert read_advice(record) is None
    assert student_page(record) == student_page(failing())
    assert "What to fix first" not in shown(record)
    # A page begins with the clause that holds least.
    assert "The first of these checks" in student_page(record)


@EVERY
def test_a_record_in_short_keeps_what_the_diagnoses_name(kind: str) -> None:
    record = ADVISED[kind]
    short = Summary.of(record)
    assert Summary.from_json(short.to_json()) == short
    told = [[(m.id, m.title, m.clause) for m in d.mistakes] for d in short.diagnoses]
    assert told == [[(p["id"], p["title"], p["clause"]) for p in d["pages"]] for d in record.diagnoses]
    assert [d.counted for d in short.diagnoses] == [d["of"] > 0 for d in record.diagnoses]


def test_a_record_in_short_of_an_earlier_version_names_nothing() -> None:
    data = json.loads(Summary.of(failing()).to_json())
    del data["diagnoses"]
    assert Summary.from_json(json.dumps(data)) == Summary.of(failing())


def test_a_diagnosis_without_a_page_tells_its_title_and_message() -> None:
    record = replace(failing(), diagnoses=({"title": "A title", "message": "A message.", "fits": 3},))
    for text in (plain(student_page(record)), shown(record)):
        assert "A title" in text and "A message." in text


# --- Mistakes -------------------------------------------------------------------------------------


def test_what_to_fix_first_stands_directly_below_the_verdict() -> None:
    text = Page(student_page(diagnosed())).text
    order = [text.index(t) for t in ("6 checks did not pass", "What to fix first", "Notes", "What holds and")]
    assert order == sorted(order)
    lines = shown(diagnosed()).splitlines()
    assert lines.index("What to fix first") < next(n for n, t in enumerate(lines) if "Softmax  softmax" in t)


def test_a_page_tells_what_it_does_why_it_is_wrong_and_what_to_write() -> None:
    source = section(student_page(diagnosed()))
    text = plain(student_page(diagnosed()))
    for told in (
        "Scores are not divided",
        "Attention scores",
        "This explains the answers of 17 of 17 cases.",
    ):
        assert told in text
    for key in ("what", "why"):
        assert " ".join(NOT_SCALED[key].split()) in text
    for key in ("looks", "instead"):
        assert f"<code>{NOT_SCALED[key]}</code></pre>" in source


def test_sections_that_a_page_does_not_have_are_left_out() -> None:
    text = plain(student_page(raising()))
    assert RAISED["title"] in text and RAISED["why"] in text
    assert "How it looks" not in text and "What to write instead" not in text
    assert "instead" not in shown(raising())


@pytest.mark.parametrize("verdict", PAGES)
def test_sentences_are_set_as_such_and_code_as_code(verdict: str) -> None:
    page = PAGES[verdict]
    told = {"id": verdict, "title": TITLES[verdict], "clause": "", **vars(page)}
    source = section(student_page(replace(raising(), diagnoses=(diagnosis(told, message="Said.", of=0),))))
    code = html.unescape("".join(re.findall(r"<code>(.*?)</code></pre>", source, re.DOTALL)))
    if is_prose(page.instead):
        assert "<dt>What to do</dt>" in source and "What to write instead" not in source
        assert page.instead not in code
    else:
        assert page.instead in code and "What to do" not in source


def test_a_pair_is_told_as_both() -> None:
    text = plain(student_page(paired()))
    assert "Both of these" in text and "One of these" not in text
    assert NOT_SCALED["title"] in text and LATER_HIDDEN["title"] in text
    assert text.index("Beside that") < text.index(CHANGED["title"])
    out = shown(paired())
    assert out.index("Together: This explains") < out.index(NOT_SCALED["title"]) < out.index("and Later")


def test_several_explanations_are_told_as_alternatives() -> None:
    told = "One of these 3; the checks can't tell which. Each explains the answers of 17 of 17 cases."
    text = plain(student_page(undecided()))
    assert text.index(told) < text.index(NOT_SCALED["title"])
    assert told in " ".join(shown(undecided()).split())
    for one in (NOT_SCALED, BY_WIDTH, LATER_HIDDEN):
        assert one["title"] in text and one["title"] in shown(undecided())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("This explains the answers of {} of 6 cases", "Each explains the answers of 6 of 6 cases."),
        ("These two together explain {} of 6 answers", "Each pair explains 6 of 6 answers."),
    ],
)
def test_what_holds_of_all_alternatives_is_said_once(said: str, told: str) -> None:
    others = "; the cases can't tell it from the other one below or above."
    for counts in ((6, 6), (6, 5)):
        found = [
            diagnosis(one, message=said.format(count) + others)
            for one, count in zip((NOT_SCALED, BY_WIDTH), counts, strict=True)
        ]
        record = replace(failing(), diagnoses=tuple(found))
        for text in (section(student_page(record)), " ".join(shown(record).split())):
            text = html.unescape(text)
            assert text.count("can't tell") == 1 and "below or above" not in text
            assert (told in text) == (counts == (6, 6))
            assert (said.format(5) + "." in text) == (counts == (6, 5))


def test_what_holds_beside_a_mistake_is_no_alternative_to_it() -> None:
    both = (
        diagnosis(NOT_SCALED, message="This explains it."),
        diagnosis(CHANGED, message="It is changed.", of=0),
    )
    record = replace(failing(), diagnoses=both)
    for text in (plain(student_page(record)), shown(record)):
        assert "One of these" not in text
        assert NOT_SCALED["title"] in text and CHANGED["title"] in text


def test_where_nothing_fits_that_is_said_with_the_clause_that_holds_least() -> None:
    text = plain(student_page(undiagnosed()))
    assert undiagnosed().undiagnosed in text
    assert "What holds least is the clause Softmax." in text
    out = shown(undiagnosed())
    assert undiagnosed().undiagnosed in out and "What holds least: Softmax." in out


# --- The small example ----------------------------------------------------------------------------


def test_the_example_shows_inputs_both_answers_the_step_and_a_snippet() -> None:
    text = plain(student_page(diagnosed()))
    for told in (
        "N = 1, T = 2, V = 1, D = 2, L = 1, num_heads = 1",
        "blocks_weights float64 (1, 6, 2, 2)",
        "[0, 3] the identity",
        "[0, 4], [0, 5] all 0",
        "1.8808",
        "1.66976",
        "The first step where they part The scores, divided by the root of d_head scale_scores",
        "0.707107",
        "from solution import mlm_forward",
    ):
        assert told in text
    out = " ".join(shown(diagnosed()).split())
    for told in (
        "pos_embed = [[0, 1], [0, 0]]",
        "blocks_weights: [0, 0], [0, 1], [0, 2] = [[0, 0], [0, 1]]; [0, 3] the identity; [0, 4], [0, 5] all",
        "1.8808 1.6698",
        "first step where they part: The scores, divided by the root of d_head (scale_scores)",
        "expected [[[[0.707107, 0], [0, 0]]]]",
    ):
        assert told in out


def test_an_answer_that_is_no_array_is_told_in_words_in_its_place() -> None:
    source = section(student_page(paired()))
    text = plain(student_page(paired()))
    assert "raised IndexError in line 7: index 3 is out of bounds for &lt;ids&gt;" in source
    assert re.search(r"Obtained raised IndexError .* Expected", text)
    assert "The first step" not in text
    assert "raised IndexError in line 7" in shown(paired())


def test_where_the_answer_is_right_only_what_happens_is_told() -> None:
    said = "pos_embed is changed by the call. The answer is right."
    example = counterexample(obtained=None, expected=None, message=said, trace=None)
    record = replace(diagnosed(), counterexample=example)
    text = plain(student_page(record))
    assert f"What happens {said} Try it yourself" in text
    assert "Obtained" not in text and "Expected" not in text
    out = shown(record)
    assert said in " ".join(out.split())
    assert "obtained" not in out.partition("example")[2].partition("moves")[0]


def test_a_snippet_that_is_not_to_stand_beside_a_file_says_where_to_run_it() -> None:
    beside = "Save it beside your file and run it with Python."
    assert beside in plain(student_page(diagnosed()))
    text = "# To be run where mlm_forward is the function that was checked.\nimport numpy as np\n"
    record = replace(diagnosed(), counterexample=counterexample(snippet=text))
    told = plain(student_page(record))
    assert beside not in told and "Its first line says where to run it." in told


def test_a_later_run_of_a_step_is_told() -> None:
    trace = counterexample()["trace"] | {"times": 3}
    record = replace(diagnosed(), counterexample=counterexample(trace=trace))
    assert "run 3 of this step" in plain(student_page(record))
    assert "(scale_scores, run 3)" in " ".join(shown(record).split())


@pytest.mark.parametrize(("times", "said"), [(1, "scale_scores"), (3, "scale_scores, run 3")])
def test_a_step_without_a_title_is_told_by_its_name(times: int, said: str) -> None:
    trace = counterexample()["trace"] | {"title": "", "times": times}
    out = shown(replace(diagnosed(), counterexample=counterexample(trace=trace)))
    assert f"first step where they part: {said}\n" in out


def test_the_elements_that_differ_are_marked() -> None:
    example = counterexample(obtained=[[1.0, 2.0], [3.0, 4.5]], expected=[[1.0, 2.0 + 1e-9], [3.0, 4.0]])
    source = section(student_page(replace(diagnosed(), counterexample=example)))
    answers, step = source.split("The first step where they part")
    assert re.findall(r"<mark>(.*?)</mark>", answers) == ["4.5", "4"]
    trace = example["trace"]
    assert len(re.findall(r"<mark>", step)) == 2 * len(differing(trace["obtained"], trace["expected"])) > 0
    assert "Framed: what differs." in answers
    nothing = counterexample(obtained=None, message="It raised ValueError.", trace=None)
    assert "what differs." not in section(student_page(replace(diagnosed(), counterexample=nothing)))


def test_the_copy_button_is_beside_the_snippet() -> None:
    source = section(student_page(diagnosed()))
    code = source[source.index('<div class="code">') :]
    assert code.index('class="copy"') < code.index("<pre") < code.index("import numpy as np")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-12], ()),
        ([1.0, 2.0], [1.5, 2.0], ((0,),)),
        ([[1, 2]], [[1, 3]], ((0, 1),)),
        ([["nan", 2]], [[1, 2]], ((0, 0),)),
        (["nan"], ["nan"], ()),
        (3, 4, ((),)),
        ([1, 2], [1, 2, 3], ()),
        (None, [1], ()),
        ([10**400], [1.0], ((0,),)),
        ([[1], [2, 3]], [[1], [2, 4]], ()),
    ],
)
def test_where_two_arrays_differ(one: Any, other: Any, found: tuple[tuple[int, ...], ...]) -> None:
    assert differing(one, other) == found


def test_equal_matrices_stand_together_in_words_where_there_are_any() -> None:
    zeros, unit, other = [[0, 0], [0, 0]], [[1, 0], [0, 1.0]], [[1, 2], [3, 4]]
    found = slices([[zeros, other], [unit, zeros]], 4)
    assert [(s.places, s.words) for s in found] == [
        (("[0, 0]", "[1, 1]"), "all 0"),
        (("[0, 1]",), ""),
        (("[1, 0]",), "the identity"),
    ]
    assert slices([[5]], 2)[0].words == "" and slices(other, 2)[0].places == ("",)


# --- The map --------------------------------------------------------------------------------------


@st.composite
def maps(draw: st.DrawFn) -> dict[str, Any]:
    shape = draw(st.sampled_from([[1, 2], [2, 2], [2, 4], [3, 1], [5], [2, 2, 2]]))
    size = math.prod(shape)
    columns = draw(st.just(size) | st.integers(1, 9))
    rows = st.lists(st.text("10?", min_size=columns, max_size=columns), min_size=size, max_size=size)
    return {
        "argument": "x",
        "shape": shape,
        "obtained": draw(rows),
        "expected": draw(rows),
        "message": "A message.",
    } | draw(st.sampled_from([{}, {"axes": ["N", "T", "D"][: len(shape)]}]))


def cells(signs: list[str], sign: str) -> set[tuple[int, int]]:
    return {(r, c) for r, row in enumerate(signs) for c, s in enumerate(row) if s == sign}


def wrong(data: Mapping[str, Any]) -> set[tuple[int, int]]:
    pairs = zip(data["obtained"], data["expected"], strict=True)
    return {(r, c) for r, (a, b) in enumerate(pairs) for c in range(len(a)) if a[c] != b[c]}


def drawn(svg: str, kind: str, inset: int = 0) -> set[tuple[int, int]]:
    """The cells whose corner or run of corners a path of that class has."""
    (path,) = re.findall(rf'<path class="{kind}" d="([^"]*)"', svg) or [""]
    found = set()
    for x, y, width in re.findall(r"M(\d+) (\d+)[hl](\d+)", path):
        row, column = (int(y) - inset) / drawing.CELL, int(x) - inset
        count = max(int(width) // drawing.CELL, 1)
        for at in range(count):
            found.add((int(row), column // drawing.CELL + at))
    return found


@given(maps())
def test_a_drawing_shows_every_cell_as_it_is(data: dict[str, Any]) -> None:
    record = replace(failing(), influence=data)
    if not wrong(data):
        assert read_influence(data) is None
        return
    svgs = re.findall(r"<svg class=\"map\".*?</svg>", section(student_page(record)), re.DOTALL)
    assert len(svgs) == 2
    for svg, key in zip(svgs, ("obtained", "expected"), strict=True):
        assert drawn(svg, "moved") == cells(data[key], "1")
        assert svg.count(">?</text>") == len(cells(data[key], "?"))
    assert drawn(svgs[0], "frame", 2) == wrong(data)
    # The frame's colour is not all: what has no sign of its own has a cross.
    crossed = drawn(svgs[0], "cross over", 7) | drawn(svgs[0], "cross", 7)
    assert crossed == wrong(data) - cells(data["obtained"], "?")
    assert "frame" not in svgs[1] and "cross" not in svgs[1]


@given(maps(), st.sampled_from([80, 100]))
def test_a_terminal_shows_every_cell_as_it_is(data: dict[str, Any], width: int) -> None:
    if not wrong(data):
        return
    lines = shown(replace(failing(), influence=data), width=width).splitlines()
    (begin,) = [n for n, line in enumerate(lines) if re.search(r"\byours +0\b", line)]
    found: dict[str, list[list[str]]] = {"obtained": [], "expected": []}
    size, columns = len(data["obtained"]), len(data["obtained"][0])
    cell = r"(?:██|··|█!|·!|\?!|\? ?)"
    for line in lines[begin + 1 :]:
        if "─" in line:
            continue
        if len(found["obtained"]) == size:
            break
        padded = line.replace("│", "") + " "
        halves = re.findall(rf"(?:\d|\)) +((?:{cell}){{{columns}}})", padded)
        assert len(halves) == 2, line
        for key, half in zip(found, halves, strict=True):
            found[key].append(re.findall(cell, half))
    for key in found:
        shown_signs = ["".join({"█": "1", "·": "0"}.get(c[0], c[0]) for c in row) for row in found[key]]
        assert shown_signs == data[key]
    marked = {(r, c) for r, row in enumerate(found["obtained"]) for c, s in enumerate(row) if "!" in s}
    assert marked == wrong(data)
    assert not any("!" in s for row in found["expected"] for s in row)


@given(maps())
def test_the_words_count_what_differs(data: dict[str, Any]) -> None:
    found = read_influence(data)
    if found is None:
        return
    words = found.words()
    count, of = re.findall(r"in (\d+) of (\d+) cells", words)[0]
    assert (int(count), int(of)) == (len(wrong(data)), len("".join(data["expected"])))
    kinds = re.findall(r"(?:: |; )(\d+) row", words)
    assert sum(map(int, kinds)) == len(wrong(data))
    assert words.count(" by ") == (len(wrong(data)) if len(wrong(data)) <= 12 else 0)


def test_the_words_name_the_cells_by_their_index() -> None:
    data = influence(1, 2) | {"obtained": ["10", "1?"], "expected": ["11", "01"]}
    told = (
        "Yours differs from the right map in 3 of 4 cells: 1 row that should move stays ((0, 1) by (0, 0)); "
        "1 row that should stay moves ((0, 0) by (0, 1)); 1 row is without an answer ((0, 1) by (0, 1))."
    )
    assert told in plain(student_page(replace(failing(), influence=data)))


def test_the_words_name_rows_by_their_number_where_there_is_not_one_for_each_element() -> None:
    data = influence(1, 2) | {"obtained": ["101", "110"], "expected": ["111", "010"]}
    told = (
        "Yours differs from the right map in 2 of 6 cells: 1 row that should move stays (row 1 by (0, 0)); "
        "1 row that should stay moves (row 0 by (0, 1))."
    )
    assert told in plain(student_page(replace(failing(), influence=data)))


def labels(svg: str, x: str = r"-?[\d.]+", y: str = r"-?[\d.]+") -> list[str]:
    """The texts of a drawing at places."""
    return re.findall(rf'<text[^>]* x="{x}" y="{y}">([^<]*)</text>', svg)


def svg_of(data: Mapping[str, Any]) -> str:
    return section(student_page(replace(failing(), influence=data))).split("<svg")[1]


NUMBERS, GROUPS = "-7", "-25"


@pytest.mark.parametrize(
    ("shape", "axes", "columns", "groups", "numbers", "read"),
    [
        ([2, 3], ["N", "T"], 6, ["N = 0", "N = 1"], "012012", "; both go by (N, T)."),
        ([2, 3], ["rows", "D"], 6, ["rows = 0", "rows = 1"], "012012", "; both go by (rows, D)."),
        ([2, 3], ["num_heads", "D"], 6, ["(0, …)", "(1, …)"], "012012", "; both go by (num_heads, D)."),
        ([2, 3], None, 6, ["(0, …)", "(1, …)"], "012012", "; both go by their index."),
        ([3, 1], ["N", "D"], 3, ["0", "1", "2"], "000", "; both go by (N, D)."),
        ([1, 2, 2], ["N", "T", "D"], 4, ["0, 0", "0, 1"], "0101", "; both go by (N, T, D)."),
        ([3, 2], ["N", "D"], 3, [], "012", ". Elements go by (N, D), rows of the answer by their number."),
        ([3], ["N"], 3, [], "012", "; both go by N."),
        ([3], None, 1, [], "0", ". Elements go by their index, rows of the answer by their number."),
    ],
)
def test_rows_and_columns_go_by_the_names_of_the_axes(
    shape: list[int], axes: Any, columns: int, groups: list[str], numbers: str, read: str
) -> None:
    rows = math.prod(shape)
    data = {"argument": "x", "shape": shape, "axes": axes, "message": "A message."}
    data |= {"obtained": ["0" * columns] * rows, "expected": ["1" * columns] * rows}
    svg = svg_of(data)
    assert labels(svg, y=GROUPS) == groups
    assert "".join(labels(svg, y=NUMBERS)) == numbers
    elements = [str(index if len(shape) > 1 else index[0]) for index in itertools.product(*map(range, shape))]
    assert labels(svg, x="-6") == elements
    assert f"a column a row of the answer{read}" in plain(student_page(replace(failing(), influence=data)))
    by = "index" if axes is None else read.split("by ")[1].split(", rows")[0].rstrip(".")
    both = f"row: element, column: answer's row, both by {by};"
    apart = f"row: element, by {by}; column: answer's row;"
    assert (both if "both" in read else apart) in shown(replace(failing(), influence=data), width=120)


@given(maps())
def test_everything_of_a_drawing_is_inside_it(data: dict[str, Any]) -> None:
    if not wrong(data):
        return
    svg = svg_of(data)
    numbers = re.findall(r'viewBox="(\S+) (\S+) (\S+) (\S+)" width="(\S+)" height="(\S+)"', svg)[0]
    left, top, width, height, *size = map(int, numbers)
    assert [width, height] == size
    for kind, x, y, text in re.findall(r'<text( class="end")? x="(\S+)" y="(\S+)">([^<]*)<', svg):
        begin = float(x) - len(text) * 6 * (1 if kind else 0.5)
        assert left <= begin and begin + len(text) * 6 <= left + width
        assert top + 10 <= float(y) <= top + height
    columns, rows = len(data["expected"][0]), len(data["expected"])
    assert f"M0 0h{columns * drawing.CELL}v{rows * drawing.CELL}" in svg
    assert (left + width, top + height) == (columns * drawing.CELL + 2, rows * drawing.CELL + 2)


@pytest.mark.parametrize(
    ("shape", "columns", "across", "down"),
    [([2, 3], 6, [3], [3]), ([3, 2], 3, [2, 4], []), ([4], 4, [], []), ([4], 2, [], []), ([1, 3], 5, [], [])],
)
def test_what_belongs_together_is_apart_from_the_rest(
    shape: list[int], columns: int, across: list[int], down: list[int]
) -> None:
    rows = math.prod(shape)
    signs = {"obtained": ["0" * columns] * rows, "expected": ["1" * columns] * rows}
    svg = svg_of({"argument": "x", "shape": shape, "message": ""} | signs)
    width, height = columns * drawing.CELL, rows * drawing.CELL
    found = {}
    for kind in ("lines", "border"):
        (path,) = re.findall(rf'<path class="{kind}" d="([^"]*)"', svg)
        path = path.removeprefix(f"M0 0h{width}v{height}h-{width}z")
        level = [int(y) // drawing.CELL for y in re.findall(rf"M0 (\d+)h{width}(?!\d)", path)]
        upright = [int(x) // drawing.CELL for x in re.findall(rf"M(\d+) 0v{height}(?!\d)", path)]
        assert len(level) + len(upright) == path.count("M")
        found[kind] = level, upright
    assert found["border"] == (across, down)
    assert [sorted(a + b) for a, b in zip(*found.values(), strict=True)] == [
        list(range(1, rows)),
        list(range(1, columns)),
    ]


@pytest.mark.parametrize(
    "axes", [None, "NT", [], ["N"], ["N", "T", "D"], ["N", 2], ["N", " "], ["N", "T" * 21]]
)
def test_axes_of_another_form_are_passed_over(axes: Any) -> None:
    found, named = read_influence(influence(2, 2) | {"axes": axes}), read_influence(influence(2, 2))
    assert found is not None and named is not None
    assert (found.sides.axes, named.sides.axes) == ((), ("N", "T"))
    assert replace(found, sides=named.sides) == named


def test_a_record_without_names_of_axes_is_read() -> None:
    data = influence(2, 2)
    del data["axes"]
    assert "both go by their index." in plain(student_page(replace(failing(), influence=data)))


def test_a_map_that_is_right_is_not_shown() -> None:
    same = influence(2, 2) | {"obtained": influence(2, 2)["expected"]}
    assert "What a change moves" not in student_page(replace(failing(), influence=same))


def test_a_large_map_is_left_out_in_a_terminal_that_is_too_narrow() -> None:
    record = replace(failing(), influence=influence(4, 9))
    for width in (60, 100, 200):
        out = shown(record, width=width)
        assert ("The maps are too wide for this window." in out) == (width <= 60)
        assert "A token should reach every position" in out
        assert widest(out) <= width
        assert ("██" in out) == ("row: element" in out) == (width > 60)


def test_a_terminal_counts_what_differs_where_nothing_else_tells_it() -> None:
    signs = influence(4, 9)["expected"]
    data = influence(4, 9) | {"obtained": ["0" + signs[0][1:], *signs[1:]], "message": ""}
    out = " ".join(shown(replace(failing(), influence=data), width=60).split())
    assert "Yours differs from the right map in 1 of 1296 cells: 1 row that should move stays." in out


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_says_how_maps_are_read_in_one_line_and_lists_no_cells(width: int) -> None:
    signs = influence(2, 4)["expected"]
    data = influence(2, 4) | {"obtained": ["00000000", *signs[1:]]}
    lines = shown(replace(failing(), influence=data), width=width).splitlines()
    told = "row: element, column: answer's row, both by (N, T); ██ moved, ! wrong"
    (place,) = [n for n, line in enumerate(lines) if "answer's row" in line]
    assert lines[place].strip() == told and lines[place + 1] == ""
    assert not any("differs from the right map" in line or " by (0, 0)" in line for line in lines)


def test_a_terminal_sets_apart_what_belongs_together() -> None:
    square = {"obtained": ["1100", "0100", "0011", "1011"], "expected": ["1100", "1100", "0011", "0011"]}
    assert drawn_lines(influence(2, 2) | square) == [
        "yours  0 1 │0 1     right  0 1 │0 1",
        "(0, 0) ████│····    (0, 0) ████│····",
        "(0, 1) ·!██│····    (0, 1) ████│····",
        "       ────┼────           ────┼────",
        "(1, 0) ····│████    (1, 0) ····│████",
        "(1, 1) █!··│████    (1, 1) ····│████",
    ]
    other = {"obtained": ["10", "1?", "01", "01"], "expected": ["10", "10", "01", "01"]}
    assert drawn_lines(influence(2, 2) | other) == [
        "yours  0 1     right  0 1",
        "(0, 0) ██··    (0, 0) ██··",
        "(0, 1) ██?!    (0, 1) ██··",
        "       ────           ────",
        "(1, 0) ··██    (1, 0) ··██",
        "(1, 1) ··██    (1, 1) ··██",
    ]


def drawn_lines(data: Mapping[str, Any]) -> list[str]:
    """The lines of both maps in a terminal, without what is left of them."""
    lines = shown(replace(failing(), influence=data), width=80).splitlines()
    (begin,) = [n for n, line in enumerate(lines) if "yours  0" in line]
    (end,) = [n for n, line in enumerate(lines) if "row: element" in line]
    margin = lines[begin].index("yours")
    return [line[margin:] for line in lines[begin:end]]


def test_a_terminal_explains_the_sign_of_no_answer_where_there_is_one() -> None:
    assert "! wrong, ? no answer" in shown(replace(failing(), influence=influence(2, 2)), width=100)
    signs = influence(2, 2)["expected"]
    data = influence(2, 2) | {"obtained": signs[::-1]}
    assert "no answer" not in shown(replace(failing(), influence=data), width=100)


@pytest.mark.parametrize(
    "odd",
    [
        {"shape": []},
        {"shape": [2, "2"]},
        {"shape": [0, 4]},
        {"shape": [100, 100]},
        {"shape": 4},
        {"obtained": None},
        {"obtained": ["11"] * 4},
        {"obtained": [""] * 4, "expected": [""] * 4},
        {"obtained": ["0" * 41] * 4, "expected": ["1" * 41] * 4},
        {"shape": [41], "obtained": ["0"] * 41, "expected": ["1"] * 41},
        {"obtained": ["1111"] * 3},
        {"expected": ["111x"] * 4},
        {"expected": "1111"},
    ],
)
def test_maps_of_another_form_are_passed_over(odd: dict[str, Any]) -> None:
    assert read_influence(influence(2, 2)) is not None
    assert read_influence(influence(2, 2) | odd) is None


def test_a_map_may_have_forty_rows_and_columns() -> None:
    data = influence(5, 8)
    for columns in (1, 39, 40):
        signs = {"obtained": ["0" * columns] * 40, "expected": ["1" * columns] * 40}
        assert read_influence(data | signs) is not None


# --- Terminal -------------------------------------------------------------------------------------


def test_clauses_that_hold_are_counted_where_it_is_said_what_to_fix() -> None:
    out = shown(diagnosed())
    assert "✓ 9 clauses hold" in out and "Token embeddings" not in out and "Softmax" in out
    assert "Token embeddings" in shown(diagnosed(), show_all=True)
    assert "Token embeddings" in shown(failing())


def test_a_case_goes_without_its_own_numbers_where_a_small_example_is_shown() -> None:
    assert "w_head: float64 (64, 1100)" in shown(failing())
    out = shown(diagnosed())
    assert "w_head: float64 (64, 1100)" not in out and "✗ peaked_rows" in out and "reproduce it" in out
    assert "w_head: float64 (64, 1100)" in shown(diagnosed(), show_all=True)


@EVERY
@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_longer_than_the_window(kind: str, width: int) -> None:
    out = shown(ADVISED[kind], width=width)
    assert widest(out) <= width
    assert all(line == line.rstrip() for line in out.splitlines())


def test_a_typical_report_takes_a_screen_and_a_half() -> None:
    assert len(shown(diagnosed(), width=80).splitlines()) <= 66


# --- What must not happen -------------------------------------------------------------------------


def planted(text: str) -> Result:
    """The text wherever one of the record's can be."""
    array = [[text, 1.0], [text, "nan"]]
    pages = page(text, text, text, text, text, text, text)
    return replace(
        failing(),
        diagnoses=(diagnosis(pages, pages, message=text), diagnosis(pages, message=text, of=0)),
        undiagnosed=text,
        counterexample=counterexample(
            dims={text: 1},
            inputs=[
                {"name": text, "dtype": text, "shape": [2, 2], "values": array},
                {"name": text, "dtype": text, "shape": [1, 2, 2], "values": [array]},
                {"name": text, "value": text},
            ],
            message=text,
            obtained=array,
            expected=array,
            snippet=text,
            trace={"step": text, "title": text, "obtained": [array], "expected": array, "times": 2},
        ),
        influence=influence(2, 2) | {"argument": text, "message": text, "axes": [text[:20] or "N"] * 2},
    )


@given(HOSTILE_TEXTS, st.integers(20, 100))
def test_no_text_acts_on_the_terminal(text: str, width: int) -> None:
    out = shown(planted(text), width=width)
    out.encode("utf-8")
    assert not set(out) & (set(map(chr, range(32))) - {"\n"}) and not set(out) & set("\u202e\u200b\x9b\x7f")


def test_square_brackets_are_no_markup() -> None:
    out = shown(planted("[red]x[/]"), width=200)
    assert out.count("[red]x[/]") >= 10


@pytest.mark.parametrize("text", [HOSTILE, "<b onclick=x>", "'\"><b id=planted>", "</code></pre></section>"])
def test_no_text_becomes_markup(text: str) -> None:
    source = student_page(planted(text))
    assert_inert(source)
    assert text not in source


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(values, values)
@settings(max_examples=40, deadline=None)
def test_no_value_breaks_a_page_or_a_terminal(one: Any, other: Any) -> None:
    pages = dict.fromkeys(("id", "title", "clause", "what", "why", "looks", "instead"), one)
    entry = {"name": one, "dtype": one, "shape": one, "values": other}
    example = {
        "dims": one,
        "inputs": [entry, {"name": "x", "value": one}, {"name": "x", "dtype": "f", "values": one}],
        "obtained": one,
        "expected": other,
        "message": one,
        "snippet": one,
        "trace": {"step": one, "title": one, "obtained": other, "expected": one, "times": one},
    }
    # Reading a page back takes long, so a record has all three.
    for record in (
        replace(
            failing(),
            diagnoses=({"ids": [one], "title": one, "of": 3, "pages": [pages]}, {"pages": one}),
            counterexample=example,
            influence=influence(2, 2) | {"axes": [one, other]},
        ),
        replace(
            failing(),
            diagnoses=({"ids": one, "message": one, "clause": one, "of": one},),
            counterexample=dict.fromkeys(example, one),
            influence=influence(2, 2) | {"axes": one},
        ),
        replace(failing(), influence=dict.fromkeys(("shape", "obtained", "expected", "argument"), one)),
    ):
        assert_inert(student_page(record))
        assert shown(record)


def test_fifty_megabytes_are_cut() -> None:
    record = planted("<" * 5_000_000)
    assert len(student_page(record).encode()) < 200_000
    assert len(shown(record)) < 20_000


def test_a_page_full_of_advice_and_details_stays_below_200_kilobytes() -> None:
    row = [0.123456789012] * 12
    array = {"name": "a", "dtype": "float64", "shape": [20, 12], "values": [row] * 20}
    full = details() | {"inputs": [array] * 7, "obtained": [row] * 20, "expected": [row] * 20}
    cases = tuple(
        replace(named("two_heads"), id=f"c{k}", verdict="wrong_value", message="&" * 300, details=full)
        for k in range(60)
    )
    text = "'" * 1_400
    pages = page("m", text, "heads", text, text, text, text)
    record = replace(
        planted("'" * 900),
        cases=cases,
        diagnoses=(diagnosis(pages, pages, message=text),) * 10,
        counterexample=counterexample(inputs=[array] * 7, snippet="'" * 3_000),
        influence=influence(5, 8),
    )
    source = student_page(record)
    assert len(source.encode()) < 200_000
    assert "A small example to work through" in source


def test_nothing_of_it_is_on_a_page_with_full_marks() -> None:
    assert '<section class="advice"' not in student_page(passing())
    assert "fix first" not in shown(passing())


def test_an_exception_is_not_said_again_below_the_small_example() -> None:
    ends = "It raised ValueError in line 41: no."
    for message, again in (
        (f"{ends} Of the visible checks, it happens only where N is 1.", False),
        ("No.", True),
    ):
        found = counterexample(message=ends)
        found.pop("obtained", None)
        record = replace(
            raising(), diagnoses=(diagnosis(RAISED, message=message, of=0),), counterexample=found
        )
        out = shown(replace(record, cases=()))
        assert out.count(ends) == 1 and ("It ends as said above." in out) != again
