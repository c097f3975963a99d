# Tries to send signals by calls that aim at threads.

import os
import signal


def attack():
    victim = WORLD["bystander"]
    attempt("tgkill", lambda: system_call("tgkill", victim, victim, 9))
    attempt("tkill", lambda: system_call("tkill", victim, 9))
    attempt("sigqueue", lambda: system_call("rt_sigqueueinfo", victim, 9, bytes(128)))
    attempt("parent", lambda: system_call("tgkill", os.getppid(), os.getppid(), 18))
    attempt("pthread", lambda: signal.pthread_kill(__import__("threading").get_ident(), 18))


attack()
row_scale = right
