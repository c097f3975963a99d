# Tries to mount something over the files of others.


def attack():
    attempt(
        "mount", lambda: system_call("mount", b"none", (WORLD["folder"] + "/home").encode(), b"tmpfs", 0, 0)
    )
    attempt("bind", lambda: system_call("mount", b"/", (WORLD["folder"] + "/home").encode(), 0, 4096, 0))
    attempt("umount", lambda: system_call("umount2", b"/proc", 2))
    attempt("fsopen", lambda: system_call("fsopen", b"tmpfs", 0))
    attempt("open_tree", lambda: system_call("open_tree", -100, b"/", 1))
    attempt("pivot", lambda: system_call("pivot_root", b"/", b"/"))
    attempt("chroot", lambda: system_call("chroot", b"/"))


attack()
row_scale = right
