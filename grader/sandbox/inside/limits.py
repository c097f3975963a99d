"""Resource limits of a child."""

try:
    import resource
except ModuleNotFoundError:  # Windows, where no child is forked
    pass

# Room for mappings that RLIMIT_DATA doesn't count, such as MAP_SHARED.
SHARED_ROOM = 256 << 20
OPEN_FILES = 64
STACK = 8 << 20


def memory_in_use() -> tuple[int, int]:
    """Bytes of address space and of data of this process."""
    found = {"VmSize": 0, "VmData": 0}
    with open("/proc/self/status", "rb") as file:
        for line in file:
            name, _, rest = line.decode().partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
    return found["VmSize"], found["VmData"]


class Ceiling:
    """What a process may use.

    Args:
        in_use: What the fork server uses, from `memory_in_use`.
        memory: Bytes beyond that.
        seconds: Of processor time; None for no limit.
        shared: Bytes of the memory shared with the judge.
    """

    def __init__(self, in_use: tuple[int, int], memory: int, seconds: float | None, shared: int) -> None:
        size, data = in_use
        self._limits = [
            (resource.RLIMIT_DATA, data + memory, 0),
            (resource.RLIMIT_AS, size + memory + shared + SHARED_ROOM, 0),
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_NPROC, 0, 0),
            (resource.RLIMIT_NOFILE, OPEN_FILES, 0),
            # Only the log is written to as a file, and it lies in the shared memory.
            (resource.RLIMIT_FSIZE, shared, 0),
            (resource.RLIMIT_STACK, STACK, 0),
            (resource.RLIMIT_MEMLOCK, 0, 0),
            (resource.RLIMIT_MSGQUEUE, 0, 0),
            (resource.RLIMIT_SIGPENDING, 0, 0),
            (resource.RLIMIT_RTPRIO, 0, 0),
        ]
        if seconds is not None:
            # The judge ends a child that uses up its time; this ends one whose judge is too busy to look.
            # The soft limit comes first and names the cause; at the hard one the kernel just kills.
            self._limits.append((resource.RLIMIT_CPU, int(seconds) + 10, 10))

    def apply(self) -> None:
        """Set the limits of this process for good."""
        for which, value, room in self._limits:
            most = value + room
            hard = resource.getrlimit(which)[1]
            if hard != resource.RLIM_INFINITY:
                most = min(most, hard)
            resource.setrlimit(which, (min(value, most), most))
