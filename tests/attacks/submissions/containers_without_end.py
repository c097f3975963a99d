# Tries to return lists and dicts that iterate for ever, contain themselves or are very deep.


class Endless(list):
    def __iter__(self):
        while True:
            print("ESCAPED: the runner iterated")
            yield 0.0

    def __len__(self):
        return 1 << 60


class EndlessDict(dict):
    def items(self):
        while True:
            print("ESCAPED: the runner iterated")
            yield (0, 0)


calls = 0


def row_scale(x, w, factor):
    global calls
    calls += 1
    inside = []
    inside.append(inside)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    keyed = {}
    keyed["itself"] = keyed
    return [Endless(), EndlessDict(), inside, deep, keyed, [0.0] * 1_000_000][calls % 6]
