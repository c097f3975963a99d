# Tries to recurse in C, where no limit counts.


def row_scale(x, w, factor):
    if chosen(x):
        deep = None
        for _ in range(2_000_000):
            deep = (deep,)
        del deep
        nested = []
        for _ in range(100_000):
            nested = [nested]
        repr(nested)
    return right(x, w, factor)
