# Tries to become root in namespaces of its own.


def attack():
    attempt("user", lambda: system_call("unshare", 0x10000000))
    attempt("all", lambda: system_call("unshare", 0x7E020000))
    attempt("files", lambda: system_call("unshare", 0x400))
    attempt("setns", lambda: system_call("setns", 0, 0))
    attempt("setuid", lambda: system_call("setuid", 0))
    attempt("capset", lambda: system_call("capset", bytes([0x22, 5, 8, 0x20, 0, 0, 0, 0]), b"\xff" * 24))


attack()
row_scale = right
