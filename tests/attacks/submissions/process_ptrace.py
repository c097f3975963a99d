# Tries to trace others, or be traced.

import os


def attack():
    attempt("bystander", lambda: system_call("ptrace", 16, WORLD["bystander"], 0, 0))
    attempt("seize", lambda: system_call("ptrace", 0x4206, WORLD["bystander"], 0, 0))
    attempt("parent", lambda: system_call("ptrace", 16, os.getppid(), 0, 0))
    attempt("grader", lambda: system_call("ptrace", 16, WORLD["grader"], 0, 0))
    attempt("itself", lambda: system_call("ptrace", 0, 0, 0, 0))


attack()
row_scale = right
