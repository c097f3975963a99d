# Tries to look for secrets in all objects that the garbage collector knows.

import gc
import mmap


def attack():
    seen = 0
    gc.unfreeze()
    for thing in gc.get_objects():
        held = []
        if type(thing) in (list, tuple, set, frozenset):
            held = list(thing)
        elif type(thing) is dict:
            held = [*thing.keys(), *thing.values()]
        elif isinstance(thing, mmap.mmap):
            held = [thing[:]]
        for one in held:
            if type(one) in (str, bytes):
                seen += 1
                look_for_secrets("gc", one)
    print("looked at", seen)


attack()
row_scale = right
