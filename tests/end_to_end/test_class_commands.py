"""A whole class on the command line: what a platform gives is taken in, graded, corrected and given back."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from handed_in import HIDDEN_HINT, HIDDEN_ID, HIDDEN_TITLE, HIDDEN_VALUE
from support.commands import Done, grader
from support.lms import MadeClass, Student, make, write
from support.small import RIGHT, WRONG, freeze_exercise, write_exercise

from grader.gradebook.journal import Gradebook
from grader.gradebook.lock import hold
from grader.result import SubmissionInfo

# Its tests together take long.
pytestmark = pytest.mark.slow

Row = dict[str, str]

# Whoever runs twice prints something else.
STAMPED = RIGHT + "\n\nimport os\nprint('stamp', os.urandom(8).hex())\n"
LEAKS = "def row_scale(x, w, factor):\n    print(x.tolist())\n    raise ValueError(str(x.tolist()))\n"
WIDE = {"COLUMNS": "300"}
SECRETS = (HIDDEN_ID, HIDDEN_TITLE, HIDDEN_HINT, repr(HIDDEN_VALUE)[:9], "x_matters", "no student may see")


def table(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def rows(out: Path) -> list[Row]:
    """The rows of a folder's gradebook.csv."""
    return table(out / "gradebook.csv")


def by_name(out: Path) -> dict[str, Row]:
    found = rows(out)
    assert len({row["name"] for row in found}) == len(found)
    return {row["name"]: row for row in found}


def records(out: Path) -> dict[str, Any]:
    """The records of results.jsonl by their ids."""
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    return {record["submission"]["id"]: record for record in map(json.loads, lines)}


def counts(done: Done) -> tuple[int, int, int]:
    """How many were run, judged anew, and kept."""
    return done.json["ran"], done.json["rejudged"], done.json["kept"]


def regrade(home: Path, *arguments: str | Path) -> Done:
    return grader("grade", *arguments, "--workers", "1", "--json", cwd=home)


# --- intake -----------------------------------------------------------------------------------


def right_or_wrong(student: Student) -> str:
    return WRONG if int(student.user) % 2 else RIGHT


def expected_rows(made: MadeClass) -> list[tuple[str, ...]]:
    """Name, number, address, late, time, attempts and file of everyone in a made class."""
    told = {None: "", True: "yes", False: "no"}
    return sorted(
        (p.name, p.id, p.email, told[one.late], one.submitted_at, str(one.attempts))
        for one in made.expected.values()
        for p in one.people
    )


def test_intake_shows_a_moodle_download_and_runs_nothing(home: Path, tmp_path: Path) -> None:
    made = make("moodle", 10, right_or_wrong)
    path = made.zip(tmp_path)
    shown = grader("intake", path, cwd=home, **WIDE)
    assert shown.status == 0 and shown.err == ""
    assert shown.out.startswith("10 submissions, layout: moodle\n")
    document = grader("intake", path, "--json", cwd=home)
    assert document.status == 0 and document.json["schema"] == "grader.intake/1"
    assert document.json["layouts"] == ["moodle"] and document.json["problems"] == []
    found = {s["people"][0]["platform_id"]: s for s in document.json["submissions"]}
    assert found.keys() == made.expected.keys()
    for key, one in made.expected.items():
        row = found[key]
        assert row["name"] == one.name and row["feedback"] == one.feedback
        assert row["file"] == one.file and row["rule"] and row["lines"] == one.text.count("\n") + 1
        for cell in (one.name, row["id"], one.file):
            assert cell in shown.out
        assert "source" not in row
    # Of a helper that nothing imports both say that it was left out.
    left = [path for path in made.files if path.endswith("helpers.py")]
    assert left and len(document.json["left_out"]) == len(left)
    assert shown.out.count("helpers.py: ") == len(left)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_intake_tells_who_of_a_canvas_download_came_late(home: Path, tmp_path: Path) -> None:
    made = make("canvas", 10, right_or_wrong)
    path = made.zip(tmp_path)
    document = grader("intake", path, "--json", cwd=home)
    found = {s["people"][0]["platform_id"]: s for s in document.json["submissions"]}
    assert found.keys() == made.expected.keys()
    assert {key: s["late"] for key, s in found.items()} == {k: e.late for k, e in made.expected.items()}
    shown = grader("intake", path, cwd=home, **WIDE)
    assert shown.out.startswith("10 submissions, layout: canvas\n")
    late = [line for line in shown.out.splitlines() if " late " in line]
    assert len(late) == sum(bool(e.late) for e in made.expected.values()) == 1


def notebook(*cells: str) -> str:
    """An .ipynb file with these code cells, below one of text."""
    code = [
        {"cell_type": "code", "metadata": {}, "source": c, "outputs": [], "execution_count": None}
        for c in cells
    ]
    text = {"cell_type": "markdown", "metadata": {}, "source": "# Rows"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [text, *code]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files and notebooks by hand: a student a file or folder, helper modules, and a damaged archive."""
    root = tmp_path / "week 3"
    texts = {
        "ann.ipynb": notebook("%matplotlib inline\nimport numpy as np", "1 / 0", RIGHT),
        "bob.ipynb": notebook("import numpy as np", WRONG, "row_scale(1)"),
        "cleo/solution.py": "from rows import scaled\n\n\ndef row_scale(x, w, factor):\n"
        "    return scaled(x, w, factor)\n",
        "cleo/rows.py": RIGHT.replace("def row_scale", "def scaled"),
        "cleo/test_rows.py": "raise SystemExit\n",
        "dan/solution.py": "import rows\n\nrow_scale = rows.missing\n",
        "dan/rows.py": "import numpy as np\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


def test_intake_of_a_plain_folder_tells_modules_and_what_is_left_out(home: Path, folder: Path) -> None:
    shown = grader("intake", folder, cwd=home, **WIDE)
    assert shown.status == 0 and shown.out.startswith("4 submissions, layout: plain\n")
    assert "solution.py with rows.py" in shown.out and "ann.ipynb" in shown.out
    document = grader("intake", folder, "--json", cwd=home).json
    found = {s["id"]: s for s in document["submissions"]}
    assert sorted(found) == ["ann", "bob", "cleo", "dan"]
    assert [part["kind"] for part in found["ann"]["parts"]] == ["cell"] * 3
    assert [p["name"] for p in found["cleo"]["parts"] if p["kind"] == "module"] == ["rows.py"]
    assert any("test_rows.py" in left for left in document["left_out"])


def test_intake_of_nothing_is_status_2(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in ("empty", "nowhere"):
        done = grader("intake", tmp_path / path, "--json", cwd=home)
        assert done.status == 2 and done.json["submissions"] == []
    near = grader("intake", tmp_path / "empty", "--layout", "canvass", cwd=home)
    assert near.status == 2 and "did you mean 'canvas'?" in near.err


# --- every platform's download ----------------------------------------------------------------


@pytest.mark.parametrize(
    "layout", ["canvas", "moodle", "gradescope", "blackboard", "brightspace", "classroom"]
)
def test_everyone_in_a_platforms_download_has_a_right_row(layout: str, home: Path, tmp_path: Path) -> None:
    made = make(layout, 10, right_or_wrong)
    done = regrade(home, made.zip(tmp_path), "--out", tmp_path / "out", "--no-pages")
    assert done.status == 0 and done.json["layouts"] == [layout] and counts(done) == (10, 0, 0)
    found = rows(tmp_path / "out")
    keys = ("name", "student_id", "email", "late", "submitted_at", "attempts")
    assert sorted(tuple(row[key] for key in keys) for row in found) == expected_rows(made)
    scores = Counter(
        (one.name, "passed" if one.text == RIGHT else "failed") for one in made.expected.values()
    )
    assert (
        Counter((r["submission"]["name"], r["status"]) for r in records(tmp_path / "out").values()) == scores
    )
    by_status = {row["status"]: float(row["score"]) for row in found}
    assert by_status["passed"] == float(found[0]["max_score"]) and 0 < by_status["failed"] < 10
    if layout == "gradescope":
        # Leading zeros, and a row for each member of the group with its own address.
        assert {"0000000", "0000003"} < {row["student_id"] for row in found}
        group = [row for row in found if row["id"] == "Team-9-Zoe_0000009"]
        assert [row["name"] for row in group] == ["Team 9 Zoë", "Partner Pärchen"]
        assert len({row["score"] for row in group}) == 1


# --- one class --------------------------------------------------------------------------------

CLASS = (
    Student("Ada", "Lovelace", "0000012", "ada", "1", partner="Pat Partner"),
    Student("Émile", "Borel", "0000345", "emile", "2"),
    Student("Sam", "Smith", "0000777", "sam1", "3"),
    Student("Leo", "Leaky", "0000888", "leo", "4"),
)
SOURCES = {"ada": STAMPED, "emile": STAMPED, "sam1": WRONG, "leo": LEAKS}
ADA, EMILE, SAM, LEO = "Ada-Lovelace_0000012", "Emile-Borel_0000345", "Sam-Smith_0000777", "Leo-Leaky_0000888"
ROSTER = """\
Name,Student ID,Email
Ada Lovelace,0000012,ada@school.example
Pat Partner,0000013,p0@school.example
Émile Borel,0000345,emile@school.example
Sam Smith,0000777,sam1@school.example
Leo Leaky,0000888,leo@school.example
Zoë Absent,0000099,zoe@school.example
"""


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a class list and Gradescope's archive of a small class."""
    folder = tmp_path_factory.mktemp("downloads")
    write("gradescope", CLASS, lambda s: SOURCES[s.login]).zip(folder).rename(folder / "class.zip")
    (folder / "roster.csv").write_text(ROSTER, "utf-8")
    return folder


@pytest.fixture(scope="session")
def term(home: Path, cache: Path, downloads: Path) -> tuple[Done, Path]:
    """The class graded once, beside its downloads."""
    command = ["grade", "class.zip", "--roster", "roster.csv", "--out", "out", "--workers", "1", "--json"]
    done = grader(*command, cwd=downloads, GRADER_ROOT=str(home), GRADER_CACHE=str(cache))
    return done, downloads / "out"


@pytest.fixture
def out(term: tuple[Done, Path], tmp_path: Path) -> Path:
    """A copy of the graded folder that a test may change."""
    return shutil.copytree(term[1], tmp_path / "out")


def test_a_roster_adds_who_handed_in_nothing_and_fills_in_numbers(term: tuple[Done, Path]) -> None:
    done, out = term
    assert done.status == 0 and counts(done) == (4, 0, 0)
    assert [person["id"] for person in done.json["missing"]] == ["0000099"]
    found = by_name(out)
    absent = found["Zoë Absent"]
    assert absent["status"] == "not_submitted" and absent["score"] == "" and absent["id"] == ""
    assert absent["student_id"] == "0000099" and absent["attempts"] == "0"
    assert found["Pat Partner"]["student_id"] == "0000013" and found["Pat Partner"]["id"] == ADA
    assert Counter(row["status"] for row in found.values()) == Counter(passed=3, failed=2, not_submitted=1)
    assert "Zoë Absent" in (out / "index.html").read_text("utf-8")


def test_twins_are_run_once_and_both_have_a_result(term: tuple[Done, Path]) -> None:
    done, out = term
    found = records(out)
    stamps = {name: found[name]["output"]["stdout"] for name in (ADA, EMILE)}
    assert stamps[ADA].startswith("stamp ") and stamps[ADA] == stamps[EMILE]
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM executions").fetchone() == (3,)
    (group,) = done.json["alike"]
    assert group["exact"] and sorted(s["id"] for s in group["submissions"]) == sorted((ADA, EMILE))
    for name in (ADA, EMILE):
        other = {ADA: "Borel", EMILE: "Lovelace"}[name]
        assert other not in (out / "students" / f"{name}.html").read_text("utf-8")


def test_the_same_command_again_runs_nothing_whatever_the_archive_is_called(
    home: Path, downloads: Path, out: Path, tmp_path: Path
) -> None:
    roster = ["--roster", downloads / "roster.csv"]
    assert counts(regrade(home, downloads / "class.zip", *roster, "--out", out)) == (0, 0, 4)
    before = (out / "gradebook.csv").read_bytes()
    again = shutil.copy(downloads / "class.zip", tmp_path / "class (1).zip")
    done = regrade(home, again, *roster, "--out", out)
    assert (out / "gradebook.csv").read_bytes() == before
    assert done.json["ran"] == 0 and done.json["submissions"] == 4
    assert sorted(records(out)) == sorted((ADA, EMILE, SAM, LEO))


def test_a_resubmission_alone_is_run_and_replaces_the_old_one(home: Path, out: Path, tmp_path: Path) -> None:
    made = write("gradescope", CLASS, lambda s: RIGHT if s.login == "sam1" else SOURCES[s.login])
    before = by_name(out)["Sam Smith"]
    done = regrade(home, made.zip(tmp_path), "--out", out)
    assert done.status == 0 and done.json["ran"] == 1 and done.json["submissions"] == 4
    after = by_name(out)["Sam Smith"]
    assert (before["status"], after["status"]) == ("failed", "passed") and before["id"] == after["id"] == SAM
    # The roster of the first run still holds.
    assert by_name(out)["Zoë Absent"]["status"] == "not_submitted"


def test_only_names_a_student_as_people_do(home: Path, downloads: Path, out: Path) -> None:
    archive = downloads / "class.zip"
    old = records(out)[ADA]["output"]["stdout"]
    names = ("0000345", "émile BOREL", "emile@school.example", EMILE)
    only = [word for name in names for word in ("--only", name)]
    assert counts(regrade(home, archive, "--out", out, *only)) == (0, 0, 1)
    assert counts(regrade(home, archive, "--out", out, "--only", "0000345", "--force")) == (1, 0, 0)
    found = records(out)
    assert found[ADA]["output"]["stdout"] == old != found[EMILE]["output"]["stdout"]
    done = regrade(home, archive, "--out", out, "--only", "Emile-Borel_000345")
    assert done.status == 2 and f"did you mean {EMILE!r}?" in done.err
    assert "did you mean" in done.json["error"]


def test_force_runs_everything_again_and_faults_only_what_failed(
    home: Path, downloads: Path, out: Path
) -> None:
    archive = downloads / "class.zip"
    assert counts(regrade(home, archive, "--out", out, "--faults")) == (0, 0, 0)
    old = records(out)[ADA]["output"]["stdout"]
    assert counts(regrade(home, archive, "--out", out, "--force")) == (4, 0, 0)
    assert records(out)[ADA]["output"]["stdout"] != old


def test_a_fault_of_the_grader_is_no_mark_and_faults_runs_it_again(
    home: Path, tmp_path: Path, folder: Path
) -> None:
    # A machine on which the extra for notebooks is missing.
    hide = tmp_path / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text("import sys\nsys.modules['nbformat'] = None\n")
    out = tmp_path / "out"
    path = f"{Path(__file__).resolve().parents[2]}:{hide}"
    command = ["grade", folder, "--out", out, "--workers", "1", "--json"]
    done = grader(*command, cwd=home, PYTHONPATH=path)
    assert done.status == 3 and done.json["faults"] == ["ann", "bob"]
    marks = {row["id"]: (row["status"], row["score"]) for row in rows(out)}
    assert marks["ann"] == marks["bob"] == ("grader_fault", "") and marks["cleo"] == ("passed", "10.0")
    mended = grader(*command, "--faults", cwd=home)
    assert mended.status == 0 and counts(mended) == (2, 0, 0)
    assert {row["id"]: row["status"] for row in rows(out)} == {
        "ann": "passed", "bob": "failed", "cleo": "passed", "dan": "not_loadable"
    }  # fmt: skip


# --- an exercise that changes -----------------------------------------------------------------


def exercise(root: Path, **overrides: Any) -> Path:
    """A root of its own with the exercise, changed."""
    write_exercise(root, **overrides)
    freeze_exercise(root)
    return root


@pytest.fixture(scope="session")
def changing(tmp_path_factory: pytest.TempPathFactory, cache: Path, downloads: Path) -> Path:
    """A folder with an exercise ``exercise`` and the class graded by it in ``out``."""
    folder = tmp_path_factory.mktemp("changing")
    exercise(folder / "exercise")
    command = ["grade", downloads / "class.zip", "--out", "out", "--workers", "1", "--json"]
    root = str(folder / "exercise")
    assert counts(grader(*command, cwd=folder, GRADER_ROOT=root, GRADER_CACHE=str(cache))) == (4, 0, 0)
    return folder


@pytest.mark.parametrize(
    ("overrides", "runs"),
    [
        ({"change": {"ones_row": {"hint": "Think of the mean."}}}, False),
        ({"change": {"ones_row": {"points": 3}}}, False),
        ({"change": {"large_rows": {"tolerance": 0.005}}}, False),
        ({"exercise": {"grading": {"max_score": 20}}}, False),
        ({"policy": {"effect": {"deduct": 2}}}, False),
        ({"policy": {"allowed": ["numpy.linalg"]}}, True),
        ({"exercise": {"limits": {"seconds_per_call": 6, "seconds": 61}}}, True),
    ],
    ids=["hint", "points", "tolerance", "grading", "effect", "policy", "limits"],
)
def test_what_only_judges_runs_nothing(
    overrides: dict[str, Any], runs: bool, changing: Path, downloads: Path, tmp_path: Path
) -> None:
    root, out = exercise(tmp_path / "new", **overrides), tmp_path / "out"
    shutil.copytree(changing / "out", out)
    stamp = records(out)[ADA]["output"]["stdout"]
    done = regrade(tmp_path, downloads / "class.zip", "--out", out, "--root", root)
    assert done.status == 0 and counts(done) == ((4, 0, 0) if runs else (0, 4, 0))
    assert (records(out)[ADA]["output"]["stdout"] == stamp) != runs


def test_report_shows_whose_score_another_pack_changed(
    changing: Path, downloads: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(changing / "out", tmp_path / "out")
    first = next(iter(records(out).values()))["exercise"]["pack"]
    same = grader("report", out, cwd=tmp_path)
    assert same.status == 0 and same.out == f"4 submissions: {out / 'index.html'}\n"
    sam = records(out)[SAM]
    # A row alone is right whatever Sam divides by, and what another check is worth changes everyone's score.
    change = {"large_rows": {"dims": {"N": 1, "D": 4, "K": 2, "factor": 1}}, "ones_row": {"points": 3}}
    root = exercise(tmp_path / "new", change=change)
    done = regrade(tmp_path, downloads / "class.zip", "--out", out, "--root", root)
    assert done.json["submissions"] == 4
    after = records(out)[SAM]
    for options in ([], ["--since", first], ["--since", first.removeprefix("sha256:")[:8]]):
        told = grader("report", out, *options, cwd=tmp_path)
        assert told.status == 0 and "4 of 4 submissions with results by another pack changed" in told.out
        (line,) = [line for line in told.out.splitlines() if line.strip().startswith(SAM)]
        assert f"{sam['score']:g} → {after['score']:g}" in line and "large_rows wrong_value → passed" in line
    unknown = grader("report", out, "--since", "0123456789", cwd=tmp_path)
    assert unknown.status == 2 and "no pack begins with '0123456789'" in unknown.err


# --- points by hand ---------------------------------------------------------------------------


def test_points_by_hand_count_at_once_are_told_and_stay(home: Path, downloads: Path, out: Path) -> None:
    before = float(by_name(out)["Sam Smith"]["score"])
    reason = "Copied <b>the first part</b>"
    given = grader("adjust", out, "0000777", "--points", "-2", "--reason", reason, cwd=home)
    assert given.status == 0 and given.out == f"{SAM}: {before:g} → {before - 2:g} of 10\n"
    assert float(by_name(out)["Sam Smith"]["score"]) == before - 2
    page = (out / "students" / f"{SAM}.html").read_text("utf-8")
    assert "Copied &lt;b&gt;the first part" in page and "<b>the first" not in page
    listed = grader("adjust", out, cwd=home, **WIDE)
    assert listed.status == 0 and SAM in listed.out and reason in listed.out and "-2" in listed.out
    assert grader("adjust", out, "0000777", cwd=home, **WIDE).out == listed.out
    assert grader("adjust", out, ADA, cwd=home).out == "no adjustments by hand\n"
    group = grader("adjust", out, "Pat Partner", "--points", "1", "--reason", "x", cwd=home)
    assert group.status == 0 and group.out.startswith(f"{ADA}: ") and "for each of" in group.out
    assert "Pat Partner" in group.out
    assert grader("adjust", out, "--remove", "2", cwd=home).status == 0
    assert counts(regrade(home, downloads / "class.zip", "--out", out, "--force")) == (4, 0, 0)
    assert float(by_name(out)["Sam Smith"]["score"]) == before - 2
    assert grader("report", out, cwd=home).status == 0
    assert records(out)[SAM]["adjustments"] == [{"reason": reason, "points": -2.0}]
    back = grader("adjust", out, "--remove", "1", cwd=home)
    assert back.status == 0 and back.out == f"{SAM}: {before - 2:g} → {before:g} of 10\n"
    assert "taken back" in grader("adjust", out, cwd=home, **WIDE).out
    assert float(by_name(out)["Sam Smith"]["score"]) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Sam-Smith_000777", "--points", "1", "--reason", "x"], f"did you mean {SAM!r}?"),
        (["0000777", "--points", "1"], "needs a reason"),
        (["0000777", "--points", "nan", "--reason", "x"], "no number of points"),
        (["--points", "1", "--reason", "x"], "name the student"),
        (["0000777", "--reason", "x"], "for how many points? --points N"),
        (["--remove", "9", "--reason", "x"], "goes alone"),
        (["--remove", "9"], "no adjustment 9"),
        (["0000777", "--remove", "1"], "goes alone"),
        (["Zoë Absent", "--points", "1", "--reason", "x"], "'Zoë Absent' is on the class list and handed in"),
        (["nobody"], "no submission is of 'nobody'"),
    ],
)
def test_an_adjustment_that_cant_be_is_refused_with_a_reason(
    arguments: list[str], said: str, term: tuple[Done, Path], home: Path
) -> None:
    before = (term[1] / "gradebook.csv").read_bytes()
    done = grader("adjust", term[1], *arguments, cwd=home)
    assert done.status == 2 and said in done.err and done.out == ""
    assert (term[1] / "gradebook.csv").read_bytes() == before


# --- exports ----------------------------------------------------------------------------------

FILES = {
    "gradescope": f"{SAM}/results.json",
    "canvas": "canvas.csv",
    "moodle": "moodle.csv",
    "moodle-feedback": "moodle-feedback.zip",
    "brightspace": "brightspace.csv",
    "brightspace-feedback": "brightspace-feedback.zip",
    "junit": "junit.xml",
    "github": "summary.md",
    "csv": "scores.csv",
    "jsonl": "results.jsonl",
    "parquet": "submissions.parquet",
    "pass-at-k": "pass_at_k.csv",
}


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """All files in a folder as texts, those in archives too."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                yield from ((f"{path.name}/{n}", archive.read(n).decode()) for n in archive.namelist())
        else:
            yield path.name, path.read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_written_and_the_ones_for_students_tell_nothing_hidden(
    name: str, term: tuple[Done, Path], home: Path, tmp_path: Path
) -> None:
    done = grader("export", term[1], "--format", name, "--out", tmp_path / name, cwd=home)
    assert done.status == 0
    assert (tmp_path / name / FILES[name]).is_file(), done.out
    if name in ("gradescope", "junit", "github"):
        texts = [*contents(tmp_path / name), ("stdout", done.out), ("stderr", done.err)]
        assert any("large_rows" in text or "Rows of unlike sizes" in text for _, text in texts)
        for where, text in texts:
            assert not [secret for secret in SECRETS if secret in text], where


def test_an_export_of_a_class_that_is_not_all_graded_says_so(home: Path, out: Path, tmp_path: Path) -> None:
    command = ("export", out, "--format", "csv", "--out", tmp_path / "marks.csv")
    assert "1 submission waits for a result" not in grader(*command, cwd=home).err.replace("\n", " ")
    with Gradebook(out, None) as gradebook:
        gradebook.begin([SubmissionInfo("zoe", "Zoë Absent", ("Zoë Absent",), "zoe.py", "")])
    done = grader(*command, cwd=home)
    assert done.status == 0 and "1 submission waits for a result" in done.err.replace("\n", " ")
    # Who waits for a result has handed in something.
    assert "Zoë Absent" not in (tmp_path / "marks.csv").read_text("utf-8")
    assert grader("report", out, cwd=home).status == 0
    page = (out / "index.html").read_text("utf-8")
    assert "Not all are graded yet" in page and "1 submission waits for a result" in page
    assert "Zoë Absent" not in page


def test_an_export_is_on_the_class_page_at_once_where_it_lies_in_its_folder(
    home: Path, out: Path, tmp_path: Path
) -> None:
    def links() -> list[str]:
        return re.findall(r'href="(exports/[^"]*)"', (out / "index.html").read_text("utf-8"))

    assert links() == []
    assert grader("export", out, "--format", "junit", "--out", tmp_path / "away", cwd=home).status == 0
    assert links() == []
    assert grader("export", out, "--format", "csv", cwd=home).status == 0
    (link,) = links()
    assert (out / link).is_file()
    with hold(out, "a test"):
        done = grader("export", out, "--format", "jsonl", cwd=home)
    assert done.status == 0 and "does not list this export yet" in done.err.replace("\n", " ")
    assert links() == [link]
    assert grader("report", out, cwd=home).status == 0
    assert len(links()) == 2 and all((out / one).is_file() for one in links())


def test_a_second_run_without_the_class_list_takes_that_of_the_first_and_says_so(
    home: Path, downloads: Path, out: Path
) -> None:
    before = (out / "gradebook.csv").read_bytes()
    again = grader("grade", downloads / "class.zip", "--out", out, "--workers", "1", cwd=home)
    said = again.err.replace("\n", " ")
    assert again.status == 0 and "the class list roster.csv of an earlier run counts" in said
    assert "1 of the class list handed in nothing" in said
    assert (out / "gradebook.csv").read_bytes() == before


def test_files_named_by_login_stay_those_of_the_class_list_in_a_second_run(
    home: Path, tmp_path: Path
) -> None:
    for login in ("ada", "emile"):
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / f"{login}.py").write_text(RIGHT, "utf-8")
    (tmp_path / "list.csv").write_text(
        "name,login,number\nAda L,ada,007\nÉmile B,emile,008\nZoë,zoe,009\n", "utf-8"
    )
    command = ["grade", tmp_path / "work", "--out", tmp_path / "out", "--workers", "1"]
    assert grader(*command, "--roster", tmp_path / "list.csv", cwd=home).status == 0
    before = by_name(tmp_path / "out")
    assert {name: row["status"] for name, row in before.items()} == {
        "Ada L": "passed",
        "Émile B": "passed",
        "Zoë": "not_submitted",
    }
    # It is kept as it was: nobody has to have the file at hand.
    (tmp_path / "list.csv").unlink()
    (tmp_path / "work" / "emile.py").write_text(WRONG, "utf-8")
    assert grader(*command, cwd=home).status == 0
    after = by_name(tmp_path / "out")
    assert after["Émile B"]["status"] == "failed" and after["Émile B"]["student_id"] == "008"
    assert after["Ada L"] == before["Ada L"] and after["Zoë"] == before["Zoë"]
    # A fresh start knows nobody.
    assert grader(*command, "--fresh", cwd=home).status == 0
    assert sorted(by_name(tmp_path / "out")) == ["ada", "emile"]


def test_a_damaged_class_list_is_told_and_another_takes_its_place(
    home: Path, downloads: Path, out: Path
) -> None:
    with closing(sqlite3.connect(out / "gradebook.sqlite")) as db, db:
        assert db.execute(
            "UPDATE about SET value = replace(value, 'roster.csv', 'other.csv') WHERE key = 'class list'"
        ).rowcount
    command = ["grade", downloads / "class.zip", "--out", out, "--workers", "1"]
    done = grader(*command, cwd=home)
    assert done.status == 2 and "the class list is damaged" in done.err.replace("\n", " ")
    assert grader(*command, "--roster", downloads / "roster.csv", cwd=home).status == 0
    assert grader(*command, cwd=home).status == 0


def test_a_class_list_is_no_submission(home: Path, downloads: Path, tmp_path: Path) -> None:
    done = grader("grade", downloads / "roster.csv", "--out", tmp_path / "out", cwd=home)
    assert done.status == 2 and "a class list is named with --roster" in done.err
    assert not (tmp_path / "out").exists()


def test_out_may_name_the_one_file_that_is_written(
    term: tuple[Done, Path], home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "deep" / "marks.csv"
    for _ in range(2):
        done = grader("export", term[1], "--format", "csv", "--out", file, cwd=home)
        assert done.status == 0 and done.out == f"1 file: {file}\n"
        assert len(table(file)) > 1 and [p.name for p in file.parent.iterdir()] == ["marks.csv"]
    for name, said in (("junit", "writes a .xml file"), ("parquet", "writes 2 files")):
        done = grader("export", term[1], "--format", name, "--out", file, cwd=home)
        assert done.status == 2 and said in done.err and len(table(file)) > 1
        assert [p.name for p in file.parent.iterdir()] == ["marks.csv"]


def test_in_a_github_job_the_summary_is_added_to_its_page(
    term: tuple[Done, Path], home: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n")
    export = ("export", term[1], "--format", "github", "--out", tmp_path / "out")
    assert grader(*export, cwd=home, GITHUB_STEP_SUMMARY=str(page)).status == 0
    assert page.read_text("utf-8") == "before\n" + (tmp_path / "out" / "summary.md").read_text("utf-8")
    lost = grader(*export, cwd=home, GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "page.md"))
    assert lost.status == 0 and "summary" in lost.err and "can't be written" in lost.err


def test_what_the_leaking_submission_got_hold_of_is_the_teachers_alone(term: tuple[Done, Path]) -> None:
    out = term[1]
    teacher = (out / "teacher" / f"{LEO}.html").read_text("utf-8")
    assert all(secret in teacher for secret in (HIDDEN_ID, repr(HIDDEN_VALUE)[:9]))
    for path in (out / "students").iterdir():
        page = path.read_text("utf-8")
        assert not [secret for secret in SECRETS if secret in page], path.name


@pytest.mark.parametrize("layout", ["moodle", "brightspace"])
def test_feedback_pages_go_back_into_the_platforms_folders(layout: str, home: Path, tmp_path: Path) -> None:
    made = write(layout, CLASS, lambda s: SOURCES[s.login])
    out = tmp_path / "out"
    assert regrade(home, made.zip(tmp_path), "--out", out).status == 0
    done = grader("export", "out", "--format", f"{layout}-feedback", cwd=tmp_path)
    assert done.status == 0 and done.out == f"1 file: out/exports/{layout}-feedback/{layout}-feedback.zip\n"
    texts = dict(contents(out / "exports"))
    folders = {name.split("/")[-2] for name in texts if name.endswith(".html")}
    assert {one.feedback for one in made.expected.values()} <= folders
    leo = next(text for name, text in texts.items() if "Leo Leaky" in name and name.endswith(".html"))
    assert "ValueError" in leo
    for where, text in texts.items():
        assert not [secret for secret in SECRETS if secret in text], where


def test_a_canvas_gradebook_is_filled_in(home: Path, tmp_path: Path) -> None:
    made = write("canvas", CLASS, lambda s: SOURCES[s.login])
    out, template = tmp_path / "out", tmp_path / "grades.csv"
    assert regrade(home, made.zip(tmp_path), "--out", out, "--no-pages").status == 0
    template.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Week 2 (1),Week 3 (2)\n"
        "    Points Possible,,,,,5,10\n"
        '"Smith, Sam",3,0000777,sam1,A,4,\n'
        '"Lovelace, Ada",1,0000012,ada,A,3,\n'
        '"Zoë Absent",9,0000099,zoe,A,2,1\n',
        "utf-8",
    )
    command = ["export", out, "--format", "canvas", "--template", template]
    done = grader(*command, "--assignment", "Week 3", cwd=tmp_path)
    assert done.status == 0
    written = table(out / "exports" / "canvas" / "canvas.csv")
    marks = {row["SIS User ID"]: (row["Week 2 (1)"], row["Week 3 (2)"]) for row in written[1:]}
    wrong = next(
        r["score"] for r in records(out).values() if r["submission"]["people"][0]["platform_id"] == "3"
    )
    assert marks == {"0000777": ("4", f"{wrong:g}"), "0000012": ("3", "10"), "0000099": ("2", "1")}
    # Who is not in the gradebook is said.
    assert "leaky" in done.err.casefold() and "borel" in done.err.casefold()
    near = grader(*command, "--assignment", "Weak 3", cwd=tmp_path)
    assert near.status == 2 and "did you mean 'Week 3 (2)'?" in near.err


def test_those_of_the_roster_get_a_0_only_when_it_is_asked(
    term: tuple[Done, Path], home: Path, tmp_path: Path
) -> None:
    for options, mark in (([], ""), (["--missing", "zero"], "0")):
        command = ["export", term[1], "--format", "canvas", "--assignment", "Week 3", "--out", tmp_path]
        assert grader(*command, *options, cwd=home).status == 0
        written = table(tmp_path / "canvas.csv")
        assert {row["Student"]: row["Week 3"] for row in written}["Zoë Absent"] == mark


def test_an_export_that_cant_be_is_refused_with_a_reason(
    term: tuple[Done, Path], home: Path, tmp_path: Path
) -> None:
    for arguments, said in (
        ([term[1], "--format", "canvass"], "did you mean 'canvas'?"),
        ([term[1], "--format", "junit", "--template", "x.csv"], "leave --template out"),
        ([term[1], "--format", "canvas", "--template", tmp_path / "no.csv"], "no.csv"),
        ([tmp_path, "--format", "canvas"], "holds no gradebook.sqlite"),
        ([term[1]], "--format"),
        ([term[1], "--format", "pass-at-k", "--k", "0"], "--k: expected a whole number from 1 on, found '0'"),
    ):
        done = grader("export", *arguments, cwd=home)
        assert done.status == 2 and said in done.err and done.out == ""


def test_a_bundle_for_gradescope_holds_all_that_grading_needs(home: Path, tmp_path: Path) -> None:
    done = grader("gradescope-bundle", "--out", tmp_path / "auto.zip", cwd=home)
    assert done.status == 0 and "bundle for row_scale" in done.out
    with zipfile.ZipFile(tmp_path / "auto.zip") as archive:
        assert {"setup.sh", "run_autograder"} < set(archive.namelist())
    refused = grader(
        "gradescope-bundle", "--exercise", "student.pack", "--out", tmp_path / "no.zip", cwd=home
    )
    assert refused.status == 2 and "student's pack" in refused.err and not (tmp_path / "no.zip").exists()


# --- notebooks, modules, damage ---------------------------------------------------------------


def test_cells_that_fail_and_helper_modules_are_graded_and_named(
    home: Path, folder: Path, tmp_path: Path
) -> None:
    done = regrade(home, folder, "--out", tmp_path / "out")
    assert done.status == 0 and done.json["counts"] == {"passed": 2, "failed": 1, "not_loadable": 1}
    found = records(tmp_path / "out")
    assert {name: record["status"] for name, record in found.items()} == {
        "ann": "passed", "bob": "failed", "cleo": "passed", "dan": "not_loadable"
    }  # fmt: skip
    told = json.dumps([found["ann"]["notes"], found["ann"]["message"]])
    assert "Cell 2, line 1 raised" in told and "ZeroDivisionError" in told
    assert "line 3: module 'rows' has no attribute 'missing'" in found["dan"]["message"]


def test_damaged_archives_cost_status_2_and_nobody_elses_marks(
    home: Path, downloads: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.zip").write_bytes((downloads / "class.zip").read_bytes()[:700])
    done = regrade(home, tmp_path / "broken.zip", downloads / "class.zip", "--out", tmp_path / "out")
    assert done.status == 2 and done.json["submissions"] == 4 and done.json["ran"] == 4
    (problem,) = done.json["problems"]
    assert "broken.zip" in problem and "broken.zip" in done.err
    alone = regrade(home, tmp_path / "broken.zip", "--out", tmp_path / "other")
    assert alone.status == 2 and alone.json["submissions"] == 0 and not (tmp_path / "other").exists()


# --- how a course counts ----------------------------------------------------------------------


def test_a_courses_policies_add_up_on_the_page(tmp_path: Path) -> None:
    """Gradescope tells the times; 40 points, 10 % an hour from 10:00 on, a gate, and half points."""
    grading = {
        "weights": {"checks": 40},
        "gates": [{"clause": "rows", "cap": "80 %", "reason": "Rows have to be kept apart"}],
        "late": {"due": "2026-10-05T10:00-07:00", "grace": "10 min", "cost": "10 %", "per": "hour"},
        "rounding": {"to": 0.5, "direction": "down"},
    }
    root = exercise(tmp_path / "root", exercise={"grading": grading})
    # 09:30, 10:01 (within the grace), 10:32 and 11:03; number 3 is wrong.
    made = make("gradescope", 4, lambda s: WRONG if s.sid == "0000003" else RIGHT)
    done = regrade(tmp_path, made.zip(tmp_path), "--out", tmp_path / "out", "--root", root)
    assert done.status == 0
    found = {r["submission"]["people"][0]["id"]: r for r in records(tmp_path / "out").values()}
    assert {number: r["score"] for number, r in found.items() if number != "0000003"} == {
        "0000000": 40.0, "0000001": 40.0, "0000002": 36.0
    }  # fmt: skip
    for number, record in found.items():
        assert record["max_score"] == 40.0
        points = sum(case["points"] for case in record["cases"])
        given = [adjustment["points"] for adjustment in record["adjustments"]]
        assert record["score"] == pytest.approx(points + sum(given), abs=1e-9), number
        for folder in ("students", "teacher"):
            page = (tmp_path / "out" / folder / f"{record['submission']['id']}.html").read_text("utf-8")
            assert f"{record['score']:g}" in page
            for adjustment in record["adjustments"]:
                assert adjustment["reason"].casefold() in page.casefold()
    last = found["0000003"]
    assert sum(case["max_points"] for case in last["cases"]) == pytest.approx(40)
    # Two hours have begun: 8 points, whatever the checks gave; what is left is a step of 0.5.
    assert -8.0 in [a["points"] for a in last["adjustments"]] and last["score"] % 0.5 == 0
    assert last["score"] <= 32 - 8
    csv_scores = {row["student_id"]: float(row["score"]) for row in rows(tmp_path / "out")}
    assert csv_scores == {number: record["score"] for number, record in found.items()}


@pytest.mark.parametrize(
    "options", [["--layout", "canvass"], ["--roster", "no.csv"], ["--exercise", "row_scal"]]
)
def test_intake_writes_its_document_also_when_it_can_t_work(options: list[str], home: Path) -> None:
    done = grader("intake", "class", *options, "--json", cwd=home)
    assert done.status == 2
    assert done.json["schema"] == "grader.intake/1" and done.json["submissions"] == [] and done.json["error"]


def test_a_preview_that_is_no_terminal_has_a_line_for_each_submission(home: Path) -> None:
    lines = grader("intake", "class", cwd=home).out.splitlines()
    assert [line for line in lines if line.startswith("right ") and "right.py" in line]
    assert not [line for line in lines if line != line.rstrip()]
