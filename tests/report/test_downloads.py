"""The class page lists what can be taken elsewhere, and keeps up with what is exported."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from folders import write_class
from hypothesis import given
from hypothesis import strategies as st
from pages import Page
from samples import class_of, every_kind, info

from grader.errors import GraderError
from grader.report import files
from grader.report.downloads import MAX_FILES, byte_words, downloads
from grader.report.exports import EXPORTS, export
from grader.report.html import downloads_section


def listed(page: Page) -> dict[str, list[str]]:
    """The rows of the table of formats by title: files and command."""
    (table,) = [t for t in page.tables if t[0] == ["Format", "Files", "Command"]]
    return {row[0]: [" ".join(cell.split()) for cell in row[1:]] for row in table[1:]}


def test_every_format_has_its_command_until_it_is_there(tmp_path: Path) -> None:
    write_class(tmp_path, class_of(3))
    rows = listed(Page((tmp_path / "index.html").read_text("utf-8")))
    assert list(rows) == [one.title for one in EXPORTS.values()]
    for one in EXPORTS.values():
        found, command = rows[one.title]
        assert found == "none yet" and command.startswith(f"grader export . --format {one.name}")
        assert ("--template FILE" in command) == bool(one.template)
        assert (f"FILE is the platform’s own {one.template}" in command) == bool(one.template)
    assert 'pip install "mlm-grader[parquet]"' in rows["Parquet"][1]


def test_what_was_exported_is_linked_and_all_else_of_the_page_stays(tmp_path: Path) -> None:
    kinds = every_kind()
    # No gradebook has such an id or pack.
    del kinds["hostile"]
    records = [*class_of(12), *(replace(r, submission=info(k, k)) for k, r in kinds.items())]
    write_class(tmp_path, records)
    before = (tmp_path / "index.html").read_text("utf-8")
    for name in ("csv", "jsonl", "junit"):
        export(name, records, tmp_path / "exports" / name)
    files.refresh_downloads(tmp_path)
    after = (tmp_path / "index.html").read_text("utf-8")
    links = [href for href in Page(after).values("href") if href.startswith("exports/")]
    assert {href.split("/")[1] for href in links} == {"csv", "jsonl", "junit"}
    assert all((tmp_path / href).is_file() for href in links)
    # Written formats come first, and another run writes the same page.
    assert "none yet" not in list(listed(Page(after)).values())[2][0]
    write_class(tmp_path, [])
    assert (tmp_path / "index.html").read_text("utf-8") == after
    mark = "<!-- downloads -->"
    assert before.partition(mark)[0] == after.partition(mark)[0]
    assert before.partition("<!-- end of downloads -->")[2] == after.partition("<!-- end of downloads -->")[2]


def test_a_page_of_an_earlier_version_or_none_is_left_alone(tmp_path: Path) -> None:
    files.refresh_downloads(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "index.html").write_text("<p>an older page</p>")
    files.refresh_downloads(tmp_path)
    assert (tmp_path / "index.html").read_text() == "<p>an older page</p>"


def test_a_page_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(b"\xff\xfe")
    with pytest.raises(GraderError, match="grader report"):
        files.refresh_downloads(tmp_path)


def test_many_files_are_counted_and_the_first_are_linked(tmp_path: Path) -> None:
    folder = tmp_path / "exports" / "moodle-feedback" / "deep"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:02}.html").write_text("x")
    first = downloads(tmp_path)[0]
    assert first.title == EXPORTS["moodle-feedback"].title
    assert [one.name for one in first.files] == [f"deep/{n:02}.html" for n in range(MAX_FILES)]
    assert first.more == 30 - MAX_FILES


def test_hidden_files_links_and_others_folders_are_no_exports(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    (folder / "csv").mkdir(parents=True)
    (folder / "csv" / ".marks.csv.new").write_text("half")
    (folder / "mine").mkdir()
    (folder / "mine" / "notes.txt").write_text("x")
    (tmp_path / "secret.txt").write_text("x")
    os.symlink(tmp_path / "secret.txt", folder / "csv" / "link.csv")
    os.symlink(tmp_path, folder / "csv" / "loop")
    written = [one for one in downloads(tmp_path) if one.files]
    assert [(one.title, one.command) for one in written] == [("Other files", "")]
    assert [one.href for one in written[0].files] == ["exports/mine/notes.txt"]


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_name_is_a_link_below_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    if name in (".", "..") or len(name.encode()) > 200:
        return
    folder = tmp_path_factory.mktemp("graded")
    (folder / "exports").mkdir()
    (folder / "exports" / name).write_text("x")
    page = Page(downloads_section(downloads(folder)))
    for href in page.values("href"):
        assert href in ("gradebook.csv", "results.jsonl") or href.startswith("exports/")
        assert not set(href) & set(":\"'<> \\") and ".." not in href.split("/")
    assert len(page.all("a")) == (2 if name.startswith(".") else 3)


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (99_960, "100 KB"), (3e12, "3000 GB")]
)
def test_sizes_are_for_people(size: float, words: str) -> None:
    assert byte_words(size) == words
