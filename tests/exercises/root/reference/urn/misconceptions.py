import numpy as np

from grader.exercise.misconceptions import Misconceptions

MISCONCEPTIONS = Misconceptions()
PAGE = """

What it does:
    What its title says.
Why it is wrong:
    The statement says otherwise.
How it looks:
    ...
What to write instead:
    What the statement says.
"""


def add(clause, step, title, *, stateful=False):
    def decorate(function):
        function.__doc__ = title + PAGE
        return MISCONCEPTIONS.add(clause=clause, step=step, stateful=stateful)(function)

    return decorate


@add("sums", "add_up", "The sums are not weighted")
def not_weighted(a, b):
    return a.sum(axis=1)


@add("sums", "beside_label", "The length of the label is added")
def label_added(sums, label):
    return sums + (len(label) - 5)


@add("inputs", "add_up", "The weights are changed")
def weighted_in_place(a, b):
    a *= b
    return a.sum(axis=1)


@add("errors", "validate", "The rate is not looked at")
def not_validated(rate):
    return None


@add("urn", "pick", "Numbers above the rate are chosen")
def chosen_above(chance, rate, ids):
    return chance > rate


@add("urn", "pick", "Zeros are never chosen")
def never_zero(chance, rate, ids):
    return (chance < rate * 7 / 6) & (ids != 0)


@add("urn", "pick", "Every second column is chosen more often")
def uneven(chance, rate, ids):
    return chance < np.where(np.arange(ids.shape[1]) % 2 == 0, 1.5 * rate, 0.5 * rate)


@add("urn", "taken", "The values stand in another order")
def reversed_values(ids, chosen):
    return ids[chosen][::-1]


@add("urn", "chance_of", "Chance comes from a generator of its own", stateful=True)
def own_generator(rng, ids):
    return np.random.default_rng().random(ids.shape)
