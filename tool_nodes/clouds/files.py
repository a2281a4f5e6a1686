"""Clouds as PLY files, which viewers of point clouds read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.clouds.checking import finite_points
from toolhand.tool_nodes.files import why, write_whole
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray


@dataclass(frozen=True)
class ColouredCloud:
    """Points (N, 3) [m], and their colours, uint8 (N, 3) RGB, where they have them."""

    points: FloatArray
    colours: NDArray[np.uint8] | None = None


def write_cloud(path: Path, cloud: Any, colours: Any = None) -> None:
    """Write a cloud as binary PLY, as a whole or not at all.

    Args:
        path: The file.
        cloud: (N, 3) points [m]; what is not finite is left out.
        colours: uint8 (N, 3) RGB of all points; none where None.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no cloud, other colours, or where it cannot be written.
    """
    points = finite_points(cloud)
    fields: dict[str, tuple[str, str, NDArray[Any]]]
    fields = {axis: ("float", "<f4", points[:, index]) for index, axis in enumerate("xyz")}
    if colours is not None:
        shades = _shades(cloud, colours)
        fields |= {name: ("uchar", "u1", shades[:, index]) for index, name in enumerate(("red", "green", "blue"))}
    rows = np.zeros(len(points), np.dtype([(name, dtype) for name, (_, dtype, _) in fields.items()]))
    for name, (_, _, column) in fields.items():
        rows[name] = column
    properties = "".join(f"property {kind} {name}\n" for name, (kind, _, _) in fields.items())
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(rows)}\n{properties}end_header\n"
    try:
        write_whole(path, header.encode("ascii") + rows.tobytes())
    except OSError as error:
        raise invalid(f"{path} cannot be written: {why(error)}.") from error


def _shades(cloud: Any, colours: Any) -> NDArray[np.uint8]:
    """Colours (N, 3) of the finite points."""
    shades = np.asarray(colours)
    if shades.dtype != np.uint8 or shades.shape != np.shape(cloud):
        raise invalid(f"Colours must be uint8 {np.shape(cloud)}, not {shades.dtype} {shades.shape}.")
    return shades[np.isfinite(np.asarray(cloud)).all(axis=1)]
