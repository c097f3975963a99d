# Tries to read homes, keys and accounts.

import os


def attack():
    attempt("home", lambda: open(WORLD["folder"] + "/home/notes.txt").read())
    for path in ("~", "/root", "/home", "/etc", "/var", "/", "/usr", "/opt", "/dev", "/run", WORLD["folder"]):
        attempt(path, lambda: os.listdir(os.path.expanduser(path)))
    for path in (
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hostname",
        "/etc/machine-id",
        "~/.ssh/id_rsa",
        "~/.bash_history",
    ):
        attempt(path, lambda: open(os.path.expanduser(path)).read())


attack()
row_scale = right
