# Tries to return objects that give themselves out for arrays of any address and size.


class Protocol:
    def __init__(self, x, w):
        self.wanted = (len(x), w.shape[1])

    def __array__(self, *arguments, **named):
        print("ESCAPED: the runner asked for __array__")
        return np.zeros(self.wanted)

    @property
    def __array_interface__(self):
        print("ESCAPED: the runner asked for __array_interface__")
        return {"shape": (1 << 40,), "typestr": "<f8", "data": (4096, False), "version": 3}

    @property
    def __array_struct__(self):
        print("ESCAPED: the runner asked for __array_struct__")

    def __dlpack__(self, *arguments, **named):
        print("ESCAPED: the runner asked for __dlpack__")

    def __dlpack_device__(self):
        print("ESCAPED: the runner asked for __dlpack_device__")

    def __buffer__(self, flags):
        print("ESCAPED: the runner asked for __buffer__")

    def __float__(self):
        print("ESCAPED: the runner asked for __float__")
        return 0.0

    def __len__(self):
        print("ESCAPED: the runner asked for __len__")
        return self.wanted[0]

    def __getitem__(self, at):
        print("ESCAPED: the runner asked for __getitem__")
        return self


def row_scale(x, w, factor):
    return Protocol(x, w)
