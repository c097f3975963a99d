# Tries to leave a process behind that has its own session.

import os


def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(WORLD["folder"] + "/victim/" + WORLD["mark"], "w")
        os._exit(0)


def attack():
    attempt("daemon", daemon)
    attempt("setsid", os.setsid)
    attempt("setpgid", lambda: os.setpgid(0, 0))


attack()
row_scale = right
