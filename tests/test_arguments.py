"""What the help lists is what there is: it is written out there, so that help needs no import of it."""

from __future__ import annotations

import argparse

from grader.arguments import COMMANDS, LAYOUTS, build_parser
from grader.intake.collect import SAMPLES
from grader.intake.layouts.recognition import LAYOUTS as KNOWN
from grader.report.exports import EXPORTS


def commands() -> dict[str, argparse.ArgumentParser]:
    (added,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(added.choices)


def test_every_command_is_known() -> None:
    assert set(commands()) == set(COMMANDS)


def test_every_layout_and_every_format_is_in_the_help() -> None:
    assert set(LAYOUTS) == {*KNOWN, SAMPLES}
    told = " ".join(commands()["export"].format_help().split())
    listed = told.partition("Formats: ")[2].partition(". ")[0]
    # A line may be broken after a hyphen.
    assert {name.strip().replace("- ", "-") for name in listed.split(",")} == set(EXPORTS)
