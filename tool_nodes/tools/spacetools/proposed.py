"""What a grasp generator may propose; anybody's is held to it before its grasps are ranked, drawn or carried out."""

from __future__ import annotations

import numpy as np

from toolhand.tool_nodes.geometry import ROUNDED, is_rigid
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.ports import GraspGenerator
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.tool_nodes.types import FloatArray, GraspSet

_SLACK_M = 1e-6
"""Width beyond the gripper's opening that is rounding, as of float32, and cut off [m]."""


def require_possible(grasps: GraspSet, generator: GraspGenerator, gripper: GripperModel) -> GraspSet:
    """The grasps, with widths cut to the gripper's by no more than rounding.

    Args:
        grasps: Answer of the generator.
        generator: Generator that gave it; its name is said.
        gripper: The gripper that they are for.

    Raises:
        ToolError: UNAVAILABLE, naming the generator and what is allowed, for poses that are no finite rotations and
            positions, widths that the jaws cannot open to, scores beyond [0, 1], and arrays of other shapes.
    """

    def wrong(what: str) -> ToolError:
        return unavailable(f"The grasp generator {generator.backend!r} gave {what}.")

    T, widths, scores = (np.asarray(a, float) for a in (grasps.T_camera_gripper, grasps.widths_m, grasps.scores))
    n = len(T) if T.ndim else 0
    if T.shape != (n, 4, 4) or widths.shape != (n,) or scores.shape != (n,):
        shapes = ", ".join(str(array.shape) for array in (T, widths, scores))
        raise wrong(f"arrays of the shapes {shapes}: M grasps are poses (M, 4, 4), widths (M,) and scores (M,)")
    if not np.isfinite(T).all():
        raise wrong("a pose that is not finite: all entries of its (4, 4) matrix must be finite, positions in metres")
    if not is_rigid(T, ROUNDED):
        raise wrong("a pose that is no rotation and position: a (4, 4) matrix with the last row 0, 0, 0, 1 is allowed")
    most = gripper.max_opening
    beyond = widths[~((widths >= 0.0) & (widths <= most + _SLACK_M))]
    if beyond.size:
        raise wrong(f"a width of {beyond[0]:g} m: the jaws open from 0 to {most:g} m")
    odd = scores[~((scores >= 0.0) & (scores <= 1.0))]
    if odd.size:
        raise wrong(f"a score of {odd[0]:g}: scores are probabilities, from 0 to 1")
    return GraspSet(grasps.T_camera_gripper, np.minimum(widths, most), scores, grasps.sampled)


def require_rigid(pose: FloatArray) -> FloatArray:
    """The argument 'grasp_pose' (4, 4) if it is a rigid transform. Raises ToolError INVALID_ARGUMENT."""
    T = np.asarray(pose, float)
    if not is_rigid(T, ROUNDED):
        raise invalid(
            "robot.execute_grasp: argument 'grasp_pose' must be a rigid 4x4 pose (rotation, translation, last row "
            "0 0 0 1)."
        )
    return T
