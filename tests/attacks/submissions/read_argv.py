# Tries to read the command lines.

import sys


def attack():
    for text in (sys.argv, sys.orig_argv, sys.flags, sys.warnoptions, sys._xoptions):
        look_for_secrets("argv", repr(text))
    attempt("own", lambda: open("/proc/self/cmdline", "rb").read())
    for pid in (WORLD["bystander"], WORLD["grader"], 1):
        attempt("another's", lambda: open(f"/proc/{pid}/cmdline", "rb").read())


attack()
row_scale = right
