"""What goals of execute_grasp and place ask for, and how far along they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.time import Time
from tf2_ros import Buffer
from toolhand_interfaces.action import ExecuteGrasp, Place

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.language.phrases import MAX_PHRASE
from toolhand.tool_nodes.motion.stages import SHARES
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros.image_checks import pose_of
from toolhand.tool_nodes.ros.messages import header_of, image_to_mask, pose_to_matrix
from toolhand.tool_nodes.toolbox.arguments import FARTHEST_M
from toolhand.tool_nodes.types import MOST_POINTS, FloatArray, Frame, GraspTarget, SkillRequest

TRANSFORM_WAIT_S = 1.0
"""Longest wait for the transform of a goal's frame [s]."""


@dataclass(frozen=True)
class Phase:
    """One phase of an action: its name in the feedback, and the share of the whole that is done when it begins."""

    name: str
    progress: float


_Grasp, _Place = ExecuteGrasp.Feedback, Place.Feedback


def _phases(names: Mapping[str, str]) -> Mapping[str, Phase]:
    return {stage: Phase(name, SHARES[stage]) for stage, name in names.items()}


GRASP_PHASES = _phases(
    {
        "planning": _Grasp.PLANNING,
        "waiting for approval": _Grasp.WAITING_FOR_APPROVAL,
        "opening": _Grasp.APPROACHING,
        "the move to the pre-grasp": _Grasp.APPROACHING,
        "the approach": _Grasp.APPROACHING,
        "closing": _Grasp.CLOSING,
        "the lift": _Grasp.LIFTING,
        "the return to the park position": _Grasp.LIFTING,
        "the look at what was lifted": _Grasp.LIFTING,
    }
)
"""Phases by the stages that `Manipulator` names; other stages, such as a retreat, belong to the phase before."""

PLACE_PHASES = _phases(
    {
        "planning": _Place.PLANNING,
        "waiting for approval": _Place.WAITING_FOR_APPROVAL,
        "the move above the place": _Place.CARRYING,
        "the descent": _Place.LOWERING,
        "the release": _Place.RELEASING,
        "the retreat": _Place.RETREATING,
        "the return to the park position": _Place.RETREATING,
        "the look at the place": _Place.RETREATING,
    }
)


class StageProgress:
    """Turns stages into feedback, whose progress never decreases.

    Args:
        phases: By stage.
        feedback_type: Class of the action's feedback.
        show: Gets each feedback; None where no client wants any.

    Attributes:
        stage: The newest.
        plan_id: Plan that is run.
    """

    def __init__(self, phases: Mapping[str, Phase], feedback_type: Any, show: Callable[[Any], None] | None) -> None:
        self._phases = phases
        self._feedback_type = feedback_type
        self._show = show
        self._phase = phases["planning"]
        self._shown = ""
        self.stage = "planning"
        self.plan_id = ""

    def enter(self, stage: str) -> None:
        """A stage begins; named twice, it is shown once."""
        phase = self._phases.get(stage, self._phase)
        if phase.progress >= self._phase.progress:
            self._phase = phase
        self.stage = stage
        if self._show is None or stage == self._shown:
            return
        self._shown = stage
        text = f"{stage[0].upper()}{stage[1:]} begins."
        self._show(
            self._feedback_type(phase=self._phase.name, progress=self._phase.progress, text=text, plan_id=self.plan_id)
        )


class Frames:
    """Poses and points of goals in the frame of the robot's base.

    Args:
        transforms: Knows the other frames.
        base_frame: Name of the base's frame.
    """

    def __init__(self, transforms: Buffer, base_frame: str) -> None:
        self._transforms = transforms
        self._base_frame = base_frame

    def grasp_pose(self, request: Any, frame: Frame) -> FloatArray:
        """T_base_gripper (4, 4) of a request for a grasp. Raises ToolError, BadMessage."""
        T = pose_to_matrix(request.grasp.pose)
        _require_near(T[:3, 3], "execute_grasp: the grasp")
        return self._of(request.grasp.header, frame) @ T

    @staticmethod
    def grasp_target(request: Any, frame: Frame) -> GraspTarget | None:
        """What a request for a grasp is meant for; None where it does not say. Raises ToolError, BadMessage."""
        if not (request.mask.width or request.mask.height or len(request.mask.data)):
            if len(request.pointed_at):
                raise invalid("execute_grasp: pointed_at needs a mask that it lies on.")
            return None
        mask = image_to_mask(request.mask)
        if mask.shape != frame.depth.shape:
            raise invalid(
                f"execute_grasp: the mask has {mask.shape[1]}x{mask.shape[0]} pixels, but the scene camera's picture "
                f"has {frame.size[0]}x{frame.size[1]}."
            )
        if not mask.any():
            raise invalid("execute_grasp: the mask outlines nothing.", "Leave it empty.")
        if len(request.pointed_at) > MOST_POINTS:
            raise invalid(
                f"execute_grasp: pointed_at has {len(request.pointed_at)} points, at most {MOST_POINTS} are allowed."
            )
        points = tuple((float(point.x), float(point.y)) for point in request.pointed_at)
        if not all(0.0 <= value <= 1.0 for point in points for value in point):
            raise invalid("execute_grasp: pointed_at must be normalized, in [0, 1].")
        if len(request.called) > MAX_PHRASE or not request.called.isprintable():
            raise invalid(f"execute_grasp: called may have {MAX_PHRASE} characters, on one line.")
        return GraspTarget(mask, points, request.called)

    def place_point(self, request: Any, frame: Frame) -> FloatArray:
        """The point (3,) in the base frame of a request to place. Raises ToolError, BadMessage."""
        if request.target == Place.Goal.POINT_2D:
            point_2d = np.array([request.point_2d.x, request.point_2d.y])
            if not ((point_2d >= 0.0) & (point_2d <= 1.0)).all():
                raise invalid("place: point_2d must be normalized, in [0, 1].")
            return ray_to_base(frame, point_2d)
        if request.target != Place.Goal.POINT_3D:
            raise invalid(f"place: target must be POINT_2D or POINT_3D, got {request.target}.")
        return self.point(request.point_3d, frame, "place: point_3d")

    def skill(self, request: Any, frame: Frame) -> SkillRequest:
        """The skill that a request asks for. Raises ToolError, BadMessage."""
        if len(request.place) > 1:
            raise invalid(f"run_skill: at most one place is allowed, got {len(request.place)}.")
        if not np.isfinite([request.distance, request.speed]).all():
            raise invalid("run_skill: distance and speed must be finite.")
        point = self.point(request.place[0], frame, "run_skill: the place") if len(request.place) else None
        return SkillRequest(request.name, point, float(request.distance), float(request.speed))

    def point(self, stamped: Any, frame: Frame, what: str = "look_closer: the place") -> FloatArray:
        """A point (3,) in the base frame of a PointStamped. Raises ToolError, BadMessage."""
        xyz = np.array([stamped.point.x, stamped.point.y, stamped.point.z])
        if not np.isfinite(xyz).all():
            raise invalid(f"{what} must not hold NaN or infinite numbers.")
        _require_near(xyz, what)
        return transform(self._of(stamped.header, frame), xyz[None])[0]

    def _of(self, header: Any, frame: Frame) -> FloatArray:
        """T_base_x (4, 4) of the frame x that a header names."""
        name = header.frame_id
        if name == self._base_frame:
            return np.eye(4)
        if name == header_of(frame).frame_id:
            return frame.T_base_camera
        if not name:
            raise invalid(f"frame_id must name a frame, such as {self._base_frame}.")
        if header.stamp.sec < 0:
            raise invalid(f"The stamp must not be negative, got {header.stamp.sec} s.")
        end = time.monotonic() + TRANSFORM_WAIT_S
        return pose_of(self._transforms, self._base_frame, name, Time.from_msg(header.stamp), end)


def _require_near(point: FloatArray, what: str) -> None:
    """Refuse a point (3,) [m] that is farther than any tool may ask for. Raises ToolError INVALID_ARGUMENT."""
    if np.abs(point).max() > FARTHEST_M:
        raise invalid(f"{what} must lie within {FARTHEST_M:g} m along each axis of its frame.")
