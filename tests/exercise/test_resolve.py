"""From what a user names to a pack: files, roots, and the packs that are installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small import write_exercise

from grader.errors import GraderError
from grader.exercise import pack as packs
from grader.exercise import resolve, roots
from grader.exercise.pack import Pack
from grader.exercise.resolve import resolve_pack
from grader.exercise.roots import exercise_folder, exercises, find_root, require_root, source_files


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that is in no root, of an installation that is no checkout."""
    folder = tmp_path_factory.mktemp("outside")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(roots, "__file__", str(folder / "site-packages" / "grader" / "exercise" / "roots.py"))
    monkeypatch.setattr(resolve, "CARRIED", folder / "packs")
    return folder


def test_the_only_exercise_is_the_default(root: Path, outside: Path) -> None:
    assert resolve_pack(None, root).exercise.name == "row_scale"


def test_an_exercise_is_found_by_name_in_the_root_that_is_named(root: Path, outside: Path) -> None:
    assert resolve_pack("row_scale", root).exercise.name == "row_scale"


def test_grader_root_names_the_root(root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_ROOT", str(root))
    assert find_root() == root.resolve()
    assert resolve_pack("row_scale").exercise.name == "row_scale"


def test_the_option_beats_grader_root(root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_ROOT", str(outside / "nothing"))
    assert find_root(root) == root.resolve()


def test_the_current_folder_or_a_parent_is_the_root(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = root / "some" / "folder"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_root() == root
    assert resolve_pack(None).exercise.name == "row_scale"


def test_a_folder_with_cases_but_without_reference_is_no_root_by_itself(outside: Path) -> None:
    (outside / "cases").mkdir()
    assert find_root() is None


@pytest.mark.parametrize("said", ["--root", "GRADER_ROOT"])
def test_a_named_root_without_cases_is_told(
    outside: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    given = outside if said == "--root" else None
    if given is None:
        monkeypatch.setenv("GRADER_ROOT", str(outside))
    with pytest.raises(GraderError) as caught:
        find_root(given)
    assert (
        str(caught.value) == f"{said} is {outside}, which has no folder cases/; name the folder that holds it"
    )


def test_without_any_root_the_ways_to_name_one_are_told(outside: Path) -> None:
    with pytest.raises(
        GraderError, match="run in a folder that holds cases/ and reference/, or name it with --root"
    ):
        require_root()
    with pytest.raises(GraderError, match="no exercise was found; name a pack with --exercise FILE"):
        resolve_pack(None)


def test_a_pack_file_is_taken_by_its_path(outside: Path, pack: Pack) -> None:
    (outside / "week3.pack").write_bytes(pack.data)
    (outside / "plain").write_bytes(pack.data)
    for name in ("week3.pack", "./plain", "plain", str(outside / "week3.pack")):
        assert resolve_pack(name).id == pack.id


@pytest.mark.parametrize("name", ["gone.pack", "folder/gone"])
def test_a_pack_file_that_is_not_there_is_told(outside: Path, name: str) -> None:
    with pytest.raises(GraderError, match=f"{name} can't be read: No such file"):
        resolve_pack(name)


def test_a_pack_that_is_carried_is_found_without_a_root(outside: Path, pack: Pack) -> None:
    (outside / "packs").mkdir()
    (outside / "packs" / "row_scale.pack").write_bytes(pack.data)
    assert resolve_pack(None).id == pack.id
    assert resolve_pack("row_scale").id == pack.id
    with pytest.raises(GraderError, match="no exercise 'row_scael'; did you mean 'row_scale'"):
        resolve_pack("row_scael")


def test_an_exercise_of_the_root_beats_one_that_is_carried(
    root: Path, outside: Path, student_pack: Pack
) -> None:
    (outside / "packs").mkdir()
    (outside / "packs" / "row_scale.pack").write_bytes(student_pack.data)
    assert resolve_pack("row_scale", root).student is False


def test_an_unknown_exercise_is_told_with_the_near_one(root: Path, outside: Path) -> None:
    with pytest.raises(GraderError, match="no exercise 'row_scal'; did you mean 'row_scale'"):
        resolve_pack("row_scal", root)
    with pytest.raises(GraderError, match=r"no exercise 'row_scal' in .*cases; did you mean 'row_scale'"):
        exercise_folder(root, "row_scal")


def test_an_empty_name_is_no_exercise(root: Path, outside: Path, pack: Pack) -> None:
    with pytest.raises(GraderError, match="no exercise ''; known here: row_scale"):
        resolve_pack("", root)
    (outside / "packs").mkdir()
    (outside / "packs" / "row_scale.pack").write_bytes(pack.data)
    with pytest.raises(GraderError, match="no exercise ''; known here: row_scale"):
        resolve_pack("")


def test_of_several_exercises_one_must_be_named_unless_it_is_the_default(root: Path) -> None:
    write_exercise(root, "other")
    assert exercises(root) == ["other", "row_scale"]
    with pytest.raises(GraderError, match=r"several exercises \(other, row_scale\); name one"):
        exercise_folder(root, None)
    write_exercise(root, "mlm_forward")
    assert exercise_folder(root, None).name == "mlm_forward"


def test_a_root_without_exercises_is_told(tmp_path: Path) -> None:
    (tmp_path / "cases" / "half_done").mkdir(parents=True)
    with pytest.raises(
        GraderError, match=r"holds no exercise; expected a folder NAME with exercise\.yaml in it"
    ):
        exercise_folder(tmp_path, None)


def test_the_files_of_an_exercise_are_listed_whole(root: Path) -> None:
    (root / "reference" / "row_scale" / "parts").mkdir()
    (root / "reference" / "row_scale" / "parts" / "more.py").write_text("")
    found = {p.relative_to(root).as_posix() for p in source_files(root, "row_scale")}
    assert found == {
        "cases/row_scale/checks.yaml",
        "cases/row_scale/exercise.yaml",
        "cases/row_scale/policy.yaml",
        "cases/row_scale/frozen.json",
        "reference/row_scale/model.py",
        "reference/row_scale/crosscheck.py",
        "reference/row_scale/rounding.py",
        "reference/row_scale/parts/more.py",
    }


# --- Packs beside what is checked -----------------------------------------------------------------


@pytest.fixture
def bundle(outside: Path, student_pack: Pack) -> Path:
    """A folder with a student's pack, which is not the current one."""
    folder = outside / "bundle"
    folder.mkdir()
    (folder / "row_scale.pack").write_bytes(student_pack.data)
    return folder


def test_a_students_pack_is_found_beside_the_file_or_in_the_folder(bundle: Path, student_pack: Pack) -> None:
    for path in (bundle / "mine.py", bundle / "row_scale.py", bundle):
        assert resolve_pack(None, beside=[path]).id == student_pack.id
        assert resolve_pack("row_scale", beside=[path]).id == student_pack.id


def test_a_students_pack_is_found_in_the_current_folder(
    bundle: Path, student_pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bundle)
    assert resolve_pack(None, beside=[Path("../elsewhere/mine.py")]).id == student_pack.id


def test_it_is_looked_for_only_where_a_submission_is_named(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bundle)
    with pytest.raises(GraderError, match="no exercise was found"):
        resolve_pack(None)


def test_an_exercise_of_the_root_beats_one_beside_the_file(root: Path, bundle: Path) -> None:
    assert resolve_pack(None, root, beside=[bundle / "mine.py"]).student is False


def test_one_beside_the_file_beats_one_that_is_carried(
    outside: Path, bundle: Path, pack: Pack, student_pack: Pack
) -> None:
    (outside / "packs").mkdir()
    (outside / "packs" / "row_scale.pack").write_bytes(pack.data)
    assert resolve_pack(None, beside=[bundle / "mine.py"]).id == student_pack.id
    assert resolve_pack(None, beside=[outside / "mine.py"]).id == pack.id


def test_a_pack_with_hidden_cases_must_be_named(outside: Path, pack: Pack) -> None:
    (outside / "row_scale.pack").write_bytes(pack.data)
    with pytest.raises(GraderError, match="no exercise was found"):
        resolve_pack(None, beside=[outside / "row_scale.py"])
    assert resolve_pack("row_scale.pack").id == pack.id


def another(pack: Pack) -> bytes:
    """The bytes of the same pack with another title, as long as its own."""
    title = pack.exercise.title.encode()
    assert pack.data.count(title) == 1
    return pack.data.replace(title, title[::-1])


def test_of_several_the_one_with_the_files_name_is_meant(bundle: Path, student_pack: Pack) -> None:
    (bundle / "other.pack").write_bytes(another(student_pack))
    for name in ("other", "row_scale"):
        expected = packs.load(bundle / f"{name}.pack").id
        assert resolve_pack(None, beside=[bundle / f"{name}.py"]).id == expected
        assert resolve_pack(name, beside=[bundle / "mine.py"]).id == expected
    several = r"several packs: .*other\.pack, .*row_scale\.pack; name one with --exercise"
    for paths in (["mine.py"], ["other.py", "row_scale.py"]):
        with pytest.raises(GraderError, match=several):
            resolve_pack(None, beside=[bundle / path for path in paths])


def test_copies_of_one_pack_are_one(bundle: Path, student_pack: Pack) -> None:
    (bundle / "copy.pack").write_bytes(student_pack.data)
    assert resolve_pack(None, beside=[bundle / "mine.py"]).id == student_pack.id


def test_files_of_other_programs_are_passed_over(bundle: Path, student_pack: Pack) -> None:
    (bundle / "objects.pack").write_bytes(b"PACK\x00\x00")
    (bundle / "folder.pack").mkdir()
    assert resolve_pack(None, beside=[bundle / "mine.py"]).id == student_pack.id
