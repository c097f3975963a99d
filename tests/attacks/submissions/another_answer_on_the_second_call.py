# Tries to answer rightly once and otherwise later.

calls = 0


def row_scale(x, w, factor):
    global calls
    calls += 1
    return right(x, w, factor) + (calls - 1)
