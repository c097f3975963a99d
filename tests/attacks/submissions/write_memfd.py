# Tries to make files in memory that no limit counts.

import os


def shared():
    from multiprocessing import shared_memory

    return shared_memory.SharedMemory(create=True, size=4096)


def attack():
    attempt("memfd_create", lambda: os.memfd_create("x"))
    attempt("by number", lambda: system_call("memfd_create", b"x", 0))
    attempt("memfd_secret", lambda: system_call("memfd_secret", 0))
    attempt("shmget", lambda: system_call("shmget", 0, 4096, 0o1666))
    attempt("msgget", lambda: system_call("msgget", 0, 0o1666))
    attempt("shared_memory", shared)


attack()
row_scale = right
