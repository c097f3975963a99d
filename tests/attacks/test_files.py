"""Files that attack whoever reads them: parser bombs, links, pipes, archives, and names."""

from __future__ import annotations

import csv
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Done, grader
from support.packs import new_cache
from support.small import RIGHT, freeze_exercise, write_exercise
from world import World

from grader.batch.runner import Runner
from grader.intake.collect import Asked, collect
from grader.intake.submission import Submission

Runners = dict[tuple[str, str], Runner]

# --- sources that are hard to parse -----------------------------------------------------------

BOMBS: dict[str, Callable[[], str]] = {
    "open_brackets": lambda: "(" * 200_000,
    "nested_brackets": lambda: "x = " + "(" * 150 + "1" + ")" * 150,
    "nested_brackets_past_the_limit": lambda: "x = " + "[" * 100_000 + "]" * 100_000,
    "nested_subscripts": lambda: "x = a" + "[0" * 190 + "]" * 190,
    "minus_signs": lambda: "x = " + "-" * 300_000 + "1",
    "nots": lambda: "x = " + "not " * 200_000 + "1",
    "sums": lambda: "x = " + "+".join(["1"] * 300_000),
    "powers": lambda: "x = " + "**".join(["1"] * 100_000),
    "attributes": lambda: "x = a" + ".a" * 400_000,
    "calls": lambda: "x = a" + "()" * 400_000,
    "lambdas": lambda: "x = " + "lambda:" * 100_000 + "1",
    "conditions": lambda: "x = " + "1 if 1 else " * 90_000 + "1",
    "comparisons": lambda: "x = " + "<".join(["1"] * 300_000),
    "elifs": lambda: "if 0: pass\n" + "elif 0: pass\n" * 60_000,
    "blocks": lambda: "".join(" " * n + "if 1:\n" for n in range(99)) + " " * 99 + "pass",
    "blocks_past_the_limit": lambda: "".join(" " * n + "if 1:\n" for n in range(300)) + " " * 300 + "pass",
    "functions_in_functions": lambda: "".join(" " * n + "def f():\n" for n in range(90)) + " " * 90 + "pass",
    "classes_in_classes": lambda: "".join(" " * n + "class A:\n" for n in range(90)) + " " * 90 + "pass",
    "decorators": lambda: "if 0:\n" + "  @a\n" * 100_000 + "  def f(): pass",
    "comprehensions": lambda: "x = " + "[x for x in " * 90 + "[]" + "]" * 90,
    "generators_in_one": lambda: "x = [1 " + "for a in b " * 50_000 + "]",
    "long_number": lambda: "x = " + "9" * 1_900_000,
    "long_hex_number": lambda: "x = 0x" + "f" * 1_900_000,
    "long_text": lambda: "x = '" + "A" * 1_900_000 + "'",
    "long_name": lambda: "x" * 1_900_000 + " = 1",
    "wide_name": lambda: "ﷺ" * 300_000 + " = 1",
    "many_names": lambda: "\n".join(f"a{n} = a{n - 1} if 0 else 0" for n in range(40_000)),
    "many_imports": lambda: "if 0:\n" + "\n".join(f"  import a{n}" for n in range(60_000)),
    "many_arguments": lambda: "def g(" + ",".join(f"a{n}" for n in range(150_000)) + "): pass",
    "many_lines": lambda: "\n" * 1_900_000,
    "joined_lines": lambda: "x = 1" + "\\\n" * 900_000 + "\n",
    "many_semicolons": lambda: ";".join(["x=1"] * 400_000),
    "texts_in_texts": lambda: "x = f'" + "{1}" * 150_000 + "'",
    "formats_in_formats": lambda: "x = f'{1:" + "{1:" * 50 + "}" * 50 + "}'",
    "strings_in_a_row": lambda: "x = " + "'a' " * 400_000,
    "folded_shift": lambda: "def g(): return 1 << (1 << 40)",
    "folded_power": lambda: "def g(): return 9 ** 9 ** 9",
    "folded_text": lambda: "def g(): return 'a' * (1 << 40)",
    "folded_tuple": lambda: "def g(): return ((1,) * 200,) * 200 * 200 * 200",
    "names_added_up": lambda: (
        "a = 'aaaaaaaaaa'\n" + "a = a + a\n" * 0 + "def g():\n    b = 'ab'\n" + "    b = b + b\n" * 60
    ),
    "lists_added_up": lambda: "def g():\n    b = [1]\n" + "    b = [b, b]\n" * 60 + "    return b",
    "aliases_in_a_circle": lambda: "if 0:\n" + "\n".join(f"  a{n} = a{(n + 1) % 5000}" for n in range(5000)),
    "calls_in_a_circle": lambda: "\n".join(f"def a{n}(): return a{(n + 1) % 3000}()" for n in range(3000)),
    "starred_imports": lambda: "if 0:\n  pass\n" + "from math import *\n" * 20_000,
    "surrogates": lambda: "x = '\\ud800'\n",
    "wide_characters": lambda: "x = '" + "\U0010ffff" * 400_000 + "'",
    "bidirectional": lambda: "x = 1  # \u202e\u2066 } if x\n",
    "form_feeds": lambda: "\f" * 100_000 + "\n",
    "match_in_match": lambda: (
        "".join(" " * 2 * n + f"match 1:\n{' ' * (2 * n + 1)}case _:\n" for n in range(45))
        + " " * 95
        + "pass"
    ),
    "patterns": lambda: "match 1:\n  case " + "[" * 150 + "]" * 150 + ": pass",
    "alternatives": lambda: "match 1:\n  case " + "|".join(["1"] * 100_000) + ": pass",
    "try_in_try": lambda: (
        "".join(" " * n + "try:\n" for n in range(19))
        + " " * 19
        + "pass\n"
        + "".join(" " * n + "finally: pass\n" for n in reversed(range(19)))
    ),
    "annotations": lambda: "def g(a: " + "'x' + " * 100_000 + "'y'): pass",
    "globals": lambda: "def g():\n" + "\n".join(f"    global a{n}" for n in range(60_000)),
    "walrus": lambda: "if 0:\n  x = " + "(a := " * 150 + "1" + ")" * 150,
    "encodings_that_explode": lambda: "# coding: punycode\n" + "x" * 100_000,
    "tabs_and_blanks": lambda: "if 1:\n        x = 1\n\tx = 2\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_source_that_is_hard_to_parse_costs_nobody_else(
    runners: Runners, honest: Submission, world: World, name: str
) -> None:
    runner = runners["row_scale", "impatient"]
    source = f"{BOMBS[name]()}\n{RIGHT}"
    result = runner.grade(Submission("bomb", "Eve", "bomb.py", "sha256:0", source, "", ("Eve",)))
    assert result.status in ("passed", "failed", "not_loadable"), result.message
    assert result.policy.status != "violated"
    if result.status != "passed":
        assert result.message
    assert len(result.to_json()) < 1 << 20
    after = runner.grade(honest)
    assert after.status == "passed" and after.policy.status == "clean"
    assert world.harm() == []


# --- what lies in a folder of submissions -----------------------------------------------------

NAMES = [
    "it's.py",
    'a "quoted" name.py',
    "a\nnew line.py",
    "a\ttab.py",
    "$(touch zq7_attack_by_name).py",
    "`touch zq7_attack_by_name`.py",
    "; touch zq7_attack_by_name;.py",
    "| touch zq7_attack_by_name.py",
    "-rf.py",
    "--out=elsewhere.py",
    "=cmd|' C calc'!A0.py",
    "+1+1.py",
    "@SUM(1+1).py",
    "-2+3.py",
    "<img src=x onerror=alert(1)>.py",
    "<script>alert(1)<!--.py",
    '"onmouseover="alert(1).py',
    "{{7*7}}{% raw %}.py",
    "[red]bold[blink].py",
    "a\x1b[2Jb\x1b]0;x\x07.py",
    "a\u202eyp.exe.py",
    "ünïcödé-ñ-学生.py",
    "e\u0301.py",
    "\u00e9.py",
    "%00%2e%2e.py",
    "CON.py",
    "con.py",
    ".py",
    "..py",
    "...py",
    "a..b.py",
    "numpy.py",
    "row_scale.py",
    "grader.py",
    "sys.py",
    "x" * 250 + ".py",
    "javascript:alert(1).py",
    "index.py",
    "\udcff\udcfe.py",
]

NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": ["!touch zq7_attack_by_magic\n", "%%bash\n", "touch zq7_attack_by_magic\n"],
            }
        ],
    }
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, world: World) -> tuple[Path, Done, Path]:
    """A class folder full of traps, what grading it said, and where the results lie."""
    root = tmp_path_factory.mktemp("files")
    folder = root / "class"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"# {name!a}\n{RIGHT}", "utf-8")
    (folder / "link_to_secret.py").symlink_to(world.folder / "other" / "ann.py")
    (folder / "link_to_nowhere.py").symlink_to(root / "nowhere.py")
    (folder / "link_to_itself.py").symlink_to(folder / "link_to_itself.py")
    (folder / "link_to_zero.py").symlink_to("/dev/zero")
    (folder / "link_to_folder").symlink_to(world.folder / "other")
    (folder / "round").mkdir()
    (folder / "round" / "and_round").symlink_to(folder)
    os.mkfifo(folder / "pipe.py")
    with (folder / "huge.py").open("wb") as file:
        file.truncate(1 << 36)
    (folder / "noise.py").write_bytes(bytes(range(256)) * 100)
    (folder / "folder.py").mkdir()
    (folder / "folder.py" / "solution.py").write_text(RIGHT)
    (folder / "notebook.ipynb").write_text(NOTEBOOK)
    (folder / "right.py").write_text(RIGHT)
    (folder / "right.expected.yaml").write_text(
        "!!python/object/apply:os.system ['touch zq7_attack_by_yaml']\n"
    )
    (folder / "grades.yaml").write_text("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("solution.py", b"#" * (64 << 20))
        archive.writestr("../zq7_attack_by_zip.py", RIGHT)
        archive.writestr("/tmp/zq7_attack_by_zip.py", RIGHT)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("solution.py", RIGHT)
    deep = folder
    for n in range(60):
        deep = deep / f"deep{n}"
    deep.mkdir(parents=True)
    (deep / "solution.py").write_text(RIGHT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_CACHE", str(new_cache(tmp_path_factory)))
        limits = {"seconds_per_call": 0.5, "seconds": 6, "memory": "64 MiB", "output": "4 KiB"}
        write_exercise(root, exercise={"limits": limits})
        freeze_exercise(root)
        done = grader("grade", "class", "--out", "out", "--workers", "1", "--allow-weak-isolation", cwd=root)
    return root, done, root / "out"


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]


def test_every_regular_file_is_graded_whatever_its_name(graded: tuple[Path, Done, Path]) -> None:
    _root, done, out = graded
    told = records(out)
    passed = [r for r in told if r["status"] == "passed"]
    assert len(passed) >= len([n for n in NAMES if not n.startswith(".") and n.strip(".") != "py"]), done.err
    ids = [r["submission"]["id"] for r in told]
    assert len(set(ids)) == len({i.casefold() for i in ids}) == len(ids)
    for name in ids:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name) and len(name) < 200
        assert (out / "students" / f"{name}.html").is_file() and (out / "teacher" / f"{name}.html").is_file()
    assert {r["status"] for r in told} <= {"passed", "not_loadable"}


def test_links_pipes_and_huge_files_are_told_and_not_read(
    graded: tuple[Path, Done, Path], world: World
) -> None:
    _root, done, out = graded
    everything = done.out + done.err + (out / "results.jsonl").read_text("utf-8")
    for text in world.secrets.values():
        assert text not in everything
    told = {Path(r["submission"]["path"]).name: r for r in records(out)}
    for name in ("link_to_nowhere.py", "link_to_itself.py", "link_to_zero.py", "pipe.py", "huge.py"):
        assert name in done.err or told[name]["status"] == "not_loadable", name
    assert "bomb.zip" in done.err
    notebook = told["notebook.ipynb"]
    assert notebook["status"] == "not_loadable" and "Cell 1, line 3" in notebook["message"]
    assert done.status in (0, 2)


def test_nothing_in_a_name_or_a_file_was_done(graded: tuple[Path, Done, Path], world: World) -> None:
    root, _done, _out = graded
    assert world.harm() == []
    # What names, notebook, YAML and archive would have left, had anything run or unpacked them.
    made = {f"zq7_attack_by_{way}" for way in ("name", "magic", "yaml", "zip.py")}
    places = [*root.rglob("*"), *root.parent.iterdir(), *Path("/tmp").iterdir(), *Path.cwd().iterdir()]
    assert [path for path in places if path.name in made] == []
    assert not (root / "elsewhere.py").exists() and not (root / "elsewhere").exists()


def test_no_cell_of_the_gradebook_is_a_formula(graded: tuple[Path, Done, Path]) -> None:
    text = (graded[2] / "gradebook.csv").read_text("utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    assert len(rows) == len(records(graded[2])) + 1
    for row in rows:
        assert len(row) == len(rows[0])
        for cell in row:
            assert not re.match(r"[=+@\t\r]|-\D", cell), cell


def test_traps_that_are_checked_alone_are_told(tmp_path: Path, graded: tuple[Path, Done, Path]) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    os.mkfifo(folder / "pipe.py")
    (folder / "loop.py").symlink_to(folder / "loop.py")
    done = grader("check", folder, cwd=graded[0])
    assert done.status == 1 and done.out.count("not loadable") == 2


def test_submissions_of_one_name_in_folders_keep_apart(tmp_path: Path) -> None:
    for folder in ("a", "A", "a b", "a_b", "a-b", "ä", "..a"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "solution.py").write_text(f"# {folder}\n{RIGHT}", "utf-8")
    found = collect([tmp_path], Asked("row_scale")).submissions
    ids = [s.id for s in found]
    assert len({i.casefold() for i in ids}) == len(ids) >= 6
