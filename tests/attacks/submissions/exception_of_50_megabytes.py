# Tries to raise an exception with a text of 50 megabytes, notes and a cause as large.


def row_scale(x, w, factor):
    text = "A" * 50_000_000
    error = ValueError(text)
    error.add_note(text)
    raise error from KeyError(text)
