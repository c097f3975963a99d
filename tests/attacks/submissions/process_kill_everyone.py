# Tries to send signals to everyone, to the grader and to others (to everyone: signal 0, which only asks
# whether it may).

import os
import signal


def attack():
    attempt("everyone", lambda: os.kill(-1, 0))
    attempt("the group", lambda: os.killpg(0, 0))
    attempt("the parent", lambda: os.kill(os.getppid(), signal.SIGCONT))
    attempt("the grader", lambda: os.kill(WORLD["grader"], signal.SIGCONT))
    attempt("a bystander", lambda: os.kill(WORLD["bystander"], signal.SIGKILL))
    attempt("its group", lambda: os.killpg(WORLD["bystander"], signal.SIGKILL))
    attempt("itself", lambda: os.kill(os.getpid(), signal.SIGCONT))


attack()
row_scale = right
