"""Open3D (0.20) for what `toolhand.tool_nodes.clouds` does: the smallest box, alignment, files; and its window."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.clouds.alignment import FEWEST, Alignment, no_partner, require_reach
from toolhand.tool_nodes.clouds.boxes import SIGNS
from toolhand.tool_nodes.clouds.checking import finite_points, rigid_transform
from toolhand.tool_nodes.clouds.files import ColouredCloud, require_suffix
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import invalid, unavailable
from toolhand.tool_nodes.types import FloatArray

_NEIGHBOURS = 12
"""Points that a normal is fitted to [points]; as `toolhand.tool_nodes.clouds.alignment` has it."""
_STEPS = 50
"""Most iterations [-]; likewise."""


def library() -> Any:
    """The package open3d, quiet. Raises ToolError UNAVAILABLE, with the command that installs it."""
    try:
        import open3d
    except ImportError as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise unavailable(
            f"Open3D cannot be imported: {reason}.",
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
        raise invalid(f"Open3D finds no box around the points: {_line(error)}.") from error
    if not np.any(found.extent):
        raise invalid("Open3D finds no box around points that lie in one plane.")
    order = np.argsort(-np.asarray(found.extent), kind="stable")
    extent, axes = np.asarray(found.extent)[order], np.asarray(found.R).T[order]
    if np.linalg.det(axes) < 0.0:
        axes[2] = -axes[2]
    return np.asarray(found.center) + (SIGNS * extent / 2.0) @ axes, extent


def aligned(source: Any, target: Any, reach_m: float, T: Any = None) -> Alignment:
    """As `toolhand.tool_nodes.clouds.alignment.aligned`, by Open3D's point-to-plane registration."""
    open3d = library()
    require_reach(reach_m)
    moved = _cloud(open3d, finite_points(source, FEWEST, "The source cloud"))
    fixed = _cloud(open3d, finite_points(target, FEWEST, "The target cloud"))
    guess = np.eye(4) if T is None else rigid_transform(T, "The first guess")
    fixed.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(knn=_NEIGHBOURS))
    registration = open3d.pipelines.registration
    found = registration.registration_icp(
        moved,
        fixed,
        reach_m,
        guess,
        registration.TransformationEstimationPointToPlane(),
        registration.ICPConvergenceCriteria(max_iteration=_STEPS),
    )
    pairs = len(found.correspondence_set)
    if pairs < FEWEST:
        raise no_partner(pairs, reach_m)
    return Alignment(np.asarray(found.transformation), float(found.fitness), float(found.inlier_rmse))


def read_cloud(path: Path) -> ColouredCloud:
    """As `toolhand.tool_nodes.clouds.files.read_cloud`, by Open3D, which reads compressed PCD files as well."""
    open3d = library()
    require_suffix(path)
    if not path.is_file():
        raise invalid(f"{path} cannot be read: there is no such file.")
    found = open3d.io.read_point_cloud(str(path), remove_nan_points=True, remove_infinite_points=True)
    points = finite_points(np.asarray(found.points), 1, str(path))
    colours = np.rint(np.asarray(found.colors) * 255.0).astype(np.uint8) if found.has_colors() else None
    return ColouredCloud(points, colours)


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


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")
