import numpy as np


class RateError(ValueError):
    pass


class Urn:
    def __init__(self, rate):
        self._rate = rate
        if rate >= 1 or rate <= 0:
            raise RateError("rate " + str(rate))

    def draw(self, ids, rng):
        chosen, values = np.zeros(ids.shape, bool), []
        for row in range(len(ids)):
            for column in range(ids.shape[1]):
                if rng.uniform() < self._rate:
                    chosen[row, column] = True
                    values.append(ids[row, column])
        return chosen, np.array(values, dtype=np.int32)


def totals(weights, names, label):
    sums = []
    for row in weights["a"]:
        total = 0.0
        for x, y in zip(row, weights["b"]):
            total += x * y
        sums.append(total)
    first = sums.index(max(sums))
    result = {"label": label + "!"}
    result["mean"] = sum(sums) / len(sums)
    result["sums"] = np.array(sums, dtype=np.float32)
    result["best"] = {}
    for name in names:
        result["best"][name] = [first, name + 1]
    return result
