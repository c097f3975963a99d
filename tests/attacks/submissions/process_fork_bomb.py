# Tries to fork until the machine stands still (here: 64 times at most).

import os
import time


def attack():
    for n in range(64):
        try:
            pid = os.fork()
        except OSError:
            print("REFUSED: fork", n)
            return
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        print("ESCAPED: a process was made")


attack()
row_scale = right
