"""Table and objects of a recording as markers, for a viewer's 3D panel: what the robot saw, and what was true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, invert, transform
from toolhand.tool_nodes.perception.obstacles import fit_obstacles
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import Box, FloatArray, Frame

SEEN, TRUTH = "/toolhand/seen", "/sim/truth"
"""Topics: boxes that the motion tools fit to a camera's depth; the simulator's own geometry, which no tool reads."""

ShapeKind = Literal["box", "sphere", "cylinder", "triangles"]

_KINDS: dict[ShapeKind, int] = {"box": 1, "sphere": 2, "cylinder": 3, "triangles": 11}
"""visualization_msgs/Marker: CUBE, SPHERE, CYLINDER, TRIANGLE_LIST."""
_ADD, _DELETE_ALL = 0, 3
"""visualization_msgs/Marker: actions."""
_TABLE_M = 0.01
"""Thickness of the table as it is drawn where it was only seen from above [m]; chosen to look at."""
_TABLE_RGBA = (0.6, 0.55, 0.5, 0.5)
"""Colour of the table, half transparent, each in [0, 1]."""
_SEEN_ALPHA = 0.6
"""Opacity of what was seen [-]: what is true shows through; chosen to look at."""
_UNSEEN_RGB = (0.6, 0.6, 0.6)
"""Of a box in which the image has no pixel."""
_STEP = 4
"""Step along rows and columns between the pixels that give a box its colour [px]."""


@dataclass(frozen=True)
class Shape:
    """A solid in a frame of its own.

    Attributes:
        name: Name of its object, e.g. "red_box_1"; shapes of a name share a namespace.
        kind: A box, an ellipsoid ("sphere"), an upright cylinder, or triangles.
        size: (3,) whole extents along its axes [m]; of triangles, factors of their corners.
        rgba: (4,) colour and opacity, 0..1.
        corners: (3 T, 3) of its T triangles, counter-clockwise seen from outside [m]; none for other kinds.
    """

    name: str
    kind: ShapeKind
    size: tuple[float, float, float]
    rgba: tuple[float, float, float, float]
    corners: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class TruthLog:
    """Where shapes were, by the simulator.

    Attributes:
        times: (N,) [s], on the recorder's clock, not decreasing.
        positions: (N, S, 3) of their centres in the base frame [m].
        quats_wxyz: (N, S, 4) of their axes.
    """

    times: FloatArray
    shapes: Sequence[Shape]
    positions: FloatArray
    quats_wxyz: FloatArray

    def __post_init__(self) -> None:
        shape = (len(self.times), len(self.shapes))
        if self.positions.shape != (*shape, 3) or self.quats_wxyz.shape != (*shape, 4):
            raise invalid(
                f"Places of {shape[1]} shapes at {shape[0]} times must be {(*shape, 3)} and {(*shape, 4)}, got "
                f"{self.positions.shape} and {self.quats_wxyz.shape}."
            )


def seen_markers(now_ns: int, frame: Frame, base_frame: str) -> bytes:
    """A MarkerArray of the table and of the boxes that the motion tools avoid by this image.

    Args:
        now_ns: Time of the message [ns].
        frame: An image with depth.
        base_frame: Name of the frame that the boxes are in.

    Raises:
        ToolError: NO_DEPTH for an image without depth.
    """
    boxes = fit_obstacles(frame)
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    centre = ((x0 + x1) / 2, (y0 + y1) / 2, workspace.TABLE_Z - _TABLE_M / 2)
    table = Shape("table", "box", (x1 - x0, y1 - y0, _TABLE_M), _TABLE_RGBA)
    head = ros.header(now_ns, base_frame)
    markers = [ros.message(ros.MARKER, header=head, action=_DELETE_ALL)]
    markers.append(_marker(head, table, 0, np.array(centre), np.array([1.0, 0.0, 0.0, 0.0])))
    for number, (box, rgb) in enumerate(zip(boxes, _colours(frame, boxes), strict=True)):
        width, depth, height = (2 * box.half_extents).tolist()
        shape = Shape("objects", "box", (width, depth, height), (*rgb, _SEEN_ALPHA))
        quat = Rotation.from_matrix(box.T_parent_box[:3, :3]).as_quat(scalar_first=True)
        markers.append(_marker(head, shape, number, box.T_parent_box[:3, 3], quat))
    return ros.packet(ros.MARKER_ARRAY, markers=markers)


def truth_markers(log: TruthLog, base_frame: str) -> list[tuple[int, bytes]]:
    """(time [ns], MarkerArray) of each logged time: everything at the first, later what has moved since."""
    found: list[tuple[int, bytes]] = []
    shown: list[tuple[bytes, bytes] | None] = [None] * len(log.shapes)
    for time, places, quats in zip(log.times, log.positions, log.quats_wxyz, strict=True):
        now = round(float(time) * 1e9)
        head, markers = ros.header(now, base_frame), []
        for k, shape in enumerate(log.shapes):
            key = places[k].round(4).tobytes(), quats[k].round(3).tobytes()
            if shown[k] != key:
                shown[k] = key
                markers.append(_marker(head, shape, k, places[k], quats[k]))
        if markers:
            found.append((now, ros.packet(ros.MARKER_ARRAY, markers=markers)))
    return found


def _marker(head: Any, shape: Shape, number: int, place: FloatArray, quat_wxyz: FloatArray) -> Any:
    marker = ros.message(
        ros.MARKER, header=head, ns=ros.ros_text(shape.name), id=number, type=_KINDS[shape.kind], action=_ADD
    )
    at, turn = marker.pose.position, marker.pose.orientation
    at.x, at.y, at.z = (float(value) for value in place)
    turn.w, turn.x, turn.y, turn.z = (float(value) for value in quat_wxyz)
    marker.scale.x, marker.scale.y, marker.scale.z = shape.size
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = shape.rgba
    marker.points = [ros.message(ros.POINT, x=x, y=y, z=z) for x, y, z in shape.corners]
    return marker


def _colours(frame: Frame, boxes: Sequence[Box]) -> list[tuple[float, float, float]]:
    """For each box the mean colour, 0..1, of the pixels that lie in it."""
    cloud = transform(frame.T_base_camera, backproject(frame.depth, frame.K)).reshape(*frame.depth.shape, 3)
    points = cloud[::_STEP, ::_STEP].reshape(-1, 3)
    pixels = frame.rgb[::_STEP, ::_STEP].reshape(-1, 3)
    known = np.isfinite(points).all(axis=1)
    points, pixels = points[known], pixels[known]
    found = []
    for box in boxes:
        inside = (np.abs(transform(invert(box.T_parent_box), points)) <= box.half_extents).all(axis=1)
        rgb = pixels[inside].mean(axis=0) / 255.0 if inside.any() else np.array(_UNSEEN_RGB)
        found.append((float(rgb[0]), float(rgb[1]), float(rgb[2])))
    return found
