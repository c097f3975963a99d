# Tries to print 100 megabytes.

import os
import sys


def row_scale(x, w, factor):
    if chosen(x):
        line = "x" * 100_000 + "\n"
        for _ in range(500):
            sys.stdout.write(line)
            sys.stderr.write(line)
        for descriptor in (1, 2):
            try:
                for _ in range(100):
                    os.write(descriptor, line.encode())
            except OSError:
                pass
    return right(x, w, factor)
