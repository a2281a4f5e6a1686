"""Reads the binary PLY files of clouds that this project writes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_TYPES = {b"float": "<f4", b"uchar": "u1"}


def read_ply(path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Points (N, 3), and colours (N, 3) RGB, or (N, 0) without."""
    header, body = path.read_bytes().split(b"end_header\n", 1)
    fields = [line.split()[1:] for line in header.splitlines() if line.startswith(b"property")]
    rows = np.frombuffer(body, np.dtype([(name.decode(), _TYPES[kind]) for kind, name in fields]))
    assert f"element vertex {len(rows)}".encode() in header.splitlines()
    names = list(rows.dtype.names or ())
    colours = [rows[name] for name in ("red", "green", "blue") if name in names]
    points = np.column_stack([rows[axis] for axis in "xyz"])
    return points, np.column_stack(colours) if colours else np.empty((len(rows), 0), np.uint8)
