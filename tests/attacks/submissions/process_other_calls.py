# Tries to use calls with which one changes the machine or one's own confinement.


def attack():
    attempt("init_module", lambda: system_call("init_module", 0, 0, 0))
    attempt("kexec_load", lambda: system_call("kexec_load", 0, 0, 0, 0))
    attempt("reboot", lambda: system_call("reboot", 0, 0, 0, 0))
    attempt("sethostname", lambda: system_call("sethostname", b"x", 1))
    attempt("clock_settime", lambda: system_call("clock_settime", 0, bytes(16)))
    attempt("personality", lambda: system_call("personality", 0x0040000))
    attempt("seccomp", lambda: system_call("seccomp", 0, 0, 0))
    attempt("landlock_create_ruleset", lambda: system_call("landlock_create_ruleset", 0, 0, 1))
    attempt("syslog", lambda: system_call("syslog", 3, 0, 0))
    attempt("swapon", lambda: system_call("swapon", b"/", 0))
    attempt("inotify_init1", lambda: system_call("inotify_init1", 0))
    attempt("fanotify_init", lambda: system_call("fanotify_init", 0, 0))
    attempt("open_by_handle_at", lambda: system_call("open_by_handle_at", 0, 0, 0))
    attempt("prctl", lambda: system_call("prctl", 4, 1, 0, 0, 0))
    attempt("vmsplice", lambda: system_call("vmsplice", 1, 0, 0, 0))
    attempt("splice", lambda: system_call("splice", 0, 0, 1, 0, 1, 0))
    attempt("setns", lambda: system_call("setns", 3, 0))


attack()
row_scale = right
