"""Headers of safetensors files: JSON, before plain numbers.

Reading the format takes a few lines, so that the core needs no package for it. The header is checked as the format says
(https://github.com/huggingface/safetensors#format) before a tensor is read: the tensors lie one after the other without
overlap or hole, so that what they unfold to is never larger than the file.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB
from toolhand.tool_nodes.results import unavailable

_LONGEST_HEADER = 32 * MIB
"""Longest header that is read [bytes]: ten times what the largest published shards have; the format allows 100 MB."""
_MOST_TENSORS = 100_000
"""Most tensors of a file [-]: ten times what a shard of the largest published mixtures of experts has."""
_MOST_AXES = 16
"""Most axes of a tensor [-]; models have up to five."""
_BITS = (
    {"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16}
    | {"I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64, "C64": 64}
    | {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
)
"""Size of a value of each type of the format [bits]."""


class Span(NamedTuple):
    """Where a tensor lies.

    Attributes:
        dtype: Type as the format writes it.
        shape: Its shape.
        begin, end: Its bytes after the header.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(file: BinaryIO, size: int) -> tuple[dict[str, Span], dict[str, str]]:
    """(where each tensor lies, metadata) of a safetensors file; no tensor is read.

    Args:
        file: The file, at its beginning; it stands behind the header afterwards.
        size: Its length [bytes].

    Raises:
        OSError: It cannot be read.
        ValueError: It is no such file, damaged, or has too large a header; the words say which, as a sentence ends.
    """
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= size - 8:
        raise ValueError("it is cut short, or no safetensors file")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length:,} bytes, and {_LONGEST_HEADER:,} are allowed")
    header = plain_json.load(file.read(length))
    metadata = header.pop("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its header is no safetensors header")
    if len(header) > _MOST_TENSORS:
        raise ValueError(f"it has {len(header):,} tensors, and {_MOST_TENSORS:,} are allowed")
    spans = {name: _span(name, entry) for name, entry in header.items()}
    at = 0
    for name, span in sorted(spans.items(), key=lambda item: (item[1].begin, item[1].end)):
        if span.begin != at:
            what = "overlaps with another one" if span.begin < at else "does not begin where the one before it ends"
            raise ValueError(f"its tensor {_short(name)} {what}")
        at = span.end
    if size != 8 + length + at:
        raise ValueError(f"it has {size:,} bytes, and its header says {8 + length + at:,}")
    return spans, metadata


def _span(name: str, entry: Any) -> Span:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"its tensor {_short(name)} is described as no safetensors header does it") from None
    whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    if not isinstance(dtype, str) or not whole or len(shape) > _MOST_AXES:
        raise ValueError(f"its tensor {_short(name)} is described as no safetensors header does it")
    if dtype not in _BITS or begin > end or 8 * (end - begin) != _BITS[dtype] * math.prod(shape):
        raise ValueError(f"its tensor {_short(name)} does not fit")
    return Span(dtype, shape, begin, end)


def _short(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")


def require_shipped(path: Path, sha256: str, whose: str) -> None:
    """Check weights that come with the package. Raises ToolError UNAVAILABLE where they are missing or others."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise unavailable(f"The weights of the {whose} are missing: {error}.") from error
    if found != sha256:
        raise unavailable(f"The weights of the {whose} are not those that came with it: another checksum.")
