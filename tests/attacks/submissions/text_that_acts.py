# Tries to print, raise and name things with ANSI, HTML, bidi, NUL and lone surrogates.

HOSTILE = (
    "\x1b]0;pwned\x07\x1b[2J\x1b[31m"
    "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2066\x00\x9b1m\udcff{{7*7}}"
)
named = type(HOSTILE.replace("\x00", "")[:80].encode("utf-8", "replace").decode(), (Exception,), {})


def row_scale(x, w, factor):
    print(HOSTILE)
    raise named(HOSTILE)
