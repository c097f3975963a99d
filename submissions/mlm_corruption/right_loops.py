import random


class CorruptionPolicy:
    """Properties without setters, and nothing but the standard library."""

    def __init__(self, rate=0.15, prob_sentinel=0.8, prob_random=0.1, span_length=1):
        if rate <= 0 or rate >= 1:
            raise ValueError("rate is %s, but has to be between 0 and 1" % rate)
        if prob_sentinel < 0 or prob_random < 0:
            raise ValueError("proportions can't be negative")
        if prob_sentinel + prob_random > 1:
            raise ValueError("proportions add up to more than 1")
        if not isinstance(span_length, int):
            raise TypeError("span_length has to be an int")
        if span_length < 1:
            raise ValueError("span_length is %d, but has to be at least 1" % span_length)
        self._values = rate, prob_sentinel, prob_random, span_length

    rate = property(lambda self: self._values[0])
    prob_sentinel = property(lambda self: self._values[1])
    prob_random = property(lambda self: self._values[2])
    span_length = property(lambda self: self._values[3])
    prob_unchanged = property(lambda self: 1.0 - (self.prob_sentinel + self.prob_random))


def spans(length, policy, r):
    s = policy.span_length
    if length <= s:
        return set(range(length))
    found = set()
    for start in r.sample(range(length - s + 1), max(1, round(length * policy.rate / s))):
        found.update(range(start, start + s))
    return found


def corrupt_batch(token_ids, lengths, sentinel_id, vocab_size, policy, rng):
    import numpy as np

    r = random.Random(int(rng.integers(2**62)))
    rows, lengths = token_ids.tolist(), lengths.tolist()
    T = len(rows[0])
    if len(lengths) != len(rows):
        raise ValueError("one length for each row, please")
    for row, length in zip(rows, lengths):
        if length < 0 or length > T:
            raise ValueError("length %d of %d" % (length, T))
        for token in row[:length]:
            if token not in range(vocab_size):
                raise ValueError("no token: %d" % token)
    if sentinel_id not in range(vocab_size):
        raise ValueError("no token: %d" % sentinel_id)

    chosen = []
    for length in lengths:
        if policy.span_length > 1:
            chosen.append(spans(length, policy, r))
        else:
            chosen.append({t for t in range(length) if r.random() < policy.rate})
    if not any(chosen):
        chosen = [{length - 1} if length else set() for length in lengths]

    corrupted = [list(row) for row in rows]
    positions, targets, row_of = [], [], []
    for n, row in enumerate(rows):
        for t in sorted(chosen[n]):
            positions.append(n * T + t)
            targets.append(row[t])
            row_of.append(n)
            kind = r.choices("srk", [policy.prob_sentinel, policy.prob_random, max(0.0, policy.prob_unchanged)])
            if kind == ["s"]:
                corrupted[n][t] = sentinel_id
            elif kind == ["r"]:
                corrupted[n][t] = r.randrange(vocab_size)

    def whole(numbers):
        return np.array(numbers, dtype=np.int64)

    return {
        "row_of": whole(row_of),
        "targets": whole(targets),
        "positions": whole(positions),
        "valid": np.array([[t < length for t in range(T)] for length in lengths]),
        "corrupted": whole(corrupted),
    }
