# Tries to change umask, locale, numpy's settings, random state and signal handlers.

import decimal
import gc
import locale
import os
import random
import signal
import sys
import warnings

os.umask(0)
for name in ("tr_TR.UTF-8", "C"):
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        pass
np.seterr(all="ignore")
np.random.seed(1)
random.seed(1)
np.set_printoptions(precision=1, threshold=2)
sys.setrecursionlimit(5000)
sys.setswitchinterval(100)
gc.disable()
warnings.simplefilter("error")
decimal.getcontext().prec = 2
os.environ["OPENBLAS_NUM_THREADS"] = "64"
try:
    os.chdir("/tmp")
except OSError:
    pass
for number in (2, 10, 12, 14, 15):
    signal.signal(number, signal.SIG_IGN)
row_scale = right
