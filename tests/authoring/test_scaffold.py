"""A new exercise: which names it may have, what it may be titled, and that nothing is left half made."""

from __future__ import annotations

import keyword
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from grader.authoring import freeze as freezing
from grader.authoring import scaffold
from grader.authoring.demo import demonstration_of
from grader.authoring.scaffold import make, require_name, suggested
from grader.errors import GraderError
from grader.exercise.fields import Identifier
from grader.exercise.source import load
from grader.exercise.yaml_source import parse
from grader.handout.statement import load_statement, read_statement


@pytest.fixture
def unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing and measuring are left out."""
    monkeypatch.setattr(scaffold, "_freeze", lambda folder, progress: False)


def below(root: Path) -> dict[str, bytes]:
    """Content by path of all that lies below a folder; folders have none."""
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else b"" for p in root.rglob("*")}


# --- Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("My-Exercise", "my_exercise"),
        ("my exercise", "my_exercise"),
        ("MyExercise", "my_exercise"),
        ("rowMean2", "row_mean2"),
        ("HTTPThing", "http_thing"),
        ("_hidden", "hidden"),
        ("3rd_exercise", "rd_exercise"),
        ("Größe", "grosse"),
        ("softmax.py", "softmax_py"),
        ("../softmax", "softmax"),
        ("a" * 80, "a" * 64),
        ("class", "class_rows"),
        ("max", "max_rows"),
        ("random", "random_rows"),
        ("torch", "torch_rows"),
    ],
)
def test_a_name_that_can_t_be_one_is_refused_with_the_one_that_is_meant(name: str, meant: str) -> None:
    with pytest.raises(GraderError, match=f"; try {meant}$"):
        require_name(name)


@pytest.mark.parametrize("name", ["", "-", "123", "日本語", "___"])
def test_a_name_that_means_nothing_gets_no_proposal(name: str) -> None:
    with pytest.raises(GraderError, match=r"digits and underscores$"):
        require_name(name)


@pytest.mark.parametrize("name", ["softmax", "x1", "null", "no", "match", "row_mean", "a" * 64])
def test_other_names_are_taken(name: str) -> None:
    require_name(name)


@pytest.mark.parametrize("name", ["x", "w", "run", "np", "length", "sum_squares"])
def test_names_that_the_files_use_themselves_are_refused(name: str) -> None:
    with pytest.raises(GraderError, match="use this name for something else"):
        require_name(name)


@given(st.text(max_size=100) | st.from_regex(r"[A-Za-z_ -]{1,80}", fullmatch=True))
def test_what_is_proposed_is_a_name(text: str) -> None:
    if found := suggested(text):
        require_name(found)
        assert found.isidentifier() and not keyword.iskeyword(found)
        assert TypeAdapter(Identifier).validate_python(found) == found


# --- Titles ---------------------------------------------------------------------------------------


@given(
    st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" #*_`[]<>&;:!|\\"), min_size=1)
)
def test_a_title_is_the_same_in_the_exercise_and_on_the_page(text: str) -> None:
    title = " ".join(text.split()) or "-"
    exercise, page = (scaffold._rendered(file, "taken", title) for file in ("exercise.yaml", "statement.md"))
    assert parse(exercise, "exercise.yaml").data["title"] == title
    statement = read_statement(page.encode(), "statement.md")
    assert statement.title == title and statement.problems == ()


@pytest.mark.parametrize("name", ["null", "no", "y", "on", "e1"])
def test_a_name_that_yaml_takes_for_something_else_stays_a_name(
    name: str, tmp_path: Path, unfrozen: None
) -> None:
    made = make(tmp_path, name)
    source = load(made.folders[0])
    assert (source.exercise.exercise, source.exercise.entry) == (name, name)


def test_without_a_title_it_is_made_from_the_name(tmp_path: Path, unfrozen: None) -> None:
    source = load(make(tmp_path, "row_mean", "  ").folders[0])
    assert source.exercise.title == load_statement(source).title == "Row mean"


def test_a_title_that_can_t_be_shown_is_refused(tmp_path: Path, unfrozen: None) -> None:
    with pytest.raises(GraderError, match="one line of text"):
        make(tmp_path, "row_mean", "a\x00b")
    assert below(tmp_path) == {}


# --- Nothing half made ----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", scaffold.FOLDERS)
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_where_something_is_in_the_way_nothing_is_written(
    folder: str, kind: str, tmp_path: Path, unfrozen: None
) -> None:
    place = tmp_path / folder / "row_mean"
    place.parent.mkdir()
    if kind == "file":
        place.write_text("mine")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    before = below(tmp_path)
    with pytest.raises(GraderError, match=rf"there is {folder}/row_mean in .* already"):
        make(tmp_path, "row_mean")
    assert below(tmp_path) == before


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), GraderError("measured wrong"), OSError(28, "full")])
@pytest.mark.parametrize("there", [True, False])
def test_whatever_goes_wrong_while_measuring_leaves_nothing(
    fault: BaseException, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def freeze(*arguments: object) -> None:
        raise fault

    monkeypatch.setattr(freezing, "freeze", freeze)
    root = tmp_path / "new" / "root"
    if there:
        (root / "cases").mkdir(parents=True)
    before = below(tmp_path)
    with pytest.raises(GraderError if isinstance(fault, OSError) else type(fault)):
        make(root, "row_mean")
    assert below(tmp_path) == before


@pytest.mark.parametrize("number", range(3))
def test_a_move_that_fails_takes_the_others_back(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unfrozen: None
) -> None:
    moves: list[Path] = []
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        moves.append(target)
        if len(moves) > number:
            raise OSError(13, "Permission denied", str(path), None, str(target))
        return rename(path, target)

    make(tmp_path, "other")
    before = below(tmp_path)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(GraderError, match="Permission denied; nothing was made"):
        make(tmp_path, "row_mean")
    assert len(moves) == number + 1 and below(tmp_path) == before


@pytest.mark.parametrize(
    ("step", "number"), [*(("mkdir", n) for n in range(8)), *(("rename", n) for n in range(3))]
)
def test_an_interruption_right_after_a_step_leaves_nothing(
    step: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unfrozen: None
) -> None:
    count = 0
    taken = getattr(Path, step)

    def interrupted(path: Path, *arguments: object, **options: object) -> object:
        nonlocal count
        done = taken(path, *arguments, **options)
        count += 1
        if count == number + 1:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "root", "row_mean")
    assert below(tmp_path) == {}


def test_what_somebody_else_puts_there_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "reference" / "row_mean"

    def freeze(folder: Path, progress: object) -> bool:
        theirs.mkdir(parents=True)
        (theirs / "model.py").write_text("theirs")
        return True

    monkeypatch.setattr(scaffold, "_freeze", freeze)
    with pytest.raises(GraderError, match="reference/row_mean can't be written: Directory not empty"):
        make(tmp_path, "row_mean")
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == [
        *("reference", "reference/row_mean", "reference/row_mean/model.py")
    ]


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("")
    with pytest.raises(GraderError, match="is a file; name a folder"):
        make(tmp_path / "root", "row_mean")


def test_a_new_exercise_shows_its_reference_at_work(tmp_path: Path, unfrozen: None) -> None:
    source = load(make(tmp_path, "row_mean").folders[0])
    assert (source.reference_folder / "demo.py").is_file()
    (example,) = demonstration_of(source).examples
    assert example.vectors[0].values == pytest.approx((1.4, 1.4, 0.0))


def test_every_template_is_used() -> None:
    named = {f"{file}.template" for files in scaffold.FILES.values() for file in files}
    assert {path.name for path in scaffold.TEMPLATES.iterdir()} == named


def test_a_cases_folder_that_is_a_file_is_told(tmp_path: Path, unfrozen: None) -> None:
    (tmp_path / "cases").write_text("")
    with pytest.raises(GraderError, match="nothing was made"):
        make(tmp_path, "row_mean")
    assert os.listdir(tmp_path) == ["cases"]
