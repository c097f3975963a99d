# Tries to loop in __del__, when the call has returned.


class Hanging:
    def __del__(self):
        while True:
            pass


def row_scale(x, w, factor):
    if chosen(x):
        kept = Hanging()  # noqa: F841
    return right(x, w, factor)
