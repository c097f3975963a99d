# Tries to return an argument's own memory.


def row_scale(x, w, factor):
    answer = right(x, w, factor)
    if x.size >= answer.size and x.dtype == answer.dtype and x.flags.c_contiguous and x.flags.writeable:
        view = x.reshape(-1)[: answer.size].reshape(answer.shape)
        view[...] = answer
        return view
    return answer
