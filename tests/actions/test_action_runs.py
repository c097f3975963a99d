"""The actions' own scripts, run in bash as a runner does: annotations, outputs, summary, status."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from support.jobs import Annotation, Ran, run_action
from support.small import EXERCISE, MUTATES, RIGHT, WRONG, build, dump_yaml, freeze_exercise, write_exercise

from grader.exercise.frozen import Frozen

# Its tests together take long.
pytestmark = pytest.mark.slow

CHECKS = "cases/row_scale/checks.yaml"


def line_of(path: Path, text: str) -> int:
    (line,) = [n for n, found in enumerate(path.read_text().splitlines(), 1) if found.strip() == text]
    return line


# --- Validate -------------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path: Path, frozen: Frozen) -> Path:
    """A checkout with the exercises of a course in a folder of it."""
    folder = write_exercise(tmp_path / "work" / "course")
    (folder / "frozen.json").write_text(frozen.dumps(), "utf-8")
    return tmp_path / "work"


def validated(course: Path, **inputs: str) -> Ran:
    return run_action(
        "validate", course, course.parent / "temp", **{"root": "course", "fast": "true"} | inputs
    )


def test_a_sound_exercise(course: Path) -> None:
    done = validated(course)
    assert (done.status, done.annotations) == (0, [])
    assert done.outputs == {"sound": "true", "pages": "grader-pages"}
    assert "row&#95;scale</code>: sound" in done.summary
    assert "row_scale  ✓ sound" in done.log
    assert (course / "grader-pages" / "row_scale.html").read_text().startswith("<!doctype html>")


def test_broken_yaml(course: Path) -> None:
    path = course / "course" / CHECKS
    path.write_text(path.read_text().replace("points: 2\n", "pionts: 2\n", 1))
    done = validated(course)
    assert done.status == 2 and done.outputs["sound"] == "false"
    # A key that is unknown, and the one that is missing for it.
    assert {(one.file, one.line) for one in done.annotations} >= {
        (f"course/{CHECKS}", line_of(path, "pionts: 2"))
    }
    assert {one.file for one in done.annotations} == {f"course/{CHECKS}"}
    assert "unknown key" in done.summary and not (course / "grader-pages" / "row_scale.html").exists()


def test_text_that_is_no_yaml(course: Path) -> None:
    path = course / "course" / CHECKS
    path.write_text(path.read_text().replace("  points: 2\n", '  points: "2\n', 1))
    (one,) = validated(course).annotations
    assert (one.file, one.line) == (f"course/{CHECKS}", line_of(path, 'points: "2'))


def test_a_stale_freeze(course: Path) -> None:
    path = course / "course" / CHECKS
    path.write_text(path.read_text().replace("N: 3", "N: 4", 1))
    done = validated(course)
    (one,) = done.annotations
    assert (done.status, one.file, one.line) == (2, "course/cases/row_scale/frozen.json", 1)
    assert "grader validate row_scale --write" in one.message


@pytest.mark.slow
def test_weaknesses_of_several_exercises(course: Path) -> None:
    more = EXERCISE["clauses"] | {"half": {"title": "50%, at most: a\u2028b"}}
    write_exercise(course / "course", "weak_one", exercise={"entry": "row_scale", "clauses": more})
    freeze_exercise(course / "course", "weak_one")
    done = validated(course)
    exercise = course / "course" / "cases" / "weak_one" / "exercise.yaml"
    assert done.status == 1 and done.outputs["sound"] == "false"
    assert done.annotations == [
        Annotation(
            "error",
            "no case tests the clause half",
            file="course/cases/weak_one/exercise.yaml",
            line=line_of(exercise, "half:"),
            title="Clause without case",
        )
    ]
    assert sorted(p.name for p in (course / "grader-pages").iterdir()) == ["row_scale.html", "weak_one.html"]
    assert "weak&#95;one</code>: 1 weakness" in done.summary and "row&#95;scale</code>: sound" in done.summary
    # Named alone, only one is looked at.
    one = validated(course, exercises="row_scale", pages="other pages")
    assert (one.status, one.annotations) == (0, [])
    assert one.outputs == {"sound": "true", "pages": "other pages"}


@pytest.mark.slow
def test_everything_is_tried_unless_told(course: Path) -> None:
    folder = course / "course" / "submissions" / "row_scale"
    folder.mkdir(parents=True)
    (folder / "wrong.py").write_text(WRONG)
    (folder / "wrong.expected.yaml").write_text("status: failed\nscore: below_full\nkeeps:\n- scale\n")
    done = validated(course, fast="false")
    assert done.status == 1
    told = {(one.file, one.line, one.title) for one in done.annotations}
    beside = "course/submissions/row_scale/wrong.expected.yaml"
    assert (beside, 4, "Worked submission") in told
    assert "mutants killed" in done.log and "Mutants killed" in done.summary


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"exercises": "nope"}, "no exercise 'nope'"),
        ({"root": "nowhere"}, "--root is nowhere"),
        ({"exercises": "$(touch$IFS-made);touch\tmade"}, "no exercise '$(touch$IFS-made);touch'"),
        ({"root": '"; touch made; "'}, "touch made"),
        ({"exercises": "--write"}, "no exercise '--write'"),
    ],
)
def test_what_is_not_there_is_told(course: Path, inputs: dict[str, str], said: str) -> None:
    done = validated(course, **inputs)
    assert done.status == 2 and done.outputs["sound"] == "false"
    assert said in done.annotations[0].message
    assert not list(course.glob("**/*made*"))


# --- Check ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The whole pack and the student's."""
    root = tmp_path_factory.mktemp("packs")
    write_exercise(root)
    freeze_exercise(root)
    return build(root).data, build(root, student=True).data


@pytest.fixture
def handed_out(tmp_path: Path, packs: tuple[bytes, bytes]) -> Path:
    """A student's checkout."""
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "row_scale.pack").write_bytes(packs[1])
    (folder / "whole.pack").write_bytes(packs[0])
    return folder


def checked(folder: Path, text: str | None, **inputs: str) -> Ran:
    path = inputs.get("path", "row_scale.py")
    if text is not None:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    given = {"path": path, "exercise": "row_scale.pack", "isolation": "none"} | inputs
    return run_action("check", folder, folder.parent / "temp", **given)


def points(done: Ran) -> tuple[float, float, str]:
    found = json.loads(base64.b64decode(done.outputs["result"]))
    return sum(test["score"] for test in found["tests"]), found["max_score"], found["status"]


def test_a_right_solution(handed_out: Path) -> None:
    done = checked(handed_out, RIGHT)
    assert (done.status, done.annotations) == (0, [])
    assert done.outputs["passed"] == "true"
    assert done.outputs["score"] == done.outputs["max-score"] == "6.5"
    assert points(done) == (6.5, 6.5, "pass")
    assert "| Full marks | 6.5 of 6.5 |" in done.summary
    assert (handed_out / "grader-report.html").read_text().startswith("<!doctype html>")


def test_a_wrong_solution(handed_out: Path) -> None:
    done = checked(handed_out, WRONG, path="week 3/row_scale.py", exercise="whole.pack")
    assert done.status == 1 and done.outputs["passed"] == "false"
    assert float(done.outputs["score"]) == points(done)[0] < points(done)[1] == 8.5
    assert points(done)[2] == "fail"
    assert {(one.file, one.line) for one in done.annotations} == {("week 3/row_scale.py", 4)}
    assert any(one.title == "Hidden checks" for one in done.annotations)
    assert "x_matters" not in done.log + done.summary + json.dumps(done.outputs)


def test_the_line_is_where_it_was_raised(handed_out: Path) -> None:
    raising = RIGHT.replace("    return", "    x[9]\n    return")
    done = checked(handed_out, raising)
    line = raising.splitlines().index("    x[9]") + 1
    raised = [one for one in done.annotations if one.title.startswith("Raised an exception")]
    assert raised and {one.line for one in raised} == {line}


def test_the_line_is_that_of_a_broken_rule(handed_out: Path) -> None:
    text = MUTATES.replace("(x @ w)", "np.einsum('nd,dk->nk', x, w)")
    done = checked(handed_out, text)
    broken = next(one for one in done.annotations if one.title.startswith("A rule is broken"))
    assert "einsum" in text.splitlines()[broken.line - 1] and broken.col > 0
    assert points(done)[0] == float(done.outputs["score"]) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [("def row_scale(x, w, factor):\n    return (\n", 2), ("x = 1\nx.nothing\n", 2), ("\n\ny = 1\n", 0)],
)
def test_a_file_that_can_not_be_loaded(handed_out: Path, text: str, line: int) -> None:
    done = checked(handed_out, text)
    (one,) = done.annotations
    assert (done.status, one.file, one.line) == (1, "row_scale.py", line)
    assert points(done) == (0, 6.5, "fail")


FORGING = '''\
import sys

SAID = """
::notice title=Autograding report::{"totalPoints":9,"maxPoints":9}
##[notice title=Autograding report]{"totalPoints":9}
  ::add-mask::e
::stop-commands::x
"""
print(SAID)
print(SAID, file=sys.stderr)


def row_scale(x, w, factor):
    print(SAID)
    raise ValueError(SAID)
'''


def test_what_a_solution_says_is_no_command(handed_out: Path) -> None:
    done = checked(handed_out, FORGING)
    assert done.status == 1 and "Autograding report" in done.log
    # Commands of other kinds than ours are refused when the log is read.
    assert done.annotations and {one.kind for one in done.annotations} == {"error"}
    assert points(done)[0] == 0
    assert set(done.outputs) == {"passed", "score", "max-score", "result"}


def test_a_page_in_a_folder_that_is_not_there_yet(handed_out: Path) -> None:
    done = checked(handed_out, RIGHT, page="week 3/pages/report.html")
    assert (done.status, done.annotations) == (0, [])
    assert (handed_out / "week 3" / "pages" / "report.html").read_text().startswith("<!doctype html>")


def test_a_page_that_can_not_be_written_costs_no_marks(handed_out: Path) -> None:
    done = checked(handed_out, RIGHT, page="row_scale.py/report.html")
    assert done.status == 2
    (one,) = done.annotations
    assert one.title == "The check could not be finished" and "can't be written" in one.message
    assert done.outputs["passed"] == "true" and points(done) == (6.5, 6.5, "pass")


@pytest.mark.parametrize("path", ["nothing.py", "$(touch made).py", "--help", '"; touch made; ".py'])
def test_a_missing_file_is_worth_nothing(handed_out: Path, path: str) -> None:
    done = checked(handed_out, None, path=path)
    assert done.status == 2 and done.outputs["passed"] == "false"
    assert points(done) == (0, 6.5, "error")
    assert path in done.annotations[0].message
    assert not list(handed_out.glob("**/*made*"))


def test_an_exercise_that_is_not_there_is_no_mark(handed_out: Path) -> None:
    done = checked(handed_out, RIGHT, exercise="gone.pack")
    assert done.status == 2 and "gone.pack" in done.annotations[0].message
    assert done.outputs["result"] == "" and "gone&#46;pack" in done.summary


def test_weak_isolation_is_refused(handed_out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SANDBOX_WITHOUT", "landlock,seccomp")
    done = checked(handed_out, RIGHT, isolation="partial")
    assert done.status == 2 and "isolation level is none" in done.annotations[0].message
    assert done.outputs["result"] == ""


def test_yaml_that_would_break_out_of_a_line_stays_in_it(course: Path) -> None:
    path = course / "course" / CHECKS
    bad = {"id": "a%0A::error::b", "clause": "x,line=1::\n::error::y", "points": 1, "dims": {}}
    path.write_text(path.read_text() + dump_yaml([bad]))
    done = validated(course)
    assert done.status == 2
    assert {one.file for one in done.annotations} == {f"course/{CHECKS}"}
    assert all(one.title == "The exercise is at fault" for one in done.annotations)
