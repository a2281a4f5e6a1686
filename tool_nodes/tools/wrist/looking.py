"""The wrist camera's suite: a second view of what the scene camera sees poorly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, transform
from toolhand.tool_nodes.motion.targets import ELEVATED, ray_to_base
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Point2D
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import InSession, tool
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import FloatArray, Frame

_NEXT_TO_M = 0.015
"""What is no further from a place than what is nearest to it, and this, is shown as the place [m]: half an object."""


class WristTools:
    """A closer look from the camera at the wrist.

    Args:
        robot: The robot's own tools, which move it.
    """

    suite = "wrist"

    def __init__(self, robot: CameraTools) -> None:
        self._robot = robot
        # The robot's own, if it moves: a stop ends the look with all else that belongs together.
        self.job: Callable[[], AbstractContextManager[StopWatch]] = getattr(robot, "job", StopLatch().job)

    @tool(
        "robot.look_closer",
        motion=True,
        timeout_s=None,
        repeatable=True,
        makes=("captured_image", "depth_map", "point_cloud", "focal_length_px"),
        example=Example({"point": [0.48, 0.62], "image_index": 0}, before=("robot.capture_image",)),
    )
    def look_closer(self, point: Point2D, image_index: ImageIndex, session: InSession) -> ToolResult:
        """Move the camera at the wrist over a place, look at it from its other side, and return to the park position.

        Use it where an object is partly hidden, or could not be outlined or grasped: it can be in the new image.

        Args:
            point: Normalized [x, y] of the place.
            image_index: Index of the camera image that the point is in.
        """
        frame = image_index.require_frame()
        at = ray_to_base(frame, image_index.to_frame(point)[0])
        seen = self._robot.look_closer(at, session)
        w, h = seen.size
        cloud = backproject(seen.depth, seen.K)
        shown = _shown(cloud, at, seen)
        focal = float(seen.K[0, 0])
        return ToolResult(
            value={
                "image": seen.rgb,
                "depth_map": seen.depth,
                "point_cloud": cloud,
                "focal_length_px": focal,
                "point": shown,
            },
            text=f"Captured {w}x{h} image with depth from the wrist camera; the arm is parked again. The place is at "
            f"({shown[0]:.3f}, {shown[1]:.3f}) in it. Use $captured_image (image, {h}x{w}x3), $depth_map (numpy array, "
            f"{h}x{w}), $point_cloud (numpy array, {len(cloud)}x3) and $focal_length_px (float) to reference it.",
            image=seen.rgb,
            variables={
                "captured_image": SessionImage(seen.rgb, seen),
                "depth_map": seen.depth,
                "point_cloud": cloud,
                "focal_length_px": focal,
            },
            facts={"looked": {"point": shown}},
        )


def _shown(cloud: NDArray[np.float32], place: FloatArray, frame: Frame) -> list[float]:
    """Normalized [x, y] of the middle of what an image shows next to a place (3,), base frame [m].

    Not where the place itself would be seen: from another side something may stand before it, or it is an edge.

    Args:
        cloud: (H*W, 3) points of the image, camera frame [m].
        place: The place.
        frame: The image.

    Raises:
        ToolError: NO_DEPTH where no depth is known.
    """
    points = transform(frame.T_base_camera, cloud)
    away = np.linalg.norm(points - place.astype(np.float32), axis=1)
    with np.errstate(invalid="ignore"):
        if place[2] > workspace.TABLE_Z + ELEVATED:
            away[points[:, 2] < workspace.TABLE_Z + ELEVATED] = np.nan
        if np.isnan(away).all():
            raise ToolError(ErrorCode.NO_DEPTH, "The wrist camera measures no depth there.", "Choose another place.")
        near = (away < np.nanmin(away) + _NEXT_TO_M).reshape(frame.depth.shape)
    inside = ndimage.distance_transform_edt(np.pad(near, 1))[1:-1, 1:-1]
    row, column = divmod(int(inside.argmax()), frame.size[0])
    return [round((column + 0.5) / frame.size[0], 4), round((row + 0.5) / frame.size[1], 4)]


def wrist(robot: CameraTools | None) -> list[object]:
    """The providers of the suite: none for whom nothing may move, such as an observer."""
    return [WristTools(robot)] if robot is not None and robot.moves else []
