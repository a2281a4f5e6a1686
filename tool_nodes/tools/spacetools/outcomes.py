"""What the robot's tools say of a motion: the facts `grasped` and `placed`, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolhand.tool_nodes.geometry import carried, invert, project, transform
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.perception.carrying import carried_target
from toolhand.tool_nodes.perception.containers import is_cavity, seen_inside
from toolhand.tool_nodes.perception.heights import height_map
from toolhand.tool_nodes.perception.placed import standing_at
from toolhand.tool_nodes.perception.pushed import pushed
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.toolbox.grasp_memory import GraspOf
from toolhand.tool_nodes.toolbox.session import Session
from toolhand.tool_nodes.types import FloatArray, Frame

_SHOWN_M = 0.02
"""What an image shows at the point of a place is that place if it is no farther from it [m]: what hides a place is
farther before it, and the noise of depth is less."""


def slowly(session: Session) -> str:
    """At which speed a motion was, where it was not the whole allowed one."""
    return "" if session.speed == 1.0 else f" at {session.speed:g} of the allowed speed"


def also_moved(points: Sequence[tuple[float, float]]) -> str:
    """What a result says of other objects that were moved; "" where none were."""
    listed = " and ".join(f"({u:.2f}, {v:.2f})" for u, v in points)
    return f"Something else was moved, too: see {listed}. " if points else ""


def in_frame(T: FloatArray, known: GraspOf | None, frame: Frame) -> tuple[FloatArray, GraspOf | None]:
    """A grasp (4, 4) and what is known of it, in an image of the scene camera; None where that is not known any more.

    Args:
        T: Pose of the gripper, in the frame of the camera that the grasp was computed for.
        known: Grasp that was given with this pose; None where none was, and the pose is of the scene camera.
        frame: Newest image of the scene camera.
    """
    if known is None or known.frame is frame:
        return T, known
    if known.frame.camera == frame.camera:
        return T, None if changed(known.frame, frame) else known
    T = carried(invert(frame.T_base_camera) @ known.frame.T_base_camera @ T)
    target = carried_target(known.frame, known.target, frame)
    return T, None if target is None else GraspOf(T, frame, target)


def stood_at(middle: FloatArray | None, after: Frame) -> dict[str, Any]:
    """Where what is held stood, of the fact `grasped`, see `RobotTools`."""
    if middle is None:
        return {"stood_m": None, "stood": None}
    u, v = spot = (project(transform(invert(after.T_base_camera), middle[None]), after.K)[0] + 0.5) / after.size
    shown: list[float] | None = [round(float(u), 4), round(float(v), 4)]
    try:
        inside = bool(((spot >= 0.0) & (spot <= 1.0)).all())
        if not inside or np.linalg.norm(ray_to_base(after, spot) - middle) > _SHOWN_M:
            shown = None
    except ToolError:  # no depth is measured there
        shown = None
    return {"stood_m": [round(float(value), 4) for value in middle], "stood": shown}


def placed_at(wanted: FloatArray, before: Frame, after: Frame) -> dict[str, Any]:
    """The fact `placed`, see `RobotTools`."""
    into = False
    try:
        into = is_cavity(height_map(before), wanted)
        found = (seen_inside if into else standing_at)(before, after, wanted)
    except ToolError:  # a camera without depth, or an object that has rolled away since the manipulator looked
        found = None

    def spot(xy: FloatArray, above_m: float = 0.0) -> list[float]:
        ground = np.array([[*xy[:2], wanted[2] + above_m]])
        u, v = project(transform(invert(after.T_base_camera), ground), after.K)[0] / after.size
        return [round(float(u), 4), round(float(v), 4)]

    return {
        "verified": found is not None or not into,
        "pushed": pushed(before, after, placed_m=wanted),
        "wanted_m": [round(float(v), 4) for v in wanted],
        "wanted": spot(wanted),
        "found_m": None if found is None else [round(float(v), 4) for v in found],
        "found": None if found is None else spot(found),
        "shown": None if found is None else spot(found, max(0.0, float(found[2] - wanted[2])) / 2),
        "off_mm": None if found is None else round(1000 * float(np.hypot(*(found - wanted)[:2])), 1),
    }
