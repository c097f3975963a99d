# Tries to change the rights, owners, times and attributes of files.

import os


def attack():
    path = WORLD["folder"] + "/victim/a.txt"
    attempt("chmod", lambda: os.chmod(path, 0))
    attempt("chown", lambda: os.chown(path, 1, 1))
    attempt("lchown", lambda: os.lchown(path, 1, 1))
    attempt("utime", lambda: os.utime(path, (1, 1)))
    attempt("setxattr", lambda: os.setxattr(path, "user.x", b"x"))
    attempt("chmod of a folder", lambda: os.chmod(WORLD["folder"], 0o777))
    for descriptor in range(16):
        attempt("fchmod", lambda: os.fchmod(descriptor, 0o777))


attack()
row_scale = right
