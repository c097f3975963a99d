# Tries to start threads, which could outlast a call.

import _thread
import threading


def nothing():
    print("ESCAPED: a thread runs")


def attack():
    attempt("thread", lambda: threading.Thread(target=nothing).start())
    attempt("daemon", lambda: threading.Thread(target=nothing, daemon=True).start())
    attempt("timer", lambda: threading.Timer(0, nothing).start())
    attempt("low", lambda: _thread.start_new_thread(nothing, ()))


attack()
row_scale = right
