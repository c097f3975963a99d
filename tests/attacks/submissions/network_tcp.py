# Tries to connect to a listener by TCP, and listen.

import socket


def fetch():
    import urllib.request

    return urllib.request.urlopen(f"http://127.0.0.1:{WORLD['tcp']}/", timeout=1)


def attack():
    attempt("connect", lambda: socket.create_connection(("127.0.0.1", WORLD["tcp"]), timeout=1).send(b"x"))
    attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
    attempt("http", fetch)


attack()
row_scale = right
