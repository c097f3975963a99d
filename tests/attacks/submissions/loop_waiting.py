# Tries to wait for what never comes.

import select
import threading


def row_scale(x, w, factor):
    if chosen(x):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    return right(x, w, factor)
