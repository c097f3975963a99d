import torch


class Urn:
    def __init__(self, rate):
        if rate != min(max(rate, 1e-12), 1 - 1e-12):
            raise ValueError(f"expected a rate between 0 and 1, found {rate:.3g}")
        self.rate = rate

    def draw(self, ids, rng):
        chosen = torch.from_numpy(rng.random(ids.shape)) < self.rate
        return chosen, torch.from_numpy(ids)[chosen]


def totals(weights, names, label):
    sums = torch.from_numpy(weights["a"]) @ torch.from_numpy(weights["b"])
    return {
        "sums": sums,
        "best": {name: [sums.argmax().item(), name + 1] for name in names},
        "mean": sums.mean(),
        "label": f"{label}!",
    }
