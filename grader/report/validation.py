"""The report of ``grader validate`` for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.figures import points
from grader.validation import Validation


def validation_report(validation: Validation) -> RenderableType:
    """Verdict, what was checked, and one line per weakness with file and line."""
    cases = validation.cases
    style = "bold green" if validation.sound else "bold red"
    parts: list[RenderableType] = [
        Text.assemble(
            (validation.exercise, "bold"), "  ", ("sound" if validation.sound else "weaknesses found", style)
        ),
        Text(
            f"{cases['total']} cases ({cases['public']} public, {cases['hidden']} hidden), "
            f"{points(cases['points'])} points ({points(cases['public_points'])} public)"
        ),
    ]
    if validation.fast:
        parts.append(Text("worked submissions were left out (--fast)", style="dim"))
    else:
        m = validation.matrix.summary()
        parts.append(
            Text(
                f"{m['mistakes']} worked mistakes: {m['killed']} caught, "
                f"{m['killed_with_margin']} of them at ten times the tolerance or by another verdict"
            )
        )
    parts += [Text(str(weakness), style="red") for weakness in validation.weaknesses]
    return Group(*parts)
