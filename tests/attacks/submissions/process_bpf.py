# Tries to load a program into the kernel, and count its events.


def attack():
    attempt("map", lambda: system_call("bpf", 0, bytes(128), 128))
    attempt("load", lambda: system_call("bpf", 5, bytes(128), 128))
    attempt("perf", lambda: system_call("perf_event_open", bytes(128), 0, -1, -1, 0))


attack()
row_scale = right
