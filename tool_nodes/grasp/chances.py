"""How likely a grasp holds, from what its contact is like."""

from __future__ import annotations

import numpy as np

from tool_nodes.grasp.candidates import Candidates
from tool_nodes.grasp.jaws import Grasps
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.types import FloatArray


def chances(grasps: Grasps, tried: Candidates, gripper: GripperModel) -> FloatArray:
    """Quality (N,) of grasps in [0, 1], collisions aside; 0 for what cannot be used."""
    quality = (
        np.exp(-((grasps.slope / 0.45) ** 2))
        * np.exp(-((np.hypot(grasps.lever, 0.6 * grasps.below) / 0.05) ** 2))
        * (1.0 - 0.35 * (grasps.width / gripper.max_opening) ** 2)
        * np.clip(grasps.overlap / 0.012, 0.2, 1.0)
        * np.where(tried.tilt > 0.01, 0.85 * np.cos(tried.tilt / 1.5) ** 2, 1.0)
    )
    return np.where(grasps.usable, quality, 0.0)
