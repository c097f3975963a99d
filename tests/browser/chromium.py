"""A real Chromium to look at pages with: where it is, and whether it has to be there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = (
    "no Chromium was found (env CHROMIUM, or "
    + ", ".join(NAMES)
    + " on the PATH); on Debian: apt-get install chromium"
)


def find(environment: Mapping[str, str]) -> str | None:
    """The program that ``CHROMIUM`` names, or the first of `NAMES` on the PATH."""
    named = environment.get("CHROMIUM")
    names = (named,) if named else NAMES
    found = (shutil.which(name, path=environment.get("PATH", os.defpath)) for name in names)
    return next((path for path in found if path), None)


def is_required(environment: Mapping[str, str]) -> bool:
    """Whether its absence is a failure: ``GRADER_REQUIRE_BROWSER`` is set, as .ci/run does."""
    return environment.get("GRADER_REQUIRE_BROWSER", "") not in ("", "0")
