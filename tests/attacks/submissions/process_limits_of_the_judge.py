# Tries to change the limits, the cores or the priority of the judge and of others.

import os
import resource


def attack():
    for pid in (os.getppid(), WORLD["grader"], WORLD["bystander"]):
        attempt("limits", lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)))
        attempt("read", lambda: resource.prlimit(pid, resource.RLIMIT_CPU))
        attempt("cores", lambda: os.sched_setaffinity(pid, {0}))
        attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
        attempt("scheduler", lambda: system_call("sched_setscheduler", pid, 3, bytes(4)))
        attempt("ioprio", lambda: system_call("ioprio_set", 1, pid, 3 << 13))
    attempt("own cores", lambda: os.sched_setaffinity(0, {0}))
    attempt("nice", lambda: os.nice(5))


attack()
row_scale = right
