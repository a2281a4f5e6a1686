"""Large blocks of memory go back to the system when they are freed, so that a worker of many episodes stays small."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

_M_MMAP_THRESHOLD = -3
"""The parameter's number in glibc's malloc.h."""
_LARGE_BYTES = 8 << 20
"""A block of this size has pages of its own [bytes]: less than MuJoCo's states (17 MB, hardly touched), more than most
images, which would be slower so."""


def give_back_large_blocks() -> None:
    """Fix from which size on glibc gives a block pages of its own; elsewhere nothing happens.

    Left alone, glibc raises that size to the largest block that was ever freed. Then the states of all worlds come from
    one heap, in whose gaps smaller objects settle: 300 MB more after 30 scenes, which no garbage collector finds.
    """
    mallopt = _of_malloc("mallopt")
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def give_back_free_memory() -> None:
    """Give the pages of freed blocks, mostly of images, back to the system; without glibc nothing happens.

    For between episodes: glibc itself keeps them, 100 MB and more after images of several sizes were read.
    """
    trim = _of_malloc("malloc_trim")
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _of_malloc(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
