# Tries to read and write the memory of the grader and of others.

import ctypes
import os
import struct


def attack():
    buffer = ctypes.create_string_buffer(64)
    local = struct.pack("QQ", ctypes.addressof(buffer), 64)
    for pid in (os.getppid(), WORLD["grader"], WORLD["bystander"], os.getpid()):
        remote = struct.pack("QQ", id(pid), 16)
        attempt("readv", lambda: system_call("process_vm_readv", pid, local, 1, remote, 1, 0))
        attempt("writev", lambda: system_call("process_vm_writev", pid, local, 1, remote, 1, 0))
        attempt("kcmp", lambda: system_call("kcmp", pid, pid, 0, 0, 0))
    attempt("madvise", lambda: system_call("process_madvise", 3, local, 1, 21, 0))


attack()
row_scale = right
