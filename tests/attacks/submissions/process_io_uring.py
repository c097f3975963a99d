# Tries to work through io_uring, past the filter of system calls.


def attack():
    attempt("setup", lambda: system_call("io_uring_setup", 8, bytes(120)))
    attempt("setup without anything", lambda: system_call("io_uring_setup", 8, 0))


attack()
row_scale = right
