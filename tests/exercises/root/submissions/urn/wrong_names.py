import numpy as np


class Urn:
    def __init__(self, rate):
        if not 0 < rate < 1:
            raise ValueError(f"the rate is {rate}")
        self.rate = rate

    def draw(self, ids, rng):
        chosen = rng.random(ids.shape) < self.rate
        return chosen, ids[chosen]


def totals(weights, names, label):
    names.append(1)
    sums = weights["a"] @ weights["b"]
    best = int(np.argmax(sums))
    return {
        "sums": sums,
        "best": {n: [best, n + 1] for n in names},
        "mean": float(sums.mean()),
        "label": label + "!",
    }
