# Tries to read the environment, also as the process was started with it.

import ctypes
import os


def attack():
    look_for_secrets("environ", repr(dict(os.environ)))
    block = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    n = 0
    while block[n]:
        look_for_secrets("block", block[n])
        n += 1
    last = ctypes.cast(block[0], ctypes.c_void_p).value if n else 0
    print("looked at", n)
    attempt("own", lambda: open("/proc/self/environ", "rb").read())
    for pid in (WORLD["bystander"], WORLD["grader"], os.getppid(), 1):
        attempt("another's", lambda: open(f"/proc/{pid}/environ", "rb").read())


attack()
row_scale = right
