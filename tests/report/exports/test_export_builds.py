"""JUnit XML that every reader takes, and commands and Markdown for GitHub in which no text acts."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from random import Random
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from samples import failing, grader_fault, hostile, named, not_loadable, passing, result, violated

from grader.judge.scoring import rounded
from grader.positions import Part
from grader.report.exports import github, junit
from grader.report.exports.saying import summary
from grader.report.github.workflow import MAX_ANNOTATIONS, SUMMARY_BYTES
from grader.result import Adjustment, CaseResult, Output, Result

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)
KINDS = [passing(), failing(), not_loadable(), violated(), grader_fault(), hostile()]

# --- JUnit ----------------------------------------------------------------------------------------


def assert_junit(data: bytes) -> ET.Element:
    """The structure that Jenkins and Surefire agree on."""
    assert data.startswith(b"<?xml version='1.0' encoding='utf-8'?>")
    root = ET.fromstring(data)
    assert root.tag == "testsuites"
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in root:
        assert suite.tag == "testsuite" and suite.get("name")
        tags = [child.tag for child in suite]
        order = ["properties", "testcase", "system-out", "system-err"]
        assert tags == sorted(tags, key=order.index) and tags.count("properties") == 1
        for one in suite.iter("property"):
            assert one.attrib.keys() == {"name", "value"}
        tests = suite.findall("testcase")
        for test in tests:
            assert test.get("name") and test.get("classname") and float(test.get("time", "x")) >= 0
            assert [c.tag for c in test] in ([], ["failure"], ["error"], ["skipped"])
            assert all(c.attrib.keys() == {"type", "message"} for c in test)
        counted = {
            "tests": len(tests),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        for name, count in counted.items():
            assert int(suite.get(name, "x")) == count
            totals[name] += count
        assert float(suite.get("time", "x")) >= 0
    assert {name: int(root.get(name, "x")) for name in totals} == totals
    return root


def test_every_kind_of_record_is_valid() -> None:
    root = assert_junit(junit.xml(KINDS))
    assert len(root) == len(KINDS)
    by_name = {suite.get("name"): suite for suite in root}
    loading = by_name["Blaise Pascal"]
    assert loading.find("testcase[@name='(loading)']/failure") is not None
    assert loading.get("failures") == "1" and loading.get("skipped") == "17"
    assert by_name["Evariste Galois"].find("testcase[@name='(policy)']/failure") is not None
    fault = by_name["Ada Byron"]
    assert fault.get("failures") == "0" and fault.get("errors") == "18"
    values = {p.get("name"): p.get("value") for p in fault.iter("property")}
    assert values["score"] == "" and values["status"] == "grader_fault"


def test_a_failing_check_says_what_was_found() -> None:
    root = assert_junit(junit.xml([failing()]))
    (test,) = [t for t in root.iter("testcase") if t.get("name", "").startswith("nothing_")]
    (failure,) = test
    assert failure.tag == "failure" and failure.get("type") == "raised"
    assert "line 41, in _pick_rows" in (failure.text or "")
    names = [test.get("name") for test in root.iter("testcase")]
    assert len(set(names)) == len(names)


def test_students_of_the_same_name_are_told_apart() -> None:
    records = [
        replace(failing(), submission=replace(failing().submission, id=f"s{at}", name=name))
        for at, name in enumerate(["Sam Smith", "Ada", "Sam Smith"])
    ]
    root = assert_junit(junit.xml(records))
    assert [suite.get("name") for suite in root] == ["Sam Smith (s0)", "Ada", "Sam Smith (s2)"]
    keys = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]
    assert len(set(keys)) == len(keys)
    assert {str(name).partition(".")[0] for name, _ in keys} == {s.get("name") for s in root}
    rows = [line for line in github.summary(records).splitlines() if line.startswith(("| <code>", "####"))]
    shown = [unescape(re.sub("<[^>]*>", "", row)) for row in rows]
    for name in ("Sam Smith (s0)", "Ada", "Sam Smith (s2)"):
        assert sum(f"{name} |" in row for row in shown) == sum(row == f"#### {name}" for row in shown) == 1


@given(st.integers(0, 60), st.randoms(use_true_random=False))
def test_all_lines_together_add_up_to_the_score(count: int, random: Random) -> None:
    given_ = [Adjustment(f"by hand {at}", random.randint(-500, 500) / 100) for at in range(count)]
    record = result(adjustments=tuple(given_))
    told = [*summary(record.for_student()), *unescape(github.summary([record])).splitlines()]
    found = [re.match(r"(?:- )?([+−]?)([\d.]+) points: ", line) for line in told]
    shown = [Fraction(m[2]) * (-1 if m[1] == "−" else 1) for m in found if m]
    points = sum(Fraction(str(case.points)) for case in record.cases)
    # Both outlets have told them all.
    assert 2 * points + sum(shown) == 2 * Fraction(str(rounded(record.score or 0.0)))


def test_junitparser_reads_it() -> None:
    junitparser = pytest.importorskip("junitparser")
    data = junit.xml(KINDS)
    read = junitparser.JUnitXml.fromstring(data)
    assert [suite.tests for suite in read] == [int(suite.get("tests", "")) for suite in assert_junit(data)]


def filled(text: str) -> Result:
    """A record with a text in every field that an outlet shows."""
    one = hostile(text)
    first, *rest = one.cases
    return replace(one, cases=(first, *rest), output=Output(text, text))


@given(ANY_TEXT)
def test_no_text_breaks_the_xml(text: str) -> None:
    root = assert_junit(junit.xml([filled(text)]))
    for element in root.iter():
        for value in (element.text or "", element.tail or "", *element.attrib.values()):
            assert not re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", value)


def test_what_xml_cant_hold_is_replaced_visibly() -> None:
    found = assert_junit(junit.xml([result(message="a\x00b\x0bc\ud800d\uffffe]]>f<!--g", status="failed")]))
    (text,) = [out.text or "" for out in found.iter("system-out")]
    assert "a␀b␋c\\ud800d\\uffffe]]>f<!--g" in text


# --- Annotations ----------------------------------------------------------------------------------

COMMAND = re.compile(r"::(error|warning)(?: ([^:\n]*))?::(.*)")
PROPERTIES = {"file", "line", "col", "title"}


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A command as the runner reads it."""
    found = COMMAND.fullmatch(line)
    assert found, line
    kind, told, message = found.groups()
    properties = dict(pair.split("=", 1) for pair in told.split(",")) if told else {}
    assert set(properties) <= PROPERTIES

    def plain(text: str) -> str:
        for sign, code in ((":", "%3A"), (",", "%2C"), ("\r", "%0D"), ("\n", "%0A"), ("%", "%25")):
            text = text.replace(code, sign)
        return text

    return kind, {key: plain(value) for key, value in properties.items()}, plain(message)


def test_annotations_stand_at_the_line() -> None:
    found = [read(line) for line in github.annotate(failing(), "week3")]
    raised = next(one for one in found if "need at least one array" in one[2])
    assert raised[1]["file"] == "week3/solution.py" and raised[1]["line"] == "41"
    assert raised[1]["title"] == "Raised an exception: nothing_selected: Nothing is selected"
    assert "\nHint: With nothing selected" in raised[2]
    assert any("2 hidden checks fail: " in message for _, _, message in found)
    violation = next(read(line) for line in github.annotate(violated()))
    assert violation[1]["line"] == "31" and violation[1]["col"] == "12"


def test_a_cell_of_a_notebook_is_named_and_a_module_has_its_file() -> None:
    parts = (
        Part("cell", "cell 1", 1, 30),
        Part("cell", "cell 2", 31, 20),
        Part("module", "tools/heads.py", 51, 10, "tools.heads"),
    )
    one = failing()
    info = replace(one.submission, path="/class/s002/work.ipynb", parts=parts)
    found = [read(line) for line in github.annotate(replace(one, submission=info))]
    raised = next(one for one in found if "need at least one array" in one[2])
    assert raised[1]["file"] == "work.ipynb" and "line" not in raised[1]
    assert raised[1]["title"].startswith("Raised an exception in cell 2, line 11: nothing_selected")
    inside = {"nothing_selected": {"traceback": [[52, "f"]]}}
    cases = [replace(c, details=inside.get(c.id, c.details)) for c in one.cases]
    found = [read(line) for line in github.annotate(replace(one, submission=info, cases=tuple(cases)), "hw")]
    raised = next(one for one in found if "need at least one array" in one[2])
    assert raised[1]["file"] == "hw/tools/heads.py" and raised[1]["line"] == "2"


def mistaken(text: str) -> Result:
    """A record of whose answers a known mistake tells, every text of it the same."""
    page = {
        "id": "m",
        "title": text,
        "clause": "heads",
        "what": text,
        "why": text,
        "looks": text,
        "instead": text,
    }
    found = {"ids": ["m"], "title": text, "told_by": "values", "message": text, "pages": [page]}
    return replace(failing(), diagnoses=(found,))


def test_a_likely_mistake_comes_first_with_what_to_write_instead() -> None:
    kind, properties, message = read(next(iter(github.annotate(mistaken("x = 1\ny = 2"), "hw", 12))))
    assert (kind, properties["file"], properties["line"]) == ("error", "hw/solution.py", "12")
    assert properties["title"] == "Likely mistake: x = 1 y = 2"
    assert message == "x = 1\ny = 2\nWhy it is wrong: x = 1 y = 2\nWhat to write instead: x = 1\ny = 2"
    # What is told from an exception has its annotation at the line already.
    raised = replace(failing(), diagnoses=({"told_by": "raised", "title": "t", "message": "m"},))
    assert not any("Likely mistake" in line for line in github.annotate(raised))


@given(ANY_TEXT)
def test_no_text_of_a_mistake_ends_its_command(text: str) -> None:
    for line in github.annotate(mistaken(f"{text}\n::error::y")):
        assert len(line.splitlines()) == 1 and read(line)


def test_what_has_no_line_of_its_own_stands_at_the_function() -> None:
    found = [read(line) for line in github.annotate(failing(), "", 7)]
    lines = {properties["title"]: properties["line"] for _, properties, _ in found[:-1]}
    assert lines["Raised an exception: nothing_selected: Nothing is selected"] == "41"
    assert set(lines.values()) == {"7", "41"}


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Line 4 is not valid Python: '(' was never closed.", "4"),
        ("Loading the file raised AttributeError in line 3: module in line 8", "3"),
        ("The file defines no f; did you mean to rename the one in line 9?", None),
        ("Loading the file raised SystemExit: bye in line 5", None),
        ("Line 99999999999 is not valid Python", None),
    ],
)
def test_a_file_that_can_not_be_loaded_is_told_at_the_line(message: str, line: str | None) -> None:
    record = replace(not_loadable(), message=message)
    ((_, properties, said),) = [read(one) for one in github.annotate(record)]
    assert (properties.get("line"), said) == (line, message)
    cells = replace(record.submission, parts=(Part("cell", "cell 1", 1, 30),))
    ((_, properties, _),) = [read(one) for one in github.annotate(replace(record, submission=cells))]
    assert "line" not in properties


def test_no_more_annotations_than_are_shown() -> None:
    one = replace(named("no_blocks"), verdict="wrong_value", points=0.0, message="x")
    many = result({}, cases=tuple(replace(one, id=f"c{n}") for n in range(30)), status="failed")
    found = list(github.annotate(many))
    assert len(found) == MAX_ANNOTATIONS and "21 more problems" in found[-1]


@pytest.mark.parametrize("record", KINDS, ids=lambda r: r.status)
def test_every_line_is_one_command(record: Result) -> None:
    for line in github.annotate(record):
        assert read(line)


@given(ANY_TEXT)
def test_no_text_ends_or_begins_a_command(text: str) -> None:
    for line in github.annotate(filled(f"{text}\n::stop-commands::x\r\n::error::y")):
        assert len(line.splitlines()) == 1
        _, properties, message = read(line)
        assert "stop-commands" in message + properties.get("title", "")


# --- Summary --------------------------------------------------------------------------------------


class Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.inside: list[str] = []
        self.loose: list[str] = []
        self.coded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.coded if "code" in self.inside else self.loose).append(data)


# All that our own pattern makes.
TAGS = {"h3", "h4", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}


def rendered(records: list[Result]) -> Elements:
    """As GitHub renders it: CommonMark with tables."""
    renderer = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    found = Elements(renderer.render(github.summary(records)))
    assert not found.inside
    assert {tag for tag, _ in found.found} <= TAGS
    allowed = {("style", "text-align:right")}
    assert all(set(attributes) <= allowed for _, attributes in found.found)
    return found


def test_a_summary_shows_the_class_and_what_is_wrong() -> None:
    found = rendered(KINDS)
    text = "".join(found.loose + found.coded)
    assert "Noether, Emmy" in text and "5 of 44 values are off" in text and "Grader fault" in text
    assert [tag for tag, _ in found.found].count("table") >= 3


@given(ANY_TEXT)
def test_no_text_breaks_the_markdown(text: str) -> None:
    one, other = rendered([filled(text or "-")]), rendered([filled("x")])
    # The same elements in the same order, whatever the text is.
    assert [tag for tag, _ in one.found] == [tag for tag, _ in other.found]


@pytest.mark.parametrize(
    "text",
    [
        "a | b | c",
        "`` ` ``` ~~~",
        "<img src=x onerror=alert(1)> <!-- </code></td>",
        "![x](http://evil/x.png) [a](javascript:1) <http://evil>",
        "www.evil.example http://evil.example mail me@evil.example",
        "# head\n- item\n1. item\n> quote\n---\n\n    code",
        "\\| \\` &#124; &lt;b&gt; **b** __b__ ~~s~~ $x$ :smile: #12 [^1]",
    ],
)
def test_markdown_is_shown_as_it_was_written(text: str) -> None:
    found = rendered([result(message=text, status="failed")])
    assert " ".join(text.split()) in "".join(found.coded).replace("\u200b", "")


def test_nobody_is_mentioned_and_no_address_linked() -> None:
    markdown = github.summary([result(message="@teacher me@evil.example", status="failed")])
    assert "@" not in markdown and "@\u200bteacher" in "".join(rendered([result(message="@teacher")]).coded)


def test_a_summary_is_no_longer_than_github_takes() -> None:
    case = replace(named("no_blocks"), verdict="wrong_value", points=0.0, message="|" * 600, hint="*" * 400)
    cases: tuple[CaseResult, ...] = tuple(replace(case, id=f"c{n}") for n in range(200))
    many = [result({}, cases=cases, status="failed") for _ in range(20)]
    markdown = github.summary(many)
    assert len(markdown.encode()) <= SUMMARY_BYTES and "more submissions are left out" in markdown
    wide = github.summary([passing()] * 30_000)
    assert len(wide.encode()) <= SUMMARY_BYTES and wide.endswith("|\n")
