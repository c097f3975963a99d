"""What the page of a validation shows, made ready for its template."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from grader.report.exercise_page.kill_map import Column, KillMap, Row, kill_map
from grader.report.exercise_page.margin_plot import margin_items, margin_scale, poorest_first
from grader.report.markup.safe import safe_line
from grader.report.time_limits import time_lines
from grader.validation import CaseInfo, CaseSet, MistakeInfo, Validation, Weakness

# Longer lists are folded, never cut.
SHOWN = 12

FATES: Mapping[str, tuple[str, str, str]] = {
    "open_hole": ("✗", "open hole", "bad"),
    "inside_rounding": ("≈", "inside rounding", "warn"),
    "equivalent": ("=", "equivalent", "calm"),
}


@dataclass(frozen=True)
class Names:
    """What the record calls cases, mistakes and clauses; what it says nothing of has empty texts.

    Attributes:
        cases: What each case of the matrix is, in the matrix's order.
        mistakes: What each mistake of the matrix is, likewise.
        clauses: Titles of the clauses, in the statement's order.
        numbers: Their numbers, from 1.
    """

    cases: Sequence[CaseInfo]
    mistakes: Sequence[MistakeInfo]
    clauses: Mapping[str, str]
    numbers: Mapping[str, int]

    @staticmethod
    def of(validation: Validation) -> Names:
        """The names in a record."""
        cases = {c.id: c for c in validation.suite}
        mistakes = {m.name: m for m in validation.mistakes}
        public = set(validation.public.matrix.cases)
        named_cases = [
            cases.get(c) or CaseInfo(c, "", "", "", "public" if c in public else "hidden", 0.0)
            for c in validation.matrix.cases
        ]
        named_mistakes = [
            mistakes.get(m) or MistakeInfo(m, "misconception", "", "", "", 0)
            for m in validation.matrix.mistakes
        ]
        clauses = dict(validation.clauses)
        used = [c.clause for c in named_cases] + [m.clause for m in named_mistakes]
        for clause in (*used, *(m.clause for m in validation.margins)):
            if clause:
                clauses.setdefault(clause, clause)
        numbers = {name: at for at, name in enumerate(clauses, 1)}
        return Names(named_cases, named_mistakes, clauses, numbers)


class ClauseRow(NamedTuple):
    """How a clause is covered; ``caught`` counts its mistakes that fail a case of its own."""

    number: int
    name: str
    title: str
    public: int
    hidden: int
    points: float
    mistakes: int
    caught: int

    @property
    def state(self) -> tuple[str, str, str]:
        """Sign, words and tone."""
        if not self.mistakes:
            return "–", "no known mistake", "calm"
        if not self.caught:
            return "✗", "no", "bad"
        return "✓", "yes", "good"


class OperatorRow(NamedTuple):
    """What became of the mutants of an operator; ``with_margin`` is None where it was not counted."""

    operator: str
    total: int
    killed: int
    with_margin: int | None
    inside_rounding: int
    equivalent: int
    open_holes: int


class Measure(NamedTuple):
    """A figure for all cases and for the public ones alone; each may be a share of a total."""

    name: str
    all: tuple[int, int | None]
    public: tuple[int, int | None]


def validation_view(validation: Validation) -> dict[str, Any]:
    """What the template needs."""
    names = Names.of(validation)
    matrix = validation.matrix.summary()
    margins = poorest_first(validation.margins)
    scale = margin_scale(margins)
    items = margin_items(margins, names.numbers, names.clauses, scale)
    # What there is advice for is never folded away.
    first = max(SHOWN, sum(bool(m.advice) for m in margins))
    survivors = sorted(validation.survivors, key=lambda s: list(FATES).index(s.fate))
    return {
        "v": validation,
        "title": validation.title or validation.exercise,
        "matrix": matrix,
        "public": validation.public.matrix.summary(),
        "share": matrix["killed"] / matrix["mistakes"] if matrix["mistakes"] else 0.0,
        "time_lines": time_lines(validation.time_limits) if validation.time_limits is not None else [],
        "codes": _by_code(validation.weaknesses),
        "map": _map(validation, names),
        "operators": _operators(validation),
        "survivors": [s for s in survivors if s.fate != "equivalent"],
        "equivalent": [s for s in survivors if s.fate == "equivalent"],
        "fates": FATES,
        "scale": scale,
        "margins": items,
        "first_margins": items[:first],
        "more_margins": items[first:],
        "clauses": _clauses(validation, names),
        "measures": measures(validation),
        "sets": [
            ("All cases", validation.smallest_set, len(validation.matrix.cases)),
            ("Public cases alone", validation.public.smallest_set, len(validation.public.matrix.cases)),
        ],
    }


def _by_code(weaknesses: Iterable[Weakness]) -> list[tuple[str, list[Weakness]]]:
    """The weaknesses of each kind, the most frequent first."""
    found: dict[str, list[Weakness]] = {}
    for one in weaknesses:
        found.setdefault(one.code, []).append(one)
    return sorted(found.items(), key=lambda pair: -len(pair[1]))


def breakable(text: str) -> Markup:
    """A path on one line, which may be broken where the name of a folder ends."""
    return Markup(safe_line(text, 300).replace("/", Markup("/<wbr>")))


def place(file: str, line: int) -> str:
    """Where something stands, as editors take it."""
    return f"{file}:{line}" if line else file


def percent(share: float) -> str:
    """A share in whole percent; 100 only where nothing is missing, 0 only where nothing is there."""
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        rounded = 99
    return f"{max(rounded, 1) if share > 0 else 0} %"


# --- The map --------------------------------------------------------------------------------------


def _map(validation: Validation, names: Names) -> KillMap | None:
    """The kill matrix, by case file and clause; None where nothing was tried."""
    matrix = validation.matrix
    if not (matrix.mistakes and matrix.cases):
        return None
    last = len(names.numbers) + 1
    files = list(dict.fromkeys(c.group for c in names.cases))
    cases = sorted(names.cases, key=lambda c: (files.index(c.group), names.numbers.get(c.clause, last)))
    kills = Counter(case for found in matrix.killed.values() for case in found)
    chosen = set(validation.smallest_set.cases)
    columns = [
        Column(
            id=c.id,
            title=c.title,
            group=c.group,
            clause=c.clause,
            number=names.numbers.get(c.clause, 0),
            public=c.visibility == "public",
            chosen=c.id in chosen,
            kills=kills[c.id],
        )
        for c in cases
    ]
    rows = [
        Row(
            name=m.name,
            title=m.title,
            place=place(m.file, m.line) if m.file else "",
            clause=m.clause,
            killed=frozenset(matrix.killed[m.name]),
            with_margin=frozenset(matrix.with_margin[m.name]),
        )
        for m in names.mistakes
    ]
    worked = {m.name for m in names.mistakes if m.kind == "worked"}
    groups: list[tuple[int, str, list[Row]]] = [
        (names.numbers[clause], title, [r for r in rows if r.clause == clause and r.name not in worked])
        for clause, title in names.clauses.items()
    ]
    groups.append((0, "Without a clause", [r for r in rows if not r.clause and r.name not in worked]))
    groups.append((0, "Worked wrong submissions", [r for r in rows if r.name in worked]))
    return kill_map(columns, [group for group in groups if group[2]])


# --- The tables -----------------------------------------------------------------------------------


def _clauses(validation: Validation, names: Names) -> list[ClauseRow]:
    rows = []
    for clause, title in names.clauses.items():
        own = [c for c in names.cases if c.clause == clause]
        ids = {c.id for c in own}
        broken = [m for m in names.mistakes if m.clause == clause and m.kind == "misconception"]
        public = sum(c.visibility == "public" for c in own)
        rows.append(
            ClauseRow(
                number=names.numbers[clause],
                name=clause,
                title=title,
                public=public,
                hidden=len(own) - public,
                points=math.fsum(c.points for c in own),
                mistakes=len(broken),
                caught=sum(not ids.isdisjoint(validation.matrix.killed[m.name]) for m in broken),
            )
        )
    return rows


def _operators(validation: Validation) -> list[OperatorRow]:
    mutants = validation.mutants
    return [
        OperatorRow(
            operator=name,
            total=sum(fates.values()),
            killed=fates.get("killed", 0),
            with_margin=mutants.with_margin.get(name, 0) if mutants.with_margin else None,
            inside_rounding=fates.get("inside_rounding", 0),
            equivalent=fates.get("equivalent", 0),
            open_holes=fates.get("open_hole", 0),
        )
        for name, fates in sorted(mutants.fates.items())
    ]


def measures(validation: Validation) -> list[Measure]:
    """The same figures for all cases and for the public ones alone."""
    both = [(m, m.summary()) for m in (validation.matrix, validation.public.matrix)]

    def pair(name: str, figures: Iterable[tuple[int, int | None]]) -> Measure:
        first, second = figures
        return Measure(name, first, second)

    found = [pair("Cases", [(len(m.cases), None) for m, _ in both])]
    if validation.matrix.mistakes:
        found += [
            pair("Mistakes caught", [(s["killed"], s["mistakes"]) for _, s in both]),
            pair("Caught with margin", [(s["killed_with_margin"], s["mistakes"]) for _, s in both]),
            pair(
                "Cases that kill nothing",
                [(len(s["cases_that_kill_nothing"]), len(m.cases)) for m, s in both],
            ),
        ]
    if validation.mutants.count():
        killed, public = validation.mutants.count("killed"), validation.public
        found.append(
            Measure(
                "Mutants killed, of those that can be",
                (killed, killed + validation.mutants.count("open_hole")),
                (public.mutants_killed, public.mutants),
            )
        )
    sets: list[CaseSet] = [validation.smallest_set, validation.public.smallest_set]
    if any(s.cases for s in sets):
        found.append(pair("Cases that kill as much as all do", [(len(s.cases), None) for s in sets]))
    return found
