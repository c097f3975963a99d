"""Jupyter's own lines made plain Python: what is no Python goes, what is Python stays to the byte."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from grader.intake.magics import Skipped, comments, plain, without_calls_of_jupyter
from grader.intake.text import MAX_BYTES, tidy


def parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


# --- what stays -------------------------------------------------------------------------------

LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


def test_the_standard_library_comes_out_as_it_went_in() -> None:
    assert len(LIBRARY) > 100
    for path in LIBRARY:
        text = tidy(path.read_text(encoding="utf-8"))
        assert plain(text).text == text, path


PIECES = (
    *("x = 1\n", "if x:\n", "else:\n", "    y = 2\n", "        z = 3\n", "\n", "   \n", "# %time\n", "\f\n"),
    *(
        "x = (a\n",
        "  % b)\n",
        "  %c\n",
        ")\n",
        "x = a \\\n",
        " % b\n",
        "  !=b\n",
        "d = {\n",
        "'k': x,\n",
        "}\n",
    ),
    *("'''\n", '"""\n', "%z\n", "!ls\n", "x?\n", "s = '%'\n", "t = '!ls'\n", "r'\\'\n", "rb'\\''\n", "b''\n"),
    *("s = 'a\\\n", "%b'\n", "f'{x!r:>{w}} %'\n", "f\"{x['a']}\"\n", "f'''{x\n", "}\n%z'''\n", "f'{{%}}'\n"),
    *(
        "f'\\N{DIGIT ONE}'\n",
        "f'{x:%H:%M}'\n",
        "rf'\\{x}'\n",
        "f'{x =}'\n",
        "f'{ {1: 2}[1] }'\n",
        "x = y = 3\n",
    ),
    *(
        "def f(a, *, b=1): return a\n",
        "lambda x=1: x\n",
        "x: int = 5\n",
        "x %= 2\n",
        "x == y\n",
        "(y := 4)\n",
    ),
    *(
        "@f\n",
        "class A: pass\n",
        "...\n",
        "x = 5 if y else f'{x}'\n",
        "x = y if f else''\n",
        "é = 'é'\n",
        "x\t=\t1",
    ),
    *(
        "x = '''it's \"\"\" %\n",
        "u'?'\n",
        "x = [1,\n",
        "?]\n",
        "f'{x}' '%' \\\n",
        "'?'  # ?\n",
        "a = b # ?\n",
    ),
)
CELLS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


@given(CELLS)
@example("   # a comment\nif a:\n    x = 1\n")
@example("    \fx = 1\n")
@example("x = 1\n...\n")
@example("'''\n%%time\n'''")
@example("f'''{\nx\n}\n%z\n'''\n")
@example("x = a \\\n % b\n")
def test_valid_python_comes_out_byte_for_byte(cell: str) -> None:
    assume(parses(cell))
    result = plain(cell)
    assert (result.text, result.foreign, result.skipped) == (cell, "", ())


@given(
    CELLS
    | st.text()
    | st.text("\n'\"f{}()[]\\%!?#= x:;,/").map(lambda text: text)
    | st.lists(
        st.sampled_from([*PIECES, "%time ", "%%time\n", "%timeit -n ", "a = !", "b=%", "\\\n", "???"])
    ).map("".join)
)
@example("%time " * 50)
@example("%%time\n" * 50)
@example("!ls \\\n\n")
@example("!\\\n")
@example("f'{x:\n")
@example("f'{x:{'")
@example("%")
def test_any_text_keeps_its_lines_and_no_magic_survives_twice(cell: str) -> None:
    result = plain(cell)
    assert result.text.count("\n") == cell.count("\n")
    assert all(1 <= one.line <= cell.count("\n") + 1 for one in result.skipped)
    if parses(result.text):
        assert plain(result.text).text == result.text
    without_calls_of_jupyter(cell)


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "'",
            '"""',
            "f'{",
            "f'''{x:",
            "(",
            "x = (",
            "\\\n",
            "\\N{",
            "f'\\N{",
            "%time ",
            "%%time\n",
            "!\\\n",
            "\f",
        ),
        *(
            "a=!b\n",
            "%timeit -q ",
            "x?\n",
            "get_ipython().system('",
            "'a' , ",
            " ",
            "\n",
            "{[(",
            "f'{f'{",
            "==",
        ),
        *(
            "In [1]: ",
            ">>> ",
            "... ",
            "\t",
            "'''\n%x\n",
            "%lprun -f a ",
            "pip install ",
            "%%timeit -n 1 ",
            "é",
        ),
    ],
)
def test_a_long_hostile_text_is_read_once(piece: str) -> None:
    # What is not linear would not end.
    text = piece * (MAX_BYTES // 32 // len(piece))
    for start in ("", "x = ", "%time ", "get_ipython().system(", "f'''", "pip install "):
        assert plain(start + text).text.count("\n") == (start + text).count("\n")
        without_calls_of_jupyter(f"get_ipython().system({text}")


@pytest.mark.parametrize(
    "text",
    [
        *("'''\n%y\n'''", "(\n%y\n)", "{\n%y\n}", "[(\n%y\n)]", "'\\\n%y'", "x \\\n%y", "rb'''\\'''\n%y'''"),
        *(
            "f'''{x}\n%y\n'''",
            "f'''{x:\n%y\n}'''",
            "f'''{x:>{w}}\n%y'''",
            "f'''{x!r}\n%y'''",
            "f'''{{\n%y'''",
        ),
        *(
            "f'''}}\n%y'''",
            "f'''{'a'}\n%y'''",
            "f'''{d['a':1]}\n%y'''",
            "f'''\\N{DASH}\n%y'''",
            "f'''\\{x}\n%y'''",
        ),
        *(
            "f'''{ {1: 2}[1] }\n%y'''",
            "f'''{x:{'{'}>3}\n%y'''",
            "f'''\\'''\n%y'''",
            "f'''{(lambda: 1)()}\n%y'''",
        ),
        # As Python reads them since 3.12.
        *("f'{\n%y\n}'", "f'{x[\n%y\n]}'", "rf'\\{x[\n%y\n]}'", "f'{f'{\n%y\n}'}'", "f'{x['a']}' '''\n%y'''"),
        *("f'''{x:#x}\n%y'''", "f'''{x:'>3}\n%y'''"),
        *("f'{x:{\n%y\n}}'", "f'{x  # }\n%y\n}'", "t'{\n%y\n}'"),
    ],
)
def test_what_stands_within_strings_and_brackets_stays(text: str) -> None:
    for before, after in (("", ""), ("z = ", ""), ("f(", ")"), ("", "  # '''"), ("q = '' + ", " + f'{x}'")):
        cell = f"{before}{text}{after}\n"
        assert plain(f"{cell}%who\n{cell}").text == f"{cell}pass  # %who\n{cell}"


@pytest.mark.parametrize("text", ["'x", "f'x", "f'{x:>3", 'rb"x', "x = y + 'it?", "f'it?"])
def test_a_string_that_is_left_open_ends_with_its_line(text: str) -> None:
    assert plain(f"{text}\n%who\n").text == f"{text}\npass  # %who\n"


def test_magics_within_magics_end_somewhere() -> None:
    assert plain("%%time\n" * 7).text == "# %%time\n" * 5 + "pass  # %%time\n" * 2
    assert plain("%time " * 5 + "f(x)").text == "f(x)"
    assert plain("%time " * 6 + "f(x)").text == f"pass  # {'%time ' * 6}f(x)"


# --- what goes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("%matplotlib inline", "pass  # %matplotlib inline"),
        ("!pip install numpy", "pass  # !pip install numpy"),
        ("!!ls", "pass  # !!ls"),
        ("?np.dot", "pass  # ?np.dot"),
        ("np.dot?", "pass  # np.dot?"),
        ("np.dot??", "pass  # np.dot??"),
        ("x = np.dot?", "pass  # x = np.dot?"),
        ("%time?", "pass  # %time?"),
        (";f a b", "pass  # ;f a b"),
        ("/f a b", "pass  # /f a b"),
        ("files = !ls 'x", "files = []  # !ls 'x"),
        ("files: list = !ls", "files: list = []  # !ls"),
        ("t = %timeit -o f(x)", "t = None  # %timeit -o f(x)"),
        ("here = %pwd", "here = None  # %pwd"),
        ("v = %time f(x)", "v = f(x)"),
        ("%time f(x)", "f(x)"),
        ("%time x = f('%')", "x = f('%')"),
        ("%time --no-raise-error f(x)", "f(x)"),
        ("%timeit -n 10 -r3 -qo f(x)", "f(x)"),
        ("%timeit -n10 -- f(x)", "f(x)"),
        ("%prun -s cumulative -q f(x)", "f(x)"),
        ("%lprun -f f f(x)", "f(x)"),
        ("%memit f(x)", "f(x)"),
        ("%time %timeit -n 1 f(x)", "f(x)"),
        ("%time for i in x: f(i)", "for i in x: f(i)"),
        ("%time", "pass  # %time"),
        ("%time f(x", "pass  # %time f(x"),
        ("%time f('''", "pass  # %time f('''"),
        ("%time f('x", "pass  # %time f('x"),
        ("%time f(f'x", "pass  # %time f(f'x"),
        ("%time 'x", "pass  # %time 'x"),
        ("%time f'x", "pass  # %time f'x"),
        ("%time !ls", "pass  # %time !ls"),
        ("%time for i in x:", "pass  # %time for i in x:"),
        ("%timeit -z f(x)", "pass  # %timeit -z f(x)"),
        ("%run helper.py", "pass  # %run helper.py"),
        ("%%writefile helper.py", "pass  # %%writefile helper.py"),
    ],
)
def test_a_line_of_jupyter_becomes_python_on_its_line(line: str, becomes: str) -> None:
    for indent, opening in (("", "before = 1\n"), ("    ", "if True:\n"), ("\t", "for i in x:\n")):
        result = plain(f"{opening}{indent}{line}\n{indent}after = 2\n")
        assert result.text == f"{opening}{indent}{becomes}\n{indent}after = 2\n"
        assert parses(result.text)
        kept = not becomes.endswith(line.partition("= ")[2] or line) or "#" not in becomes
        assert result.skipped == (() if kept else (Skipped(2, line),))


def test_a_continued_line_of_jupyter_goes_with_all_its_lines() -> None:
    cell = "if x:\n  !pip install \\\n    numpy \\\n    torch\n  y = !ls \\\n -l\n  %time f(1, \\\n    2)\n"
    expected = (
        "if x:\n  pass  # !pip install \\\n#     numpy \\\n#     torch\n  y = []  # !ls \\\n#  -l\n"
        "  f(1, \\\n    2)\n"
    )
    result = plain(cell)
    assert result.text == expected
    assert [one.line for one in result.skipped] == [2, 5]
    assert parses(result.text)


@pytest.mark.parametrize(
    "magic", ["time", "timeit", "timeit -n 2 -r 2", "capture out", "capture --no-stderr", "prun -q"]
)
def test_a_cell_of_python_under_a_magic_is_kept(magic: str) -> None:
    result = plain(f"\n%%{magic}\ndef f():\n    return 1\n")
    assert result.text == f"\n# %%{magic}\ndef f():\n    return 1\n"
    assert (result.foreign, result.skipped) == ("", ())


def test_what_stands_beside_a_cells_magic_is_kept_when_it_is_python() -> None:
    assert plain("%%timeit -n 2 x = make()\nf(x)\n").text == "x = make()\nf(x)\n"
    assert plain("%%prun -q f(1)\nf(2)\n").text == "f(1)\nf(2)\n"
    assert (
        plain("%%time\n\n%%capture out\n  x = 1\n  %who\n").text
        == "# %%time\n\n# %%capture out\nx = 1\npass  # %who\n"
    )


@pytest.mark.parametrize(
    "magic",
    [
        "%%bash",
        "%%html",
        "%%javascript",
        "%%writefile a.py",
        "%%python",
        "%%cython",
        "%%script sh",
        "%%R -i x",
        "%%!",
    ],
)
def test_a_cell_in_another_language_becomes_comments(magic: str) -> None:
    result = plain(f"{magic}\nimport os\n\nos.system('ls') '''\n")
    assert result.foreign == magic
    assert result.text == f"# {magic}\n# import os\n\n# os.system('ls') '''\n"
    assert ast.parse(result.text).body == []


def test_a_cell_that_is_indented_or_pasted_from_a_session_runs_as_in_jupyter() -> None:
    assert plain("    x = 1\n    if x:\n        y = 2\n").text == "x = 1\nif x:\n    y = 2\n"
    assert plain("  x = 1\ny = 2\n").text == "  x = 1\ny = 2\n"
    assert plain(">>> def f():\n...     return 1\n>>> f()\n").text == "def f():\n    return 1\nf()\n"
    assert plain("In [3]: x = 1\n   ...: y = 2\n").text == "x = 1\ny = 2\n"
    assert plain("pip install numpy==1.2\n").text == "pass  # pip install numpy==1.2\n"
    assert plain("pip is None\n").text == "pip is None\n"


def test_comments_hide_every_line() -> None:
    assert comments("a\n\n  b") == "# a\n\n#   b"


def test_calls_of_an_exported_notebook_are_passed_over() -> None:
    script = (
        "import numpy as np\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\n"
        "if np:\n"
        '    get_ipython().system("pip install \\"torch\\"")  # later\n'
        "'''\nget_ipython().system('ls')\n'''\n"
        "get_ipython().system('ls'); x = 1\n"
        "y = get_ipython().getoutput('ls')\n"
        "get_ipython().system(name)\n"
    )
    text, skipped = without_calls_of_jupyter(script)
    assert [one.line for one in skipped] == [2, 4]
    changed = [(a, b) for a, b in zip(script.split("\n"), text.split("\n"), strict=True) if a != b]
    assert [b.strip() for _, b in changed] == [f"pass  # {a.strip()}" for a, _ in changed]
    assert len(changed) == 2
    assert parses(text)
