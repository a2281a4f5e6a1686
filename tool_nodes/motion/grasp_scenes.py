"""Collision scene of a grasp: the obstacles of one picture, without the object that is grasped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tool_nodes import workspace
from tool_nodes.motion.gripper import GripperModel
from tool_nodes.motion.targets import cloud_in_base, jaw_opening_for, meant_mask, target_mask
from tool_nodes.perception.obstacles import fit_obstacles
from tool_nodes.ports import Planner
from tool_nodes.types import BoolArray, Box, CollisionScene, FloatArray, Frame, GraspTarget

APPROACH = 0.10
"""Distance from the pre-grasp to the grasp [m]."""
_MORE = 0.02
"""What stands between the fingers and is less of the target than this was left out by its outline [-]."""


class GraspScenes:
    """Collision scenes for grasps of one picture; what was fitted to the newest picture is remembered.

    Args:
        planner: Decides what the arm can reach.
        gripper: Model of the arm's gripper.
    """

    def __init__(self, planner: Planner, gripper: GripperModel) -> None:
        self._planner = planner
        self._gripper = gripper
        self._cloud: tuple[Frame, NDArray[np.float32]] | None = None
        self._obstacles: dict[bytes, tuple[Box, ...]] = {}

    def reachable(self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None) -> bool:
        """True if the arm can be at a grasp and at its pre-grasp, in the scene as seen in the frame; see `of`."""
        before = T_base_gripper.copy()
        before[:3, 3] -= APPROACH * T_base_gripper[:3, 2]
        return any(
            self._planner.reachable(T_base_gripper, scene) and self._planner.reachable(before, scene)
            for scene in self.of(T_base_gripper, frame, target)[0]
        )

    def of(
        self, T: FloatArray, frame: Frame, target: GraspTarget | None = None
    ) -> tuple[tuple[CollisionScene, ...], NDArray[np.float32]]:
        """Obstacles without the target, strictest first, with the jaws wide open and just open enough; its points.

        What a mask shows is the target, and all beside it an obstacle. A box over a whole neighbour may take up the
        room between the two into which the generator, who knows each point, found that the fingers go: so the scenes
        at the end leave out what touches the target too. Without a mask only those are known: the target is
        what stands between the fingers, and whatever touches it.

        Args:
            T: Pose (4, 4) of the gripper at the grasp, in the base frame.
            frame: The picture that the grasp comes from.
            target: The thing to be grasped; None where it is not known.

        Returns:
            The scenes, and the points (N, 3) of the target, base frame [m].
        """
        if self._cloud is None or self._cloud[0] is not frame:
            self._cloud = frame, cloud_in_base(frame)
            self._obstacles.clear()
        cloud = self._cloud[1]
        cluster = target_mask(cloud, T, self._gripper)
        if target is None:
            points, left_out = cloud[cluster], [cluster]
        else:
            meant = meant_mask(cloud, target.mask).reshape(-1)
            points, left_out = cloud[meant & target.mask.reshape(-1)], [meant]
            if np.count_nonzero(cluster & ~meant) > _MORE * np.count_nonzero(meant):
                left_out.append(meant | cluster)
        opening = jaw_opening_for(points, T, self._gripper)
        scenes = [CollisionScene(self._boxes(frame, mask), table_z=workspace.TABLE_Z) for mask in left_out]
        return tuple(each for scene in scenes for each in (scene, replace(scene, opening_m=opening))), points

    def _boxes(self, frame: Frame, left_out: BoolArray) -> tuple[Box, ...]:
        key = left_out.tobytes()
        if key not in self._obstacles:
            self._obstacles[key] = fit_obstacles(frame, ignore=left_out.reshape(frame.depth.shape))
        return self._obstacles[key]
