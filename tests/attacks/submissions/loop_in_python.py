# Tries to loop in Python.


def row_scale(x, w, factor):
    if chosen(x):
        while True:
            pass
    return right(x, w, factor)
