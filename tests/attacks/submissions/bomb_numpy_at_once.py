# Tries to ask for more memory than there is.


def row_scale(x, w, factor):
    if chosen(x):
        np.ones(1 << 45)
    return right(x, w, factor)
