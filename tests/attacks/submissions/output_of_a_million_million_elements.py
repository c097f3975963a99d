# Tries to return a view with 10^12 elements.


def row_scale(x, w, factor):
    return np.broadcast_to(np.float64(1), (10**6, 10**6))
