"""Tensors in safetensors files: a header of JSON, then plain float32.

Reading the format takes a few lines, so that the core needs no package for it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tool_nodes import plain_json
from tool_nodes.files import read_file, write_whole
from tool_nodes.results import unavailable

Tensors = Mapping[str, NDArray[np.float32]]
"""By name."""


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write a file, whole or not at all; `metadata` goes into its header. Raises OSError."""
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    blobs, at = [], 0
    for name in sorted(tensors):
        blob = np.ascontiguousarray(tensors[name], "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_whole(path, len(text).to_bytes(8, "little") + text + b"".join(blobs))


def read_tensors(path: Path, max_bytes: int) -> tuple[dict[str, NDArray[np.float32]], dict[str, str]]:
    """(tensors by name, metadata of the header) of a file of `write_tensors`.

    Raises:
        OSError: It cannot be read.
        ValueError, KeyError, TypeError, AttributeError: It is too large, damaged, no such file, or holds values that
            are no numbers; the words say which.
    """
    data = read_file(path, max_bytes)
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= len(data) - 8:
        raise ValueError("it is cut short, or no safetensors file")
    header, body = plain_json.load(data[8 : 8 + size]), memoryview(data)[8 + size :]
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if entry["dtype"] != "F32" or not 0 <= begin <= end <= len(body) or end - begin != 4 * math.prod(shape):
            raise ValueError(f"its tensor {name!r} does not fit")
        tensors[name] = np.frombuffer(body[begin:end], "<f4").reshape(shape).astype(np.float32)
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"its tensor {name!r} has values that are no numbers")
    return tensors, dict(metadata)


def require_shipped(path: Path, sha256: str, whose: str) -> None:
    """Check weights that come with the package. Raises ToolError UNAVAILABLE where they are missing or others."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise unavailable(f"The weights of the {whose} are missing: {error}.") from error
    if found != sha256:
        raise unavailable(f"The weights of the {whose} are not those that came with it: another checksum.")
