# Tries to make processes by system calls that Python does not know.

import ctypes
import os


def make(name, *arguments):
    found = system_call(name, *arguments)
    if found == "done" and os.getpid() != HERE:
        os._exit(0)
    return found


HERE = os.getpid()


def attack():
    attempt("fork", lambda: make("fork") if WORLD["calls"]["fork"] > 0 else 1 / 0)
    attempt("clone", lambda: make("clone", 17, 0, 0, 0, 0))
    attempt("clone thread", lambda: make("clone", 17 | 0x80000000, 0, 0, 0, 0))
    attempt("vfork", lambda: make("vfork") if WORLD["calls"]["vfork"] > 0 else 1 / 0)
    attempt("clone3", lambda: make("clone3", bytes(64), 64))
    attempt("clone3 without anything", lambda: make("clone3", 0, 0))
    attempt("execve", lambda: make("execve", WORLD["folder"].encode() + b"/script.sh", 0, 0))
    attempt("execveat", lambda: make("execveat", -100, WORLD["folder"].encode() + b"/script.sh", 0, 0, 0))


attack()
row_scale = right
