"""Where there is no browser, tests say what to install; where one is required, that is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import chromium as programs
import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]


def program(folder: Path, name: str, text: str = "exit 1") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_the_named_program_goes_before_those_on_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    on_path = {"PATH": str(folder)}
    assert programs.find(on_path) is None
    other = program(folder, "google-chrome")
    assert programs.find(on_path) == str(other)
    debians = program(folder, "chromium")
    assert programs.find(on_path) == str(debians)
    named = program(tmp_path, "mine")
    assert programs.find(on_path | {"CHROMIUM": str(named)}) == str(named)
    assert programs.find(on_path | {"CHROMIUM": str(tmp_path / "none")}) is None


def look(**environment: str) -> subprocess.CompletedProcess[str]:
    """Run the test below that needs a browser, in a process of its own."""
    kept = {k: v for k, v in os.environ.items() if k not in ("CHROMIUM", "GRADER_REQUIRE_BROWSER")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["tests/browser/test_set_up.py", "-k", "starts_and_is_closed"]
    return subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True)


@pytest.mark.slow
def test_without_a_browser_tests_are_skipped_unless_one_is_required(tmp_path: Path) -> None:
    skipped = look(CHROMIUM=str(tmp_path / "none"))
    assert skipped.returncode == 0 and "1 skipped" in skipped.stdout
    assert "apt-get install chromium" in skipped.stdout
    failed = look(CHROMIUM=str(tmp_path / "none"), GRADER_REQUIRE_BROWSER="1")
    assert failed.returncode == 1 and "1 error" in failed.stdout
    assert "apt-get install chromium" in failed.stdout


@pytest.mark.slow
def test_a_browser_that_does_not_start_is_as_good_as_none(tmp_path: Path) -> None:
    broken = look(CHROMIUM=str(program(tmp_path, "chromium")), GRADER_REQUIRE_BROWSER="1")
    assert broken.returncode == 1 and "does not start" in broken.stdout


def test_the_browser_starts_and_is_closed(chromium: Browser) -> None:
    assert chromium.is_connected()
    assert int(chromium.version.split(".")[0]) >= 120
