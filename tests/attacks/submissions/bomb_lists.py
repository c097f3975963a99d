# Tries to use up memory by lists.


def row_scale(x, w, factor):
    if chosen(x):
        kept = [0] * 1000
        while True:
            kept += kept
    return right(x, w, factor)
