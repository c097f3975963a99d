# Tries to cut the shared memory short under the judge's hands.

import gc
import mmap
import os


def cut(descriptor):
    os.fstat(descriptor)
    os.ftruncate(descriptor, 0)


def attack():
    tried = 0
    for descriptor in range(256):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        tried += 1
        attempt(f"truncate {descriptor}", lambda: os.ftruncate(descriptor, 0))
        attempt(f"grow {descriptor}", lambda: os.ftruncate(descriptor, 1 << 30))
    for mapping in [o for o in gc.get_objects() if isinstance(o, mmap.mmap)]:
        attempt("resize", lambda: mapping.resize(4096))
    print("REFUSED: of", tried, "descriptors")


def row_scale(x, w, factor):
    if chosen(x):
        attack()
    return right(x, w, factor)
