"""Resource limits of a child."""

import resource
from typing import Any

# Room for mappings that RLIMIT_DATA doesn't count, such as MAP_SHARED.
SHARED_ROOM = 256 << 20


def memory_in_use() -> tuple[int, int]:
    """Bytes of address space and of data of this process."""
    found = {"VmSize": 0, "VmData": 0}
    with open("/proc/self/status", "rb") as file:
        for line in file:
            name, _, rest = line.decode().partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
    return found["VmSize"], found["VmData"]


def apply(job: dict[str, Any], in_use: tuple[int, int]) -> None:
    """Set the limits of this process for good.

    Args:
        job: Holds ``memory`` (bytes beyond what the fork server uses) and ``seconds`` (processor time).
        in_use: What the fork server uses, from `memory_in_use`.
    """
    size, data = in_use
    _set(resource.RLIMIT_DATA, data + job["memory"])
    _set(resource.RLIMIT_AS, size + job["memory"] + SHARED_ROOM)
    _set(resource.RLIMIT_CORE, 0)
    # The judge ends a child that uses up its time; this ends one whose judge is too busy to look.
    # The soft limit comes first and names the cause; at the hard one the kernel just kills.
    _set(resource.RLIMIT_CPU, int(job["seconds"]) + 10, room=10)


def _set(which: int, value: int, room: int = 0) -> None:
    most = value + room
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(which, (min(value, most), most))
