# Tries to read through /proc/self/root and its like.

import os


def attack():
    secret = WORLD["folder"] + "/secret.txt"
    for begin in (
        "/proc/self/root",
        "/proc/self/cwd/",
        "/proc/thread-self/root",
        f"/proc/{os.getppid()}/root",
        f"/proc/{WORLD['bystander']}/root",
        "/proc/1/root",
        "/dev/fd/0/..",
        "/proc/self/fd/3/..",
    ):
        attempt(begin, lambda: open(begin + secret).read())
    attempt("a path only", lambda: os.open(secret, os.O_PATH))
    attempt("by handle", lambda: system_call("name_to_handle_at", -100, secret.encode(), 0, 0, 0))
    attempt("openat2", lambda: system_call("openat2", -100, secret.encode(), bytes(24), 24))
    attempt("chroot", lambda: os.chroot("/"))


attack()
row_scale = right
