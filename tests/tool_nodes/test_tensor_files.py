"""Headers of safetensors files: what the format's own reader takes is taken, and nothing unfolds to more than that."""

import io
import json
from typing import Any

import pytest

from toolhand.tool_nodes.tensor_files import read_header

safetensors = pytest.importorskip("safetensors")


def file(header: Any, body: int) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(body)


def tensor(begin: Any, end: Any, shape: Any = None, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [(end - begin) // 4] if shape is None else shape, "data_offsets": [begin, end]}


FILES: dict[str, tuple[bytes, str]] = {
    "side by side, out of order": (file({"b": tensor(8, 16), "a": tensor(0, 8)}, 16), ""),
    "empty tensors": (file({"a": tensor(0, 0, [0, 3]), "b": tensor(0, 4), "c": tensor(4, 4, [0])}, 4), ""),
    "no tensors": (file({"__metadata__": {"format": "pt"}}, 0), ""),
    "a single number": (file({"a": tensor(0, 2, [], "BF16")}, 2), ""),
    "the same bytes twice": (file({"a": tensor(0, 8), "b": tensor(0, 8)}, 8), "overlaps with another one"),
    "bytes in common": (file({"a": tensor(0, 8), "b": tensor(4, 12)}, 12), "overlaps with another one"),
    "a hole": (file({"a": tensor(0, 4), "b": tensor(8, 12)}, 12), "does not begin where the one before it ends"),
    "a hole at the beginning": (file({"a": tensor(4, 8)}, 8), "does not begin where the one before it ends"),
    "bytes that belong to none": (file({"a": tensor(0, 4)}, 8), "and its header says"),
    "bytes that are not there": (file({"a": tensor(0, 8)}, 4), "and its header says"),
    "another shape": (file({"a": tensor(0, 8, [3])}, 8), "'a' does not fit"),
    "another type": (file({"a": tensor(0, 8, [2], "F64")}, 8), "'a' does not fit"),
    "no type": (file({"a": tensor(0, 8, [2], "F33")}, 8), "'a' does not fit"),
    "less than nothing": (file({"a": tensor(0, 4, [-1, -1])}, 4), "described as no safetensors header"),
    "backwards": (file({"a": tensor(4, 0, [1])}, 4), "'a' does not fit"),
    "a word for a number": (file({"a": tensor(0, "4", [1])}, 4), "described as no safetensors header"),
    "no description": (file({"a": 7}, 0), "described as no safetensors header"),
    "a list": (file([], 0), "its header is no safetensors header"),
    "metadata of numbers": (file({"__metadata__": {"a": 1}}, 0), "its header is no safetensors header"),
    "no JSON": (file(b"nope", 0), "it is no JSON"),
    "cut short": (b"\x10\0\0\0\0\0\0\0{}", "it is cut short"),
    "no bytes": (b"", "it is cut short"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_is_taken_exactly_where_the_formats_own_reader_takes_it(what: str) -> None:
    content, said = FILES[what]
    try:
        safetensors.deserialize(content)
        taken = True
    except safetensors.SafetensorError:
        taken = False
    assert taken is not bool(said)
    if not said:
        read_header(io.BytesIO(content), len(content))
        return
    with pytest.raises(ValueError, match=said):
        read_header(io.BytesIO(content), len(content))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"{" + b" " * 33 * 2**20 + b"}", "its header has 34,603,010 bytes"),
        (json.dumps({str(k): tensor(0, 0, [0]) for k in range(100_001)}).encode(), "it has 100,001 tensors"),
        (json.dumps({"a": tensor(0, 0, [0] * 17)}).encode(), "described as no safetensors header"),
        (json.dumps({"a" * 10_000: tensor(4, 8)}).encode(), r"aaa\.\.\.' does not begin"),
    ],
)
def test_what_a_header_may_hold_is_bounded(header: bytes, said: str) -> None:
    content = file(header, 8)
    with pytest.raises(ValueError, match=said) as caught:
        read_header(io.BytesIO(content), len(content))
    assert len(str(caught.value)) < 300
