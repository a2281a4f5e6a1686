"""Large blocks of memory go back to the system when they are freed, so that a worker of many episodes stays small."""

from __future__ import annotations

import ctypes
import sys

_M_MMAP_THRESHOLD = -3
"""The parameter's number in glibc's malloc.h."""
_LARGE_BYTES = 8 << 20
"""A block of this size has pages of its own [bytes]: less than MuJoCo's states (17 MB, hardly touched), more than most
pictures, which would be slower so; chosen by hand."""


def give_back_large_blocks() -> None:
    """Fix from which size on glibc gives a block pages of its own; elsewhere nothing happens.

    Left alone, glibc raises that size to the largest block that was ever freed. Then the states of all worlds come from
    one heap, in whose gaps smaller things settle: 300 MB more after 30 scenes, which no garbage collector finds.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
