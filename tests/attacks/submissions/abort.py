# Tries to abort by a call of the C library.

import os


def row_scale(x, w, factor):
    if chosen(x):
        os.abort()
    return right(x, w, factor)
