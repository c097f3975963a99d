# Tries to return the same memory in every call, so that later calls change earlier answers.

buffer = np.zeros(1000)


def row_scale(x, w, factor):
    answer = right(x, w, factor)
    view = buffer[: answer.size].reshape(answer.shape)
    view[...] = answer
    return view
