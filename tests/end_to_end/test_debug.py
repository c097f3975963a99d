"""``grader check FILE --case ID --debug``: one public case, stepped through."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from handed_in import HIDDEN_ID, HIDDEN_VALUE
from support.commands import ROOT, Done, grader
from support.small import MUTATES, RIGHT, WRONG

WHERE = "-> return factor * (x @ w)"
HELPED = """\
from tools.squares import mean


def row_scale(x, w, factor):
    return factor * (x @ w) / (1 + mean(x))
"""
HELPER = "def mean(x):\n    squares = x * x\n    return squares.mean(axis=1, keepdims=True)\n"
RAISES = "def row_scale(x, w, factor):\n    size = len(x)\n    return x[size] @ w\n"


def debugged(
    file: str | Path, typed: str, *options: str, cwd: Path, case: str = "large_rows", **env: str
) -> Done:
    """The command with what is typed at its prompts; the end of the input follows."""
    command = [sys.executable, "-m", "grader", "check", str(file), "--case", case, "--debug", *options]
    environment = {
        k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "PYTHONBREAKPOINT", "COLUMNS")
    }
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(cwd)} | env
    done = subprocess.run(command, cwd=cwd, env=environment, input=typed, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def here(home: Path, tmp_path: Path) -> Path:
    """A folder of a student's, with the student's pack in it under the only name."""
    (tmp_path / "row_scale.pack").write_bytes((home / "student.pack").read_bytes())
    return tmp_path


PACK = ("--exercise", "row_scale.pack")


def test_it_stops_at_the_first_line_of_the_function(here: Path) -> None:
    (here / "ann.py").write_text(WRONG)
    done = debugged("ann.py", "p x.shape, factor\nexpected\nc\n", *PACK, cwd=here)
    assert done.status == 1 and done.err == ""
    assert f"{here / 'ann.py'}(5)row_scale()" in done.out and WHERE in done.out
    assert "((3, 4), 1)" in done.out
    assert "without the sandbox" in done.out
    assert done.out.count("expected\n") == 2, "asked for at the prompt, and at the end"
    assert "large_rows does not hold (wrong value)" in done.out


def test_a_right_answer_holds(here: Path) -> None:
    (here / "ann.py").write_text(RIGHT)
    done = debugged("ann.py", "c\n", *PACK, cwd=here)
    assert done.status == 0 and "large_rows holds" in done.out


@pytest.mark.parametrize("typed", ["", "q\n", "n\nq\n", "exit\n"])
def test_it_can_be_left_at_any_time(here: Path, typed: str) -> None:
    (here / "ann.py").write_text(RIGHT)
    done = debugged("ann.py", typed, *PACK, cwd=here)
    assert done.status == 0 and done.err == ""
    assert "left before the end; large_rows is not judged" in done.out and "holds" not in done.out


def test_leaving_is_told_though_the_file_catches_everything(here: Path) -> None:
    (here / "ann.py").write_text(
        "def row_scale(x, w, factor):\n    try:\n        x = 1\n        x = 2\n    except BaseException:\n"
        "        pass\n    return w\n"
    )
    done = debugged("ann.py", "n\nq\n", *PACK, cwd=here)
    assert done.status == 0 and "left before the end" in done.out


def test_stepping_on_after_the_return_ends_it(here: Path) -> None:
    """What called the function is none of the student's code."""
    (here / "ann.py").write_text(RIGHT)
    done = debugged("ann.py", "r\nw\ns\ns\ns\n", *PACK, cwd=here)
    assert done.status == 0 and "--Return--" in done.out
    assert "rehearsal.py" not in done.out and "debug.py" not in done.out


def test_both_calls_of_a_relation_are_stopped_in(here: Path) -> None:
    (here / "ann.py").write_text(WRONG)
    done = debugged("ann.py", "p len(x)\nc\np len(x)\nc\n", *PACK, cwd=here, case="row_alone")
    assert done.status == 1
    first, second = done.out.partition("call 2 of 2")[::2]
    assert "call 1 of 2" in first and "(Pdb) 3\n" in first and "(Pdb) 2\n" in second
    assert "row_alone does not hold (relation violated)" in second


def test_what_a_call_does_to_its_arguments_is_judged(here: Path) -> None:
    (here / "ann.py").write_text(MUTATES)
    done = debugged("ann.py", "c\n", *PACK, cwd=here, case="x_kept")
    assert done.status == 1 and "x_kept does not hold (input mutated)" in done.out


def test_an_exception_can_be_looked_at_where_it_was_raised(here: Path) -> None:
    (here / "ann.py").write_text(RAISES)
    done = debugged("ann.py", "c\np size\nq\n", *PACK, cwd=here)
    assert done.status == 1 and "-> return x[size] @ w" in done.out and "(Pdb) 3\n" in done.out
    assert "large_rows does not hold (raised)" in done.out and "IndexError" in done.out


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nrow_scale = lambda x, w, factor: np.zeros((3, 2))\n",
        "class Model:\n    def __call__(self, x, w, factor):\n        return x @ w\nrow_scale = Model()\n",
        "class Model:\n    def run(self, x, w, factor):\n        return x @ w\nrow_scale = Model().run\n",
        "import functools\ndef two(k, x, w, f):\n    return x @ w\nrow_scale = functools.partial(two, 1)",
    ],
    ids=["lambda", "instance", "method", "partial"],
)
def test_every_callable_is_stopped_in(here: Path, source: str) -> None:
    (here / "ann.py").write_text(source)
    done = debugged("ann.py", "p x.shape\nc\n", *PACK, cwd=here)
    assert f"{here / 'ann.py'}(" in done.out and "(3, 4)" in done.out and done.status == 1


def test_a_callable_without_lines_of_the_student_is_run_all_the_same(here: Path) -> None:
    (here / "ann.py").write_text("import numpy as np\nrow_scale = np.clip\n")
    done = debugged("ann.py", "", *PACK, cwd=here)
    assert done.status == 1 and "nowhere to stop" in done.out and "(Pdb)" not in done.out


@pytest.mark.parametrize("kind", ["file", "folder", "archive"])
def test_helper_modules_are_stepped_into(here: Path, kind: str) -> None:
    folder = here / "mine"
    (folder / "tools").mkdir(parents=True)
    (folder / "ann.py").write_text(HELPED)
    (folder / "tools" / "squares.py").write_text(HELPER)
    with zipfile.ZipFile(here / "mine.zip", "w") as archive:
        archive.write(folder / "ann.py", "ann.py")
        archive.write(folder / "tools" / "squares.py", "tools/squares.py")
    path = {"file": folder / "ann.py", "folder": folder, "archive": here / "mine.zip"}[kind]
    done = debugged(path, "b mean\ns\ns\ns\np squares.shape\nc\n", *PACK, cwd=here)
    assert done.status == 0, done.out + done.err
    assert "tools/squares.py(3)mean()" in done.out and "(Pdb) (3, 4)\n" in done.out
    if kind != "archive":
        assert str(folder / "tools" / "squares.py") in done.out


def test_the_cells_of_a_notebook_are_shown_as_they_are(here: Path) -> None:
    sources = ["%matplotlib inline\nimport numpy as np", "1 / 0", "def half(x):\n    return x / 2", RIGHT]
    cells = [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for text in sources
    ]
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}
    (here / "ann.ipynb").write_text(json.dumps(notebook))
    done = debugged("ann.ipynb", "l\nc\n", *PACK, cwd=here)
    assert done.status == 0, done.out + done.err
    assert "cell 2 ends early" in done.out and "ZeroDivisionError" in done.out
    assert WHERE in done.out and "large_rows holds" in done.out
    assert "cell 4 at 6" in done.out
    assert [line for line in done.out.splitlines() if line.split()[:2] == ["11", "->"]], "its lines' numbers"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import numpy as np\ny = undefined\n" + RIGHT, "line 2, in <module>\n    y = undefined"),
        ("def row_scale(x, w, factor)\n    return x\n", "SyntaxError: expected ':'"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("x = 1\n", "ann.py does not define row_scale"),
        ("row_scale = 3\n", "ann.py has no function under the name row_scale"),
    ],
)
def test_a_file_that_can_t_be_loaded_says_where(here: Path, source: str, said: str) -> None:
    (here / "ann.py").write_text(source)
    done = debugged("ann.py", "", *PACK, cwd=here)
    assert done.status == 1 and said in done.out and done.err == ""
    assert "grader/" not in done.out.replace(str(here), "")


def test_a_hidden_case_is_refused_and_shows_nothing(home: Path) -> None:
    done = debugged("class/right.py", "p x\n", cwd=home, case=HIDDEN_ID)
    assert done.status == 2 and done.out == "" and f"{HIDDEN_ID} is hidden" in done.err
    assert repr(HIDDEN_VALUE)[:9] not in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--json"], "leave --json out"),
        (["--snippet"], "leave --snippet out"),
        (["--html", "page.html"], "leave --html out"),
        (["--case", "ones_row"], "one --case ID"),
        (["--clause", "scale"], "one --case ID"),
        (["--require-isolation", "full"], "without isolation"),
    ],
)
def test_options_that_do_not_go_with_it_are_refused(home: Path, options: list[str], said: str) -> None:
    done = debugged("class/right.py", "", *options, cwd=home)
    assert done.status == 2 and said in done.err


def test_it_needs_a_case_and_one_submission(home: Path) -> None:
    alone = grader("check", "class/right.py", "--debug", cwd=home)
    assert alone.status == 2 and "one --case ID" in alone.err
    several = debugged("class", "", cwd=home)
    assert several.status == 2 and "a single submission" in several.err
    gone = debugged("gone.py", "", cwd=home)
    assert gone.status == 2 and "gone.py does not exist" in gone.err


def test_another_debugger_is_taken_from_the_environment(here: Path) -> None:
    (here / "ann.py").write_text(RIGHT)
    (here / "mydebugger.py").write_text("def stop():\n    print('stopped by my own')\n")
    path = f"{ROOT}{os.pathsep}{here}"
    done = debugged("ann.py", "", *PACK, cwd=here, PYTHONBREAKPOINT="mydebugger.stop", PYTHONPATH=path)
    assert done.status == 0 and "stopped by my own" in done.out and "(Pdb)" not in done.out
    off = debugged("ann.py", "", *PACK, cwd=here, PYTHONBREAKPOINT="0")
    assert off.status == 0 and "large_rows holds" in off.out and "(Pdb)" not in off.out
    assert "step in" in done.out and "PYTHONBREAKPOINT is 0, so nothing stops" in off.out
    assert "step in" not in off.out
    gone = debugged("ann.py", "", *PACK, cwd=here, PYTHONBREAKPOINT="nothing.here")
    assert gone.status == 2 and "PYTHONBREAKPOINT names 'nothing.here'" in gone.err


def typed_in_a_terminal(cwd: Path, *typed: tuple[bytes, bytes]) -> tuple[int, str]:
    """Status and screen of a command in a terminal, where each text is typed when another is there to see."""
    command = [sys.executable, "-m", "grader", "check", "ann.py", "--case", "large_rows", "--debug", *PACK]
    environment = {k: v for k, v in os.environ.items() if k not in ("GRADER_ROOT", "PYTHONBREAKPOINT")}
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(cwd), "TERM": "dumb"}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(cwd)
        os.execve(sys.executable, command, environment)
    seen, at, waiting = b"", 0, list(typed)
    last, silent = b"", 0
    while True:
        if not select.select([terminal], [], [], 1)[0]:
            silent += 1
            if silent > 120:
                os.kill(process, signal.SIGKILL)
            elif last == b"\x03":
                # Python may miss an interrupt that comes just before it begins to read: one types it again.
                os.write(terminal, last)
            continue
        silent = 0
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        while waiting and (found := seen.find(waiting[0][0], at)) >= 0:
            at = found + len(waiting[0][0])
            last = waiting.pop(0)[1]
            os.write(terminal, last)
    _, ended = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(ended), seen.decode()


PROMPT = b"(Pdb) "


@pytest.mark.parametrize(
    "typed",
    [[(PROMPT, b"q\n")], [(PROMPT, b"\x04")], [(PROMPT, b"\x03"), (PROMPT, b"q\n")]],
    ids=["q", "ctrl-d", "ctrl-c"],
)
def test_it_is_left_in_a_terminal(here: Path, typed: list[tuple[bytes, bytes]]) -> None:
    (here / "ann.py").write_text(RIGHT)
    status, screen = typed_in_a_terminal(here, *typed)
    assert status == 0 and "left before the end" in screen and "Traceback" not in screen, screen


def test_a_loop_without_end_is_interrupted_where_it_is(here: Path) -> None:
    (here / "ann.py").write_text(
        "def row_scale(x, w, factor):\n"
        "    turns = 7\n"
        "    print('it has ' + 'begun', flush=True)\n"
        "    while True:\n"
        "        pass\n"
    )
    status, screen = typed_in_a_terminal(
        here, (PROMPT, b"c\n"), (b"it has begun", b"\x03"), (PROMPT, b"p turns * 11\n"), (PROMPT, b"q\n")
    )
    assert status == 0 and "77" in screen and "left before the end" in screen, screen


@pytest.mark.parametrize(
    "does",
    [
        "import io, sys\nsys.stdout, sys.stderr = io.StringIO(), io.StringIO()\n",
        "import io, sys\nsys.stdin = io.StringIO()\n",
    ],
    ids=["output", "input"],
)
def test_a_file_that_replaces_standard_streams_can_be_debugged(here: Path, does: str) -> None:
    (here / "ann.py").write_text(does + WRONG)
    done = debugged("ann.py", "p x.shape\nc\n", *PACK, cwd=here)
    assert done.status == 1 and WHERE in done.out and "(3, 4)" in done.out
    assert "large_rows does not hold (wrong value)" in done.out
    (here / "ann.py").write_text(does + "raise ValueError('said all the same')\n")
    done = debugged("ann.py", "", *PACK, cwd=here)
    assert done.status == 1 and "ValueError: said all the same" in done.out


def test_a_call_that_closes_standard_output_is_judged_all_the_same(here: Path) -> None:
    (here / "ann.py").write_text(
        RIGHT.replace("    return", "    import sys\n    sys.stdout.close()\n    return")
    )
    done = debugged("ann.py", "n\nn\np x.shape\nc\n", *PACK, cwd=here)
    assert done.status == 0 and "(3, 4)" in done.out and "large_rows holds" in done.out


def test_a_recursion_without_end_is_shown_in_the_student_s_code(here: Path) -> None:
    (here / "ann.py").write_text(
        "def deeper(n):\n    return deeper(n + 1)\n\n\ndef row_scale(x, w, factor):\n    return deeper(0)\n"
    )
    done = debugged("ann.py", "c\np n > 50\nq\n", *PACK, cwd=here)
    assert done.status == 1 and "RecursionError" in done.out
    told = done.out.partition("This is where it was raised.\n")[2]
    assert told.startswith(f"> {here / 'ann.py'}(") and "(Pdb) True\n" in told
