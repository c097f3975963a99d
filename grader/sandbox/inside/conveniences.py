"""What ordinary programs find in an interpreter and a confined child would lack."""

import _sitebuiltins
import builtins
import functools
import io
import os
import sys
from typing import Any

_real_open = io.open
_NULL = os.devnull


def provide() -> None:
    """Put everything in place; called once, before the confinement."""
    # As the `site` module does it, which the server doesn't import.
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    # Muting one's own prints is common; the filter of system calls knows no path and refuses all writing.
    builtins.open = io.open = _open
    if "torch" in sys.modules:
        import tempfile

        # Parts of torch want a folder when they are imported, one that is there, and never write to it.
        tempfile.tempdir = os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp"


@functools.wraps(_real_open)
def _open(file: Any, mode: Any = "r", *arguments: Any, **named: Any) -> Any:
    path = file if type(file) is int else os.fspath(file)
    if type(path) is str and path == _NULL and type(mode) is str and not set(mode) <= set("rbt"):
        # Descriptor 1 is that device.
        return _real_open(os.dup(1), mode.replace("x", "w"), *arguments, **named)
    return _real_open(file, mode, *arguments, **named)
