# Tries to return and raise things whose types lie about their own names.


class Meta(type):
    @property
    def __name__(cls):
        return "numpy.ndarray"

    @property
    def __module__(cls):
        raise SystemExit

    def __instancecheck__(cls, thing):
        return True

    def __subclasscheck__(cls, thing):
        return True

    def __repr__(cls):
        raise SystemExit


class Lying(metaclass=Meta):
    __slots__ = ()


def row_scale(x, w, factor):
    return Lying()
