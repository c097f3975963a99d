"""The environment variables of processes that run submissions."""

from __future__ import annotations

import os
import sys

KEPT = ("LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LANG", "LC_ALL", "TZ")
# Beyond these a Python process there finds neither its libraries nor a folder for temporary files.
KEPT_ON = {
    "darwin": ("DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "TMPDIR"),
    "win32": ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATH", "TEMP", "TMP"),
}
THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def smallest() -> dict[str, str]:
    """As few variables as a Python process can do with here: nothing of the user's, one thread for numpy."""
    kept = {k: os.environ[k] for k in KEPT + KEPT_ON.get(sys.platform, ()) if k in os.environ}
    return kept | dict.fromkeys(THREAD_LIMITS, "1") | {"PYTHONHASHSEED": "0"}
