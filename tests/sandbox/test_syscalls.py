"""The tables of system calls: their numbers, and that nothing dangerous is allowed."""

from __future__ import annotations

import platform
from collections import Counter

import pytest
from support import libseccomp

from grader.sandbox.inside import syscalls

LISTS = {
    "WORK": syscalls.WORK,
    "PATHS": syscalls.PATHS,
    "OPENING": syscalls.OPENING,
    "REFUSED": syscalls.REFUSED,
}
# Those of which the filter looks at the arguments, beside the opening ones.
CONDITIONAL = ("ioctl", "fcntl", "prlimit64")
# Names that the oldest supported libseccomp (2.5.4) doesn't know yet.
TOO_NEW: frozenset[str] = frozenset()

# Never to be allowed, whatever the arguments are. Many are in no list; they would fail here if they came.
DANGEROUS = {
    "processes": """
        clone clone3 fork vfork execve execveat
    """,
    "signals": """
        kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal
    """,
    "other processes": """
        pidfd_getfd ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp
        setns migrate_pages move_pages get_robust_list
    """,
    "sockets": """
        socket socketpair connect bind listen accept accept4 sendto sendmsg sendmmsg recvfrom
        recvmsg recvmmsg shutdown setsockopt getsockopt getsockname getpeername
    """,
    "files": """
        creat openat2 open_by_handle_at name_to_handle_at mknod mknodat mkdir mkdirat rmdir unlink
        unlinkat rename renameat renameat2 link linkat symlink symlinkat truncate ftruncate
        fallocate memfd_create memfd_secret pwrite64 pwritev pwritev2 sendfile splice tee vmsplice
        copy_file_range chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes
        futimesat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
        mq_open mq_unlink flock sync syncfs sync_file_range pipe pipe2 inotify_init inotify_init1
        inotify_add_watch fanotify_init fanotify_mark
    """,
    "where it is": """
        chdir fchdir chroot pivot_root mount umount2 move_mount open_tree fsopen fsmount
        mount_setattr unshare swapon swapoff quotactl
    """,
    "credentials": """
        setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
        setsid setpgid personality prctl seccomp keyctl add_key request_key landlock_create_ruleset
        landlock_add_rule landlock_restrict_self
    """,
    "limits and priority": """
        setrlimit setpriority sched_setaffinity sched_setscheduler sched_setparam sched_setattr
        ioprio_set mlock mlock2 mlockall munlockall mbind set_mempolicy set_mempolicy_home_node
    """,
    "the clock": """
        settimeofday clock_settime clock_adjtime adjtimex
    """,
    "waking up": """
        alarm setitimer timer_create timer_settime timerfd_create timerfd_settime signalfd signalfd4
        eventfd eventfd2 epoll_create epoll_create1 pause
    """,
    "the kernel": """
        io_uring_setup io_uring_enter io_uring_register io_setup io_submit bpf userfaultfd
        perf_event_open init_module finit_module delete_module kexec_load kexec_file_load reboot
        sethostname setdomainname iopl ioperm modify_ldt acct syslog vhangup lookup_dcookie
        nfsservctl
    """,
    "shared memory": """
        shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
        remap_file_pages
    """,
}
ALL_DANGEROUS = sorted(name for names in DANGEROUS.values() for name in names.split())


def test_no_name_stands_in_two_lists() -> None:
    count = Counter(name for names in (*LISTS.values(), CONDITIONAL) for name in names)
    assert [name for name, times in count.items() if times > 1] == []


@pytest.mark.parametrize("names", LISTS.values(), ids=LISTS)
def test_every_name_of_a_list_has_numbers(names: tuple[str, ...]) -> None:
    assert [name for name in names if name not in syscalls.NUMBERS] == []


def test_every_number_is_of_a_name_that_the_filter_treats() -> None:
    treated = {name for names in (*LISTS.values(), CONDITIONAL) for name in names}
    assert set(syscalls.NUMBERS) == treated


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_no_two_names_have_one_number(machine: str) -> None:
    count = Counter(syscalls.number(name, machine) for name in syscalls.NUMBERS)
    assert [n for n, times in count.items() if times > 1 and n is not None] == []


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_every_number_is_that_of_libseccomp(machine: str) -> None:
    ours = {n: syscalls.number(n, machine) for n in syscalls.NUMBERS if n not in TOO_NEW}
    assert ours == {name: libseccomp.resolve(name, machine) for name in ours}


def test_nothing_dangerous_is_allowed() -> None:
    allowed = {*syscalls.WORK, *syscalls.PATHS, *syscalls.OPENING, *CONDITIONAL}
    assert [name for name in ALL_DANGEROUS if name in allowed] == []


def test_everything_refused_by_name_is_known_as_dangerous() -> None:
    assert [name for name in syscalls.REFUSED if name not in ALL_DANGEROUS] == []


def test_a_call_that_a_machine_lacks_has_no_number() -> None:
    assert syscalls.number("open", "x86_64") == 2
    assert syscalls.number("open", "aarch64") is None
    assert syscalls.number("read", "riscv64") is None


def test_the_machine_is_this_one_when_none_is_named() -> None:
    assert syscalls.number("read") == syscalls.number("read", platform.machine())
