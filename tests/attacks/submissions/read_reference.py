# Tries to read the reference, the cases and the pack.

import os


def attack():
    for path in (WORLD["model"], WORLD["cases"], WORLD["pack"], WORLD["folder"] + "/reference.py"):
        attempt(path, lambda: open(path, "rb").read(100))
    for folder in (
        "",
        "/reference",
        "/cases",
        "/submissions",
        "/grader",
        "/tests",
        "/.git",
        "/grader/sandbox/inside",
    ):
        attempt(folder, lambda: os.listdir(WORLD["repository"] + folder))
    for name in (
        "/grader/result.py",
        "/grader/judge/compare.py",
        "/pyproject.toml",
        "/grader/sandbox/inside/child.py",
    ):
        attempt(name, lambda: open(WORLD["repository"] + name).read(10))
    attempt("glob", lambda: __import__("glob").glob(WORLD["repository"] + "/*")[0])


attack()
row_scale = right
