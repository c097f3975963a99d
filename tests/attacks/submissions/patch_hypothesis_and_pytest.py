# Tries to import the test tools and change them.

import importlib


def attack():
    for name in (
        "pytest",
        "_pytest",
        "hypothesis",
        "pluggy",
        "pip",
        "setuptools",
        "yaml",
        "pydantic",
        "safetensors",
    ):
        attempt(name, lambda: importlib.import_module(name))


attack()
row_scale = right
