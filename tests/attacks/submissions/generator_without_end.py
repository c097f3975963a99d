# Tries to return a generator that never ends.


def row_scale(x, w, factor):
    def forever():
        while True:
            print("ESCAPED: the runner asked for an item")
            yield 0.0

    return forever()
