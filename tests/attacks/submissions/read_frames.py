# Tries to look for secrets in the frames of all callers.

import sys

seen = set()


def look(what, thing, depth=0):
    if id(thing) in seen or depth > 6 or len(seen) > 100_000:
        return
    seen.add(id(thing))
    if isinstance(thing, (str, bytes, bytearray)):
        look_for_secrets(what, bytes(thing) if isinstance(thing, bytearray) else thing)
    elif isinstance(thing, dict):
        for key, value in list(thing.items()):
            look(what, key, depth + 1)
            look(what, value, depth + 1)
    elif isinstance(thing, (list, tuple, set, frozenset)):
        for item in list(thing):
            look(what, item, depth + 1)
    elif hasattr(thing, "__dict__"):
        look(what, vars(thing), depth + 1)


def row_scale(x, w, factor):
    frame = sys._getframe()
    while frame is not None:
        if chosen(x):
            look(
                f"frame of {frame.f_code.co_name}",
                {k: v for k, v in frame.f_locals.items() if v is not WORLD},
            )
            look(f"globals of {frame.f_code.co_name}", frame.f_globals)
        frame = frame.f_back
    if chosen(x):
        print("looked at", len(seen))
    return right(x, w, factor)
