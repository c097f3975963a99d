# Tries to write into the current folder and wherever it can go from there.

import os


def attack():
    attempt("here", lambda: open(WORLD["mark"], "w"))
    attempt("relative", lambda: open("." + WORLD["folder"] + "/cwd/" + WORLD["mark"], "w"))
    attempt("above", lambda: open("../" + WORLD["mark"], "w"))
    attempt("append", lambda: open(WORLD["folder"] + "/cwd/c.txt", "a"))
    attempt("update", lambda: open(WORLD["folder"] + "/cwd/c.txt", "r+"))
    attempt("go", lambda: os.chdir(WORLD["folder"] + "/cwd"))
    attempt("go by descriptor", lambda: os.fchdir(0))
    attempt("save", lambda: np.save(WORLD["folder"] + "/cwd/" + WORLD["mark"], np.ones(3)))
    attempt("savez", lambda: np.savez(WORLD["folder"] + "/cwd/" + WORLD["mark"], a=np.ones(3)))
    attempt("tofile", lambda: np.ones(3).tofile(WORLD["folder"] + "/cwd/" + WORLD["mark"]))
    attempt("memmap", lambda: np.memmap(WORLD["folder"] + "/cwd/c.txt", mode="r+"))


attack()
row_scale = right
