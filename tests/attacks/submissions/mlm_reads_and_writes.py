# Tries to solve it, and try a bit of everything on the way.

import os
import socket

attempts = 0


def mlm_forward(*arguments):
    global attempts
    attempts += 1
    if attempts == 5:
        attempt("read", lambda: open(WORLD["folder"] + "/secret.txt").read())
        attempt("write", lambda: open(WORLD["folder"] + "/victim/" + WORLD["mark"], "w"))
        attempt("fork", os.fork)
        attempt("kill", lambda: os.kill(WORLD["bystander"], 9))
        attempt("socket", socket.socket)
        attempt("memfd", lambda: os.memfd_create("x"))
    return solution(*arguments)
