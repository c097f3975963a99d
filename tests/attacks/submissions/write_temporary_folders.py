# Tries to write into temporary folders.

import os
import tempfile


def attack():
    for folder in (
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/run",
        "/run/lock",
        "/var/lock",
        WORLD["folder"] + "/victim",
    ):
        attempt(folder, lambda: open(f"{folder}/{WORLD['mark']}", "w").write("x"))
        attempt(f"{folder} unnamed", lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR))
    attempt("tempfile", lambda: tempfile.NamedTemporaryFile(prefix=WORLD["mark"], delete=False))
    attempt("tempfile", lambda: tempfile.TemporaryFile())
    attempt("mkdtemp", lambda: tempfile.mkdtemp(prefix=WORLD["mark"]))


attack()
row_scale = right
