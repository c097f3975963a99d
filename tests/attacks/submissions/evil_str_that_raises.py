# Tries to raise exceptions whose texts raise, exit, or are no texts.

import os


class Evil(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__

    @property
    def __class__(self):
        raise KeyboardInterrupt

    @property
    def args(self):
        raise MemoryError

    @property
    def __traceback__(self):
        raise GeneratorExit

    @property
    def __notes__(self):
        raise StopIteration


class NoText(Exception):
    def __str__(self):
        return 7


calls = 0


def row_scale(x, w, factor):
    global calls
    calls += 1
    raise [Evil, NoText][calls % 2]()
