import numpy as np


def totals(weights, names, label):
    sums = np.array([sum(x * y for x, y in zip(row, weights["b"], strict=True)) for row in weights["a"]])
    best = sorted(range(len(sums)), key=lambda n: -sums[n])[0]
    mean = sum(sums) / len(sums)
    return {"label": f"{label}!", "sums": sums, "mean": mean, "best": {n: [best, n + 1] for n in names}}


def draws(rate, ids, rng):
    if rate <= 0 or rate >= 1:
        raise ValueError(f"rate {rate}")
    chosen = np.array([[rng.uniform() < rate for _ in row] for row in ids])
    pairs = zip(ids.ravel(), chosen.ravel(), strict=True)
    return {"chosen": chosen, "values": np.array([i for i, is_chosen in pairs if is_chosen], np.int64)}
