"""The report of ``grader validate`` for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from grader.report.figures import points
from grader.report.time_limits import time_lines
from grader.validation import CaseSet, Survivor, Validation

# More lines of one kind are counted, not shown.
SHOWN = 6

FATES = {"open_hole": "open hole", "inside_rounding": "inside rounding", "equivalent": "equivalent"}


def validation_report(validation: Validation) -> RenderableType:
    """Verdict, counts, what the cases kill, survivors, and one line per weakness with file and line."""
    cases = validation.cases
    style = "bold green" if validation.sound else "bold red"
    verdict = "✓ sound" if validation.sound else "✗ weaknesses found"
    parts: list[RenderableType] = [
        Text.assemble((validation.exercise, "bold"), "  ", (verdict, style)),
        Text(
            f"{cases['total']} cases ({cases['public']} public, {cases['hidden']} hidden), "
            f"{points(cases['points'])} points ({points(cases['public_points'])} public)"
        ),
    ]
    parts += [Text(line) for line in _kills(validation)]
    if validation.fast:
        left_out = "mutants, worked submissions and what the student's pack reveals were left out (--fast)"
        parts.append(Text(left_out, style="dim"))
    parts += _survivors(validation)
    parts += [Text(line) for line in (*_tests(validation), *_sets(validation))]
    if validation.time_limits is not None:
        parts += [Text(line) for line in time_lines(validation.time_limits)]
    parts += [Text(str(weakness), style="red") for weakness in validation.weaknesses]
    return Group(*parts)


def _kills(validation: Validation) -> Iterator[str]:
    m = validation.matrix.summary()
    public = validation.public.matrix.summary()
    if validation.library:
        small = f", {validation.small} of them meant to stay inside rounding" if validation.small else ""
        yield f"{validation.library} known mistakes{small}"
    elif m["mistakes"]:
        yield "no library of known mistakes; worked wrong submissions and mutants alone are tried"
    else:
        yield "no library of known mistakes"
    if m["mistakes"]:
        yield (
            f"{_share(m['killed'], m['mistakes'])} mistakes caught, {m['killed_with_margin']} of them at ten "
            f"times the tolerance or by another verdict; by the public cases alone "
            f"{_share(public['killed'], public['mistakes'])}"
        )
    mutants = validation.mutants
    if mutants.count():
        alive = [f"{n} {words}" for fate, words in FATES.items() if (n := mutants.count(fate))]  # type: ignore[arg-type]
        survive = f" ({', '.join(alive)})" if alive else ""
        alone = _share(validation.public.mutants_killed, validation.public.mutants)
        yield (
            f"{_share(mutants.count('killed'), mutants.count())} mutants killed{survive}; by the public "
            f"cases alone {alone} of those that can be"
        )


def _share(some: int, total: int) -> str:
    return f"{some} of {total}" + (f" ({some / total:.0%})" if total else "")


def _survivors(validation: Validation) -> list[RenderableType]:
    """The first survivors with their reason, holes first, and how many more there are."""
    order = list(FATES)
    found = sorted(validation.survivors, key=lambda s: order.index(s.fate))
    shown = [s for s in found if s.fate != "equivalent"][:SHOWN]
    lines: list[RenderableType] = [Text(f"  {_survivor(s)}") for s in shown]
    rest = Counter(s.fate for s in found) - Counter(s.fate for s in shown)
    if rest:
        counts = ", ".join(f"{rest[fate]} {FATES[fate]}" for fate in order if rest[fate])  # type: ignore[index]
        lines.append(Text(f"  and {counts}; --json names them", style="dim"))
    return lines


def _survivor(survivor: Survivor) -> str:
    place = f"{survivor.file}:{survivor.line}"
    return f"{place}: {survivor.change}: {FATES[survivor.fate]}: {survivor.figures}"


def _tests(validation: Validation) -> Iterator[str]:
    """The statistical tests: how rarely they fail a right submission, and how surely a wrong one."""
    tests = validation.statistics
    if tests:
        level = sum(test.level for test in tests)
        weakest = min(tests, key=lambda test: test.power)
        count = f"{len(tests)} statistical test{'s' if len(tests) > 1 else ''}"
        yield (
            f"{count}: a right submission fails any of them with a probability of at most "
            f"{level:.2g}; power at least {weakest.power:.6g} ({weakest.case})"
        )


def _sets(validation: Validation) -> Iterator[str]:
    for who, found in (
        ("cases", validation.smallest_set),
        ("public cases", validation.public.smallest_set),
    ):
        if found.cases:
            yield f"{len(found.cases)} {who} kill all that {who} kill: {_names(found)}"
    if validation.smallest_set.cases:
        yield f"  found by {validation.smallest_set.method}"
    for group in validation.indistinguishable[:SHOWN]:
        yield f"no case tells apart: {', '.join(group)}"
    if len(validation.indistinguishable) > SHOWN:
        yield f"  and {len(validation.indistinguishable) - SHOWN} more groups; --json names them"
    poor = [m for m in validation.margins if m.advice]
    for margin in poor[:SHOWN]:
        error = f"{margin.error:.2g}" if margin.error is not None else "none"
        yield (
            f"small margin of {margin.case}: noise {margin.noise:.2g} | tolerance {margin.tolerance:.2g} | "
            f"nearest mistake {error}: {margin.advice}"
        )
    if len(poor) > SHOWN:
        yield f"  and {len(poor) - SHOWN} more; --json names them"


def _names(found: CaseSet) -> str:
    return ", ".join(found.cases)
