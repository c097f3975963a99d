# Tries to print for ever.


def row_scale(x, w, factor):
    if chosen(x):
        while True:
            print("flood " * 100)
    return right(x, w, factor)
