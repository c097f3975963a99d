"""What was found about exercises: records of every kind, to make pages of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.validation import (
    CaseInfo,
    CaseMargin,
    CaseSet,
    KillMatrix,
    MistakeInfo,
    MutantTally,
    PublicShare,
    Survivor,
    TimeLimit,
    TimeLimits,
    Validation,
    Weakness,
)

LIBRARY = "reference/mlm/misconceptions.py"

# A clause without mistakes, one in two case files, and one whose mistake no case of its own fails.
MATRIX = KillMatrix(
    mistakes=("no_scale", "scale_twice", "causal", "worked_wrong"),
    cases=("two_keys", "drawn_1", "one_row", "kept"),
    killed={
        "no_scale": ("drawn_1", "one_row"),
        "scale_twice": ("one_row",),
        "causal": (),
        "worked_wrong": ("two_keys", "drawn_1"),
    },
    with_margin={
        "no_scale": ("one_row",),
        "scale_twice": (),
        "causal": (),
        "worked_wrong": ("two_keys", "drawn_1"),
    },
)
WEAK = Validation(
    exercise="mlm",
    weaknesses=(
        Weakness("cases/mlm/relations.yaml", 7, "case_kills_nothing", "kept: nothing fails it"),
        Weakness(LIBRARY, 31, "mistake_survives", "causal: no case catches this mistake"),
        Weakness(LIBRARY, 44, "mistake_survives", "causal_again: no case catches this mistake"),
    ),
    cases={"total": 4, "public": 3, "hidden": 1, "points": 7.5, "public_points": 5.5},
    matrix=MATRIX,
    fast=False,
    library=5,
    small=2,
    mutants=MutantTally(
        {
            "axis": {"killed": 7, "equivalent": 1, "open_hole": 2},
            "constant": {"killed": 1, "inside_rounding": 1},
        },
        6,
        3,
        {"axis": 5, "constant": 1},
    ),
    survivors=(
        Survivor("e", "mutant", "equivalent", "0 -> 1", "agrees on 1,000 generated inputs", "model.py", 3),
        Survivor("r", "mutant", "inside_rounding", "0.04 -> 0.05", "at most 0.2 × it", "model.py", 9),
        Survivor("causal", "misconception", "open_hole", "Later ones hidden.", "off by 40 ×", LIBRARY, 31),
        Survivor("h", "mutant", "open_hole", "-1 -> -2", "off by 41 ×", "model.py", 12),
    ),
    public=PublicShare(
        MATRIX.restricted(("two_keys", "one_row", "kept")),
        10,
        6,
        ("model.py:12:axis:1", "model.py:13:axis:1"),
        CaseSet(("two_keys", "one_row"), "greedy set cover"),
    ),
    smallest_set=CaseSet(("drawn_1", "one_row"), "greedy set cover"),
    indistinguishable=(("no_scale", "scale_twice"), ("first", "second", "third")),
    margins=(
        CaseMargin("two_keys", "scores", 6e-8, 6e-7, "scale_twice", 0.3),
        CaseMargin("drawn_1", "scores", 6e-8, 6e-7),
        CaseMargin("one_row", "scores", 6e-8, 6e-7, "no_scale", 1.2e-6, "larger logits would help"),
    ),
    title="Masked language model",
    clauses={"embedding": "Token embeddings", "scores": "Attention scores", "examples": "Separate examples"},
    suite=(
        CaseInfo("two_keys", "Two keys", "scores", "isolating", "public", 2.0),
        CaseInfo("drawn_1", "", "scores", "random", "hidden", 2.0),
        CaseInfo("one_row", "A single row", "embedding", "isolating", "public", 3.0),
        CaseInfo("kept", "Nothing is written into", "examples", "relations", "public", 0.5),
    ),
    mistakes=(
        MistakeInfo("no_scale", "misconception", "Scores are not scaled.", "scores", LIBRARY, 10),
        MistakeInfo("scale_twice", "misconception", "Scores are scaled twice.", "scores", LIBRARY, 20),
        MistakeInfo("causal", "misconception", "Later ones hidden.", "examples", LIBRARY, 31),
        MistakeInfo("worked_wrong", "worked", "", "", "submissions/mlm/worked_wrong.py", 1),
    ),
    time_limits=TimeLimits(
        0.021, TimeLimit("one_row", 150, 3.1, 32.0, 10.0), TimeLimit("", 152.5, 3.2, 60.0, 0.0)
    ),
)
COUNTS = {"total": 0, "public": 0, "hidden": 0, "points": 0.0, "public_points": 0.0}
RECORDS: dict[str, Validation] = {
    "weak": WEAK,
    "sound": replace(WEAK, weaknesses=()),
    "fast": replace(WEAK, fast=True, mutants=MutantTally(), survivors=(), public=PublicShare()),
    # Such a record knows nothing of what its cases and mistakes are.
    "nameless": replace(WEAK, title="", clauses={}, suite=(), mistakes=()),
    "nothing": Validation("mlm", (), COUNTS, KillMatrix(), fast=True),
    "one_case": replace(
        WEAK, matrix=KillMatrix(("m",), ("c",), {"m": ("c",)}, {"m": ()}), suite=(), mistakes=()
    ),
}


def hostile(text: str) -> Validation:
    """A record that says a text wherever it can."""

    def named(names: Iterable[str]) -> dict[str, str]:
        return {name: f"{at}{text}" for at, name in enumerate(names)}

    cases, mistakes = named(MATRIX.cases), named(MATRIX.mistakes)

    def kills(found: KillMatrix, which: str) -> dict[str, tuple[str, ...]]:
        return {mistakes[m]: tuple(cases[c] for c in cs) for m, cs in getattr(found, which).items()}

    matrix = KillMatrix(
        tuple(mistakes.values()), tuple(cases.values()), kills(MATRIX, "killed"), kills(MATRIX, "with_margin")
    )
    chosen = CaseSet((cases["drawn_1"],), text)
    return replace(
        WEAK,
        exercise=text,
        title=text,
        weaknesses=(Weakness(text, 3, text, text), Weakness(text, 0, "other", text)),
        matrix=matrix,
        mutants=MutantTally({text: {"killed": 1}, "other": {"open_hole": 1}}, 1, 1, {text: 1}),
        survivors=tuple(replace(s, name=text, change=text, figures=text, file=text) for s in WEAK.survivors),
        public=PublicShare(matrix.restricted((cases["one_row"],)), 2, 1, (text,), chosen),
        smallest_set=chosen,
        indistinguishable=((text, text),),
        margins=tuple(replace(m, case=text, clause=text, nearest=text, advice=text) for m in WEAK.margins),
        clauses={text: text, "scores": text},
        suite=tuple(
            replace(c, id=cases[c.id], title=text, clause=text, group=text, visibility=text)
            for c in WEAK.suite
        ),
        mistakes=tuple(
            replace(m, name=mistakes[m.name], title=text, clause=text, file=text) for m in WEAK.mistakes
        ),
        time_limits=TimeLimits(0.021, TimeLimit(text, 1, 1, 1, 0), TimeLimit("", 1, 1, 1, 0)),
    )
