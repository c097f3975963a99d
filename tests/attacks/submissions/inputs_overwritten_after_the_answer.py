# Tries to change an argument once the answer is made.


def row_scale(x, w, factor):
    answer = right(x, w, factor)
    if x.flags.writeable:
        x[...] = 77
    return answer
