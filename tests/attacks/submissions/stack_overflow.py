# Tries to overflow the stack by a huge frame of the C library.

import ctypes


def row_scale(x, w, factor):
    if chosen(x):
        ctypes.memset(ctypes.addressof(ctypes.c_char(0)) & ~0xFFF, 0, 1 << 40)
    return right(x, w, factor)
