"""Files that are whole or as they were before."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes, durable: bool = False) -> None:
    """Write a file that is either complete or, on any fault, as it was before; its folder is made if needed.

    Args:
        path: Of the file.
        content: All of it.
        durable: It outlasts a power cut too, which takes longer.

    Raises:
        OSError: It cannot be written, e.g. on a full disk; nothing is left of it then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(content)
        if durable:
            _sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    if durable:
        _sync(path.parent)  # the name lasts as long as what it names


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
