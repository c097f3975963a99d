"""What a submission may import, what it is told otherwise, and how it comes to another server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_runs import only_step, run

from grader.sandbox.inside.imports import ImportGuard
from grader.sandbox.packages import installed
from grader.sandbox.server import ForkServer

needs_scipy = pytest.mark.skipif(not installed("scipy"), reason="scipy is not installed")


def in_file(filename: str, source: str, guard: ImportGuard) -> BaseException | None:
    """What a file's import raises when a guard stands before the other finders."""
    guard.filename = "solution.py"
    sys.meta_path.insert(0, guard)
    try:
        exec(compile(source, filename, "exec"), {"__name__": "x"})
    except BaseException as error:
        return error
    finally:
        sys.meta_path.remove(guard)
    return None


@pytest.fixture
def guard() -> ImportGuard:
    return ImportGuard(["numpy", "torch"], ["torch_not_here"], files=True)


@pytest.mark.parametrize(
    "source", ["import zq7_nowhere", "from zq7_nowhere.part import a", "__import__('zq7_nowhere')"]
)
def test_a_package_that_is_not_allowed_is_refused_to_the_students_file_only(
    guard: ImportGuard, source: str
) -> None:
    refused = in_file("solution.py", source, guard)
    assert isinstance(refused, ModuleNotFoundError) and refused.name == "zq7_nowhere"
    assert str(refused) == (
        "zq7_nowhere may not be used; this exercise allows the standard library, numpy, torch, "
        "and only this one file is read"
    )
    # A package's own import fails as it does without a guard.
    missing = in_file("numpy/part.py", source, guard)
    assert isinstance(missing, ModuleNotFoundError) and str(missing) == "No module named 'zq7_nowhere'"
    assert guard.needs == ""


def test_an_import_by_a_function_of_importlib_counts_as_the_students(guard: ImportGuard) -> None:
    source = "import importlib\nimportlib.import_module('zq7_nowhere')"
    assert "may not be used" in str(in_file("solution.py", source, guard))


def test_what_is_loaded_elsewhere_is_noted(guard: ImportGuard) -> None:
    for filename in ("solution.py", "a_helper_of_numpy.py"):
        guard.needs = ""
        refused = in_file(filename, "import torch_not_here.nn", guard)
        assert isinstance(refused, ModuleNotFoundError) and refused.name == "torch_not_here"
        assert "write `import torch_not_here` at its top" in str(refused)
        assert guard.needs == "torch_not_here"


def test_without_files_only_what_was_loaded_is_imported() -> None:
    guard = ImportGuard(["numpy"], [], files=False)
    assert in_file("solution.py", "import json, numpy.linalg", guard) is None
    refused = in_file("solution.py", "import numpy.zq7_nowhere", guard)
    assert isinstance(refused, ModuleNotFoundError) and refused.name == "numpy.zq7_nowhere"
    assert str(refused).startswith(
        "numpy.zq7_nowhere can't be loaded on this machine: its kernel lacks Landlock"
    )
    missing = in_file("numpy/part.py", "import numpy.zq7_nowhere", guard)
    assert str(missing) == "No module named 'numpy.zq7_nowhere'"


# --- in a child -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_scipy() -> Iterator[ForkServer]:
    """A numpy server of an exercise that allows scipy too."""
    from sandbox_runs import configured

    server = configured(packages=["numpy", "scipy"])
    yield server
    server.close()


GETS = {
    "computed": "import importlib\ns = importlib.import_module('sci' + 'py.special')",
    "dunder": "s = __import__('scipy')",
    "caught": "try: s = __import__('scipy')\nexcept ImportError: s = None",
    "caught_all": "try: s = __import__('scipy')\nexcept BaseException: raise SystemExit",
}


@needs_scipy
@pytest.mark.parametrize("name", GETS)
def test_what_a_file_needs_of_another_server_is_told_with_its_loading(
    with_scipy: ForkServer, name: str
) -> None:
    load = run(with_scipy, f"{GETS[name]}\ndef f(x): return x").load
    assert load is not None and load.needs == "scipy"
    assert load.state == ("returned" if name == "caught" else "raised")


@needs_scipy
def test_a_file_that_needs_nothing_tells_nothing(with_scipy: ForkServer) -> None:
    for source in ("def f(x): return x", "1 / 0", "import yaml", "def g(x): return x"):
        load = run(with_scipy, source).load
        assert load is not None and load.needs == ""


@needs_scipy
def test_what_is_needed_only_in_a_call_is_an_exception_with_advice(with_scipy: ForkServer) -> None:
    result = run(with_scipy, "def f(x):\n    import scipy\n    return x")
    assert result.load is not None and result.load.needs == ""
    failure = only_step(result).failure
    assert failure is not None and failure.type == "ModuleNotFoundError"
    assert "write `import scipy` at its top" in failure.message


def test_the_need_that_a_file_tells_is_text_of_the_right_form_only(server: ForkServer) -> None:
    """A submission may write anything there; it chooses among the servers that there are."""
    source = (
        "import sys\n[g for g in sys.meta_path if hasattr(g, 'needs')][0].needs = {}\ndef f(x): return x\n"
    )
    for text, expected in (("'x' * 9000", "x" * 100), ("[1]", ""), ("7", ""), ("'numpy'", "numpy")):
        load = run(server, source.format(text)).load
        assert load is not None and load.needs == expected


def test_what_a_library_may_not_read_counts_as_not_installed(
    guard: ImportGuard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zq7_optional.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = (
        "import importlib.util\nfound = importlib.util.find_spec('zq7_optional')\n"
        "try:\n    import zq7_optional\nexcept ImportError as error:\n    missing = error\n"
        "assert found is not None and missing.name == 'zq7_optional', (found, missing)\n"
    )
    real = os.open

    def refused(path: Any, flags: int, *rest: Any) -> int:
        if str(path).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        assert in_file("numpy/part.py", source, guard) is None
    assert in_file("numpy/part.py", "import zq7_optional", guard) is None, "it can be read now"


@pytest.mark.parametrize("name", ["numpy", "json", "pytest", "zq7_nowhere"])
def test_a_solution_named_like_a_module_hides_none(guard: ImportGuard, name: str) -> None:
    assert guard.installed(name) is (name != "zq7_nowhere")
