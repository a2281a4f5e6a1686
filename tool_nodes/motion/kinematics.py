"""Forward kinematics, Jacobian and inverse kinematics of a robot's tip frame.

Inverse kinematics is damped closed-loop iteration: dq = J^T (J J^T + lambda^2 I)^-1 e with the pose error e.
The smallest step that reduces the error keeps a solution close to its seed. Continuous joints are never
clamped or wrapped on the way.
"""

from __future__ import annotations

import math
from functools import cache

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dposv

from toolhand.tool_nodes.geometry import is_rigid
from toolhand.tool_nodes.motion.robot_file import robot_error
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

POSITION_TOLERANCE = 1e-5
"""[m]"""

ROTATION_TOLERANCE = 1e-4
"""[rad]"""

_RIGID = 1e-4
"""Largest deviation of a goal's matrix from rigid [-]."""
_MAX_POSITION_STEP = 0.15
"""Largest position error that one iteration corrects [m]: larger ones leave the range in which the Jacobian holds."""
_MAX_ROTATION_STEP = 0.6
"""The same for the orientation [rad]."""
_MAX_JOINT_STEP = 0.6
"""Largest change of a joint in one iteration [rad]."""
_DAMPING = 0.02
"""Damping of the least squares at an error of 1 m [-]. It falls with the error (as Sugihara 2011 proposes), so that
steps near the goal are those of Gauss-Newton."""


def check_pose(T: ArrayLike, what: str) -> FloatArray:
    """`T` as a float array (4, 4). Raises ToolError INVALID_ARGUMENT if it is not a rigid transform."""
    if not is_rigid(T, _RIGID) or np.ndim(T) != 2:
        raise invalid(f"The {what} must be a finite (4, 4) rigid transform in the base frame.")
    return np.array(T, dtype=float)


@cache
def _arm_model(robot: RobotModel) -> mujoco.MjModel:
    """The arm alone, without shapes and drives; nothing writes into it."""
    spec = load_robot_spec(robot)
    for geom in list(spec.geoms):
        spec.delete(geom)
    for items in (spec.actuators, spec.equalities, spec.tendons):
        for item in list(items):
            spec.delete(item)
    spec.delete(spec.body(robot.gripper.base_link))
    return compile_spec(spec, robot)


class Kinematics:
    """Kinematics of the arm on a model of its own.

    Args:
        robot: The robot; the default one where None.
    """

    def __init__(self, robot: RobotModel | None = None) -> None:
        self.robot = robot = robot or load_robot()
        self._model = _arm_model(robot)
        self._data = mujoco.MjData(self._model)
        moving = [self._model.joint(j).name for j in range(self._model.njnt)]
        if moving != list(robot.arm_joints):
            raise robot_error(robot.urdf_path, f"besides arm and gripper something moves, of {', '.join(moving)}")
        self._tip = self._model.body(robot.tip_frame).id
        self._p = self._data.xpos[self._tip]
        self._quat = self._data.xquat[self._tip]
        self._R = self._data.xmat[self._tip].reshape(3, 3)
        self._J = np.zeros((6, robot.dof))
        self._chain = [self._tip]
        while (parent := int(self._model.body_parentid[self._chain[0]])) != 0:
            self._chain.insert(0, parent)

    def _update(self, q: FloatArray) -> None:
        self._data.qpos[:] = q
        mujoco.mj_kinematics(self._model, self._data)

    def fk(self, q: ArrayLike) -> FloatArray:
        """T_base_gripper (4, 4) of the tip frame at joint positions q (n,) [rad]."""
        self._update(self.robot.check_joints(q, "configuration"))
        T = np.eye(4)
        T[:3, :3] = self._R
        T[:3, 3] = self._p
        return T

    def fk_path(self, path: FloatArray) -> FloatArray:
        """T_base_gripper (N, 4, 4) at each of the finite joint positions (N, n) [rad]."""
        T = np.zeros((len(path), 4, 4))
        T[:, 3, 3] = 1.0
        qpos = self._data.qpos
        for k, q in enumerate(path):
            qpos[:] = q
            mujoco.mj_kinematics(self._model, self._data)
            T[k, :3, :3], T[k, :3, 3] = self._R, self._p
        return T

    def links(self, q: ArrayLike) -> FloatArray:
        """Origins (m, 3) of the arm's links from its base to the tip frame, base frame [m], at q (n,) [rad]."""
        self._update(self.robot.check_joints(q, "configuration"))
        origins: FloatArray = self._data.xpos[self._chain]
        return origins

    def axes(self, q: ArrayLike) -> FloatArray:
        """Axes (n, 3) of the joints in the base frame, unit vectors, at q (n,) [rad]."""
        self._update(self.robot.check_joints(q, "configuration"))
        axes: FloatArray = self._data.xaxis.copy()
        return axes

    def jacobian(self, q: ArrayLike) -> FloatArray:
        """(6, n) at q (n,): linear [m/rad] above angular velocity of the tip frame, base frame."""
        self._update(self.robot.check_joints(q, "configuration"))
        return self._jacobian().copy()

    def _jacobian(self) -> FloatArray:
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacBody(self._model, self._data, self._J[:3], self._J[3:], self._tip)
        return self._J

    def solve_ik(
        self,
        T: FloatArray,
        q: FloatArray,
        iterations: int,
        position_tolerance: float = POSITION_TOLERANCE,
        rotation_tolerance: float = ROTATION_TOLERANCE,
    ) -> FloatArray | None:
        """Joint positions (n,) within the limits that reach a pose, by damped least squares; None where none are found.

        Each step moves by J^T (J J^T + l I)^-1 e, with e = (position [m], rotation vector [rad]) to the target in the
        base frame, and l growing with what is left of it; long steps are shortened. Nothing is checked or wrapped.

        Args:
            T: (4, 4) pose of the tip frame.
            q: (n,) where the iteration starts [rad].
            iterations: Budget of this attempt.
            position_tolerance: [m].
            rotation_tolerance: [rad].
        """
        model, data, J, tip_p, tip_quat, R = self._model, self._data, self._J, self._p, self._quat, self._R
        lower, upper, qpos, linear, angular = self.robot.lower, self.robot.upper, self._data.qpos, J[:3], J[3:]
        q = np.minimum(np.maximum(q, lower), upper)
        target_p = T[:3, 3]
        target_quat = np.empty(4)
        mujoco.mju_mat2Quat(target_quat, np.ascontiguousarray(T[:3, :3]).ravel())
        error, local, A = np.empty(6), np.empty(3), np.empty((6, 6))
        position, rotation, diagonal = error[:3], error[3:], A.reshape(-1)[::7]
        # Some microseconds a line, some thousand times a plan: into arrays that are there, without what numpy's own
        # clip and solve look at first.
        for _ in range(iterations):
            qpos[:] = q
            mujoco.mj_kinematics(model, data)
            np.subtract(target_p, tip_p, out=position)
            mujoco.mju_subQuat(local, target_quat, tip_quat)
            np.matmul(R, local, out=rotation)
            distance, angle = math.sqrt(position @ position), math.sqrt(local @ local)
            if distance < position_tolerance and angle < rotation_tolerance:
                return q
            if distance > _MAX_POSITION_STEP:
                position *= _MAX_POSITION_STEP / distance
            if angle > _MAX_ROTATION_STEP:
                rotation *= _MAX_ROTATION_STEP / angle
            mujoco.mj_comPos(model, data)
            mujoco.mj_jacBody(model, data, linear, angular, self._tip)
            np.matmul(J, J.T, out=A)
            diagonal += _DAMPING * min(distance + 0.1 * angle, 1.0) + 1e-7
            _, x, _ = dposv(A, error)
            dq = x @ J
            largest = max(dq.max(), -dq.min())
            if largest > _MAX_JOINT_STEP:
                dq *= _MAX_JOINT_STEP / largest
            dq += q
            q = np.minimum(np.maximum(dq, lower, out=dq), upper, out=dq)
        return None
