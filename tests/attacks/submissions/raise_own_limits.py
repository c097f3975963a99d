# Tries to raise its own limits.

import resource


def attack():
    for name in (
        "RLIMIT_DATA",
        "RLIMIT_AS",
        "RLIMIT_CPU",
        "RLIMIT_NOFILE",
        "RLIMIT_NPROC",
        "RLIMIT_CORE",
        "RLIMIT_FSIZE",
        "RLIMIT_MEMLOCK",
    ):
        which = getattr(resource, name)
        attempt(name, lambda: resource.setrlimit(which, (-1, -1)))
        attempt(name, lambda: resource.prlimit(0, which, (-1, -1)))
        attempt("by number", lambda: system_call("setrlimit", which, b"\xff" * 16))
        attempt("by number", lambda: system_call("prlimit64", 0, which, b"\xff" * 16, 0))


def row_scale(x, w, factor):
    if chosen(x):
        attack()
        try:
            np.ones(1 << 27).sum()
        except MemoryError:
            print("REFUSED: a gigabyte")
        else:
            print("ESCAPED: a gigabyte")
    return right(x, w, factor)
