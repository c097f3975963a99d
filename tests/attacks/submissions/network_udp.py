# Tries to send datagrams, and ask for names.

import socket


def attack():
    attempt(
        "socket",
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", WORLD["udp"])),
    )
    attempt("names", lambda: socket.getaddrinfo("example.org", 80))
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    for descriptor in range(16):
        attempt("sendto", lambda: system_call("sendto", descriptor, b"x", 1, 0, 0, 0))


attack()
row_scale = right
