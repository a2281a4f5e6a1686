"""What arrays and plain values are known by in another process: a hash of all that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import xxhash


def content_key(*parts: Any) -> bytes:
    """16 bytes (xxh3-128) of arrays, with their shapes and types, and of plain values.

    About 0.3 ms for the 2.5 MB of a 640x480 frame. It keeps apart what differs by accident, not what is forged.
    """
    content = xxhash.xxh3_128()
    for part in parts:
        if isinstance(part, np.ndarray):
            content.update(f"{part.dtype.str}{part.shape}".encode())
            content.update(np.ascontiguousarray(part).data)
        else:
            content.update(repr(part).encode())
    return content.digest()
