"""Open3D (0.20) for what `toolhand.tool_nodes.clouds` does: the smallest box; and its window."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from toolhand.tool_nodes.clouds.boxes import SIGNS
from toolhand.tool_nodes.clouds.checking import finite_points
from toolhand.tool_nodes.clouds.files import ColouredCloud
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import invalid, unavailable, words_of
from toolhand.tool_nodes.types import FloatArray


def library() -> Any:
    """The package open3d, quiet. Raises ToolError UNAVAILABLE, with the command that installs it."""
    try:
        import open3d
    except ImportError as error:
        raise unavailable(
            f"Open3D cannot be imported: {words_of(error)}.",
            f"Install it with: {install_extra('open3d')}; a library lib....so that it misses is the system's "
            "(apt install libusb-1.0-0 libgl1 libegl1 libgomp1).",
        ) from error
    open3d.utility.set_verbosity_level(open3d.utility.VerbosityLevel.Error)
    return open3d


class Open3dBoxes:
    """The port BoxFitter with Open3D's smallest box. Raises ToolError UNAVAILABLE where it is not installed."""

    backend = "open3d"

    def __init__(self) -> None:
        library()

    def box(
        self, points: FloatArray, around: FloatArray | None = None, pixel: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """See ports.BoxFitter; what is around is not looked at."""
        return smallest_box(points)


def smallest_box(cloud: Any) -> tuple[FloatArray, FloatArray]:
    """As `toolhand.tool_nodes.clouds.boxes.smallest_box`, by Open3D."""
    open3d = library()
    points = finite_points(cloud, 4)
    try:
        found = open3d.geometry.OrientedBoundingBox.create_from_points_minimal(
            open3d.utility.Vector3dVector(points), robust=True
        )
    except RuntimeError as error:
        raise invalid(f"Open3D finds no box around the points: {words_of(error)}.") from error
    if not np.any(found.extent):
        raise invalid("Open3D finds no box around points that lie in one plane.")
    order = np.argsort(-np.asarray(found.extent), kind="stable")
    extent, axes = np.asarray(found.extent)[order], np.asarray(found.R).T[order]
    if np.linalg.det(axes) < 0.0:
        axes[2] = -axes[2]
    return np.asarray(found.center) + (SIGNS * extent / 2.0) @ axes, extent


def show(clouds: Sequence[ColouredCloud], title: str) -> None:
    """Show clouds in Open3D's window, until it is closed. Raises ToolError UNAVAILABLE where none can be opened."""
    open3d = library()
    screen = not sys.platform.startswith("linux") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    window = open3d.visualization.Visualizer() if screen else None  # without a screen it was seen to hang
    if window is None or not window.create_window(window_name=title):
        raise unavailable("Open3D cannot open a window here.", "Open the PLY files with a viewer elsewhere.")
    for cloud in clouds:
        window.add_geometry(_cloud(open3d, cloud.points, cloud.colours))
    window.run()
    window.destroy_window()


def _cloud(open3d: Any, points: FloatArray, colours: Any = None) -> Any:
    made = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    if colours is not None:
        if np.shape(colours) != points.shape:
            raise invalid(f"Colours must be {points.shape}, not {np.shape(colours)}.")
        made.colors = open3d.utility.Vector3dVector(np.asarray(colours, float) / 255.0)
    return made
