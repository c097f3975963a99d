# Tries to return arrays whose strides reach outside their memory.


def row_scale(x, w, factor):
    shape = (len(x), w.shape[1])
    return np.lib.stride_tricks.as_strided(np.zeros(1), shape=shape, strides=(1 << 44, -(1 << 43)))
