# Tries to import the grader and change how it judges.

import importlib
import sys


def patch(name, attribute):
    module = importlib.import_module(name)
    setattr(module, attribute, lambda *arguments, **named: True)
    return module


def attack():
    attempt("grader", lambda: patch("grader", "x"))
    attempt("compare", lambda: patch("grader.judge.compare", "compare"))
    attempt("runner", lambda: patch("grader.batch.runner", "Runner"))
    attempt("pack", lambda: patch("grader.exercise.pack", "Pack"))
    attempt("child", lambda: patch("grader.sandbox.inside.child", "Child"))
    attempt("reference", lambda: patch("reference", "x"))
    sys.path[:0] = [WORLD["repository"], WORLD["repository"] + "/grader"]
    sys.meta_path[:] = [
        f for f in sys.meta_path if type(f).__module__.startswith("_frozen_importlib") or f.__class__ is type
    ]
    importlib.invalidate_caches()
    attempt("grader by path", lambda: patch("grader", "x"))
    attempt("compare by path", lambda: patch("grader.judge.compare", "compare"))
    spec = importlib.util.spec_from_file_location("r", WORLD["repository"] + "/grader/result.py")
    attempt("result by its file", lambda: spec.loader.exec_module(importlib.util.module_from_spec(spec)))


import importlib.util

attack()
row_scale = right
