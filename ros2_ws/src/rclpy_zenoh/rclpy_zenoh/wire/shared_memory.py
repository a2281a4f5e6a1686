"""Whether large messages may go through shared memory here. zenoh finds out only once it writes, which is too late.

It reserves by promise: a pool for each process that sends, which is locked in memory, and by each receiver once more.
A pool that cannot be had is done without; but zenoh's own lists, made in the first large message, panic where they
have no room, and a receiver that may not lock a pool loses what came through it. So both are asked before. (Lists that
are made before cost each process 30 wake-ups a second, of the threads that watch over them.)
"""

from __future__ import annotations

import ctypes
import mmap
import os

from rclpy_zenoh.wire.log import logger

FOLDER = "/dev/shm"
"""Where POSIX shared memory is, on Linux."""

POOL_BYTES = 16 << 20
"""Shared memory of one process that sends [bytes]; zenoh's default, and four pictures of 1280x720 with depth."""

NEEDED_BYTES = 128 << 20
"""Free shared memory below which a process does without [bytes]: seven pools, while a graph of a dozen processes has
four that send pictures."""

ADVISED_MB = 256
"""What is advised [MB]: two graphs."""

_MLOCK_ONFAULT = 1
"""Flag of mlock2(2): pages count as locked, but are not taken yet."""


def usable() -> bool:
    """True where shared memory can be used.

    Too little of it is a warning in the log; memory that may not be locked, as an ordinary user's, a note.
    """
    if lacking := lacking_room():
        logger.warning("%s", lacking)
        return False
    if not _may_lock(NEEDED_BYTES):
        logger.info("Shared memory is off: this user may not lock %d MB (ulimit -l).", NEEDED_BYTES >> 20)
        return False
    return True


def lacking_room() -> str:
    """The sentence that says that there is too little of it; "" where there is enough, or this system does not say."""
    try:
        found = os.statvfs(FOLDER)
    except OSError:
        return _sentence(f"{FOLDER} is missing") if os.path.isdir("/proc/self") else ""
    if found.f_flag & os.ST_RDONLY or not os.access(FOLDER, os.W_OK):
        return _sentence(f"{FOLDER} cannot be written to")
    free = found.f_bavail * found.f_frsize
    return _sentence(f"{FOLDER} has {free >> 20} MB free") if free < NEEDED_BYTES else ""


def _sentence(reason: str) -> str:
    return (
        f"Shared memory is off, large messages go over TCP: {reason}, and {NEEDED_BYTES >> 20} MB are needed "
        f"(in a container: docker run --shm-size={ADVISED_MB}m --ulimit memlock=-1). "
        "RCLPY_ZENOH_SHM=0 asks for that without this line."
    )


def _may_lock(size: int) -> bool:
    """True where this process may lock so many bytes in memory, or the system has no mlock2."""
    lock = getattr(ctypes.CDLL(None), "mlock2", None)
    if lock is None:
        return True
    try:
        area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:  # not even so much address space
        return False
    with area:
        start = ctypes.c_char.from_buffer(area)
        locked = lock(ctypes.byref(start), ctypes.c_size_t(size), _MLOCK_ONFAULT) == 0
        del start  # it holds the area, which could not be given back
    return locked
