# Tries to make a pair of sockets, to pass descriptors through.

import os
import socket


def attack():
    attempt("socketpair", socket.socketpair)
    attempt("pipe", os.pipe)
    attempt("fifo", lambda: os.mkfifo(WORLD["folder"] + "/victim/" + WORLD["mark"]))


attack()
row_scale = right
