"""What all tests share. This folder is importable: ``from support.small import write_exercise``."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.packs import new_cache
from support.small import freeze_exercise, write_exercise

from grader.exercise.frozen import Frozen

# No test may depend on how fast the machine is.
settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

# In the background of a shell an interrupt is ignored, by all that is started there as well: the commands
# that tests interrupt are to be as in a terminal.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs are cached in a folder of the test's own, and no root is taken from the environment."""
    monkeypatch.setenv("GRADER_CACHE", str(new_cache(tmp_path_factory)))
    monkeypatch.delenv("GRADER_ROOT", raising=False)


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """What freezing the small exercise finds."""
    root = tmp_path_factory.mktemp("frozen")
    write_exercise(root)
    return freeze_exercise(root)


@pytest.fixture
def root(tmp_path: Path, frozen: Frozen) -> Path:
    """A root of the test's own with the small exercise, frozen."""
    folder = write_exercise(tmp_path)
    (folder / "frozen.json").write_text(frozen.dumps(), "utf-8")
    return tmp_path
