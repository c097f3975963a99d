"""An autograder for exercises in which a student writes a numeric function."""

__version__ = "0.1.0"
