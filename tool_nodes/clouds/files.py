"""Clouds as files: PLY and PCD, which viewers of point clouds read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.clouds.checking import MOST_POINTS, finite_points
from toolhand.tool_nodes.files import GIB, read_file, why, write_whole
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

SUFFIXES = (".ply", ".pcd")

_LONGEST_HEADER = 16_384
"""Bytes within which a header must end: real ones have some 500."""
_MOST_BYTES = GIB
"""Largest file that is read [bytes]: 64 bytes for each of the most points, and more."""

_PLY_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
"""Numbers of a PLY file by their names, old and new."""


@dataclass(frozen=True)
class ColouredCloud:
    """Points (N, 3) of a file [m], and their colours, uint8 (N, 3) RGB, where it has them."""

    points: FloatArray
    colours: NDArray[np.uint8] | None = None


def write_cloud(path: Path, cloud: Any, colours: Any = None) -> None:
    """Write a cloud as binary PLY or PCD, by the file's suffix, as a whole or not at all.

    Args:
        path: Ends with .ply or .pcd.
        cloud: (N, 3) points [m]; what is not finite is left out.
        colours: uint8 (N, 3) RGB of all points; none where None.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no cloud, other colours, another suffix, or where it cannot be written.
    """
    kind = require_suffix(path)
    points = finite_points(cloud)
    fields: list[tuple[str, str]] = [(axis, "<f4") for axis in "xyz"]
    shades = None if colours is None else _shades(cloud, colours)
    if shades is not None:
        fields += [(name, "u1") for name in ("red", "green", "blue")] if kind == "ply" else [("rgb", "<u4")]
    rows = np.zeros(len(points), np.dtype(fields))
    for index, axis in enumerate("xyz"):
        rows[axis] = points[:, index]
    if shades is not None and kind == "ply":
        for index, name in enumerate(("red", "green", "blue")):
            rows[name] = shades[:, index]
    elif shades is not None:
        rows["rgb"] = shades.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    header = _ply_header(rows) if kind == "ply" else _pcd_header(rows)
    try:
        write_whole(path, header.encode("ascii") + rows.tobytes())
    except OSError as error:
        raise invalid(f"{path} cannot be written: {why(error)}.") from error


def read_cloud(path: Path) -> ColouredCloud:
    """The cloud of a PLY or PCD file; points that are not finite are left out.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is missing, too large, cut short, of another format, or empty.
    """
    kind = require_suffix(path)
    try:
        content = read_file(path, _MOST_BYTES)
    except OSError as error:
        raise invalid(f"{path} cannot be read: {why(error)}.") from error
    try:
        rows = _read_ply(content) if kind == "ply" else _read_pcd(content)
        points = np.column_stack([rows[axis].astype(float) for axis in "xyz"])
        colours = _colours(rows)
    except ToolError as error:
        raise invalid(f"{path}: {error.message}", error.hint) from error
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise invalid(f"{path} is no {kind.upper()} file with x, y and z: {error}.") from error
    kept = np.isfinite(points).all(axis=1)
    return ColouredCloud(finite_points(points, 1, str(path)), None if colours is None else colours[kept])


def require_suffix(path: Path) -> str:
    """The kind of a cloud's file, "ply" or "pcd". Raises ToolError INVALID_ARGUMENT for another suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise invalid(f"A cloud's file must end with {' or '.join(SUFFIXES)}, not {path.name!r}.")
    return path.suffix.lower()[1:]


def _shades(cloud: Any, colours: Any) -> NDArray[np.uint8]:
    """Colours (N, 3) of the finite points."""
    shades = np.asarray(colours)
    if shades.dtype != np.uint8 or shades.shape != np.shape(cloud):
        raise invalid(f"Colours must be uint8 {np.shape(cloud)}, not {shades.dtype} {shades.shape}.")
    return shades[np.isfinite(np.asarray(cloud)).all(axis=1)]


def _ply_header(rows: NDArray[Any]) -> str:
    properties = "".join(
        f"property {'float' if rows.dtype[name].kind == 'f' else 'uchar'} {name}\n" for name in rows.dtype.names or ()
    )
    return f"ply\nformat binary_little_endian 1.0\nelement vertex {len(rows)}\n{properties}end_header\n"


def _pcd_header(rows: NDArray[Any]) -> str:
    names = rows.dtype.names or ()
    kinds = " ".join("F" for _ in names)  # colours, too: PCL packs them into the bits of a float
    ones = " ".join("1" for _ in names)
    return (
        f"# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {' '.join(names)}\n"
        f"SIZE {' '.join('4' for _ in names)}\nTYPE {kinds}\nCOUNT {ones}\nWIDTH {len(rows)}\nHEIGHT 1\n"
        f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(rows)}\nDATA binary\n"
    )


def _header(content: bytes, last: str) -> tuple[list[list[str]], bytes]:
    """The words of each line of a header up to the one that begins with `last`, and what follows it."""
    lines, at = [], 0
    while (end := content.find(b"\n", at, _LONGEST_HEADER)) >= 0:
        words = content[at:end].decode("ascii").split()
        at = end + 1
        lines.append(words)
        if words[:1] == [last]:
            return lines, content[at:]
    raise invalid(f"its header has no line {last}.")


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and int(word) <= MOST_POINTS):
        raise invalid(f"it says that it has {word[:20]} points; there may be at most {MOST_POINTS}.")
    return int(word)


def _table(body: bytes, dtype: np.dtype[Any], n: int, text: bool) -> NDArray[Any]:
    """The first n rows of a file's body."""
    if text:
        numbers = np.array(body.split()[: n * len(dtype.names or ())], float).reshape(n, -1)
        rows = np.zeros(n, dtype)
        for index, name in enumerate(dtype.names or ()):
            kind = dtype[name].kind
            rows[name] = numbers[:, index] if kind == "f" else np.clip(numbers[:, index], 0, np.iinfo(dtype[name]).max)
        return rows
    if len(body) < n * dtype.itemsize:
        raise invalid(f"it is cut short: {n} points of {dtype.itemsize} bytes are more than {len(body)} bytes.")
    return np.frombuffer(body, dtype, n)


def _read_ply(content: bytes) -> NDArray[Any]:
    if not content.startswith((b"ply\n", b"ply\r\n")):
        raise invalid("it does not begin with ply.")
    lines, body = _header(content, "end_header")
    form = next((words[1] for words in lines if words[:1] == ["format"]), "")
    orders = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
    if form not in orders:
        raise invalid(f"its format {form[:20]!r} is not {', '.join(orders)}.")
    elements = [index for index, words in enumerate(lines) if words[:1] == ["element"]]
    if not elements or lines[elements[0]][1] != "vertex":
        raise invalid("its first element is not vertex.")
    own = lines[elements[0] + 1 : ([*elements, len(lines)])[1]]
    fields = []
    for words in own:
        if words[:1] == ["property"]:
            if len(words) != 3 or words[1] not in _PLY_TYPES:
                raise invalid(f"its vertices have the property {' '.join(words[1:])[:40]!r}, which no point has.")
            fields.append((words[2], orders[form] + _PLY_TYPES[words[1]]))
    return _table(body, np.dtype(fields), _count(lines[elements[0]][2]), form == "ascii")


def _read_pcd(content: bytes) -> NDArray[Any]:
    lines, body = _header(content, "DATA")
    said = {words[0]: words[1:] for words in lines if words and not words[0].startswith("#")}
    data = said["DATA"][0]
    if data not in ("ascii", "binary"):
        raise invalid(f"its data is {data[:20]!r}, not ascii or binary.", "Save it uncompressed.")
    kinds = {"F": "f", "U": "u", "I": "i"}
    counts = said.get("COUNT", ["1"] * len(said["FIELDS"]))
    fields: list[Any] = []
    for index, (name, size, kind, count) in enumerate(
        zip(said["FIELDS"], said["SIZE"], said["TYPE"], counts, strict=True)
    ):
        if count != "1" and (data == "ascii" or not count.isdecimal() or int(count) > 4096):
            raise invalid(f"its field {name[:20]} has {count[:20]} numbers.")
        shape = () if count == "1" else (int(count),)
        fields.append((name if name != "_" else f"_{index}", f"<{kinds[kind]}{int(size)}", shape))
    return _table(body, np.dtype(fields), _count(said["POINTS"][0]), data == "ascii")


def _colours(rows: NDArray[Any]) -> NDArray[np.uint8] | None:
    names = rows.dtype.names or ()
    if {"red", "green", "blue"} <= set(names) and rows.dtype["red"] == np.uint8:
        return np.column_stack([rows[name] for name in ("red", "green", "blue")])
    if "rgb" in names and rows.dtype["rgb"].itemsize == 4:
        packed = np.ascontiguousarray(rows["rgb"]).view("<u4")
        return np.column_stack([(packed >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)])
    return None
