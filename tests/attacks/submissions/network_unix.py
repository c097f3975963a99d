# Tries to reach a listener by UNIX sockets, by path and by abstract name.

import socket


def reach(kind, address):
    made = socket.socket(socket.AF_UNIX, kind)
    made.connect(address)
    made.send(b"x")


def attack():
    attempt("path", lambda: reach(socket.SOCK_STREAM, WORLD["folder"] + "/listener.sock"))
    attempt("datagram", lambda: reach(socket.SOCK_DGRAM, WORLD["folder"] + "/listener.sock.dgram"))
    attempt("abstract", lambda: reach(socket.SOCK_STREAM, WORLD["abstract"]))
    for descriptor in range(3, 16):
        attempt("inherited", lambda: socket.socket(fileno=descriptor).sendmsg([b"x"]))


attack()
row_scale = right
