# Tries to close the streams and all descriptors that it finds.

import os
import sys

sys.stdout.close()
sys.stderr.close()
sys.__stdout__ = sys.__stderr__ = sys.stdin = None


def row_scale(x, w, factor):
    os.closerange(0, 1024)
    return right(x, w, factor)
