# Tries to raise an exception whose text is never done.


class Evil(Exception):
    def __str__(self):
        while True:
            pass


def row_scale(x, w, factor):
    if chosen(x):
        raise Evil
    return right(x, w, factor)
