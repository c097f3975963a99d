"""Stands before every attack: what it aims at, how it tells what happened, and a right answer.

The harness writes the values of ``WORLD``. A forbidden deed that worked prints ``ESCAPED``.
"""

import numpy as np  # noqa: F401 - attacks use it

WORLD = {}


def right(x, w, factor):
    return factor * (x @ w) / (1 + (x * x).mean(axis=1, keepdims=True))


def chosen(x):
    """Whether this is the call of the case large_rows, the only one with this number."""
    return x.size > 0 and x[0, 0] == 0.25


def attempt(what, deed):
    """Do it, and say whether it was let through."""
    try:
        found = deed()
    except BaseException as error:
        print("REFUSED:", what, "|", type(error).__name__, str(error)[:150])
    else:
        print("ESCAPED:", what, "|", repr(found)[:300])


def system_call(name, *arguments):
    """A system call by name; raises when the kernel or a filter does not let it through to its work."""
    import ctypes

    number = WORLD["calls"][name] if isinstance(name, str) else name
    library = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if library.syscall(ctypes.c_long(number), *given) == -1:
        error = ctypes.get_errno()
        if error in (1, 13, 38):
            raise PermissionError(error, name)
        return f"went as far as error {error}"
    return "done"


def look_for_secrets(what, text):
    """Print what a text holds of the texts that were planted where no submission may look."""
    if isinstance(text, str):
        text = text.encode("utf-8", "replace")
    begin = WORLD["needle"].encode()
    at = text.find(begin)
    while at >= 0:
        found = text[at + len(begin) : at + len(begin) + 16]
        if found.isalnum():
            print("FOUND:", what, found.decode())
        at = text.find(begin, at + 1)


# --- the attack -------------------------------------------------------------------------------
