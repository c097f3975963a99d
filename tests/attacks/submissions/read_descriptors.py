# Tries to read every descriptor that was inherited.

import os


def attack():
    n = 0
    for descriptor in range(1024):
        try:
            about = os.fstat(descriptor)
        except OSError:
            continue
        n += 1
        try:
            look_for_secrets(f"descriptor {descriptor}", os.pread(descriptor, 1 << 20, 0))
        except OSError:
            pass
    print("looked at", n)
    attempt("list", lambda: os.listdir("/proc/self/fd"))
    attempt("list", lambda: os.listdir("/dev/fd"))
    attempt("the grader's", lambda: os.open(f"/proc/{WORLD['grader']}/fd/{WORLD['descriptor']}", os.O_RDONLY))
    attempt("a copy", lambda: system_call("pidfd_getfd", 3, WORLD["descriptor"], 0))


attack()
row_scale = right
