"""``validate --format github``: whatever is broken in an exercise, the annotation stands at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import grader
from support.jobs import Annotation, annotations
from support.small import forget_reference

from grader.arguments import build_parser
from grader.commands import job
from grader.errors import GraderError, OwnFaultError
from grader.report.github.workflow import SUMMARY_BYTES

CHECKS, EXERCISE = "cases/row_scale/checks.yaml", "cases/row_scale/exercise.yaml"
POLICY, FROZEN = "cases/row_scale/policy.yaml", "cases/row_scale/frozen.json"
MODEL, CROSSCHECK = "reference/row_scale/model.py", "reference/row_scale/crosscheck.py"
ROUNDING = "reference/row_scale/rounding.py"

Edit = tuple[str, str, str]


@pytest.fixture
def said(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[Annotation]]:
    """Runs the command in the root after edits of its files: what, by what; gives the annotations."""
    monkeypatch.chdir(root)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(root))

    def run(*edits: Edit, options: tuple[str, ...] = ("--fast",)) -> list[Annotation]:
        for file, old, new in edits:
            text = (root / file).read_text("utf-8")
            assert old in text
            (root / file).write_text(text.replace(old, new, 1), "utf-8")
        forget_reference(root)
        chosen = build_parser().parse_args(["validate", "row_scale", "--format", "github", *options])
        try:
            chosen.run(chosen)
        except GraderError:
            pass
        return annotations(capsys.readouterr().out)

    return run


# Each with the text by which the line at fault begins, after the edit.
BROKEN: dict[str, tuple[Edit, str]] = {
    "a tab": ((CHECKS, "  points: 2\n", "\tpoints: 2\n"), "\tpoints: 2"),
    "a quote without an end": ((EXERCISE, "title: Scaled rows", 'title: "Scaled rows'), 'title: "'),
    "a key without a colon": ((EXERCISE, "title: Scaled rows", "title"), "title"),
    "a key twice": ((CHECKS, "  points: 2\n", "  points: 2\n  clause: scale\n"), "  clause: scale"),
    "an anchor": ((CHECKS, "  points: 2\n", "  points: &two 2\n"), "  points: &two"),
    "an unknown key": ((EXERCISE, "title: Scaled rows", "title: a\ntitel: b"), "titel:"),
    "a wrong type": ((EXERCISE, "seconds_per_call: 5", "seconds_per_call: five"), "  seconds_per_call: five"),
    "an unknown clause": ((CHECKS, "clause: scale", "clause: scael"), "  clause: scael"),
    "an unknown dim": ((CHECKS, "    factor: 1", "    fcator: 1"), "    fcator: 1"),
    "a dim out of bounds": ((CHECKS, "    D: 4", "    D: 0"), "    D: 0"),
    "an unknown requirement": ((CHECKS, "  - ones_row", "  - one_row"), "  - one_row"),
    "a recipe that doesn't fit": ((CHECKS, "      - at:\n        - 0", "      - at:\n        - 9"), "    x:"),
    "a change of a relation": ((CHECKS, "          - 2\n", "          - 7\n"), "      x:"),
    "a group that there isn't": ((EXERCISE, "- checks", "- cheks"), "groups:"),
    "a rule of the policy": ((POLICY, "  why:", "  whi:"), "  whi:"),
    "a stale freeze": ((CHECKS, "    N: 3", "    N: 4"), "{"),
    "a damaged freeze": ((FROZEN, '"schema"', '"scheme"'), "{"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_line_at_fault(root: Path, said: Callable[..., list[Annotation]], name: str) -> None:
    edit, begins = BROKEN[name]
    # Arrays are made after the freeze is looked at.
    late = "recipe" in name or "relation" in name
    found = said(edit, options=("--write",) if late else ("--fast",))
    # Of a key that is not there where it should be, too.
    places = [(one.file, (root / one.file).read_text().splitlines()[one.line - 1]) for one in found]
    file = FROZEN if "freeze" in name else edit[0]
    assert any(place == file and line.startswith(begins) for place, line in places), places
    assert {place for place, _ in places} == {file}


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (
            (MODEL, "import numpy as np\n", "import numpy as np\nimport nothing_there\n"),
            "import nothing_there",
        ),
        ((MODEL, "    return factor", "    return (factor"), "    return (factor"),
        ((CROSSCHECK, "import numpy as np\n", "import numpy as np\n\n1 / 0\n"), "1 / 0"),
        ((ROUNDING, "RUNS =", "RUNZ ="), '"""Honest'),
        ((MODEL, "def row_scale", "def row_scael"), '"""The reference'),
    ],
)
def test_the_line_of_the_reference(
    root: Path, said: Callable[..., list[Annotation]], edit: Edit, line: str
) -> None:
    (one,) = said(edit, options=("--write", "--fast"))
    assert one.file == edit[0] and one.title == "The exercise is at fault"
    assert (root / one.file).read_text().splitlines()[one.line - 1].startswith(line)


def test_a_fault_of_no_file_stands_at_the_exercise(
    root: Path, said: Callable[..., list[Annotation]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / FROZEN).unlink()
    (one,) = said()
    assert (one.file, one.line) == (EXERCISE, 1) and "has no frozen.json yet" in one.message
    monkeypatch.setattr("grader.exercise.source.load", _refuse)
    (one,) = said()
    assert (one.file, one.line, one.message) == (EXERCISE, 1, "the disk is full")


def _refuse(folder: Path) -> None:
    raise GraderError("the disk is full")


@pytest.mark.parametrize(
    ("error", "message"),
    [(OwnFaultError("it broke: 100%"), "it broke: 100%"), (ValueError("a\nb"), "ValueError: a\nb")],
)
def test_a_fault_of_the_grader_is_told_as_one(
    error: Exception, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(type(error)), job.faults_told(lambda fault: None):
        raise error
    (one,) = annotations(capsys.readouterr().out)
    assert (one.title, one.message, one.file) == ("The grader failed", message, "")


def test_a_summary_never_grows_beyond_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    for _ in range(3):
        job.add_summary("é" * 99 + "\n" + "x" * 400_000 + "\n")
    text = page.read_text("utf-8")
    assert len(text.encode()) <= SUMMARY_BYTES and text.count("é" * 99) == 3 and text.endswith("\n")


def test_an_output_of_many_lines_is_one_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.jobs import outputs_of

    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "outputs"))
    job.set_output("one", "a=b\nother<<x\ny")
    job.set_output("two", "")
    assert outputs_of((tmp_path / "outputs").read_text()) == {"one": "a=b\nother<<x\ny", "two": ""}


@pytest.mark.parametrize("command", [("validate",), ("check", "x.py")])
def test_one_kind_of_output_is_chosen(root: Path, command: tuple[str, ...]) -> None:
    done = grader(*command, "--json", "--format", "github", cwd=root)
    assert done.status == 2 and "not allowed with argument --json" in done.err
    done = grader(*command, "--format", "gitlab", cwd=root)
    assert done.status == 2 and "invalid choice: 'gitlab'" in done.err
