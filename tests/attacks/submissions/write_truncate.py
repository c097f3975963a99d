# Tries to empty files, also with a call that only reads.

import os


def attack():
    path = WORLD["folder"] + "/victim/a.txt"
    attempt("w", lambda: open(path, "w"))
    attempt("truncate", lambda: os.truncate(path, 0))
    attempt("read and truncate", lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
    attempt("read and create", lambda: os.open(path + WORLD["mark"], os.O_RDONLY | os.O_CREAT))
    attempt("posix_fallocate", lambda: os.posix_fallocate(0, 0, 100))
    attempt("copy", lambda: system_call("copy_file_range", 0, 0, 1, 0, 10, 0))


attack()
row_scale = right
