"""The files of a folder: all of them, no link followed, no device read, no litter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.intake.tree import (
    LINK,
    MAX_FOLDER_DEPTH,
    NO_FILE,
    Entry,
    Tree,
    UnreadableError,
    folder_tree,
    is_litter,
    read_file,
)
from tests.intake.made import contents, write_files


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.entries]


def test_all_files_are_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    files = {"b.py": b"b", "a/x.py": b"x", "a/b/y.txt": b"", "a.py": b"a", "-rf": b"1", "a b\n.py": b"2"}
    write_files(tmp_path / "class", files | {"empty/": b""})
    tree = folder_tree(tmp_path / "class")
    assert paths(tree) == sorted(files)
    assert contents(tree.entries) == files
    assert tree.folders == {"a", "a/b", "empty"}
    assert (tree.name, tree.shown) == ("class", str(tmp_path / "class"))
    assert (tree.left_out, tree.problems) == ((), ())
    assert [e.size for e in tree.entries] == [len(files[p]) for p in paths(tree)]
    assert [e.shown for e in tree.entries] == [str(tmp_path / "class" / p) for p in paths(tree)]
    assert tree.entries[0].modified == (tmp_path / "class" / "-rf").stat().st_mtime


def test_the_current_folder_has_a_name_and_its_files_are_shown_without_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "class" / "ann", {"x.py": b"x"})
    monkeypatch.chdir(tmp_path / "class" / "ann")
    tree = folder_tree(Path())
    assert (tree.name, tree.entries[0].shown) == ("ann", "x.py")
    above = folder_tree(Path(".."))
    assert (above.name, above.entries[0].shown) == ("class", "../ann/x.py")


LITTER = [
    "__MACOSX/ann/._solution.py",
    "ann/._solution.py",
    "ann/.DS_Store",
    "ann/Thumbs.db",
    "ann/.ipynb_checkpoints/solution-checkpoint.ipynb",
    "ann/__pycache__/solution.cpython-311.pyc",
    "ann/.git/hooks/pre.py",
    "ann/node_modules/x/setup.py",
    "ann/VENV/lib/x.py",
    "ann/lib/site-packages/x.py",
]


def test_litter_is_dropped_and_not_told_of(tmp_path: Path) -> None:
    kept = {
        "ann/solution.py": b"x",
        "ann/.github/workflow.yml": b"",
        "ann/envelope/env.py": b"",
        "ann/git": b"",
    }
    mine = {
        "ann/mine/pyvenv.cfg": b"",
        "ann/mine/lib/numpy.py": b"",
        "ann/c/conda-meta/history": b"",
        "ann/c/bin/x.py": b"",
        "ann/c/python.exe": b"",
    }
    write_files(tmp_path, {**kept, **mine, **dict.fromkeys(LITTER, b"")})
    tree = folder_tree(tmp_path)
    assert paths(tree) == sorted(kept)
    assert tree.folders == {"ann", "ann/.github", "ann/envelope", "ann/lib", "ann/mine", "ann/c"}
    assert (tree.left_out, tree.problems) == ((), ())


@pytest.mark.parametrize("path", LITTER)
def test_litter_is_told_by_its_path(path: str) -> None:
    assert is_litter(path)
    assert not is_litter("ann/solution.py")
    assert is_litter("ann/venv", folder=True)
    assert not is_litter("ann/venv")


def test_links_devices_and_fifos_are_there_and_not_read(tmp_path: Path) -> None:
    secret = write_files(tmp_path / "elsewhere", {"secret.py": b"secret"})
    top = write_files(tmp_path / "class", {"ann.py": b"x"})
    (top / "bob.py").symlink_to(secret / "secret.py")
    (top / "cid.py").symlink_to("/dev/zero")
    (top / "dan.py").symlink_to(top / "gone.py")
    (top / "eve.py").symlink_to(top / "eve.py")
    (top / "far").symlink_to(secret)
    (top / "loop").symlink_to(top)
    os.mkfifo(top / "gil.py")
    tree = folder_tree(top)
    assert contents(tree.entries) == {
        "ann.py": b"x",
        **dict.fromkeys(["bob.py", "cid.py", "dan.py", "eve.py"], LINK),
        "gil.py": NO_FILE,
    }
    assert [str(left) for left in tree.left_out] == [
        f"{top / 'far'}: a link to a folder",
        f"{top / 'loop'}: a link to a folder",
    ]
    assert tree.folders == frozenset()


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("secret")
    top = write_files(tmp_path / "class", {"ann.py": b"x"})
    (entry,) = folder_tree(top).entries
    (top / "ann.py").unlink()
    (top / "ann.py").symlink_to(secret)
    with pytest.raises(UnreadableError, match="can't be read"):
        entry.read(100)


def test_what_lies_too_deep_is_told(tmp_path: Path) -> None:
    deep = "/".join("d" * MAX_FOLDER_DEPTH)
    write_files(tmp_path, {f"{deep}/x.py": b"", f"{deep}/e/y.py": b""})
    tree = folder_tree(tmp_path)
    assert paths(tree) == [f"{deep}/x.py"]
    (left,) = tree.left_out
    assert left.path == str(tmp_path / deep / "e")
    assert "folders deep" in left.reason


def test_a_folder_that_is_gone_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="gone can't be read: No such file or directory"):
        folder_tree(tmp_path / "gone")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_without_permission_is_a_problem_and_the_rest_goes_on(tmp_path: Path) -> None:
    write_files(tmp_path, {"ann/x.py": b"", "bob/x.py": b""})
    (tmp_path / "bob").chmod(0)
    try:
        tree = folder_tree(tmp_path)
    finally:
        (tmp_path / "bob").chmod(0o700)
    assert paths(tree) == ["ann/x.py"]
    assert tree.problems == (f"{tmp_path / 'bob'} can't be read: Permission denied",)


def test_a_folder_whose_list_fails_is_a_problem_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"ann/x.py": b"", "bob/x.py": b""})
    real = os.scandir

    def failing(path: str) -> object:
        if str(path).endswith("bob"):
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(os, "scandir", failing)
    tree = folder_tree(tmp_path)
    assert paths(tree) == ["ann/x.py"]
    assert tree.problems == (f"{tmp_path / 'bob'} can't be read: Input/output error",)
    assert "bob" in tree.folders


def test_a_name_that_is_no_utf8_is_found(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/caf\xe9.py", "wb") as file:
        file.write(b"x")
    (entry,) = folder_tree(tmp_path).entries
    assert entry.read(10) == b"x"


def test_no_more_is_read_than_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(b"12345")
    assert read_file(str(path), 5) == b"12345"
    with pytest.raises(UnreadableError, match=r"The file has 5 bytes; at most 4 are read\."):
        read_file(str(path), 4)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableError, match="1,099,511,627,776 bytes"):
        read_file(str(path), 4)
    with pytest.raises(UnreadableError, match="no file has such a name"):
        read_file("a\0b", 4)


def test_an_entry_that_gives_more_than_was_asked_for_is_refused() -> None:
    entry = Entry("a/b.py", 1, None, lambda limit: b"x" * (limit + 1))
    assert entry.name == "b.py"
    with pytest.raises(UnreadableError, match="more than 7 bytes"):
        entry.read(7)
