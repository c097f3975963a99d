# Tries to leave a module for those who come later.

import os
import sys


def attack():
    for folder in {
        WORLD["numpy"],
        os.path.dirname(WORLD["numpy"]),
        WORLD["library"],
        WORLD["library"] + "/json",
        *sys.path,
    }:
        if folder:
            attempt(folder, lambda: open(f"{folder}/{WORLD['mark']}.py", "w"))
            attempt(folder, lambda: open(f"{folder}/{WORLD['mark']}.pth", "w"))
    attempt("numpy itself", lambda: open(np.__file__, "r+"))
    attempt("the library itself", lambda: open(os.__file__, "a"))


attack()
row_scale = right
