# Tries to have work done at exit, when the marks may have been given.

import atexit
import weakref


def at_exit():
    print("ESCAPED: at exit")
    attempt("file", lambda: open(WORLD["folder"] + "/victim/" + WORLD["mark"], "w"))


class Kept:
    pass


kept = Kept()
atexit.register(at_exit)
weakref.finalize(kept, at_exit)
print("REFUSED: nothing yet")
row_scale = right
