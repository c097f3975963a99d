"""Work that one of several test processes does for all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE_SECONDS = 900


def once(factory: pytest.TempPathFactory, name: str, work: Callable[[Path], None]) -> Path:
    """A folder that ``work`` has filled: by this process or by another one of the same test run.

    Args:
        factory: The test's.
        name: Of the folder.
        work: Fills it.
    """
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, ended = base / name, base / f"{name}.ended"
    try:
        folder.mkdir()
    except FileExistsError:
        for _ in range(PATIENCE_SECONDS * 10):
            if ended.exists():
                break
            time.sleep(0.1)
        if not ended.exists() or ended.read_text():
            pytest.fail(f"{name} could not be prepared by another test process")
        return folder
    fault = "it failed"
    try:
        work(folder)
        fault = ""
    finally:
        unfinished = base / f"{name}.unfinished"
        unfinished.write_text(fault)
        unfinished.replace(ended)
    return folder
