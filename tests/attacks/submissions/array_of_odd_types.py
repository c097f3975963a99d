# Tries to return right numbers in every type that numpy has.

TYPES = [
    "f2",
    "g",
    ">f8",
    ">f4",
    "c16",
    "G",
    "i8",
    "u1",
    "?",
    "S20",
    "U20",
    "M8[s]",
    "m8[s]",
    "V16",
    "f4,f8",
    "O",
    "S1000000",
]
calls = 0


def row_scale(x, w, factor):
    global calls
    calls += 1
    answer = right(x, w, factor)
    kind = TYPES[calls % len(TYPES)]
    try:
        return answer.astype(kind)
    except (TypeError, ValueError):
        return np.zeros(answer.shape, kind)
