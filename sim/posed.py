"""A scene at poses that somebody else measured: what touches what, without any physics."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import mujoco
import numpy as np

from toolhand.sim.contacts import Contacts
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray

TOUCH_M = 5e-4
"""Objects, and an object and the table, touch where less than this is between them [m]: other simulators leave a gap,
and round poses to single precision; the camera and the judge's margins are ten times as coarse."""
HAND_TOUCH_M = 2e-3
"""The same for an object and the robot [m]: of the gripper only the driven joint is measured, which leaves a millimetre
for the fingers."""


class PosedWorld:
    """The model of a scene with a robot, put where it is said to be.

    Args:
        scene: Scene at the start, with its shapes.

    Attributes:
        twin: A world of the same scene and robot, for its model and for images.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.twin = World(scene, robot)
        self._start = self.twin.data.qpos.copy()
        self._model = copy.copy(self.twin.model)
        self._model.geom_margin[:] = HAND_TOUCH_M
        self._data = mujoco.MjData(self._model)
        self._names = np.array(self.twin.body_names)

    def positions(self, objects: Mapping[str, FloatArray], joints: Mapping[str, float]) -> FloatArray:
        """(nq,) generalised positions.

        Args:
            objects: Pose of each object by its id, (7,): position in the base frame [m] and quaternion wxyz.
            joints: Measured joints by their names [rad]; joints that mimic another one follow it where not measured.
        """
        model, qpos = self.twin.model, self._start.copy()
        for name, pose in objects.items():
            start = int(model.jnt_qposadr[model.body_jntadr[model.body(name).id]])
            qpos[start : start + 7] = pose
        for name, value in joints.items():
            qpos[model.joint(name).qposadr[0]] = value
        for row in range(model.neq):
            follower, reference = int(model.eq_obj1id[row]), int(model.eq_obj2id[row])
            if model.joint(follower).name not in joints:
                offset, gear = model.eq_data[row, :2]
                qpos[model.jnt_qposadr[follower]] = offset + gear * qpos[model.jnt_qposadr[reference]]
        return qpos

    def contacts(self, qpos: FloatArray) -> Contacts:
        """What touches what at generalised positions (nq,); nothing of the robot and the table among themselves."""
        self._data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_collision(self._model, self._data)
        contact, robot = self._data.contact, ("arm", "gripper")
        found = set()
        for distance, geoms in zip(contact.dist, contact.geom, strict=True):
            first, second = sorted(self._names[self._model.geom_bodyid[geoms]].tolist())
            hand = first in robot or second in robot
            objects = {first, second} - {*robot, "table"}
            if objects and first != second and distance <= (HAND_TOUCH_M if hand else TOUCH_M):
                found.add((first, second))
        return frozenset(found)
