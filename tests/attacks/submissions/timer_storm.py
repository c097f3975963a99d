# Tries to have timers interrupt everything a million times a second.

import signal


def attack():
    signal.signal(signal.SIGALRM, lambda *arguments: None)
    attempt("setitimer", lambda: signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6))
    attempt("setitimer", lambda: signal.setitimer(signal.ITIMER_PROF, 1e-6, 1e-6))
    attempt("alarm", lambda: 1 / 0 if signal.alarm(1) > 1 << 31 else "set")
    attempt("timer_create", lambda: system_call("timer_create", 0, 0, bytes(8)))
    attempt("timerfd", lambda: system_call("timerfd_create", 0, 0))


attack()
row_scale = right
