# Tries to read what others have handed in.

import os
import sys
import linecache


def attack():
    attempt("open", lambda: open(WORLD["folder"] + "/other/ann.py").read())
    attempt("list", lambda: os.listdir(WORLD["folder"] + "/other"))
    attempt("scan", lambda: list(os.scandir(WORLD["folder"] + "/other")))
    attempt("run", lambda: exec(compile(open(WORLD["folder"] + "/other/ann.py").read(), "x", "exec")))
    for lines in list(linecache.cache.values()):
        if len(lines) > 2:
            look_for_secrets("linecache", "".join(lines[2]))
    for module in list(sys.modules.values()):
        look_for_secrets("modules", repr(getattr(module, "__file__", "")))


attack()
row_scale = right
