# Tries to keep things in the kernel's key rings.


def attack():
    attempt("add", lambda: system_call("add_key", b"user", b"x", b"x", 1, -3))
    attempt("session", lambda: system_call("keyctl", 0, -3, 1, 0, 0))
    attempt("request", lambda: system_call("request_key", b"user", b"x", 0, -3))


attack()
row_scale = right
