"""Python text run in a process of its own, which may confine itself for good."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from typing import Any

import pytest

from grader.sandbox.inside import landlock, seccomp

LIBC = ctypes.CDLL(None, use_errno=True)

# What the texts find: `libc`, no way to more rights, `attempt`, `tell`.
BEGIN = """\
import ctypes, errno, json, os, sys
from grader.sandbox.inside import landlock, seccomp, syscalls
libc = ctypes.CDLL(None, use_errno=True)
given = json.load(sys.stdin)
if libc.prctl(38, 1, 0, 0, 0):
    raise OSError(ctypes.get_errno(), "no_new_privs")


def attempt(action, *arguments):
    '''What the action gave, or the name of its error.'''
    try:
        return action(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


def call(name, *arguments):
    '''A system call by name; what it gave, or the name of its error.'''
    number = syscalls.number(name) if isinstance(name, str) else name
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))
    return result if result >= 0 else errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno())


def tell(what):
    print(json.dumps(what), flush=True)


"""

needs_seccomp = pytest.mark.skipif(not seccomp.available(LIBC), reason="the kernel takes no filters")
needs_landlock = pytest.mark.skipif(not landlock.abi(LIBC), reason="the kernel has no Landlock")


def run(text: str, given: Any = None) -> tuple[Any, int]:
    """What the text told last, and the process's end: its exit status or the negative signal.

    Args:
        text: Runs after `BEGIN`.
        given: JSON data that the text finds as ``given``.
    """
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + text],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )
    assert done.returncode <= 0, done.stderr
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None, done.returncode
