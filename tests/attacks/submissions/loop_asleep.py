# Tries to sleep for weeks.

import time


def row_scale(x, w, factor):
    if chosen(x):
        time.sleep(10**7)
    return right(x, w, factor)
