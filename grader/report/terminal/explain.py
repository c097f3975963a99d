"""What ``grader explain`` shows: the page of a clause, a case, a mistake, a rule, a verdict or a term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from grader.listing import Listing, labelled
from grader.report.advice import is_prose, read_example, sentence
from grader.report.figures import plural, points
from grader.report.terminal.advice import example_lines
from grader.report.terminal.console import Trimmed
from grader.report.texts import clean, one_line

Topic = Mapping[str, Any]

# As a page of a known mistake has them; the last two are mostly lines of code.
SECTIONS = (
    ("what", "What it does"),
    ("why", "Why it is wrong"),
    ("looks", "How it looks"),
    ("instead", "What to write instead"),
)
# A verdict is nothing that someone wrote.
VERDICT_SECTIONS = (
    ("what", "What it means"),
    ("why", "Why"),
    ("looks", "How it looks"),
    ("instead", "What to do"),
)
TERM_SECTIONS = (("what", "What it means"), ("looks", "In reports"))
EFFECTS = {
    "no_points": "Using one costs all points.",
    "deduct": "Using one costs {} points.",
    "cap": "Using one leaves {} points at most.",
    "note": "Using one costs nothing and is noted.",
}
MOST = 12


def explanation(topics: Sequence[Topic], command: str = "") -> RenderableType:
    """The pages of topics as `grader.judge.topics.find` gives them.

    Args:
        topics: One or more.
        command: The command that runs a case, to which its id is added.
    """
    parts: list[RenderableType] = []
    for topic in topics:
        parts += [Text("")] if parts else []
        parts += _PAGES[topic["kind"]](topic, command)
    return Trimmed(Group(*parts))


def overview(exercise: str, title: str, topics: Sequence[Topic]) -> RenderableType:
    """What can be explained, in short, from the listing of a pack's topics."""

    def of(kind: str) -> list[Topic]:
        return [topic for topic in topics if topic["kind"] == kind]

    clauses = []
    for clause in of("clause"):
        counts = [sum(t["clause"] == clause["id"] for t in of(kind)) for kind in ("case", "mistake")]
        clauses.append([_headline(clause["id"], clause["title"]), *[Text(str(count)) for count in counts]])
    rows = [
        (label, Text(", ".join(one_line(topic["id"], 80) for topic in of(kind))))
        for kind, label in (
            ("rule", "rules of the policy"),
            ("verdict", "verdicts"),
            ("term", "words of reports"),
        )
        if of(kind)
    ]
    return Trimmed(
        Group(
            _headline(exercise, title),
            Text(""),
            Listing(("clause", "checks", "mistakes"), clauses, right=("checks", "mistakes")),
            *[Text.assemble((f"{label}: ", "bold"), text) for label, text in rows],
            Text(
                "grader explain NAME explains any of these; a clause's page lists its checks and mistakes, "
                "which have pages too. Titles do as well.",
                style="dim",
            ),
        )
    )


def _headline(name: str, title: str) -> Text:
    return Text.assemble((one_line(name, 120), "bold"), f"  {one_line(title, 200)}" if title else "")


def _rows(rows: Sequence[tuple[str, RenderableType | str]]) -> RenderableType:
    """Labelled lines; what is empty is left out."""
    return labelled(
        [
            (label, Text(clean(content, 4_000)) if isinstance(content, str) else content)
            for label, content in rows
            if content
        ]
    )


def _listed(named: Sequence[Mapping[str, str]], most: int, more: str = "") -> RenderableType:
    """Ids with their titles, a line each; empty for none."""
    if not named:
        return Text(more)
    lines = [Text.assemble(one_line(n["id"], 80), (f"  {one_line(n['title'], 120)}", "dim")) for n in named]
    left = len(named) - most
    if left > 0:
        lines = [*lines[:most], Text(f"and {left} more", style="dim")]
    return Group(*lines, *([Text(more, style="dim")] if more else []))


def _sections(topic: Topic, sections: Sequence[tuple[str, str]]) -> list[RenderableType]:
    """A page's sections under their headings; prose is wrapped, code keeps its lines."""
    parts: list[RenderableType] = []
    for key, heading in sections:
        text = topic[key].strip("\n")
        if text.strip():
            prose = key in ("what", "why") or is_prose(text)
            shown = one_line(text, 2_000) if prose else clean(text, 4_000)
            parts += [Text(heading, style="bold"), Padding(Text(shown), (0, 0, 0, 2))]
    return parts


def _clause(topic: Topic, command: str) -> list[RenderableType]:
    hidden = f"and {plural(topic['hidden'], 'hidden one')}" if topic["hidden"] else ""
    return [
        _headline(topic["id"], topic["title"]),
        Text(f"clause of the statement; its checks are worth {points(topic['points'])} points", style="dim"),
        _rows(
            [
                ("asked", topic["text"]),
                ("checks", _listed(topic["cases"], len(topic["cases"]), hidden)),
                ("mistakes", _listed(topic["mistakes"], len(topic["mistakes"]))),
            ]
        ),
    ]


def _case(topic: Topic, command: str) -> list[RenderableType]:
    hidden = topic["visibility"] == "hidden"
    kind = "hidden check" if hidden else "check"
    worth = f"{points(topic['points'])} {'point' if topic['points'] == 1 else 'points'}"
    extra = " of extra credit" if topic["extra"] else ""
    drawn = ", drawn at random" if topic["drawn"] else ""
    example = read_example(topic)
    allowed = ""
    if topic["allowed"] is not None and topic["check"] == "compare":
        allowed = (
            f"a difference of {topic['allowed']:.2g}, {topic['tolerance']:.2g} of the largest expected value"
        )
    elif topic["tolerance"] is not None and topic["check"] == "compare":
        allowed = f"a difference of {topic['tolerance']:.2g} of the largest value in each part"
    elif topic["tolerance"] is not None and topic["check"] in ("equals", "same_on_repeat"):
        allowed = f"a difference of {topic['tolerance']:.2g} of the largest value"
    varied = f"The second call has another {' and '.join(topic['changes'])}." if topic["changes"] else ""
    lines = [
        _headline(topic["id"], topic["title"]),
        Text(
            f"{kind} of the clause {one_line(topic['clause_title'], 80)} ({one_line(topic['clause'], 80)}), "
            f"{worth}{extra}{drawn}",
            style="dim",
        ),
    ]
    if hidden:
        lines.append(
            Text("Students see its clause and verdict, and nothing of what follows.", style="yellow")
        )
    rows: list[tuple[str, RenderableType | str]] = [
        ("clause", topic["clause_text"]),
        ("asked", " ".join(filter(None, (topic["asks"], varied)))),
        ("input", example_lines(example) if example is not None else ""),
        ("shape", f"of the answer: {tuple(topic['shape'])}" if topic["shape"] is not None else ""),
        ("allowed", allowed),
        ("requires", ", ".join(topic["requires"])),
        ("hint", topic["hint"]),
        ("catches", _listed(topic["catches"], MOST) if topic["catches"] else ""),
    ]
    if not command:
        return [*lines, _rows(rows)]
    # Not wrapped, as it is there to be copied.
    run = Text(f"run it: {command} --case {topic['id']}", no_wrap=True, overflow="ignore")
    more = [] if hidden else [Text("--snippet prints Python text that does so, --debug steps through it")]
    return [*lines, _rows(rows), run, *more]


def _mistake(topic: Topic, command: str) -> list[RenderableType]:
    parts: list[RenderableType] = [
        _headline(topic["id"], topic["title"]),
        Text(
            f"known mistake in the clause {one_line(topic['clause_title'], 80)} "
            f"({one_line(topic['clause'], 80)})",
            style="dim",
        ),
        *_sections(topic, SECTIONS),
    ]
    if topic["small"]:
        parts.append(Text("Its errors stay inside the tolerances, so it costs nothing and gets a note."))
    example = read_example(topic["example"])
    if example is not None:
        parts.append(Text("The smallest input that shows it", style="bold"))
        parts.append(Padding(example_lines(example), (0, 0, 0, 2)))
    hidden = f"and {plural(topic['hidden'], 'hidden one')}" if topic["hidden"] else ""
    if topic["caught_by"] or hidden:
        parts.append(Text("Checks that surely catch it", style="bold"))
        parts.append(Padding(_listed(topic["caught_by"], MOST, hidden), (0, 0, 0, 2)))
    return parts


def _rule(topic: Topic, command: str) -> list[RenderableType]:
    ((effect, amount),) = topic["effect"].items()
    names = ", ".join(one_line(name, 200) for name in topic["names"])
    methods = ", ".join(one_line(name, 200) for name in topic["methods"])
    # A rule tells it as the end of a sentence.
    told = {**topic, "instead": sentence(topic["instead"])}
    return [
        _headline(topic["id"], topic["title"]),
        Text(f"rule of the policy. {EFFECTS[effect].format(points(amount))}", style="dim"),
        *_sections(told, SECTIONS),
        _rows(
            [
                ("names", Text(f"{names} (* stands for anything)" if "*" in names else names)),
                ("methods", methods),
            ]
        ),
    ]


def _verdict(topic: Topic, command: str) -> list[RenderableType]:
    return [
        _headline(topic["id"], topic["title"]),
        Text("verdict", style="dim"),
        *_sections(topic, VERDICT_SECTIONS),
    ]


def _term(topic: Topic, command: str) -> list[RenderableType]:
    parts: list[RenderableType] = [
        _headline(topic["id"], topic["title"]),
        Text("word of the reports", style="dim"),
        *_sections(topic, TERM_SECTIONS),
    ]
    if topic["see"]:
        parts.append(Text("These have pages too", style="bold"))
        parts.append(Padding(_listed(topic["see"], len(topic["see"])), (0, 0, 0, 2)))
    return parts


_PAGES = {
    "clause": _clause,
    "case": _case,
    "mistake": _mistake,
    "rule": _rule,
    "verdict": _verdict,
    "term": _term,
}
