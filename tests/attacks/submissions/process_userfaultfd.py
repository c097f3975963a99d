# Tries to have page faults of the kernel wait for it.


def attack():
    attempt("any", lambda: system_call("userfaultfd", 0))
    attempt("user mode", lambda: system_call("userfaultfd", 1))


attack()
row_scale = right
