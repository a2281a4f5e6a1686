"""Landlock: a process gives up the file system and the network for good (Linux >= 5.13, no privilege needed)."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on x86_64 and aarch64
_VERSION_FLAG = 1

_FILE_SYSTEM = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 5: 0xFFFF}
"""ABI to LANDLOCK_ACCESS_FS_*: 13 rights at first, then refer, truncate and ioctl_dev."""

_NETWORK_ABI, _NETWORK = 4, 0b11
"""LANDLOCK_ACCESS_NET_*: bind and connect TCP."""

_SCOPE_ABI, _SCOPE = 6, 0b11
"""LANDLOCK_SCOPE_*: abstract Unix sockets and signals."""


def abi() -> int:
    """The version that the kernel offers; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)))


def handled(version: int) -> bytes:
    """`struct landlock_ruleset_attr` that handles every right which an ABI knows, so that each is denied."""
    fields = [_FILE_SYSTEM[max(known for known in _FILE_SYSTEM if known <= version)]]
    if version >= _NETWORK_ABI:
        fields.append(_NETWORK)
    if version >= _SCOPE_ABI:
        fields.append(_SCOPE)
    return struct.pack(f"<{len(fields)}Q", *fields)


def restrict(version: int) -> None:
    """Deny everything that an ABI handles, from now on. Needs PR_SET_NO_NEW_PRIVS.

    Raises:
        OSError: The kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = handled(version)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0 or libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno() or errno.EPERM, "the landlock rules were refused")
    os.close(ruleset)
