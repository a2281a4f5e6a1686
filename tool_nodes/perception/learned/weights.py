"""Weights of the learned pointer as a safetensors file: a header of JSON with the vocabulary, then plain float32.

Reading the format takes a few lines, so that the core needs no package for it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from tool_nodes.files import write_whole
from tool_nodes.perception.learned.forward import PointerForward, Weights, layer_shapes
from tool_nodes.results import ErrorCode, ToolError

SHIPPED = Path(__file__).with_name("pointer.safetensors")
"""The weights that come with the package; pointer.md beside it is their model card."""

SHIPPED_SHA256 = "8bfd76d3bacc5d96ee86748a1781b7476cceab074efa1f39dba1084a14236bfc"
"""Of that file."""

MAX_BYTES = 2_000_000
"""Largest file that is read [bytes]: a limit of the package, four times what the network has."""

CALIBRATED = ("thing", "side", "beside", "colour")
"""What certainties are told of: things by words, one of several by a side, one beside another thing; things by words
in a picture without depth."""


def uncalibrated() -> dict[str, tuple[float, float]]:
    """Certainties that are the plain sigmoids of the scores."""
    return dict.fromkeys(CALIBRATED, (1.0, 0.0))


@dataclass(frozen=True, eq=False)
class PointerWeights:
    """A trained pointer.

    Attributes:
        tensors: By name, float32.
        words, heads: What it has learned to read.
        calibration: For each of CALIBRATED (a, b): a score's certainty is 1 / (1 + exp(-(a * score + b))).
        about: How it was made, for its model card.
    """

    tensors: Weights
    words: tuple[str, ...]
    heads: tuple[str, ...]
    calibration: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: dict.fromkeys(CALIBRATED, (1.0, 0.0))
    )
    about: str = ""

    @property
    def network(self) -> PointerForward:
        """The network, ready to be asked."""
        return PointerForward(self.tensors, self.words, self.heads)


def write_weights(weights: PointerWeights, path: Path) -> None:
    """Write a safetensors file, whole or not at all. Raises OSError."""
    header: dict[str, object] = {
        "__metadata__": {
            "words": json.dumps(weights.words),
            "heads": json.dumps(weights.heads),
            "calibration": json.dumps({name: list(pair) for name, pair in weights.calibration.items()}),
            "about": weights.about,
        }
    }
    blobs, at = [], 0
    for name in sorted(weights.tensors):
        blob = np.ascontiguousarray(weights.tensors[name], "<f4").tobytes()
        header[name] = {
            "dtype": "F32", "shape": list(weights.tensors[name].shape), "data_offsets": [at, at + len(blob)]
        }  # fmt: skip
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_whole(path, len(text).to_bytes(8, "little") + text + b"".join(blobs))


def read_weights(path: Path) -> PointerWeights:
    """A file of `write_weights`.

    Raises:
        ToolError: INVALID_ARGUMENT where it cannot be read, is damaged, or is of another network.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
        return _parsed(path.read_bytes())
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(path, str(error) or type(error).__name__) from error


def _bad(path: Path, why: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENT, f"{path} is no pointer's weights: {why}.", "toolhand train pointer makes them."
    )


def _parsed(data: bytes) -> PointerWeights:
    size = int.from_bytes(data[:8], "little")
    if not 2 <= size <= len(data) - 8:
        raise ValueError("it is cut short, or no safetensors file")
    header, body = json.loads(data[8 : 8 + size]), memoryview(data)[8 + size :]
    told = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if entry["dtype"] != "F32" or not 0 <= begin <= end <= len(body) or end - begin != 4 * math.prod(shape):
            raise ValueError(f"its tensor {name!r} does not fit")
        tensors[name] = np.frombuffer(body[begin:end], "<f4").reshape(shape).astype(np.float32)
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"its tensor {name!r} has values that are no numbers")
    words, heads = tuple(json.loads(told["words"])), tuple(json.loads(told["heads"]))
    calibration = {name: (float(a), float(b)) for name, (a, b) in json.loads(told["calibration"]).items()}
    wrong = [
        name for name, shape in layer_shapes(len(words), len(heads)).items()
        if name not in tensors or tensors[name].ndim != len(shape)
        or any(want not in (None, have) for want, have in zip(shape, tensors[name].shape, strict=True))
    ]  # fmt: skip
    if wrong or set(calibration) != set(CALIBRATED):
        raise ValueError(f"it is of another network ({', '.join(wrong[:3]) or 'calibration'})")
    return PointerWeights(tensors, words, heads, calibration, told.get("about", ""))


@cache
def shipped_weights() -> PointerWeights:
    """The weights that come with the package.

    Raises:
        ToolError: UNAVAILABLE where they are missing or not what was shipped.
    """
    try:
        found = hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    except OSError as error:
        raise ToolError(ErrorCode.UNAVAILABLE, f"The weights of the learned pointer are missing: {error}.") from error
    if found != SHIPPED_SHA256:
        raise ToolError(
            ErrorCode.UNAVAILABLE,
            "The weights of the learned pointer are not those that came with it: another checksum.",
        )
    return read_weights(SHIPPED)
