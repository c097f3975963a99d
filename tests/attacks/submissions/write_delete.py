# Tries to delete, rename and make entries of folders.

import os
import shutil


def attack():
    folder = WORLD["folder"] + "/victim"
    attempt("unlink", lambda: os.unlink(folder + "/a.txt"))
    attempt("rename", lambda: os.rename(folder + "/a.txt", folder + "/" + WORLD["mark"]))
    attempt("replace", lambda: os.replace(folder + "/a.txt", folder + "/b.txt"))
    attempt("rmdir", lambda: os.rmdir(WORLD["folder"] + "/other"))
    attempt("mkdir", lambda: os.mkdir(folder + "/" + WORLD["mark"]))
    attempt("mkfifo", lambda: os.mkfifo(folder + "/" + WORLD["mark"]))
    attempt("mknod", lambda: os.mknod(folder + "/" + WORLD["mark"]))
    attempt("rmtree", lambda: shutil.rmtree(folder))


attack()
row_scale = right
