"""Notebooks as texts: every version, every oddity, nothing but the code cells."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.intake import notebooks
from grader.intake.notebooks import (
    COUNTED,
    MAX_CELLS,
    MAX_NOTEBOOK_BYTES,
    MISSING,
    Notebook,
    is_notebook,
    read_notebook,
)
from grader.positions import Part, Positions


def code(source: object, **more: object) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
        **more,
    }


def written(*cells: object, metadata: object = None, **more: object) -> bytes:
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}, "cells": list(cells)} | more
    return json.dumps(whole).encode()


def read(*cells: object, **more: Any) -> Notebook:
    return read_notebook(written(*cells, **more))


# --- the text ---------------------------------------------------------------------------------


def test_the_code_cells_follow_each_other_and_each_is_a_part() -> None:
    markdown = {"cell_type": "markdown", "metadata": {}, "source": "def f(): no code"}
    raw = {"cell_type": "raw", "metadata": {}, "source": "x = 0"}
    book = read(markdown, code("import numpy"), raw, code("  \n"), code(["def f(x):\n", "    return x\n"]))
    assert book.source == "import numpy\ndef f(x):\n    return x\n"
    assert book.parts == (Part("cell", "cell 1", 1, 1), Part("cell", "cell 3", 2, 2))
    assert Positions(book.parts).name(3) == "cell 3, line 2"
    assert (book.notes, book.problem, book.fault) == ((COUNTED,), "", "")


def test_outputs_are_ignored_whatever_they_hold() -> None:
    output = {"output_type": "display_data", "data": {"image/png": "A" * (8 << 20)}, "metadata": {}}
    assert read(code("x = 1", outputs=[output, {"text": ["def f"]}, 5, None])).source == "x = 1\n"
    assert read(code("x = 1", outputs="odd")).source == "x = 1\n"


def test_a_cell_may_be_written_as_one_text_or_as_lines() -> None:
    for source in (
        "a = 1\nb = 2",
        ["a = 1\n", "b = 2"],
        ["a = 1", "b = 2"],
        "a = 1\r\nb = 2\r",
        "a = 1\rb = 2",
    ):
        assert read(code(source)).source == "a = 1\nb = 2\n"
    assert read(code(None), code([]), code("x = 1")).parts == (Part("cell", "cell 3", 1, 1),)


def test_only_line_feeds_end_lines() -> None:
    book = read(code("x = '\u2028\x85'\x0c\n\x0b\x1c"), code("y"))
    assert book.parts == (Part("cell", "cell 1", 1, 2), Part("cell", "cell 2", 3, 1))


@given(st.lists(st.text("ab \n\r\t\f\v'\"%!#({\u2028é\0", max_size=20), min_size=1, max_size=6))
def test_the_parts_have_every_line_once(cells: list[str]) -> None:
    book = read(*[code(cell) for cell in cells])
    if book.source is None:
        assert all(not cell.strip() for cell in cells)
        return
    assert book.source.endswith("\n")
    assert "\r" not in book.source
    at = 1
    for part in book.parts:
        assert part.first == at
        at += part.lines
    assert at - 1 == book.source.count("\n")


def test_version_3_is_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["Title"]},
        {"cell_type": "code", "language": "python", "input": ["x = 1\n", "y = 2"], "outputs": [{"odd": 1}]},
        {"cell_type": "code", "language": "python", "input": "%who", "prompt_number": 3, "outputs": []},
        {"cell_type": "code", "language": "r", "input": "z <- 3"},
    ]
    sheets = [{"cells": cells}, {"cells": [{"cell_type": "code", "input": "last = 1"}]}]
    whole = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": "hw"}, "worksheets": sheets}
    book = read_notebook(json.dumps(whole).encode())
    assert book.source == "x = 1\ny = 2\npass  # %who\n# z <- 3\nlast = 1\n"
    assert [part.name for part in book.parts] == ["cell 1", "cell 2", "cell 3", "cell 4"]


def test_odd_cells_and_metadata_do_no_harm() -> None:
    assert read_notebook(b"\xef\xbb\xbf" + written(code("x = 1"))).source == "x = 1\n"
    assert read_notebook(written(code("x = 1")).decode().encode("utf-16")).source == "x = 1\n"
    assert read(code("x = 1"), nbformat_minor="odd", metadata=[1]).source == "x = 1\n"
    assert read(code("x = 1", metadata=None, id=5), {"cell_type": []}, {}).source == "x = 1\n"


# --- what is told -----------------------------------------------------------------------------


def test_lines_of_jupyter_are_told_of_in_one_note() -> None:
    book = read(code("%matplotlib inline\n!pip install x"), code("x = 1"), code("f?"))
    assert book.source == "pass  # %matplotlib inline\npass  # !pip install x\nx = 1\npass  # f?\n"
    assert book.notes[1:] == (
        (
            "Lines that only Jupyter understands are not run: %matplotlib inline (cell 1, line 1),"
            " !pip install x (cell 1, line 2), f? (cell 3, line 1)."
        ),
    )


def test_what_a_student_may_miss_is_told_of_by_itself() -> None:
    book = read(
        code("%%bash\nls"),
        code("%%writefile heads.py\ndef f(): pass"),
        code("%run other.py\n%pylab inline"),
        code("files = !ls"),
        code("z <- 1", metadata={"vscode": {"languageId": "r"}}),
    )
    assert book.notes[1:] == (
        "Not run, because it is no plain Python: cell 1 (%%bash), cell 5 (a cell in r).",
        (
            "Cell 2: %%writefile does not write heads.py here, and the cell is not run; hand in the"
            " file beside the"
            " notebook, or make it a plain cell."
        ),
        (
            "Cell 3, line 1: the file that %run other.py names is not run; put its code into a cell,"
            " or hand in a .py"
            " file beside the notebook and import it."
        ),
        "Cell 3, line 2: %pylab inline is not run; import numpy yourself.",
        "Cell 4, line 1: files = !ls is not run, so the name stands for nothing useful.",
    )
    assert book.source is not None
    assert "\ndef f" not in book.source


def test_notes_stay_few_and_short() -> None:
    lines = "\n".join(f"%run {'x' * 200}{n}" for n in range(50)) + "\n!ls" * 50
    book = read(*[code(lines)] * 20, *[code("%%bash\nls")] * 20)
    assert len(book.notes) < 12
    assert all(len(note) < 600 for note in book.notes)


def test_characters_that_no_text_may_hold_are_replaced_with_a_note() -> None:
    book = read(code("x = 1"), code("y = '\0'"), code("z = '\ud800'"))
    assert book.source == "x = 1\ny = '\ufffd'\nz = '\ufffd'\n"
    assert book.notes[1:] == ("Characters that no text may hold were replaced in cell 2, cell 3.",)


def test_another_order_of_running_is_told_of() -> None:
    def notes(*counts: object) -> tuple[str, ...]:
        return read(*[code("x = 1", execution_count=count) for count in counts]).notes[1:]

    told = ("The cells were run in another order than they stand in; here each runs once, from the top.",)
    assert notes(3, 1) == told
    assert notes(1, None, 4, 4) == notes(None, "2", 1.5, True) == ()


# --- what can't be read -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "The notebook is empty."),
        (b" \n", "The notebook is empty."),
        (b"{\n'cells': 3}", "The notebook is damaged: it is no JSON from line 2 on."),
        (written(code("x"))[:-9], "The notebook is damaged: it is no JSON from line 1 on."),
        (b'{"nbformat": 4, "x": "\xff"}', "The notebook is damaged: it is no UTF-8 text."),
        (b"[" * 100_000, "The notebook is damaged: it is nested too deeply."),
        (b'{"cells":' * 100_000, "The notebook is damaged: it is nested too deeply."),
        (b"9" * 5000, "The notebook is damaged: it holds a number that can't be read."),
        (b"[{}," * 1_000_001, "The notebook holds too many values; clear its outputs and hand it in again."),
        (b"[]", "The file is no Jupyter notebook: it is JSON, but has no cells."),
        (b'{"a": 1}', "The file is no Jupyter notebook: it is JSON, but has no cells."),
        (written(), "The notebook has no code in it; expected code cells."),
        (written(code("\n"), {"cell_type": "raw"}), "The notebook has no code in it; expected code cells."),
        (written(5), "The notebook is damaged: one of its cells is no mapping."),
        (written(cells={}), "The notebook is damaged: its cells are no list."),
        (written(code(5)), "The notebook is damaged: code cell 1 has no text."),
        (written(code("x"), code(["a", 5])), "The notebook is damaged: code cell 2 has no text."),
        (b'{"worksheets": 5}', "The notebook is damaged: its worksheets are no list."),
        (b'{"worksheets": [5]}', "The notebook is damaged: its cells are no list."),
        (
            written(code("x"), nbformat=5),
            (
                "The notebook has version 5 of the format; versions 3 and 4 are read. Open it in"
                " Jupyter and save it"
                " again."
            ),
        ),
        (
            written(*[code("x")] * (MAX_CELLS + 1)),
            "The notebook has more than 5,000 code cells, which is the most.",
        ),
        (written(code("#" * (2 << 20))), "The notebook's code is longer than 2,097,152 bytes."),
        (
            b" " * (MAX_NOTEBOOK_BYTES + 1),
            (
                "The notebook has 20,971,521 bytes; at most 20,971,520 are read. Clear its outputs"
                " and hand it in"
                " again."
            ),
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else "",
)
def test_what_is_no_notebook_says_why(raw: bytes, problem: str) -> None:
    assert read_notebook(raw) == Notebook(None, problem=problem)


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"language_info": {"name": "R"}}, "R"),
        ({"kernelspec": {"name": "ir", "display_name": "R"}}, "R"),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, "Julia"),
        ({"kernelspec": {"name": "julia-1.9"}}, "Julia"),
        ({"language_info": {"name": "c#"}, "kernelspec": {"name": "python3"}}, "c#"),
        ({"kernelspec": {"name": "python3"}}, ""),
        ({"kernelspec": {"name": "my-env"}, "language_info": {"name": "ipython"}}, ""),
        ({"kernelspec": {"name": "irregular"}, "colab": {}}, ""),
        ({"kernelspec": {"name": "x", "language": "Python"}}, ""),
        ({"kernelspec": 5, "language_info": []}, ""),
    ],
)
def test_a_notebook_in_another_language_is_named(metadata: object, language: str) -> None:
    problem = f"The notebook is written in {language}; hand in a notebook in Python, or a .py file."
    assert read(code("x = 1"), metadata=metadata).problem == (problem if language else "")


def test_without_the_package_it_is_nobodys_fault_but_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(notebooks.importlib, "import_module", missing)
    assert read(code("x = 1")) == Notebook(None, fault=MISSING)
    assert "mlm-grader[notebooks]" in MISSING
    # What is the student's doing needs no package to be seen.
    assert read_notebook(b"{").problem.startswith("The notebook is damaged")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
CELLS = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.just("code") | VALUES,
        "source": VALUES,
        "input": VALUES,
        "metadata": VALUES,
        "outputs": VALUES,
        "language": VALUES,
        "execution_count": VALUES,
    },
)
BOOKS = st.fixed_dictionaries(
    {},
    optional={
        "nbformat": st.sampled_from([3, 4]) | VALUES,
        "nbformat_minor": VALUES,
        "metadata": st.fixed_dictionaries({}, optional={"kernelspec": VALUES, "language_info": VALUES})
        | VALUES,
        "cells": st.lists(CELLS | VALUES, max_size=4) | VALUES,
        "worksheets": st.lists(st.fixed_dictionaries({"cells": st.lists(CELLS, max_size=3)}) | VALUES)
        | VALUES,
    },
)


@given(BOOKS.map(lambda book: json.dumps(book).encode()) | st.binary(max_size=30))
@example(b'{"nbformat": true, "cells": []}')
@example(b'{"nbformat": 1e999}')
def test_any_bytes_are_a_text_or_one_sentence(raw: bytes) -> None:
    book = read_notebook(raw)
    assert (book.source is None) == bool(book.problem)
    assert not book.fault
    if book.source is not None:
        book.source.encode()
        assert "\0" not in book.source
    else:
        assert book.problem.startswith(("The notebook ", "The file "))
        assert book.problem.endswith(".")
    for note in book.notes:
        note.encode()
        assert note.isprintable()


def test_a_notebook_is_told_by_its_content() -> None:
    assert is_notebook(written(code("x")))
    assert is_notebook(b'\xef\xbb\xbf\n {"nbformat": 4}')
    assert not is_notebook(b'x = {"nbformat": 4}')


def test_what_jupyter_itself_writes_is_read() -> None:
    v4 = importlib.import_module("nbformat.v4")
    whole = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# Title"),
            v4.new_code_cell("x = 1", execution_count=1, outputs=[v4.new_output("stream", text="hello")]),
            v4.new_code_cell("%%time\ny = x\n"),
        ]
    )
    for version in (3, 4):
        raw = importlib.import_module("nbformat").writes(whole, version=version).encode()
        assert read_notebook(raw).source == "x = 1\n# %%time\ny = x\n"
