# Tries to leave compiled files for those who come later.

import importlib
import importlib.util
import os
import sys

TARGET = WORLD["library"] + "/__pycache__/" + WORLD["mark"] + ".pyc"


def compiled():
    import py_compile

    return py_compile.compile(os.__file__, TARGET, doraise=True)


def by_the_loader():
    importlib.machinery.SourceFileLoader("x", os.__file__).set_data(TARGET, b"x")
    return open(TARGET).read()


def attack():
    sys.dont_write_bytecode = False
    sys.pycache_prefix = None
    attempt("compile", compiled)
    attempt("write", lambda: open(TARGET, "wb"))
    attempt("replace", lambda: open(importlib.util.cache_from_source(os.__file__), "r+b"))
    attempt("loader", by_the_loader)
    try:
        import colorsys  # noqa: F401
    except ImportError:
        pass


attack()
row_scale = right
