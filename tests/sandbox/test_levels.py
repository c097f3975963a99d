"""What this machine can do, what is left out on purpose, and what a submission meets at each level."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from sandbox_runs import configured, only_step, run, said

from grader.batch.runner import Runner
from grader.exercise import pack as packs
from grader.exercise.build import build_pack
from grader.exercise.pack import Pack
from grader.exercise.source import load
from grader.intake.collect import Asked, collect
from grader.sandbox import levels
from grader.sandbox.inside import confinement, landlock, seccomp
from grader.sandbox.inside.server import WARM, WARM_WITHOUT_FILES
from grader.sandbox.packages import installed
from grader.sandbox.server import ForkServer

ROOT = Path(__file__).resolve().parents[2]
LIBC = confinement.load_libc()
HAS_LANDLOCK, HAS_SECCOMP = landlock.abi(LIBC) > 0, seccomp.available(LIBC)
needs_both = pytest.mark.skipif(
    not (HAS_LANDLOCK and HAS_SECCOMP), reason="this kernel is not for level full"
)
needs_seccomp = pytest.mark.skipif(not HAS_SECCOMP, reason="the kernel takes no filters")

# The value of the environment variable, the level, the layers that are gone, and what is said.
LEFT_OUT = {
    "": ("full", set()),
    "namespaces": ("full", {"namespaces"}),
    "landlock": ("partial", {"landlock"}),
    "landlock,namespaces": ("partial", {"landlock", "namespaces"}),
    "seccomp": ("none", {"seccomp"}),
    "landlock,seccomp": ("none", {"landlock", "seccomp"}),
    "landlock,seccomp,namespaces": ("none", {"landlock", "seccomp", "namespaces"}),
}


def names(layers: tuple[str, ...]) -> set[str]:
    return {layer.partition(" (")[0] for layer in layers}


@needs_both
@pytest.mark.parametrize("without", LEFT_OUT)
def test_what_is_left_out_lowers_the_level_that_is_probed(
    without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(levels.WITHOUT, without)
    expected, gone = LEFT_OUT[without]
    level, layers = levels.probe()
    # Namespaces are no part of what the kernel is asked: a server tries them.
    assert (
        level == expected
        and names(layers)
        == {
            "processes",
            "resource limits",
            "landlock",
            "seccomp",
        }
        - gone
    )
    if expected != "full":
        verb = "are" if {"landlock", "seccomp"} <= gone else "is"
        what = " and ".join(sorted(gone - {"namespaces"}))
        assert levels.why_not_full() == f"{what} {verb} switched off by GRADER_SANDBOX_WITHOUT"


@needs_both
@pytest.mark.parametrize("without", ["", "landlock", "seccomp", "namespaces"])
def test_a_server_has_the_level_that_was_probed(without: str) -> None:
    expected, gone = LEFT_OUT[without]
    server = configured(without=without)
    try:
        assert (server.level, server.layers) == ("none", ())
        server.wait_ready()
        assert server.level == expected
        assert names(server.layers) | {"namespaces"} == {
            "processes",
            "resource limits",
            "landlock",
            "seccomp",
            "namespaces",
        } - (gone - {"namespaces"})
        assert without != "namespaces" or "namespaces" not in names(server.layers)
        assert only_step(run(server, "def f(x): return x")).state == "returned"
    finally:
        server.close()


@pytest.mark.parametrize("without", ["", ",", "nonsense,,", "LANDLOCK"])
def test_other_words_leave_nothing_out(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(levels.WITHOUT, raising=False)
    before = levels.probe()
    monkeypatch.setenv(levels.WITHOUT, without)
    assert levels.probe() == before


@pytest.mark.parametrize(
    ("layers", "level"),
    [
        (["processes"], "none"),
        (["processes", "landlock (version 7)"], "none"),
        (["processes", "seccomp"], "partial"),
        (["seccomp", "landlock (version 1)"], "full"),
        (["processes", "resource limits", "landlock (version 7)", "seccomp", "namespaces (network)"], "full"),
    ],
)
def test_a_level_is_what_its_layers_are(layers: list[str], level: str) -> None:
    assert confinement.level(layers) == level and level in levels.LEVELS


@needs_both
@pytest.mark.parametrize(
    ("version", "filters", "level", "why"),
    [
        (0, True, "partial", "this kernel has no landlock"),
        (7, False, "none", "this kernel has no seccomp"),
        (0, False, "none", "this kernel has no landlock and no seccomp"),
        (1, True, "full", None),
    ],
)
def test_a_kernel_that_lacks_a_layer_is_told(
    monkeypatch: pytest.MonkeyPatch, version: int, filters: bool, level: str, why: str | None
) -> None:
    monkeypatch.delenv(levels.WITHOUT, raising=False)
    monkeypatch.setattr(landlock, "abi", lambda libc: version)
    monkeypatch.setattr(seccomp, "available", lambda libc: filters)
    found, layers = levels.probe()
    assert found == level
    assert (f"landlock (version {version})" in layers) == (version > 0)
    if why is not None:
        assert levels.why_not_full() == why


@pytest.mark.parametrize(("platform", "name"), [("darwin", "macOS"), ("win32", "Windows")])
def test_other_systems_have_level_none(monkeypatch: pytest.MonkeyPatch, platform: str, name: str) -> None:
    monkeypatch.setattr(levels.sys, "platform", platform)
    level, layers = levels.probe()
    assert level == "none" and "processes" in layers
    assert not {"landlock", "seccomp", "namespaces"} & names(layers)
    assert levels.why_not_full() == f"confinement needs Linux, and this is {name}"


# --- level partial: no file can be opened -----------------------------------------------------


@pytest.fixture(scope="module")
def partial() -> Iterator[ForkServer]:
    server = configured(without=confinement.LANDLOCK)
    server.wait_ready()
    assert server.level == "partial"
    yield server
    server.close()


@needs_seccomp
@pytest.mark.parametrize("name", ["sqlite3", "xml.dom.minidom", "numpy.f2py", "distutils.command"])
def test_a_module_that_was_not_loaded_is_refused_in_words(partial: ForkServer, name: str) -> None:
    load = run(partial, f"import {name}\ndef f(x): return x").load
    assert load is not None and load.failure is not None
    root = name.partition(".")[0]
    assert load.failure.type == "ModuleNotFoundError" and load.failure.frames[-1] == (1, "<module>")
    assert load.failure.message.startswith(f"{name if root == 'numpy' else root}")
    assert "can't be loaded on this machine: its kernel lacks Landlock" in load.failure.message


@needs_seccomp
def test_what_was_loaded_ahead_is_imported_where_no_file_can_be_opened(partial: ForkServer) -> None:
    ahead = [name for name in (*WARM, *WARM_WITHOUT_FILES) if importlib.util.find_spec(name)]
    assert len(ahead) > 60
    source = (
        "\n".join(f"import {name}" for name in ahead)
        + """
from numpy.linalg import norm
from collections import Counter, defaultdict
from dataclasses import dataclass
@dataclass
class A:
    n: int = 1
def f(x):
    try: open("/etc/hostname")
    except PermissionError: return f"{norm(x):.3f} {A()} {Counter('aab')} {math.pi:.2f}"
"""
    )
    assert said(only_step(run(partial, source))) == "7.416 A(n=1) Counter({'a': 2, 'b': 1}) 3.14"


@needs_seccomp
def test_a_module_that_is_nowhere_is_missing_as_everywhere(partial: ForkServer) -> None:
    source = "try: import numpy.no_such_part\nexcept ImportError as e: told = type(e).__name__\n"
    source += "def f(x): return told\n"
    assert said(only_step(run(partial, source))) == "ModuleNotFoundError"


@pytest.fixture(scope="module")
def forward() -> Pack:
    """The worked exercise without torch, which takes seconds to load."""
    source = load(ROOT / "cases" / "mlm_forward")
    pack = packs.loads(build_pack(source, source.require_fresh_frozen(), student=False))
    return replace(pack, exercise=replace(pack.exercise, packages=("numpy", "scipy")))


@needs_seccomp
@pytest.mark.skipif(not installed("scipy"), reason="one of the solutions imports scipy")
@pytest.mark.parametrize("without", ["landlock", "landlock,seccomp,namespaces"])
def test_right_solutions_keep_full_marks_at_every_level(forward: Pack, without: str) -> None:
    submissions = [
        s
        for s in collect([ROOT / "submissions" / "mlm_forward"], Asked("mlm_forward")).submissions
        if s.name.startswith("right_") and not re.search(r"^\s*(import|from) torch\b", s.source or "", re.M)
    ]
    assert len(submissions) >= 10
    with mock.patch.dict(os.environ, {levels.WITHOUT: without}), Runner(forward) as runner:
        for submission in submissions:
            result = runner.grade(submission)
            assert (result.status, result.score) == ("passed", forward.max_score), submission.id
            assert result.isolation.level == ("none" if "seccomp" in without else "partial")
            assert not any("landlock" in layer for layer in result.isolation.layers)
