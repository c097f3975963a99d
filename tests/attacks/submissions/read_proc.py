# Tries to read what /proc shows of itself, its ancestors and others.

import os


def attack():
    for pid in ("self", "thread-self", os.getppid(), WORLD["grader"], WORLD["bystander"], 1):
        for name in (
            "status",
            "stat",
            "maps",
            "mem",
            "environ",
            "cmdline",
            "mountinfo",
            "auxv",
            "limits",
            "net/tcp",
        ):
            attempt(f"{pid}/{name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(64))
        for name in ("root", "cwd", "exe"):
            attempt(f"{pid}/{name}", lambda: os.listdir(f"/proc/{pid}/{name}"))
        for name in ("fd", "task", "map_files", "ns"):
            attempt(f"{pid}/{name}", lambda: os.listdir(f"/proc/{pid}/{name}"))
    for path in (
        "/proc",
        "/sys",
        "/proc/sys/kernel",
        "/sys/kernel",
        "/proc/cpuinfo",
        "/proc/mounts",
        "/proc/net/tcp",
    ):
        attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else open(path).read(10))


attack()
row_scale = right
