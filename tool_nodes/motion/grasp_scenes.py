"""Collision scene of a grasp: the obstacles of one picture, without the object that is grasped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tool_nodes import workspace
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.motion.targets import cloud_in_base, jaw_opening_for, target_mask
from tool_nodes.perception.obstacles import fit_obstacles
from tool_nodes.ports import Planner
from tool_nodes.types import Box, CollisionScene, FloatArray, Frame

APPROACH = 0.10
"""Distance from the pre-grasp to the grasp [m]."""


class GraspScenes:
    """Collision scenes for grasps of one picture; what was fitted to the newest picture is remembered.

    Args:
        planner: Decides what the arm can reach.
        gripper: Of the arm.
    """

    def __init__(self, planner: Planner, gripper: GripperModel) -> None:
        self._planner = planner
        self._gripper = gripper
        self._cloud: tuple[Frame, NDArray[np.float32]] | None = None
        self._obstacles: dict[bytes, tuple[Box, ...]] = {}

    def reachable(self, T_base_gripper: FloatArray, frame: Frame) -> bool:
        """True if the arm can be at a grasp and at its pre-grasp, in the scene as seen in the frame."""
        before = T_base_gripper.copy()
        before[:3, 3] -= APPROACH * T_base_gripper[:3, 2]
        return any(
            self._planner.reachable(T_base_gripper, scene) and self._planner.reachable(before, scene)
            for scene in self.of(T_base_gripper, frame)[0]
        )

    def of(self, T: FloatArray, frame: Frame) -> tuple[tuple[CollisionScene, ...], NDArray[np.float32]]:
        """Obstacles without the target, with the jaws wide open and just open enough; the target's points (N, 3).

        Args:
            T: Pose (4, 4) of the gripper at the grasp, in the base frame.
            frame: The picture that the grasp comes from.
        """
        if self._cloud is None or self._cloud[0] is not frame:
            self._cloud = frame, cloud_in_base(frame)
            self._obstacles.clear()
        cloud = self._cloud[1]
        mask = target_mask(cloud, T, self._gripper)
        key = mask.tobytes()
        if key not in self._obstacles:
            self._obstacles[key] = fit_obstacles(frame, ignore=mask.reshape(frame.depth.shape))
        scene = CollisionScene(self._obstacles[key], table_z=workspace.TABLE_Z)
        target = cloud[mask]
        return (scene, replace(scene, opening_m=jaw_opening_for(target, T, self._gripper))), target
