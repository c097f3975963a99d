# Tries to read packages that the exercise does not allow, and what lies beside them.

import os
import sys


def attack():
    folder = os.path.dirname(WORLD["numpy"])
    attempt("list", lambda: os.listdir(folder))
    for path in sys.path:
        if path.endswith("-packages"):
            attempt(path, lambda: os.listdir(path))
    for name in (
        "pip/__init__.py",
        "pydantic/__init__.py",
        "yaml/__init__.py",
        "safetensors/__init__.py",
        "pytest/__init__.py",
        "jinja2/__init__.py",
        "__editable__.mlm_grader.pth",
        "distutils-precedence.pth",
        "grader/__init__.py",
    ):
        attempt(name, lambda: open(os.path.join(folder, name)).read(10))
    for name in ("cwd", "exe", "root", "fd/0", f"fd/{WORLD['descriptor']}"):
        for pid in (WORLD["grader"], WORLD["bystander"], os.getppid()):
            attempt(f"link {name}", lambda: os.readlink(f"/proc/{pid}/{name}"))


attack()
row_scale = right
