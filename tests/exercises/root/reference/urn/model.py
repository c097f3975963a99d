from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def validate(rate):
    if not 0 < rate < 1:
        raise ValueError(f"the rate is {rate}, expected between 0 and 1")


def add_up(a, b):
    return a @ b


def beside_label(sums, label):
    return sums


def chance_of(rng, ids):
    return rng.random(ids.shape)


def pick(chance, rate, ids):
    return chance < rate


def taken(ids, chosen):
    return ids[chosen]


@dataclass(frozen=True)
class Steps:
    validate: Callable[..., Any] = validate
    add_up: Callable[..., Any] = add_up
    beside_label: Callable[..., Any] = beside_label
    chance_of: Callable[..., Any] = chance_of
    pick: Callable[..., Any] = pick
    taken: Callable[..., Any] = taken


STEPS = Steps()


def run_totals(steps, arguments, dtype="float64"):
    weights, names, label = arguments
    sums = steps.add_up(np.asarray(weights["a"], dtype), np.asarray(weights["b"], dtype))
    sums = steps.beside_label(sums, label)
    best = {n: [int(np.argmax(sums)), n + 1] for n in names}
    return {"sums": sums, "best": best, "mean": float(sums.mean()), "label": label + "!"}


def run_draws(steps, arguments, dtype="float64"):
    rate, ids, rng = arguments
    steps.validate(rate)
    chosen = steps.pick(steps.chance_of(rng, ids), rate, ids)
    return {"chosen": chosen, "values": steps.taken(ids, chosen)}


run = {"totals": run_totals, "draws": run_draws}


def totals(weights, names, label):
    return run_totals(STEPS, (weights, names, label))


def draws(rate, ids, rng):
    return run_draws(STEPS, (rate, ids, rng))
