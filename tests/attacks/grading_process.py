"""A process that grades what it is sent, with rights that it gives up first.

Started as ``python grading_process.py OPTIONS`` with JSON options: ``paths`` for imports, ``packs`` (a file
for each exercise), ``limits`` by name, ``docker`` to put on a filter and capabilities as containers have
them. Reads one submission a line from standard input, and answers with its Result record on a line.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Capabilities that a container has by default: chown, dac_override, fowner, fsetid, kill, setgid, setuid,
# setpcap, net_bind_service, net_raw, sys_chroot, mknod, audit_write, setfcap.
KEPT_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
PR_CAPBSET_DROP = 24

# What containers refuse by default to a process without further capabilities.
REFUSED = (
    *("acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module"),
    *("delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen"),
    *("fspick", "get_kernel_syms", "get_mempolicy", "init_module", "io_uring_enter", "io_uring_register"),
    *("io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load"),
    *("keyctl", "lookup_dcookie", "mbind", "mount", "mount_setattr", "move_mount"),
    *("move_pages", "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root"),
    *("process_vm_readv", "process_vm_writev", "ptrace", "query_module", "quotactl", "quotactl_fd"),
    *("reboot", "request_key", "set_mempolicy", "sethostname", "setdomainname", "setns"),
    *("settimeofday", "stime", "swapoff", "swapon", "sysfs", "syslog"),
    *("umount", "umount2", "unshare", "uselib", "userfaultfd", "ustat"),
    *("vm86", "vm86old"),
)
NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
EPERM, ENOSYS = 1, 38
ADDR_NO_RANDOMIZE = 0x0040000


def become_like_a_container() -> None:
    """A filter like that of containers, and their capabilities, for this process and all that it starts."""
    import ctypes

    import pyseccomp

    filtered = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(EPERM)
    for name in REFUSED:
        try:
            filtered.add_rule(refuse, name)
        except (OSError, ValueError):
            pass  # a call of another machine
    for flag in NEW_NAMESPACES:
        filtered.add_rule(refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # Its flags lie in memory, where a filter can't look: the C library then uses clone.
    filtered.add_rule(pyseccomp.ERRNO(ENOSYS), "clone3")
    filtered.add_rule(refuse, "personality", pyseccomp.Arg(0, pyseccomp.EQ, ADDR_NO_RANDOMIZE))
    for family in (38, 40):  # AF_ALG, AF_VSOCK
        filtered.add_rule(refuse, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if capability not in KEPT_CAPABILITIES:
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    filtered.load()
    if os.geteuid() != 0:
        return
    kept = sum(1 << capability for capability in KEPT_CAPABILITIES)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept, 0, 0, 0)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "the capabilities can't be given up")


def main() -> None:
    """Grade until standard input ends."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    sys.path[:0] = options["paths"]
    if options.get("docker"):
        become_like_a_container()
    from dataclasses import replace
    from pathlib import Path

    from grader.batch.runner import Runner
    from grader.exercise import pack as packs
    from grader.intake.submission import Submission
    from grader.sandbox.server import ForkServer

    runners: dict[tuple[str, str], Runner] = {}
    for line in sys.stdin:
        job = json.loads(line)
        key = job["exercise"], job["limits"]
        if key not in runners:
            pack = packs.loads(Path(options["packs"][key[0]]).read_bytes())
            limits = options["limits"][key[1]]
            runners[key] = Runner(replace(pack, exercise=replace(pack.exercise, limits=limits)))
        submission = Submission(
            job["name"], "Eve", f"{job['name']}.py", "sha256:0", job["source"], "", ("Eve",)
        )
        result = runners[key].grade(submission)
        server = runners[key].start()
        assert isinstance(server, ForkServer)
        answer = {"record": json.loads(result.to_json()), "server": server.pid}
        print(json.dumps(answer), flush=True)
    for runner in runners.values():
        runner.close()


if __name__ == "__main__":
    main()
