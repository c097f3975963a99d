# Tries to return an empty array whose other dimension is 2 to the power of 62.


def row_scale(x, w, factor):
    return np.ndarray((0, 1 << 62), np.int8)
