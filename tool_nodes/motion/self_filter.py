"""The robot in its own images: by the measured joints its pixels have no depth, so that nobody takes it for an object.

Rays from the camera meet the robot's shapes, on every fourth pixel. A pixel is the robot's where what was measured lies
as far away as the robot there, or farther: what stands before it stays. Colours stay as they are, and so does the base,
which never moves and stands beside the table's area: an image of a parked arm is as it was taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, pose, project, transform
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.robot_spec import compile_spec, load_robot_spec
from toolhand.tool_nodes.motion.scene_model import followers
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.perception.extents import outline
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.types import SHOWS_ROBOT_BITS, ArmState, BoolArray, Box, FloatArray, Frame

_STEP_PX = 4
"""A ray is cast for each square of so many pixels [px]: fingers are 8 px wide at 1.2 m, rays take 3 ms at most then."""
_RIM_PX = 8
"""Pixels about the robot, at 640x480, that count as its own: stereo matching mixes the depth of both there, and a
camera that is calibrated to 1 cm shows the robot so far beside where it should be."""
_BEFORE_M = 0.03
"""What is measured so far before the robot's surface is still the robot [m]: calibration, joints and noise together."""
_FARTHEST_M = 4.0
"""Beyond this no ray is followed [m]: the robot reaches 1 m, and a camera that sees farther sees less than a pixel."""
_NEAREST_M = 0.01
"""What is nearer to the lens is behind it or on it [m]."""


@dataclass(frozen=True)
class RobotPose:
    """Where the robot is.

    Attributes:
        q: (n,) measured positions of the arm's joints [rad].
        opening_m: Measured opening of the jaws [m].
        held: Boxes of the held object, in the robot's tip frame.
    """

    q: FloatArray
    opening_m: float
    held: tuple[Box, ...] = ()

    @classmethod
    def of(cls, state: ArmState, held: HeldObject | None) -> RobotPose:
        """The pose of an arm's state with what it holds."""
        return cls(state.q, state.opening_m, () if held is None else (held.box,))


@dataclass(frozen=True)
class JointPlace:
    """A joint that turns.

    Attributes:
        parent, child: Links that it joins.
        R: (3, 3) orientation of the child in the parent at 0.
        axis: (3,) it turns about, in the child's frame, of length 1.
    """

    parent: str
    child: str
    R: FloatArray
    axis: FloatArray

    def angle(self, R_parent_child: FloatArray) -> float:
        """By how much (-pi, pi] it is turned where the child has an orientation (3, 3) in the parent [rad]."""
        turned = self.R.T @ R_parent_child
        sine = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
        return float(np.arctan2(sine @ self.axis, np.trace(turned) - 1.0))


class RobotShape:
    """What a robot looks like: its visual shapes, those of collision where it has none.

    Args:
        robot: The robot.

    Attributes:
        joints: Where the arm's joints and the gripper's driven one are, by their names.
    """

    def __init__(self, robot: RobotModel) -> None:
        self._robot = robot
        spec = load_robot_spec(robot)
        visual = any(geom.contype == 0 for geom in spec.geoms)
        for geom in list(spec.geoms):
            if visual and geom.contype:
                spec.delete(geom)
            else:
                geom.contype = 1  # else the boxes by which MuJoCo passes over bodies do not hold it
        self._model = compile_spec(spec, robot)
        self._data = mujoco.MjData(self._model)
        self._one_at_a_time = threading.Lock()
        self._tip = self._model.body(robot.tip_frame).id
        self._wrist = int(self._model.joint(robot.arm_joints[-1]).bodyid[0])
        self.joints = {name: self._place_of(name) for name in robot.joints}
        self._moving = self._model.body_weldid[self._model.geom_bodyid] > 0

    def seen(self, frame: Frame, at: RobotPose) -> BoolArray | None:
        """Where (H, W) an image shows the robot; None where it does not show it at all."""
        step = max(1, round(_STEP_PX * frame.size[0] / workspace.IMAGE_SIZE[0]))
        rim = -(-round(_RIM_PX * frame.size[0] / workspace.IMAGE_SIZE[0]) // step)
        with self._one_at_a_time:  # stations in several threads share it
            self._place(at)
            nearest = self._cast(frame, step)
            for box in at.held:
                self._draw(nearest, box, frame, step)
        if not np.isfinite(nearest).any():
            return None
        nearest = ndimage.minimum_filter(nearest, 2 * rim + 1)
        nearest = np.repeat(np.repeat(nearest, step, axis=0), step, axis=1)[: frame.size[1], : frame.size[0]]
        with np.errstate(invalid="ignore"):
            return np.isfinite(nearest) & ~(frame.depth < nearest - _BEFORE_M)

    def _place_of(self, name: str) -> JointPlace:
        model = self._model
        joint = model.joint(name)
        body = model.body(int(joint.bodyid[0]))
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, body.quat)
        parent = model.body(int(body.parentid[0])).name
        return JointPlace(parent, body.name, R.reshape(3, 3), np.array(joint.axis))

    def _place(self, at: RobotPose) -> None:
        data, robot = self._data, self._robot
        data.qpos[: robot.dof] = at.q
        knuckle = robot.gripper.joint_position(robot.gripper.clipped(at.opening_m))
        for name, factor, offset in followers(robot):
            data.qpos[self._model.joint(name).qposadr[0]] = factor * knuckle + offset
        mujoco.mj_kinematics(self._model, data)

    def _cast(self, frame: Frame, step: int) -> NDArray[np.float32]:
        """Depth (h, w) of the robot at every `step` pixels, infinite where it is not [m]."""
        width, height = (-(-side // step) for side in frame.size)
        nearest = np.full((height, width), np.inf, np.float32)
        model, data = self._model, self._data
        T_camera_base = invert(frame.T_base_camera)
        corners = model.geom_aabb[:, None, :3] + model.geom_aabb[:, None, 3:] * _CORNERS
        corners = corners @ data.geom_xmat.reshape(-1, 3, 3).transpose(0, 2, 1) + data.geom_xpos[:, None]
        # The camera at the wrist sits on the arm's last link, and does not see it.
        exclude = self._wrist if frame.camera == "wrist" else -1
        inside = np.zeros((height, width), bool)
        for box in corners[self._moving & (model.geom_bodyid != exclude)]:
            part = _covered(transform(T_camera_base, box), frame.K, step, (width, height))
            if part is not None:
                inside[part] = True
        v, u = np.nonzero(inside)
        if not len(v):
            return nearest
        middle = (step - 1) / 2.0
        rays = np.column_stack(
            [
                (u * step + middle - frame.K[0, 2]) / frame.K[0, 0],
                (v * step + middle - frame.K[1, 2]) / frame.K[1, 1],
                np.ones(len(u)),
            ]
        )
        # As long as the depth is one: the distance along a ray is the depth.
        rays = rays @ frame.T_base_camera[:3, :3].T
        geom, depth = np.full(len(u), -1, np.int32), np.zeros(len(u))
        eye = np.ascontiguousarray(frame.T_base_camera[:3, 3])
        fixed = False
        mujoco.mj_multiRay(model, data, eye, rays.ravel(), None, fixed, exclude, geom, depth, None, len(u), _FARTHEST_M)
        met = geom >= 0
        nearest[v[met], u[met]] = depth[met]
        return nearest

    def _draw(self, nearest: NDArray[np.float32], box: Box, frame: Frame, step: int) -> None:
        """Put a held box into depths (h, w) of the robot, as near as its nearest corner."""
        tip = pose(self._data.xmat[self._tip].reshape(3, 3), self._data.xpos[self._tip])
        corners = transform(tip @ box.T_parent_box, _CORNERS * box.half_extents)
        seen = transform(invert(frame.T_base_camera), corners)
        seen = seen[seen[:, 2] > _NEAREST_M]
        if len(seen) < 3:
            return
        drawn = Image.new("1", nearest.shape[::-1])
        ImageDraw.Draw(drawn).polygon([tuple(corner) for corner in outline(project(seen, frame.K)) / step], fill=1)
        covered = np.asarray(drawn, bool)
        nearest[covered] = np.minimum(nearest[covered], seen[:, 2].min())


@cache
def shape_of(robot: RobotModel) -> RobotShape:
    """The shape of a robot, made once."""
    return RobotShape(robot)


class SelfFilteredCamera:
    """A camera whose images have no depth where they show the robot (`Frame.robot`).

    Args:
        camera: Takes the images.
        shape: The robot.
        where: Where the robot was when an image was taken; None where that is not known: the image stays as it is.
    """

    def __init__(self, camera: Camera, shape: RobotShape, where: Callable[[Frame], RobotPose | None]) -> None:
        self._camera, self._shape, self._where = camera, shape, where
        self._newest: tuple[Frame, tuple[Box, ...], Frame] | None = None

    def capture(self) -> Frame:
        """See ports.Camera."""
        taken = self._camera.capture()
        at = self._where(taken)
        if at is None:
            return taken
        newest = self._newest  # the same image is the same frame
        if newest is None or newest[0] is not taken or [*map(id, newest[1])] != [*map(id, at.held)]:
            newest = self._newest = taken, at.held, without_robot(taken, self._shape.seen(taken, at))
        return newest[2]


def without_robot(frame: Frame, robot: BoolArray | None) -> Frame:
    """An image without depth where a mask (H, W) shows the robot; the same one where it shows none of it."""
    if robot is None or not robot.any():
        return frame
    depth = frame.depth.copy()
    depth.view(np.uint32)[robot] = SHOWS_ROBOT_BITS
    depth.setflags(write=False)
    return replace(frame, depth=depth)


def _covered(corners: FloatArray, K: FloatArray, step: int, size: tuple[int, int]) -> tuple[slice, slice] | None:
    """Rows and columns, of every `step` pixels, of the rectangle about corners (8, 3) in the camera's frame."""
    if corners[:, 2].max() < _NEAREST_M:
        return None
    if corners[:, 2].min() < _NEAREST_M:
        return slice(None), slice(None)
    uv = project(corners, K) / step
    (u0, v0), (u1, v1) = np.floor(uv.min(axis=0)).astype(int), np.ceil(uv.max(axis=0)).astype(int) + 1
    if u1 <= 0 or v1 <= 0 or u0 >= size[0] or v0 >= size[1]:
        return None
    return slice(max(v0, 0), v1), slice(max(u0, 0), u1)


_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
"""Corners of a box in half extents [-]."""
