"""The terminal's report of a validation is short, with reasons of survivors and places of weaknesses."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from grader.report.terminal.validation import SHOWN, validation_report
from grader.validation import (
    CaseMargin,
    CaseSet,
    KillMatrix,
    MutantTally,
    PublicShare,
    Survivor,
    TimeLimit,
    TimeLimits,
    Validation,
    Weakness,
)

MATRIX = KillMatrix(
    ("causal", "scaled"),
    ("small", "large"),
    {"causal": ("small", "large"), "scaled": ("large",)},
    {"causal": ("small",), "scaled": ("large",)},
)
FULL = Validation(
    exercise="mlm",
    weaknesses=(),
    cases={"total": 2, "public": 1, "hidden": 1, "points": 3.5, "public_points": 2.0},
    matrix=MATRIX,
    fast=False,
    library=3,
    small=1,
    mutants=MutantTally(
        {"axis": {"killed": 7, "equivalent": 1}, "constant": {"killed": 1, "inside_rounding": 1}}, 8, 0
    ),
    survivors=(
        Survivor(
            "a", "mutant", "equivalent", "0 -> 1", "agrees on 1,000 generated inputs exactly", "m.py", 3
        ),
        Survivor("b", "mutant", "inside_rounding", "0.04 -> 0.05", "at most 0.2 × the tolerance", "m.py", 9),
    ),
    public=PublicShare(MATRIX.restricted(("small",)), 8, 6, ("x", "y"), CaseSet(("small",), "greedy")),
    smallest_set=CaseSet(("large",), "greedy"),
    indistinguishable=(("one", "other"),),
)


CAUGHT = (
    "2 of 2 (100%) mistakes caught, 2 of them at ten times the tolerance or by another verdict; "
    "by the public cases alone 1 of 2 (50%)"
)
KILLED = (
    "8 of 10 (80%) mutants killed (1 inside rounding, 1 equivalent); "
    "by the public cases alone 6 of 8 (75%) of those that can be"
)


def shown(validation: Validation) -> list[str]:
    console = Console(width=300, record=True, file=None, force_terminal=False)
    with console.capture() as capture:
        console.print(validation_report(validation), soft_wrap=True)
    return capture.get().splitlines()


def test_a_sound_exercise() -> None:
    assert shown(FULL) == [
        "mlm  ✓ sound",
        "2 cases (1 public, 1 hidden), 3.5 points (2 public)",
        "3 known mistakes, 1 of them meant to stay inside rounding",
        CAUGHT,
        KILLED,
        "  m.py:9: 0.04 -> 0.05: inside rounding: at most 0.2 × the tolerance",
        "  and 1 equivalent; --json names them",
        "1 cases kill all that cases kill: large",
        "1 public cases kill all that public cases kill: small",
        "  found by greedy",
        "no case tells apart: one, other",
    ]


def test_weaknesses_are_one_line_each_with_their_place() -> None:
    weaknesses = (
        Weakness("checks.yaml", 12, "case_kills_nothing", "large: nothing fails it"),
        Weakness("m.py", 3, "mutant_survives", "no case catches the mutant [bold]x[/bold]"),
    )
    lines = shown(replace(FULL, weaknesses=weaknesses))
    assert lines[0] == "mlm  ✗ weaknesses found"
    assert lines[-2:] == [
        "checks.yaml:12: case_kills_nothing: large: nothing fails it",
        "m.py:3: mutant_survives: no case catches the mutant [bold]x[/bold]",
    ]


def test_many_survivors_are_counted_and_holes_come_first() -> None:
    holes = [Survivor(str(n), "mutant", "open_hole", f"{n}", "off", "m.py", n) for n in range(SHOWN + 3)]
    lines = shown(replace(FULL, survivors=(*FULL.survivors, *holes)))
    told = [line for line in lines if ": open hole: off" in line]
    assert len(told) == SHOWN
    assert "  and 3 open hole, 1 inside rounding, 1 equivalent; --json names them" in lines


def test_without_a_library_it_says_so() -> None:
    lines = shown(replace(FULL, library=0, small=0))
    assert "no library of known mistakes; worked wrong submissions and mutants alone are tried" in lines


def test_fast_says_what_was_left_out() -> None:
    lines = shown(
        Validation(exercise="mlm", weaknesses=(), cases=FULL.cases, matrix=KillMatrix(), fast=True, library=0)
    )
    assert lines == [
        "mlm  ✓ sound",
        "2 cases (1 public, 1 hidden), 3.5 points (2 public)",
        "no library of known mistakes",
        "mutants, worked submissions and what the student's pack reveals were left out (--fast)",
    ]


def test_limits_that_follow_the_reference_are_told_with_what_they_come_from() -> None:
    call, in_all = TimeLimit("loss_falls", 150, 3.125, 32, 10), TimeLimit("", 152.25, 3.25, 60, 0)
    lines = shown(replace(FULL, time_limits=TimeLimits(0.0213, call, in_all)))
    longest, together, unit = lines[-3:]
    assert longest == (
        "Time limit here of the longest call, in loss_falls: 32 s, 10 times 150 workloads; "
        "the reference takes 3.1 s"
    )
    assert together == (
        "Time limit here of all calls together: 60 s, as stated (152.2 workloads are frozen); "
        "the reference takes 3.2 s"
    )
    assert unit == "A workload takes 0.021 s of processor time here"
    assert not any("ime limit" in line for line in shown(FULL))


def test_small_margins_show_noise_tolerance_and_nearest_mistake() -> None:
    poor = CaseMargin(
        "eps", "epsilon", 1e-7, 1e-6, "epsilon_1e_6", 3.2e-6, "with w_emb multiplied by 0.001, …"
    )
    wide = CaseMargin("wide", "epsilon", 1e-7, 1e-6, "epsilon_1e_6", 1.0)
    lines = shown(replace(FULL, margins=(poor, wide)))
    assert lines[-1] == (
        "small margin of eps: noise 1e-07 | tolerance 1e-06 | nearest mistake 3.2e-06: "
        "with w_emb multiplied by 0.001, …"
    )
    many = tuple(replace(poor, case=f"eps_{n}") for n in range(SHOWN + 2))
    assert shown(replace(FULL, margins=many))[-1] == "  and 2 more; --json names them"
