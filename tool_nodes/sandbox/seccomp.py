"""A seccomp filter that leaves a process only computing and writing to one file descriptor.

The filter is an allow-list in classic BPF (Linux: Documentation/userspace-api/seccomp_filter.rst). The first
instruction checks the architecture, because numbers mean other calls elsewhere. What is not on the list fails with
EPERM, so that a program sees an exception where it can.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2

_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_ALLOW = 0x7FFF0000

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

# struct seccomp_data: int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]; little-endian
_NUMBER, _ARCHITECTURE = 0, 4


def _argument(index: int) -> int:
    """Offset of the lower half of an argument; all that are compared here are 32 bits wide."""
    return 16 + 8 * index


@dataclass(frozen=True)
class Architecture:
    """What the kernel calls one processor's system calls.

    Attributes:
        audit: AUDIT_ARCH_* value.
        numbers: Number of each call that the filter knows.
        foreign: Numbers from here on belong to another calling convention; 0 where there is none.
    """

    audit: int
    numbers: Mapping[str, int]
    foreign: int = 0


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        audit=0xC000003E,
        foreign=0x40000000,  # x32
        numbers={
            "write": 1,
            "mmap": 9,
            "mprotect": 10,
            "munmap": 11,
            "brk": 12,
            "sched_yield": 24,
            "mremap": 25,
            "madvise": 28,
            "exit": 60,
            "gettimeofday": 96,
            "futex": 202,
            "restart_syscall": 219,
            "clock_gettime": 228,
            "clock_getres": 229,
            "exit_group": 231,
        },
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        numbers={
            "write": 64,
            "exit": 93,
            "exit_group": 94,
            "futex": 98,
            "clock_gettime": 113,
            "clock_getres": 114,
            "sched_yield": 124,
            "restart_syscall": 128,
            "gettimeofday": 169,
            "brk": 214,
            "munmap": 215,
            "mremap": 216,
            "mmap": 222,
            "mprotect": 226,
            "madvise": 233,
        },
    ),
}

_PROT_EXEC = 4
_MAP_ANONYMOUS = 0x20
_MADV_HWPOISON = 100
"""From here on madvise damages memory pages instead of describing them."""

UNCONDITIONAL = (
    "brk",
    "clock_getres",
    "clock_gettime",
    "exit",
    "exit_group",
    "futex",
    "gettimeofday",
    "mremap",
    "munmap",
    "restart_syscall",
    "sched_yield",
)


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


def _rule(number: int, *checks: bytes) -> list[bytes]:
    """Allow one call where the checks fall through; a check that fails jumps over the ALLOW that follows them."""
    body = [*checks, _instruction(_RETURN, _ALLOW), _instruction(_RETURN, _REFUSE)]
    return [_instruction(_IF_EQUAL, number, 0, len(body)), *body]


def build_filter(architecture: Architecture, output: int) -> bytes:
    """The filter as an array of `struct sock_filter`.

    Args:
        architecture: Architecture of the processor that it will run on.
        output: The only file descriptor that may be written to.
    """
    number = architecture.numbers
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_IF_EQUAL, architecture.audit, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER),
    ]
    if architecture.foreign:
        program += [_instruction(_IF_AT_LEAST, architecture.foreign, 0, 1), _instruction(_RETURN, _KILL_PROCESS)]
    for name in UNCONDITIONAL:
        program += [_instruction(_IF_EQUAL, number[name], 0, 1), _instruction(_RETURN, _ALLOW)]
    program += _rule(number["write"], _instruction(_LOAD, _argument(0)), _instruction(_IF_EQUAL, output, 0, 1))
    program += _rule(
        number["mmap"],  # memory, never files; nothing that could be executed
        _instruction(_LOAD, _argument(2)),
        _instruction(_IF_ANY_BIT, _PROT_EXEC, 3, 0),
        _instruction(_LOAD, _argument(3)),
        _instruction(_IF_ANY_BIT, _MAP_ANONYMOUS, 0, 1),
    )
    program += _rule(number["mprotect"], _instruction(_LOAD, _argument(2)), _instruction(_IF_ANY_BIT, _PROT_EXEC, 1, 0))
    program += _rule(
        number["madvise"], _instruction(_LOAD, _argument(2)), _instruction(_IF_AT_LEAST, _MADV_HWPOISON, 1, 0)
    )
    return b"".join([*program, _instruction(_RETURN, _REFUSE)])


def this_architecture() -> Architecture | None:
    """The processor's table; None where there is none for this interpreter."""
    return ARCHITECTURES.get(platform.machine()) if sys.maxsize > 2**32 and sys.byteorder == "little" else None


def why_missing() -> str:
    """Why this machine cannot filter system calls, as the end of "because ..."; empty where it can."""
    if not sys.platform.startswith("linux"):
        return f"{platform.system() or sys.platform} has no seccomp"
    if this_architecture() is None:
        return f"the system calls of {platform.machine()} are not known here"
    libc = ctypes.CDLL(None, use_errno=True)
    # A filter at address 0 changes nothing: EFAULT shows that the kernel would have read it.
    libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.c_void_p(None), 0, 0)
    if ctypes.get_errno() != errno.EFAULT:
        return "this kernel does not offer seccomp filters"
    return ""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install(output: int) -> None:
    """Filter this process from now on; it cannot be undone. Needs PR_SET_NO_NEW_PRIVS.

    Args:
        output: The only file descriptor that may be written to.

    Raises:
        OSError: The kernel refused.
    """
    architecture = this_architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, f"no system call table for {platform.machine()}")
    code = build_filter(architecture, output)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the seccomp filter was refused")
