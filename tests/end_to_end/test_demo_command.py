"""``grader demo``: in the terminal, as a page, as a document; and what it says where it can't be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.commands import ROOT, Done, grader
from support.small import build, write_exercise

DEMO = """\
from grader.demonstration import Demonstration, Example, Matrix, Metric

from .model import row_scale


def demonstrate():
    print("at work")
    answer = row_scale([[1.0, 1.0]], [[1.0], [3.0]], 2)
    return Demonstration(
        "Rows at work",
        "Two of them.",
        [
            Example("ones", "A row of ones", matrices=[Matrix("Answer", answer)]),
            Example("sizes", "Sizes", metrics=[Metric("rows", len(answer))]),
        ],
    )
"""


@pytest.fixture
def author(root: Path) -> Path:
    """A root whose exercise has a demonstration of its author's."""
    (root / "reference" / "row_scale" / "demo.py").write_text(DEMO)
    return root


def test_the_terminal_shows_the_examples_and_how_to_get_the_page(author: Path) -> None:
    done = grader("demo", "row_scale", cwd=author)
    assert done.status == 0 and done.err == "at work\n"
    assert done.out.splitlines() == [
        "Rows at work",
        "Two of them.",
        "",
        "A row of ones  ones",
        "  Answer",
        "       0",
        "    0  4",
        "",
        "Sizes  sizes",
        "  rows: 1",
        "",
        "as a page: grader demo row_scale --html row_scale-demo.html",
    ]
    # Without a name it is the only exercise, from wherever the root is named.
    assert grader("demo", "--root", author, cwd=author / "cases").out == done.out


def test_the_command_for_the_page_works_as_it_stands(author: Path) -> None:
    command = grader("demo", cwd=author).out.splitlines()[-1].partition(": grader ")[2].split()
    done = grader(*command, cwd=author)
    assert done.status == 0 and done.out.endswith("\npage: row_scale-demo.html\n")
    page = (author / "row_scale-demo.html").read_text("utf-8")
    assert "Rows at work" in page and "<td>4</td>" in page


def test_only_what_is_asked_for_is_shown(author: Path) -> None:
    done = grader("demo", "--example", "sizes", "--json", cwd=author)
    assert done.status == 0 and [e["id"] for e in done.json["examples"]] == ["sizes"]
    assert done.json["schema"] == "grader.demonstration/1" and done.json["exercise"] == "row_scale"
    both = grader("demo", "--example", "sizes", "--example", "ones", "--json", cwd=author)
    assert [e["id"] for e in both.json["examples"]] == ["ones", "sizes"]
    unknown = grader("demo", "--example", "size", "--html", "x.html", cwd=author)
    assert (unknown.status, unknown.out) == (2, "") and not (author / "x.html").exists()
    assert "no example 'size'; did you mean 'sizes'?" in unknown.err


def test_quiet_writes_the_page_alone(author: Path) -> None:
    done = grader("demo", "-q", "--html", "x.html", cwd=author)
    assert (done.status, done.out) == (0, "") and (author / "x.html").is_file()


def test_an_exercise_without_a_demo_shows_its_cases_and_need_not_be_frozen(root: Path) -> None:
    (root / "cases" / "row_scale" / "frozen.json").unlink()
    done = grader("demo", cwd=root)
    assert done.status == 0 and "A row of equal numbers  ones_row" in done.out
    assert "answer, float64 (1, 3)" in done.out


def test_a_demo_does_not_make_a_check_wait_for_a_new_freeze(author: Path) -> None:
    (author / "mine.py").write_text((author / "reference" / "row_scale" / "model.py").read_text())
    assert grader("check", "mine.py", cwd=author).status == 0


def test_a_fault_of_the_author_is_2_with_its_line_and_a_document(author: Path) -> None:
    path = author / "reference" / "row_scale" / "demo.py"
    path.write_text(DEMO.replace("len(answer)", "len(answr)"))
    done = grader("demo", "--json", cwd=author)
    assert (
        done.status == 2 and done.json["examples"] == [] and done.json["schema"] == "grader.demonstration/1"
    )
    said = "reference/row_scale/demo.py:14: demonstrate() fails: NameError: name 'answr' is not defined"
    assert said in done.err and said in done.json["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["row_scael"], "no exercise 'row_scael'"),
        (["--html", "cases"], "cases is a folder; name a file for --html"),
        (["--html", "nowhere/x.html"], "there is no folder nowhere"),
        (["--root", "cases"], "which has no folder cases/"),
        (["row_scale.pack"], "row_scale.pack is a pack, which holds no reference"),
    ],
)
def test_a_command_at_fault_is_2_with_a_message(root: Path, arguments: list[str], said: str) -> None:
    done = grader("demo", *arguments, cwd=root)
    assert (done.status, done.out) == (2, "") and said in done.err


def test_a_student_with_a_pack_alone_is_told_that_it_holds_no_reference(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Beside the root, not below it.
    folder = tmp_path_factory.mktemp("student")
    package, home = folder / "installed", folder / "home"
    shutil.copytree(
        ROOT / "grader", package / "grader", ignore=shutil.ignore_patterns("__pycache__", "packs")
    )
    home.mkdir()
    assert "no exercises here" in student(package, home).err
    (home / "row_scale.pack").write_bytes(build(root, student=True).data)
    done = student(package, home)
    assert (done.status, done.out) == (2, "")
    assert "there is a pack here, row_scale.pack, which holds no reference" in done.err


def student(package: Path, home: Path) -> Done:
    """The command where the grader is installed alone."""
    return grader("demo", cwd=home, PYTHONPATH=str(package))


def test_several_exercises_ask_for_a_name(root: Path) -> None:
    write_exercise(root, "second")
    done = grader("demo", cwd=root)
    assert done.status == 2 and "there are several exercises (row_scale, second); name one" in done.err
    assert grader("demo", "second", cwd=root).status == 0
