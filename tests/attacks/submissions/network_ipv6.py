# Tries to reach a listener by IPv6.

import socket


def attack():
    attempt("tcp", lambda: socket.create_connection(("::1", WORLD["tcp6"]), timeout=1).send(b"x"))
    attempt(
        "udp", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", WORLD["udp6"]))
    )


attack()
row_scale = right
