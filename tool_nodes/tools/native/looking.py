"""`robot.look`: the scene camera's image with a number on all that stands on the table, and what it measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.drawing import draw_line, draw_marks
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.targets import cloud_in_base
from toolhand.tool_nodes.perception.clusters import CONTAINER_SIDES_M
from toolhand.tool_nodes.perception.extents import distance_to_outline, measure, outline, rectangle
from toolhand.tool_nodes.perception.heights import MIN_HEIGHT
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.hidden import LEAST
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.toolbox.toolbox import InSession, tool
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import BoolArray, Everything, FloatArray, Frame, GraspTarget

MAX_MARKS = 24
"""Most marks of an image [-]: more hide each other; a round figure."""
_LEAST_POINTS = 20
"""Points of depth by which a segment is measured, at the least [-]; a round figure."""
_STANDS_SHARE = 0.5
"""Share of the points of a segment that stand out of the table, or among such points, for it to be no part of the table
[-]."""
_RIM_SHARE = 0.05
"""Share of the points of a container that its rim has at the least [-]: of transparent bins it was 0.12 to 0.18, of
bowls and other bins from 0.39 on; the floor lies as low as the table."""
_KNOWN_SHARE = 0.5
"""A segment of which more than this share lies on others with marks, or on the arm, has no mark of its own [-]."""
_LIMIT_POINTS = 90
"""Points of the line that shows the limit of reach [-]; a round figure."""
_ON_TABLE_M = 0.035
"""What is seen to begin lower than this over the table stands on it [m], as of what is held (`motion.targets`)."""


@dataclass(frozen=True, eq=False)
class Marked:
    """One object with a mark.

    Attributes:
        instance: Its mask and a point on it; the label is a remark.
        place: (2,) middle of its base, base frame [m].
        size: (3,) length, width and height [m].
    """

    instance: Instance
    place: FloatArray
    size: FloatArray

    def told(self, number: int, robot: RobotModel) -> str:
        """One line about it."""
        x, y = self.instance.point
        size = " x ".join(f"{100 * side:.0f}" for side in self.size)
        wide = ", too wide for the gripper" if self.size[1] > robot.gripper.max_width else ""
        far = "" if robot.reach.contains(self.place) else ", out of reach"
        several = f", {self.instance.label}" if self.instance.label else ""
        return f"{number}: ({x:.3f}, {y:.3f}), {size}{wide}{far}{several}"


class LookTool:
    """The robot's look at the table.

    Args:
        segmenter: Outlines everything in an image; without one that does there are no marks.
        robot: The robot's own tools.
    """

    suite = "native"

    def __init__(self, segmenter: Segmenter, robot: CameraTools) -> None:
        self._segmenter = segmenter
        self._robot = robot

    @tool(
        "robot.look",
        timeout_s=None,
        repeatable=True,
        makes=("captured_image", "depth_map", "point_cloud", "focal_length_px"),
        example=Example({}),
    )
    def look(self, session: InSession) -> ToolResult:
        """Take an image with a numbered mark on each object on the table, and list the marks with point and size."""
        frame = self._robot.look(session)
        found = standing(frame, self._everything(frame))
        objects = tuple(GraspTarget(each.instance.mask, (each.instance.point,)) for each in found)
        session.marks = Marks(frame, objects)
        plain = SessionImage(frame.rgb, frame)
        seen = draw_line(frame.rgb, _limit(frame, self._robot.model())) if self._robot.moves else frame.rgb
        rgb = draw_marks(seen, [each.mask for each in objects], [each.points[0] for each in objects])
        return ToolResult(
            value={"image": frame.rgb, "points": [each.points[0] for each in objects]},
            text=_covered(frame) + self._told(found),
            image=rgb if objects else frame.rgb,
            source=plain,
            variables={
                "captured_image": plain,
                "depth_map": frame.depth,
                "point_cloud": self._robot.cloud(frame),
                "focal_length_px": float(frame.K[0, 0]),
            },
            facts={"points": [each.points[0] for each in objects]},
        )

    def _everything(self, frame: Frame) -> list[Instance]:
        if Everything not in self._segmenter.takes:
            return []
        try:
            found = segment_by(self._segmenter, SessionImage(frame.rgb, frame), Everything()).value
        except ToolError as error:
            if error.code not in (ErrorCode.EMPTY_MASK, ErrorCode.OBJECT_NOT_FOUND):
                raise
            return []
        several = "maybe two objects"
        return [Instance.of_mask(each.mask, each.score, several if each.several else "") for each in found]

    def _told(self, found: Sequence[Marked]) -> str:
        held = self._robot.hand()
        hand = held or "The gripper is empty. "
        if not found:
            return f"No object is seen to stand on the table. {hand}".rstrip()
        robot = self._robot.model()
        lines = "\n".join(each.told(number, robot) for number, each in enumerate(found, 1))
        widest = 100 * robot.gripper.max_width
        moving = "robot.place puts it down. " if held else "robot.pick(mark) grasps one. " if self._robot.moves else ""
        line = "The thin line is the limit of reach. " if self._robot.moves else ""
        return (
            "Marks, each with its point and its length x width x height in cm (the gripper holds up to "
            f"{widest:.1f} cm):\n{lines}\n{line}{hand}{moving}$captured_image is the picture without marks."
        )


def _limit(frame: Frame, robot: RobotModel) -> FloatArray:
    """Where an image shows the outer limit of the arm's reach on the table, (N, 2) px."""
    reach = robot.reach
    angles = np.linspace(-np.pi / 2, np.pi / 2, _LIMIT_POINTS)
    x, y = np.maximum(reach.radius[1] * np.cos(angles), reach.x_min), reach.radius[1] * np.sin(angles)
    edge = np.column_stack([x, np.clip(y, -reach.y_max, reach.y_max), np.full(len(x), workspace.TABLE_Z)])
    return project(transform(invert(frame.T_base_camera), edge), frame.K)


def _covered(frame: Frame) -> str:
    """How much of an image the arm hides, in a sentence and a blank; "" where that is too little to say."""
    share = float(frame.robot.mean())
    return "" if share < LEAST else f"The arm covers {100 * share:.0f} % of the picture: robot.park brings it away. "


def standing(frame: Frame, found: Sequence[Instance]) -> list[Marked]:
    """Of some segments of an image those that stand on the table, each once, from left to right."""
    if not np.isfinite(frame.depth).any():
        return []
    cloud = cloud_in_base(frame)
    taken = np.array(frame.robot)
    kept: list[Marked] = []
    for instance in sorted(found, key=lambda each: -each.score):
        if len(kept) == MAX_MARKS or np.mean(taken[instance.mask]) > _KNOWN_SHARE:
            continue
        measured = _measured(cloud, instance.mask, frame.T_base_camera[:3, 3])
        if measured is not None:
            taken |= instance.mask
            kept.append(Marked(instance, *measured))
    return sorted(kept, key=lambda each: each.instance.point)


def _measured(cloud: NDArray[np.float32], mask: BoolArray, eye: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Middle (2,) and size (3,) [m] of what a mask (H, W) shows; None where that does not stand on the table.

    Args:
        cloud: (H*W, 3) points of the image, base frame [m].
        mask: True on the object.
        eye: (3,) where the camera is, base frame [m].
    """
    points = cloud[mask.reshape(-1)]
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < _LEAST_POINTS:
        return None
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    x, y, z = points.T
    over = (x > x0) & (x < x1) & (y > y0) & (y < y1) & (z > workspace.TABLE_Z + MIN_HEIGHT)
    open_inside = np.mean(over) < _STANDS_SHARE
    if open_inside and not (np.mean(over) >= _RIM_SHARE and _encloses(points[over], points)):
        return None
    lowest = float(np.percentile((points if open_inside else points[over])[:, 2], 2))
    points = points[over]
    support = workspace.TABLE_Z if lowest < workspace.TABLE_Z + _ON_TABLE_M else lowest
    box = measure(points, support, eye)
    return box.centre[:2], box.size


def _encloses(rim: NDArray[np.float32], points: NDArray[np.float32]) -> bool:
    """Whether most of some points (N, 3) lie inside of what stands out of the table (K, 3), which is no wider than a
    container."""
    corners = outline(rim[:, :2])
    if len(corners) < 3 or rectangle(corners)[1][0] > CONTAINER_SIDES_M[1]:
        return False
    return bool(np.mean(distance_to_outline(points[:, :2], corners) <= 0.0) >= _STANDS_SHARE)
