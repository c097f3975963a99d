# Tries to return an object in whose __del__ a loop waits.


class Hanging:
    def __del__(self):
        while True:
            pass


def row_scale(x, w, factor):
    return Hanging()
