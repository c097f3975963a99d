# Tries to send signals through descriptors of processes.

import os
import signal


def send(pid, number):
    signal.pidfd_send_signal(os.pidfd_open(pid), number)


def attack():
    attempt("bystander", lambda: send(WORLD["bystander"], signal.SIGKILL))
    attempt("parent", lambda: send(os.getppid(), signal.SIGCONT))
    attempt("open", lambda: system_call("pidfd_open", WORLD["bystander"], 0))
    for descriptor in range(16):
        attempt(f"{descriptor}", lambda: signal.pidfd_send_signal(descriptor, signal.SIGKILL))


attack()
row_scale = right
