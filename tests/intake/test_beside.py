"""A path that is one student's own work: a file with what it imports, and a folder of one submission."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.intake.asked import Asked
from grader.intake.collect import Intake, collect
from grader.intake.modules import MAX_MODULES

ENTRY = "row_scale"
GOOD = "def row_scale(x, w, factor):\n    return x\n"
MAIN = "import numpy as np\nimport blocks\nfrom deep.er import scale\n\n\n" + GOOD
ASKED = Asked(ENTRY, ("numpy",), ("x", "w", "factor"))
HELPERS = {
    "blocks.py": "import more\n",
    "more.py": "import blocks\n",
    "deep/__init__.py": "",
    "deep/er.py": "from .est import scale\n",
    "deep/est.py": "scale = 1\n",
}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def parts(intake: Intake) -> list[str]:
    (one,) = intake.submissions
    return [part.name for part in one.parts]


def test_a_file_alone_comes_with_what_it_imports_and_nothing_else(tmp_path: Path) -> None:
    others = {
        "other.py": GOOD,
        "numpy.py": "",
        "random.py": "",
        "deeper/x.py": "import other\n",
        "a.txt": "x",
    }
    folder = written(tmp_path, {"main.py": MAIN, **HELPERS, **others})
    intake = collect([folder / "main.py"], ASKED, single=True)
    assert sorted(parts(intake)) == sorted(["main.py", *HELPERS])
    assert intake.left_out == () and intake.problems == ()
    (note,) = intake.submissions[0].notes
    assert note == (
        "main.py imports blocks.py, deep/__init__.py, deep/er.py, deep/est.py, more.py from its own folder: "
        "hand in all of them."
    )


def test_it_is_the_text_that_a_folder_of_them_gives(tmp_path: Path) -> None:
    folder = written(tmp_path / "work", {"main.py": MAIN, **HELPERS})
    with zipfile.ZipFile(tmp_path / "work.zip", "w") as archive:
        for name in ("main.py", *HELPERS):
            archive.write(folder / name, name)
    alone, together, packed = (
        collect([path], ASKED, single=True).submissions
        for path in (folder / "main.py", folder, tmp_path / "work.zip")
    )
    assert alone[0].source == together[0].source == packed[0].source is not None
    assert alone[0].digest == together[0].digest == packed[0].digest
    assert together[0].notes == packed[0].notes == ()


@pytest.mark.parametrize("single", [False, True])
def test_a_class_stays_one(tmp_path: Path, single: bool) -> None:
    written(tmp_path / "two", {"ann.py": GOOD, "bob.py": GOOD, "tools.py": "x = 1\n"})
    assert len(collect([tmp_path / "two"], ASKED, single=single).submissions) == 3
    written(tmp_path / "none", {"ann.py": "x = 1\n", "bob.py": "x = 1\n"})
    assert len(collect([tmp_path / "none"], ASKED, single=single).submissions) == 2
    written(tmp_path / "deep", {"ann/main.py": MAIN, "bob/tools.py": "x = 1\n"})
    assert len(collect([tmp_path / "deep"], ASKED, single=single).submissions) == 2


def test_of_several_paths_each_is_as_it_was_handed_in(tmp_path: Path) -> None:
    written(tmp_path, {"ann.py": "import blocks\n" + GOOD, "blocks.py": GOOD})
    for options in ({"single": True}, {}):
        intake = collect([tmp_path / "ann.py", tmp_path / "blocks.py"], ASKED, **options)
        assert [one.parts for one in intake.submissions] == [(), ()]
    assert collect([tmp_path / "ann.py"], ASKED).submissions[0].parts == ()


def test_what_cant_be_read_is_a_note(tmp_path: Path) -> None:
    written(tmp_path, {"main.py": "import blocks\n" + GOOD})
    (tmp_path / "blocks.py").write_bytes(b"x = 1\0")
    (one,) = collect([tmp_path / "main.py"], ASKED, single=True).submissions
    assert one.source is not None and "blocks.py can't be imported" in " ".join(one.notes)


def test_only_import_statements_name_what_lies_beside(tmp_path: Path) -> None:
    text = (
        '"""Some import model, or so."""\n# import model\nSIZES = {"layers": 1, "model": "import model"}\n'
        "from a.b \\\n    import c\nimport d as e, f.g; import h  # and model\n"
        "try: from i import (\n    model)\nexcept ImportError: import j\n" + GOOD
    )
    names = [f"{name}.py" for name in "abcdefghij"]
    many = {f"layers/m{n}.py": "x = 1\n" for n in range(MAX_MODULES + 10)}
    written(tmp_path, {"main.py": text, "model.py": "import torch\n", **dict.fromkeys(names, ""), **many})
    intake = collect([tmp_path / "main.py"], ASKED, single=True)
    assert sorted(parts(intake)) == [f"{name}.py" for name in "adfhij"] + ["main.py"]
    assert intake.submissions[0].problem == ""


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({f"deep/m{n}.py": "x = 1\n" for n in range(MAX_MODULES + 10)}, "main.py imports from more than 50"),
        ({f"deep/m{n}.py": f"x = '{'x' * 999_000}'\n" for n in range(3)}, "main.py and the files that it"),
    ],
)
def test_too_much_beside_a_file_is_a_note(tmp_path: Path, files: Mapping[str, str], why: str) -> None:
    written(tmp_path, {"main.py": "import deep\n" + GOOD, **files})
    (one,) = collect([tmp_path / "main.py"], ASKED, single=True).submissions
    assert (one.problem, one.source, one.parts) == ("", "import deep\n" + GOOD, ())
    (note,) = one.notes
    assert note.startswith(f"Of what lies beside main.py nothing is read: {why}")
