"""JUnit XML, as Jenkins, GitLab and others read it.

Structure: the schema of Jenkins' xUnit plugin (``junit-10.xsd``, as shipped with pytest's own tests), which
also is what Maven's Surefire writes: ``testsuites`` > ``testsuite`` > ``properties``, ``testcase``,
``system-out``, ``system-err``; in a ``testcase`` at most one of ``skipped``, ``error`` and ``failure``.

A suite is a submission, a case a check. ``failure`` is the submission's doing, ``error`` the grader's. What
would be lost in checks alone has a case of its own: ``(loading)`` and ``(policy)``. It shows what a student
may see, since logs of a build are open to the one whose work it builds.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from grader.report.exports.base import Exported, ExportOptions, save
from grader.report.exports.saying import case_lines, case_name, clause_title, summary, verdict, violation
from grader.report.texts import clean, one_line
from grader.result import CaseResult, Result

FILE = "junit.xml"
MAX_TEXT = 20_000


def write(results: Iterable[Result], folder: Path, options: ExportOptions) -> Exported:
    """``junit.xml`` with a suite a submission. Raises GraderError."""
    return Exported((save(folder / FILE, xml(results)),))


def xml(results: Iterable[Result]) -> bytes:
    """The document in UTF-8."""
    root = ET.Element("testsuites", name="grader")
    named: dict[str, list[ET.Element]] = {}
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    seconds = 0.0
    for result in results:
        suite = _suite(result.for_student())
        root.append(suite)
        named.setdefault(suite.get("name", ""), []).append(suite)
        for name in totals:
            totals[name] += int(suite.get(name, "0"))
        seconds += float(suite.get("time", "0"))
    for name, suites in named.items():
        if len(suites) > 1:
            _tell_apart(name, suites)
    for name, count in totals.items():
        root.set(name, str(count))
    root.set("time", f"{seconds:.3f}")
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _tell_apart(name: str, suites: Iterable[ET.Element]) -> None:
    """Ids beside the name of several students: readers that take names for keys would keep the last alone."""
    for suite in suites:
        suite.set("name", f"{name} ({suite.get('id')})")
        for test in suite.iter("testcase"):
            test.set("classname", suite.get("name", "") + test.get("classname", "").removeprefix(name))


def _suite(result: Result) -> ET.Element:
    # Readers leave out what has no name.
    name = one_line(result.submission.name or result.submission.id, 200) or "unnamed"
    suite = ET.Element("testsuite", name=name, id=one_line(result.submission.id, 200))
    properties = ET.SubElement(suite, "properties")
    score = "" if result.score is None else repr(result.score)
    for key, value in (
        ("status", result.status),
        ("score", score),
        ("max_score", repr(result.max_score)),
        ("exercise", str(result.exercise.get("name", ""))),
        ("pack", str(result.exercise.get("pack", ""))),
        ("isolation", result.isolation.level),
        ("file", result.submission.filename),
    ):
        ET.SubElement(properties, "property", name=key, value=one_line(value, 300))
    tests = [*_overall(result, name), *(_case(result, case, name) for case in result.cases)]
    suite.extend(tests)
    counts = {kind: sum(test.find(kind) is not None for test in tests) for kind in _KINDS}
    suite.set("tests", str(len(tests)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    suite.set("time", f"{result.timing.wall_s:.3f}")
    ET.SubElement(suite, "system-out").text = clean("\n".join(summary(result)), MAX_TEXT)
    if result.output.stderr:
        ET.SubElement(suite, "system-err").text = clean(result.output.stderr, MAX_TEXT)
    return suite


_KINDS = ("failure", "error", "skipped")


def _overall(result: Result, classname: str) -> list[ET.Element]:
    """Cases for what no check tells."""
    tests = []
    if result.status == "not_loadable":
        tests.append(_test("(loading)", classname, "failure", "not_loadable", result.message, ()))
    if result.status == "grader_fault":
        tests.append(_test("(grader)", classname, "error", "grader_fault", result.message, ()))
    if result.policy.status == "violated":
        found = [violation(result, v) for v in result.policy.violations[:100]]
        tests.append(_test("(policy)", classname, "failure", "violated", next(iter(found), ""), found))
    return tests


def _case(result: Result, case: CaseResult, suite: str) -> ET.Element:
    name = case_name(result, case)
    if case.visibility == "hidden":
        # Names are keys in most readers.
        name = f"{name} ({one_line(case.id, 120)})"
    classname = f"{suite}.{clause_title(result, case)}"
    kind = {"passed": "", "skipped": "skipped", "grader_fault": "error"}.get(case.verdict, "failure")
    if not kind:
        return _test(name, classname, "", "", "", ())
    return _test(name, classname, kind, case.verdict, case.message or verdict(case), case_lines(result, case))


def _test(
    name: str, classname: str, kind: str, verdict: str, message: str, lines: Iterable[str]
) -> ET.Element:
    test = ET.Element("testcase", name=name or "unnamed", classname=one_line(classname, 400), time="0")
    if kind:
        said = ET.SubElement(test, kind, type=verdict, message=one_line(message, 1_000))
        said.text = clean("\n".join(lines), MAX_TEXT)
    return test
