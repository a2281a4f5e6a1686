"""Drops privileges before untrusted code runs."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from pathlib import Path

from toolhand.tool_nodes.sandbox import landlock, seccomp

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522


def die_with_parent(parent: int) -> None:
    """End with SIGKILL when the thread that started this process ends; at once if that has happened.

    Args:
        parent: Process id of the parent; 0 where it cannot be seen from here, as in another namespace.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(1)


def lock(cpu_s: int, memory_bytes: int, output: int) -> None:
    """Give up files, sockets, processes, signals and privileges, and limit time and memory; for good.

    Args:
        cpu_s: Processor time from the start of this process [s], >= 1.
        memory_bytes: Address space beyond what is in use now.
        output: The only file descriptor that stays writable.

    Raises:
        OSError: Something that is needed could not be given up.
    """
    import resource

    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),  # first SIGXCPU, which names the cause; SIGKILL if that is not enough
        (resource.RLIMIT_AS, in_use + memory_bytes, in_use + memory_bytes),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        resource.setrlimit(kind, (soft, hard))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    version = landlock.abi()
    if version:
        landlock.restrict(version)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # landlock needed one
    _drop_capabilities()
    seccomp.install(output)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")


def _drop_capabilities() -> None:
    """Become an ordinary process, also as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno() or errno.EPERM, "the capabilities could not be dropped")
