# Tries to ask the kernel by netlink, and by other families.

import socket


def attack():
    for family in ("AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG", "AF_CAN", "AF_BLUETOOTH", "AF_TIPC"):
        number = getattr(socket, family, None)
        if number is not None:
            attempt(family, lambda: socket.socket(number, socket.SOCK_RAW))
            attempt(family, lambda: socket.socket(number, socket.SOCK_SEQPACKET))


attack()
row_scale = right
