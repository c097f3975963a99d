"""Which file is run, with which modules beside it, and what the student is told."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.intake import choose as module
from grader.intake import notebooks
from grader.intake.choose import MAX_CANDIDATES, Chosen, choose
from grader.intake.modules import MAX_MODULES, is_test
from grader.intake.notebooks import COUNTED, MISSING
from grader.intake.submission import Submission, module_name
from grader.intake.text import MAX_BYTES
from grader.intake.tree import Entry, HandedIn, UnreadableError
from grader.positions import Part

ENTRY = "row_scale"
GOOD = "def row_scale(x, w, factor):\n    return x\n"
OTHER = "def helper(x):\n    return x\n"


def handed_in(name: str, data: bytes) -> HandedIn:
    return HandedIn(name, Entry(name, len(data), None, lambda limit: data[: limit + 1], f"class/{name}"))


def unreadable(name: str, why: str = "The file is encrypted.") -> HandedIn:
    def reader(limit: int) -> bytes:
        raise UnreadableError(why)

    return HandedIn(name, Entry(name, 5, None, reader, f"class/{name}"))


def chosen(files: Mapping[str, str | bytes], packages: tuple[str, ...] = ("numpy", "torch")) -> Chosen:
    """What is chosen, and that the order in which files are found does not matter."""
    listed = [handed_in(n, d.encode() if isinstance(d, str) else d) for n, d in files.items()]
    result = choose(listed, ENTRY, packages)
    random.Random(1).shuffle(listed)
    assert choose(listed, ENTRY, packages) == result
    left_out = {one.path.removeprefix("class/") for one in result.left_out}
    used = {name for name in files if name not in left_out}
    assert result.file is None or result.file.name in used
    return result


def taken(files: Mapping[str, str | bytes]) -> tuple[str, str]:
    result = chosen(files)
    assert result.file is not None
    return result.file.name, result.rule


def notebook(*cells: str, **more: Any) -> str:
    listed = [{"cell_type": "code", "source": c, "metadata": {}, "outputs": []} for c in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": listed} | more)


# --- which file -------------------------------------------------------------------------------


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/core.py": "from .tools import helper\n" + GOOD,
    "pkg/tools.py": OTHER,
}


def test_a_part_of_a_package_is_taken_by_the_file_that_imports_it() -> None:
    # By itself it would fail in its first line.
    result = chosen(PACKAGE | {"main.py": f"from pkg.core import {ENTRY}\n"})
    assert result.file is not None
    assert (result.file.name, result.rule) == (
        "main.py",
        "of the files with row_scale in them the one that imports nothing from around it",
    )
    assert [part.name for part in result.parts] == [
        "main.py",
        "pkg/__init__.py",
        "pkg/core.py",
        "pkg/tools.py",
    ]
    assert (result.notes, result.left_out) == ((), ())


def test_a_part_of_a_package_that_nothing_imports_is_taken_with_a_note() -> None:
    result = chosen(PACKAGE)
    assert result.file is not None
    assert result.file.name == "pkg/core.py"
    assert result.notes[0].startswith("core.py imports relative to itself (from . …)")
    assert taken(PACKAGE | {"main.py": "x = 1\n"})[0] == "pkg/core.py"
    under = GOOD + "if __package__:\n    from .tools import helper\n"
    assert taken({"a.py": under, "b.py": f"from a import {ENTRY}\n"})[0] == "a.py"


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("from .py cells of the lecture, import by import.", False),
        ("from . to .. it goes; import it", False),
        ("from .important import x", True),
        ("from . import x", True),
        ("from .import x", True),
        ("from.a import x", True),
        ("from ...a.b import(x)", True),
        ("from . . a . b import x", True),
        ("from .a \\\n    import x", True),
        ("from . \\\n    import x", True),
    ],
)
def test_only_an_import_makes_a_file_a_part_of_a_package(line: str, inner: bool) -> None:
    whole = f'"""Homework.\n\n{line}\n"""\n{GOOD}'
    name = taken({"solution.py": whole, "try_it.py": f"from solution import {ENTRY}\n"})[0]
    assert name == ("try_it.py" if inner else "solution.py")
    assert any("relative" in note for note in chosen({"solution.py": whole}).notes) is inner


def test_why_a_rival_is_left_out_is_the_rule_and_not_its_name() -> None:
    result = chosen({"a.zip/s.py": GOOD, "b c.zip/s.py": GOOD})
    assert [one.reason for one in result.left_out] == [f"s.py is taken: {result.rule}"]


def test_a_notebook_that_is_too_long_says_what_to_do() -> None:
    def reader(limit: int) -> bytes:
        raise UnreadableError("The file has 99,999,999 bytes; at most 20,971,520 are read.")

    files = [HandedIn("a.ipynb", Entry("a.ipynb", 99_999_999, None, reader, "class/a.ipynb"))]
    assert choose(files, ENTRY).problem.endswith("are read. Clear its outputs and hand it in again.")


def test_a_file_alone_is_taken_as_it_is() -> None:
    result = chosen({"hw/Any Name.py": GOOD.replace("\n", "\r\n")})
    digest = hashlib.sha256(GOOD.replace("\n", "\r\n").encode()).hexdigest()
    assert (result.source, result.digest, result.parts) == (GOOD, f"sha256:{digest}", ())
    assert (result.rule, result.notes, result.left_out) == ("the only file with Python in it", (), ())
    assert chosen({"a.py": "x = 1"}).source == "x = 1"


@pytest.mark.parametrize(
    ("files", "name", "rule"),
    [
        ({"a.py": OTHER, "z.py": GOOD}, "z.py", "the only file that defines row_scale"),
        ({"solution.py": OTHER, "z.py": GOOD}, "z.py", "the only file that defines row_scale"),
        (
            {"a.py": GOOD, "solution.py": GOOD},
            "solution.py",
            "of the files with row_scale in them the one that is called solution",
        ),
        (
            {"a.py": GOOD, "Row_Scale.py": GOOD},
            "Row_Scale.py",
            "of the files with row_scale in them the one that is called Row_Scale",
        ),
        (
            {"solution.py": GOOD, "row_scale.py": GOOD},
            "solution.py",
            "of the files with row_scale in them the one that is called solution",
        ),
        (
            {"b/c.py": GOOD, "z.py": GOOD},
            "z.py",
            "of the files with row_scale in them the one nearest to the top",
        ),
        ({"b.py": GOOD, "a.py": GOOD}, "a.py", "of the files with row_scale in them the first by name"),
        ({"B.py": GOOD, "a.py": GOOD}, "a.py", "of the files with row_scale in them the first by name"),
        (
            {"a.py": "from z import row_scale\n", "z.py": GOOD},
            "z.py",
            "of the files with row_scale in them the one that defines it",
        ),
        (
            {"a.py": "class A:\n    def row_scale(self): pass\n", "z.py": GOOD},
            "z.py",
            "of the files with row_scale in them the one that defines it at the left margin",
        ),
        (
            {"main.py": "from heads import scale as row_scale\n", "heads.py": "def scale(x): return x\n"},
            "main.py",
            "the only file that imports row_scale",
        ),
        (
            {"test_solution.py": GOOD, "zz.py": GOOD},
            "zz.py",
            "of the files with row_scale in them the one that is no test",
        ),
        ({"test_mine.py": GOOD, "zz.py": OTHER}, "test_mine.py", "the only file that defines row_scale"),
        (
            {"solution.py.txt": GOOD, "zz.py": GOOD},
            "zz.py",
            "of the files with row_scale in them the one whose name ends as usual",
        ),
        (
            {"solution (1).py": GOOD, "a.py": GOOD},
            "solution (1).py",
            "of the files with row_scale in them the one that is called solution (1)",
        ),
        (
            {"solution (1).py": GOOD, "solution.py": GOOD},
            "solution.py",
            "of the files with row_scale in them the one that is called solution",
        ),
        (
            {"b.py": OTHER, "a.py": OTHER},
            "a.py",
            "no file defines row_scale; of all of them the first by name",
        ),
        (
            {"test_a.py": OTHER, "z.py": OTHER, "setup.py": OTHER},
            "z.py",
            "no file defines row_scale; of all of them the one that is no test",
        ),
        (
            {"a.ipynb": notebook(GOOD), "b.py": GOOD},
            "b.py",
            "of the files with row_scale in them the script, which goes before a notebook",
        ),
        ({"a.ipynb": notebook(GOOD), "b.py": OTHER}, "a.ipynb", "the only file that defines row_scale"),
        ({"solution.ipynb": notebook("x = 1"), "b.py": GOOD}, "b.py", "the only file that defines row_scale"),
    ],
)
def test_of_several_files_a_rule_takes_one_and_says_so(files: dict[str, str], name: str, rule: str) -> None:
    assert taken(files) == (name, rule)


@pytest.mark.parametrize(
    "text",
    [
        "def row_scale(x):\n",
        "async  def  row_scale (x):\n",
        "class row_scale:\n",
        "row_scale = partial(f)\n",
        "row_scale: Callable[[int], int] = f\n",
        "scale = row_scale = f\n",
        "if True:\n\tdef row_scale(x): pass\n",
        "try:\n    row_scale = jit(f)\nexcept E: pass\n",
        "from heads import row_scale\n",
        "from heads import scale, row_scale # x\n",
        "from heads import scale as row_scale\n",
        "from heads import (\n    scale,\n    row_scale,\n)\n",
        "import heads.scale as row_scale\n",
        "x = 1\r\ndef row_scale(x): pass\r\n",
    ],
)
def test_these_define_the_entry_point(text: str) -> None:
    assert taken({"z.py": text, "a.py": OTHER})[0] == "z.py"
    assert taken({"z.ipynb": notebook(text), "a.py": OTHER})[0] == "z.ipynb"


@pytest.mark.parametrize(
    "text",
    [
        "def row_scale2(x):\n",
        "def my_row_scale(x):\n",
        "row_scale == 3\n",
        "print(row_scale(1))\n",
        "# def row_scale(x):\n",
        "import row_scale\n",
        "from row_scale import x\n",
        "from heads import row_scale as other\n",
        "x = 'def row_scale(x):'\n",
    ],
)
def test_these_do_not(text: str) -> None:
    assert taken({"z.py": text, "a.py": OTHER})[0] == "a.py"


def test_what_is_not_taken_is_told_of() -> None:
    result = chosen({"solution.py": GOOD, "old/solution.py": GOOD, "test_it.py": "", "plot.png": b"\x89"})
    rule = "solution.py is taken: of the files with row_scale in them the one nearest to the top"
    assert [str(one) for one in result.left_out] == [
        f"class/old/solution.py: {rule}",
        "class/plot.png: no Python file and no notebook",
        f"class/test_it.py: {rule}",
    ]
    assert result.notes == ("old/solution.py was handed in too and was not read; solution.py is graded.",)


def test_many_files_are_not_all_looked_into() -> None:
    reads = itertools.count()

    def counted(name: str) -> HandedIn:
        def reader(limit: int) -> bytes:
            next(reads)
            return GOOD.encode()

        return HandedIn(name, Entry(name, 5, None, reader))

    result = choose([counted(f"f{n}.py") for n in range(3 * MAX_CANDIDATES)], ENTRY, ())
    assert result.file is not None
    assert result.file.name == "f0.py"
    assert next(reads) == MAX_CANDIDATES + 1
    assert len(result.notes) == 6
    assert len(result.left_out) == 3 * MAX_CANDIDATES - 1


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "Nothing was handed in; expected a .py file or a Jupyter notebook (.ipynb)."),
        (
            {"solution.docx": "x"},
            "solution.docx is no Python file; hand in a .py file or a Jupyter notebook (.ipynb).",
        ),
        (
            {"notes.txt": "hello", "code/a.PDF": "", "b\n.c": ""},
            (
                "b\ufffd.c, code/a.PDF, notes.txt are no Python files; hand in a .py file or a Jupyter"
                " notebook (.ipynb)."
            ),
        ),
        (
            {f"{n}.png": "" for n in range(9)},
            (
                "0.png, 1.png, 2.png, 3.png, 4.png and 4 more are no Python files; hand in a .py"
                " file or a Jupyter"
                " notebook (.ipynb)."
            ),
        ),
        (
            {f"{'x' * 300}.py": ""},
            f"{'x' * 79}… is no Python file; hand in a .py file or a Jupyter notebook (.ipynb).",
        ),
    ],
)
def test_nothing_to_choose_says_what_was_found(files: dict[str, str], problem: str) -> None:
    result = chosen(files)
    assert (result.source, result.problem, result.file, result.digest) == (None, problem, None, "")
    assert len(result.left_out) == len(files)


def test_a_file_that_cannot_be_read_is_not_preferred() -> None:
    result = choose([unreadable("solution.py"), handed_in("z.py", GOOD.encode())], ENTRY, ())
    assert (result.file and result.file.name, result.problem) == ("z.py", "")
    result = choose([unreadable("solution.py")], ENTRY, ())
    assert (result.source, result.problem, result.digest) == (None, "The file is encrypted.", "")
    result = chosen({"solution.py": "#" * (MAX_BYTES + 1)})
    assert result.problem.startswith("The file has more than 2,097,152 bytes")
    result = chosen({"solution.py": b"x = '\0'"})
    assert result.problem == "The file holds a NUL byte in line 1; it is no Python text."
    assert result.digest


# --- odd endings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("solution.PY", ""),
        ("solution (1).py", ""),
        (" -solution'\n.py", ""),
        ("solution.py.txt", "solution.py.txt was read as Python; call it solution.py."),
        ("solution.pyw", "solution.pyw was read as Python; call it solution.py."),
        ("solution.py ", "solution.py  was read as Python; call it solution.py."),
        ("solution.txt", "solution.txt was read as Python; call it solution.py."),
        ("solution", "solution was read as Python; call it solution.py."),
    ],
)
def test_odd_names_are_read_all_the_same(name: str, note: str) -> None:
    result = chosen({name: GOOD, "readme.md": "x"})
    assert result.source == GOOD
    assert result.notes == ((note,) if note else ())


def test_a_text_file_counts_only_where_there_is_nothing_else_and_it_holds_the_function() -> None:
    assert taken({"solution.txt": GOOD, "z.py": OTHER})[0] == "z.py"
    assert taken({"solution.txt": "hello", "z.txt": GOOD}) == (
        "z.txt",
        "the only text that defines row_scale",
    )
    assert chosen({"solution.txt": "hello"}).file is None
    assert chosen({"Makefile": "row_scale: x\n"}).file is None


def test_a_file_is_read_as_what_it_holds() -> None:
    result = chosen({"solution.py": notebook("import numpy", GOOD)})
    assert result.source == f"import numpy\n{GOOD}"
    assert result.notes == ("solution.py holds a notebook; it was read as one.", COUNTED)
    result = chosen({"solution.ipynb": GOOD})
    assert (result.source, result.parts) == (GOOD, ())
    assert result.notes == ("solution.ipynb holds Python; it was read as that.",)
    assert chosen({"solution.ipynb": "not at all"}).problem.startswith("The notebook is damaged")
    result = chosen({"solution.ipynb.json": notebook(GOOD)})
    assert result.notes[0] == "solution.ipynb.json was read as a notebook; call it solution.ipynb."


# --- notebooks --------------------------------------------------------------------------------


def test_a_notebook_is_its_cells() -> None:
    raw = notebook("%matplotlib inline\n", "", GOOD)
    result = chosen({"solution.ipynb": raw})
    assert result.source == f"pass  # %matplotlib inline\n{GOOD}"
    assert result.parts == (Part("cell", "cell 1", 1, 1), Part("cell", "cell 3", 2, 2))
    assert result.digest == f"sha256:{hashlib.sha256(raw.encode()).hexdigest()}"
    assert result.notes[0] == COUNTED


def test_of_a_notebook_and_its_export_the_script_is_taken() -> None:
    same = {"hw.ipynb": notebook("# title\nx = 1", "%who", GOOD), "hw.py": f"# In[1]:\n\nx = 1\n\n\n{GOOD}\n"}
    result = chosen(same)
    assert (result.file and result.file.name, result.notes) == ("hw.py", ())
    assert [one.path for one in result.left_out] == ["class/hw.ipynb"]
    result = chosen(same | {"hw.py": f"x = 2\n{GOOD}"})
    assert result.notes == (
        "hw.py and hw.ipynb hold different code; hw.py is graded. Hand in one of them only.",
    )


def test_an_export_that_holds_cells_as_strings_gives_way_to_its_notebook() -> None:
    export = f"get_ipython().run_cell_magic('time', '', 'def f(): pass\\n')\n{GOOD}"
    files = {"hw.ipynb": notebook("%%time\ndef f(): pass\n", GOOD), "hw.py": export}
    name, rule = taken(files)
    assert name == "hw.ipynb"
    assert rule == (
        "of the files with row_scale in them the notebook, because hw.py holds some of its cells as strings"
    )
    result = chosen({"hw.py": export})
    assert result.source == f"pass  # {export}"
    assert result.notes == ("Calls of get_ipython() work in Jupyter only; they are passed over (line 1).",)


def test_without_the_package_for_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(notebooks.importlib, "import_module", missing)
    result = chosen({"z.ipynb": notebook("x = 1", f"y = 2\n{GOOD}"), "a.py": OTHER})
    assert (result.file and result.file.name, result.source, result.fault) == ("z.ipynb", None, MISSING)
    assert (result.problem, result.digest[:7]) == ("", "sha256:")
    # A script that defines the function needs no notebook to be read.
    assert chosen({"z.ipynb": notebook(OTHER), "b.py": GOOD}).source == GOOD


# --- helper modules ---------------------------------------------------------------------------


def names(result: Chosen) -> list[str]:
    return [part.module for part in result.parts if part.kind == "module"]


def test_modules_that_are_mentioned_follow_the_main_file() -> None:
    main = f"import heads\nfrom tools.masks import mask\n{GOOD.rstrip()}"
    result = chosen(
        {
            "solution.py": main,
            "heads.py": "import numpy\nH = 1",
            "tools/__init__.py": "",
            "tools/masks.py": "from . import more\n",
            "tools/more/deep.py": "\n",
            "unused.py": "x = 1\n",
        }
    )
    assert result.source == f"{main}\nimport numpy\nH = 1\n\nfrom . import more\n\n"
    assert result.parts == (
        Part("main", "solution.py", 1, 4),
        Part("module", "heads.py", 5, 2, "heads"),
        Part("module", "tools/__init__.py", 7, 1, "tools", package=True),
        Part("module", "tools/masks.py", 8, 1, "tools.masks"),
        Part("module", "tools/more/deep.py", 9, 1, "tools.more.deep"),
    )
    assert [one.path for one in result.left_out] == ["class/unused.py"]
    assert result.notes == ("unused.py was handed in too and was not read; solution.py is graded.",)


@pytest.mark.parametrize(
    "line",
    [
        "import heads",
        "  from heads import f",
        "import numpy as np, heads as h",
        "import numpy, \\\n  heads",
        "m = importlib.import_module('heads')",
        'm = load(\n    "heads.f"\n)',
        "__import__('heads')",
        "from heads.deep import (\n  f)",
    ],
)
def test_these_lines_mention_a_module(line: str) -> None:
    assert names(chosen({"solution.py": f"{line}\n{GOOD}", "heads.py": OTHER})) == ["heads"]


@pytest.mark.parametrize(
    "line", ["heads = 1", "x.heads()", "import x.heads", "'a heads'", "from .heads import f"]
)
def test_these_do_not_mention_it(line: str) -> None:
    assert names(chosen({"solution.py": f"{line}\n{GOOD}", "heads.py": OTHER})) == []


def test_a_module_brings_the_modules_that_it_mentions() -> None:
    files = {
        "solution.py": f"import a\n{GOOD}",
        "a.py": "import b",
        "b.py": "import c, a",
        "c.py": "import solution",
    }
    assert names(chosen(files)) == ["a", "b", "c"]


def test_a_notebook_has_modules_too() -> None:
    result = chosen({"hw.ipynb": notebook("import heads", GOOD), "heads.py": OTHER})
    assert [part.name for part in result.parts] == ["cell 1", "cell 2", "heads.py"]
    assert result.parts[-1] == Part("module", "heads.py", 4, 2, "heads")
    assert result.source is not None
    assert result.source.endswith(f"{GOOD}{OTHER}")


def test_python_and_the_installed_packages_always_win() -> None:
    main = f"import random, numpy, json\nimport fine\n{GOOD}"
    files = {
        "solution.py": main,
        "random.py": OTHER,
        "numpy/core.py": OTHER,
        "os.py": OTHER,
        "fine.py": "x = 1\n",
    }
    result = chosen(files)
    assert names(result) == ["fine"]
    assert result.notes[:2] == (
        "numpy/ is never loaded: “import numpy” gives the installed package. Give the file another name.",
        "random.py is never loaded: “import random” gives Python's own module. Give the file another name.",
    )
    reasons = {one.path: one.reason for one in result.left_out}
    assert reasons["class/random.py"] == "“import random” gives Python's own module"
    assert reasons["class/os.py"].startswith("solution.py is taken")


@pytest.mark.parametrize(
    "name", ["random.py", "numpy.py", "-x.py", "a b.py", 'it\'s "1".py', "a\nb.py", "class.py"]
)
def test_the_graded_file_may_have_any_name(name: str) -> None:
    result = chosen({name: f"import heads\n{GOOD}", "heads.py": OTHER})
    assert result.file is not None
    assert result.file.name == name
    assert names(result) == ["heads"]
    assert result.parts[0].name == name


def test_a_module_under_the_graded_files_own_name_is_not_loaded() -> None:
    result = chosen({"hw.ipynb": notebook(f"import hw\n{GOOD}"), "hw.py": OTHER})
    assert names(result) == []
    assert result.notes[1] == (
        "hw.py is not loaded, because hw.ipynb runs under the name hw itself. Give one of them another name."
    )


def test_names_that_no_import_can_say() -> None:
    main = f"import my_heads, __init__, __main__\n'my-heads'\n{GOOD}"
    files = {"solution.py": main, "my-heads.py": OTHER, "__init__.py": "", "__main__.py": "", "a b/c.py": ""}
    result = chosen(files)
    assert names(result) == []
    reasons = {one.path: one.reason for one in result.left_out}
    assert reasons["class/my-heads.py"] == reasons["class/a b/c.py"] == "no import statement can name it"


def test_both_unicode_forms_of_a_name_are_one() -> None:
    composed, apart = "h\u00e9ads", unicodedata.normalize("NFD", "h\u00e9ads")
    for written, filed in itertools.product((composed, apart), repeat=2):
        result = chosen({"solution.py": f"import {written}\n{GOOD}", f"{filed}.py": OTHER})
        assert names(result) == [composed]
    both = chosen({"solution.py": f"import {composed}\n{GOOD}", f"{composed}.py": OTHER, f"{apart}.py": "x"})
    assert names(both) == [composed]
    assert module_name(f"{composed}.py") == module_name(f"{apart}.py") == composed
    assert Submission("a", "a", f"x/{apart}.py", "", "").module == composed


def test_a_package_goes_before_a_module_and_a_module_before_a_folder() -> None:
    main = f"import heads, masks\n{GOOD}"
    result = chosen(
        {
            "solution.py": main,
            "heads.py": "x = 1",
            "heads/__init__.py": "x = 2",
            "masks.py": "x = 3",
            "masks/a.py": "x = 4",
        }
    )
    assert [part.name for part in result.parts[1:]] == ["heads/__init__.py", "masks.py"]
    reasons = {one.path: one.reason for one in result.left_out}
    assert reasons["class/heads.py"] == "heads/__init__.py has the same name for “import”"
    assert reasons["class/masks/a.py"] == "masks.py hides its folder"


def test_modules_are_looked_for_in_the_files_folder_and_above_it() -> None:
    main = f"from src.heads import f\nimport masks, other\n{GOOD}"
    files = {
        "src/solution.py": main,
        "src/heads.py": "import masks\n",
        "masks.py": "x = 1\n",
        "src/masks.py": "x = 2\n",
    }
    result = chosen(files | {"lib/other.py": "x = 3\n"})
    assert [(part.module, part.name) for part in result.parts[1:]] == [
        ("masks", "masks.py"),
        ("src.heads", "src/heads.py"),
        ("src.masks", "src/masks.py"),
    ]
    assert result.source is not None
    assert "x = 2\nimport masks\n" in result.source
    assert "x = 1" not in result.source


def test_test_files_are_modules_only_when_they_are_named() -> None:
    files = {"tools/a.py": "x = 1", "tools/test_a.py": "x = 2", "conftest.py": "x = 3", "test_b.py": "x = 4"}
    assert names(chosen({"solution.py": f"import tools.a\n{GOOD}"} | files)) == ["tools.a"]
    assert names(chosen({"solution.py": f"from tools import test_a\n{GOOD}"} | files)) == [
        "tools.a",
        "tools.test_a",
    ]
    assert names(chosen({"solution.py": f"import test_b\n{GOOD}"} | files)) == ["test_b"]
    assert all(map(is_test, ["test_a.py", "x/a_test.py", "conftest.py", "a/setup.py"]))
    assert not any(map(is_test, ["latest.py", "testing.py", "attest_x.py", "test_.txt"]))


def test_a_module_that_cannot_be_read_is_told_of() -> None:
    files = [handed_in("solution.py", f"import a, b\n{GOOD}".encode()), unreadable("a.py")]
    result = choose([*files, handed_in("b.py", b"\0")], ENTRY, ())
    assert (result.source, names(result)) == (f"import a, b\n{GOOD}", [])
    assert result.notes[:2] == (
        "a.py can't be imported: The file is encrypted.",
        "b.py can't be imported: The file holds a NUL byte in line 1; it is no Python text.",
    )


def test_modules_have_caps() -> None:
    main = {"solution.py": f"import tools\n{GOOD}"}
    most = {f"tools/m{n}.py": "" for n in range(MAX_MODULES)}
    assert len(names(chosen(main | most))) == MAX_MODULES
    result = chosen(main | most | {"tools/one_more.py": ""})
    assert (result.source, result.parts) == (None, ())
    assert result.problem == (
        "solution.py imports from more than 50 files, which is the most that is read. Hand in only"
        " what it needs."
    )
    result = chosen(main | {f"tools/{n}.py": "#" * (MAX_BYTES // 2) for n in "ab"})
    assert result.problem == (
        "solution.py and the files that it imports have more than 2,097,152 bytes, which is the most"
        " that is read."
    )


def test_the_digest_tells_all_files_that_are_run() -> None:
    files = {"solution.py": f"import a, b\n{GOOD}", "a.py": "x = 1", "b.py": "x = 2"}
    digests = [
        chosen(files).digest,
        chosen(files | {"a.py": "x = 3"}).digest,
        chosen(files | {"a.py": "x = 2", "b.py": "x = 1"}).digest,
        chosen({"solution.py": files["solution.py"], "a.py": "x = 1"}).digest,
        chosen({"solution.py": files["solution.py"]}).digest,
    ]
    assert len(set(digests)) == len(digests)
    assert chosen(files | {"unused.py": "x = 1", "a.png": b"1"}).digest == digests[0]


# --- whatever is handed in --------------------------------------------------------------------

FILE_NAMES = st.sampled_from(
    [
        *(
            "solution.py",
            "a.py",
            "b.py",
            "pkg/__init__.py",
            "pkg/a.py",
            "pkg/b/c.py",
            "random.py",
            "test_a.py",
        ),
        *("a.ipynb", "pkg/solution.py", "x.txt", "b.py.txt", "é.py", "e\u0301.py", "a/__init__.py", "-.py"),
    ]
) | st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))
TEXTS = st.lists(
    st.sampled_from(
        [
            *(
                GOOD,
                "import a, b\n",
                "from pkg.b import c",
                "'pkg'",
                "import é\n",
                "\f\n",
                "\r\n",
                "# é\n",
                "\n",
            ),
            *(
                "import random, test_a\n",
                "x = '''\n",
                "\u2028",
                "row_scale = 1\n",
                "from solution import row_scale\n",
            ),
        ]
    ),
    max_size=4,
).map("".join)


@settings(max_examples=200)
@given(
    st.dictionaries(
        FILE_NAMES, TEXTS.map(str.encode) | TEXTS.map(notebook).map(str.encode) | st.binary(max_size=9)
    )
)
@example({"a.py": b"import a", "é.py": b"", "e\u0301.py": b"row_scale = 1"})
def test_every_line_has_its_part_whatever_is_handed_in(files: dict[str, bytes]) -> None:
    result = chosen(files)
    assert [result.source is None, bool(result.problem)] in ([True, True], [False, False])
    assert not result.fault
    accounted = {one.path.removeprefix("class/") for one in result.left_out}
    assert accounted <= set(files)
    if result.source is None:
        return
    assert result.file is not None
    assert "\r" not in result.source
    assert result.rule
    if result.parts:
        at = 1
        for part in result.parts:
            assert part.first == at
            assert part.lines >= 1
            at += part.lines
        assert at - 1 == result.source.count("\n")
        assert result.source.endswith("\n")
        modules = [part.module for part in result.parts if part.kind == "module"]
        assert modules == sorted(set(modules))
        assert not set(modules) & {"random", result.file.name.removesuffix(".py")}


@pytest.mark.parametrize(
    "text", ["from import ", "a = ", "from x import (", "row_scale:", " ", "\n ", "import row_scale as "]
)
def test_the_search_for_the_function_ends(text: str) -> None:
    # What is not linear would not end.
    assert module._defines(text * (MAX_BYTES // 4 // len(text)), ENTRY) == 3


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (["sol-2.py", "sol-3.py"], "sol-3.py"),
        (["sol-9.py", "sol-10.py"], "sol-10.py"),
        (["sol.py", "sol-1.py"], "sol-1.py"),
        (["my work (1).py", "my work (2).py", "my work.py"], "my work (2).py"),
        (["a-9.py", "b-1.py"], "a-9.py"),
        (["solution.py", "solution-2.py"], "solution.py"),
    ],
)
def test_of_files_that_differ_in_a_number_the_highest_is_taken(names: list[str], best: str) -> None:
    assert taken(dict.fromkeys(names, GOOD))[0] == best


def test_of_several_names_one_is_enough() -> None:
    files = {"notes.py": "x = 1\n", "work.py": "class Urn:\n    pass\n", "part.py": "def other(): ...\n"}
    found = choose([handed_in(name, text.encode()) for name, text in files.items()], ("totals", "Urn"))
    assert found.file is not None and found.file.name == "work.py"
    assert found.rule == "the only file that defines totals or Urn"


def test_a_file_may_be_called_as_any_of_the_names() -> None:
    text = "def totals(): ...\nclass Urn: ...\n"
    found = choose([handed_in(name, text.encode()) for name in ("a.py", "urn.py")], ("totals", "Urn"))
    assert found.file is not None and found.file.name == "urn.py"
