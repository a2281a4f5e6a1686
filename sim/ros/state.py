"""What the robot's drivers publish: /clock, /joint_states, /tf, /tf_static and /robot_description."""

from __future__ import annotations

import time
from collections.abc import Callable

import mujoco
import numpy as np
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage

from toolhand.sim.camera.ray import jittered, scene_camera
from toolhand.sim.camera.sensor import SensorModel, calibrated, readings_of
from toolhand.sim.ros.driver import Driver
from toolhand.sim.ros.joint_commands import STATES
from toolhand.sim.world import World
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, pose
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ros.messages import BASE_FRAME, matrix_to_pose, time_message
from toolhand.tool_nodes.types import FloatArray

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

TRANSFORM_PERIOD_S = 0.05
"""As robot_state_publisher has it [s]."""

MIN_WALL_PERIOD_S = 0.004
"""However fast time passes, the state is not shown more often than this [s]."""


def stamp_ns(world: World, offset_s: float) -> int:
    """Simulated time [ns] as it is shown in every message."""
    return round((world.time + offset_s) * 1e9)


class JointTransforms:
    """Poses of the robot's links relative to their parents, as the URDF has them."""

    def __init__(self, model: mujoco.MjModel) -> None:
        hinge = int(mujoco.mjtJoint.mjJNT_HINGE)
        robot = [
            body
            for body in range(1, model.nbody)
            if model.body_jntnum[body] == 0 or model.jnt_type[model.body_jntadr[body]] == hinge
        ]
        self.fixed = [body for body in robot if model.body_jntnum[body] == 0]
        self.hinged = [body for body in robot if model.body_jntnum[body] == 1]
        joints = model.body_jntadr[self.hinged]
        self._axis = model.jnt_axis[joints]
        self._qpos = model.jnt_qposadr[joints]
        self._rest = model.body_quat[self.hinged]
        self._model = model
        self._messages = [self._message(body) for body in self.hinged]

    def _message(self, body: int) -> TransformStamped:
        """The body's pose in its parent at rest."""
        model = self._model
        message = TransformStamped(child_frame_id=model.body(body).name)
        message.header.frame_id = model.body(model.body_parentid[body]).name
        p, q = message.transform.translation, message.transform.rotation
        p.x, p.y, p.z = (float(v) for v in model.body_pos[body])
        q.w, q.x, q.y, q.z = (float(v) for v in model.body_quat[body])
        return message

    def static(self) -> list[TransformStamped]:
        """The links that do not move."""
        return [self._message(body) for body in self.fixed]

    def in_parent(self, link: str) -> tuple[str, FloatArray]:
        """The parent of a link that does not move, and its pose (4, 4) in it."""
        body = self._model.body(link).id
        rotation = matrix_from_quat_wxyz(self._model.body_quat[body])
        parent: str = self._model.body(self._model.body_parentid[body]).name
        return parent, pose(rotation, self._model.body_pos[body])

    def at(self, qpos: FloatArray, stamp_ns: int) -> TFMessage:
        """The links that move."""
        stamp = time_message(stamp_ns)
        for message, (w, x, y, z) in zip(self._messages, self._turned(qpos).tolist(), strict=True):
            message.header.stamp = stamp
            q = message.transform.rotation
            q.w, q.x, q.y, q.z = w, x, y, z
        return TFMessage(transforms=self._messages)

    def _turned(self, qpos: FloatArray) -> NDArray[np.float64]:
        """Quaternions (n, 4) wxyz of the hinged bodies: rest, then the turn about the joint's axis."""
        half = qpos[self._qpos] / 2.0
        w, v = np.cos(half)[:, None], np.sin(half)[:, None] * self._axis
        w0, v0 = self._rest[:, :1], self._rest[:, 1:]
        scalar = w0 * w - np.sum(v0 * v, axis=1, keepdims=True)
        return np.hstack([scalar, w0 * v + w * v0 + np.cross(v0, v)])


class StatePublisher:
    """Publishes the state; an observer of the physics, called in its thread.

    Args:
        rate: Joint states per second of simulated time [Hz].
        scene_frame: Optical frame of the scene camera.
        robot: Robot whose description is published.
        device: Gives the sensor that measures as "scene", "wrist" and "arm" now, see
            `toolhand.sim.camera.sensor.device`.
        driver: With the manners of ros2_kortex continuous joints are shown in (-pi, pi] and the gripper as still. With
            `ros2_control` the joints are shown to the controller manager alone, and of the transforms only those of
            the cameras: the rest is robot_state_publisher's.
    """

    def __init__(
        self,
        node: Node,
        rate: float,
        scene_frame: str,
        robot: RobotModel,
        device: Callable[[str], SensorModel],
        driver: Driver,
    ) -> None:
        self._device = device
        self._scene_frame = scene_frame
        self._period = 1.0 / rate
        self._driver = driver
        self._clock = node.create_publisher(Clock, "/clock", 10)
        self._joints = node.create_publisher(JointState, STATES if driver.external else "joint_states", 10)
        self._tf = node.create_publisher(TFMessage, "/tf", 100)
        self._tf_static = node.create_publisher(TFMessage, "/tf_static", LATCHED)
        if not driver.external:
            self._description = node.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=robot.urdf_text()))
        self._model: mujoco.MjModel | None = None
        self._shown = self._shown_tf = -1
        self._shown_wall = 0.0
        self._tf_listeners = 0

    def publish(self, world: World, offset_s: float, at_once: bool) -> None:
        """Publish what is due; clock and joints whether due or not where `at_once`."""
        now_ns, wall = stamp_ns(world, offset_s), time.monotonic()
        if world.model is not self._model or self._device("scene") is not self._scene_device:
            self._begin(world)
        due = not 0 <= now_ns - self._shown < self._period * 1e9 - 1e6 and wall - self._shown_wall >= MIN_WALL_PERIOD_S
        if at_once or due:
            self._shown, self._shown_wall = now_ns, wall
            self._clock.publish(Clock(clock=time_message(now_ns)))
            if self._driver.shows_joints:
                self._joints.publish(self._joint_state(world, now_ns))
        listeners = self._tf.get_subscription_count()
        stale = not 0 <= now_ns - self._shown_tf < TRANSFORM_PERIOD_S * 1e9 - 1e6
        if not self._driver.external and ((stale and (at_once or due)) or listeners > self._tf_listeners):
            self.publish_transforms(world, now_ns)
        self._tf_listeners = listeners

    def _joint_state(self, world: World, now_ns: int) -> JointState:
        readings = readings_of(self._device("arm"))
        position, knuckle_velocity = readings.joints(world.arm_position, world.time), world.knuckle_velocity
        knuckle = world.knuckle
        if readings.of_jaws:
            knuckle = world.robot.gripper.joint_position(readings.opening(world.opening_m, world.time))
        if self._driver.kortex:
            position, knuckle_velocity = world.robot.nearest_turn(position, np.zeros_like(position)), 0.0
        return JointState(
            header=Header(stamp=time_message(now_ns)),
            name=list(world.robot.joints),
            position=[*position.tolist(), knuckle],
            velocity=[*world.arm_velocity.tolist(), knuckle_velocity],
        )

    def publish_transforms(self, world: World, now_ns: int) -> None:
        """Publish the poses of the moving links; called in the physics thread."""
        self._shown_tf = now_ns
        self._tf.publish(self._transforms.at(world.data.qpos, now_ns))

    def _begin(self, world: World) -> None:
        """Another world: what does not move may stand elsewhere."""
        self._model = world.model
        self._transforms = JointTransforms(world.model)
        self._scene_device = self._device("scene")
        model, wrist = jittered(scene_camera(), world.scene), world.robot.wrist_camera_frame
        _, T_base_scene = calibrated(self._scene_device, model.K, model.T_base_camera)
        links = [] if self._driver.external else self._transforms.static()
        links.append(_transform(BASE_FRAME, self._scene_frame, T_base_scene))
        parent, T_parent_wrist = self._transforms.in_parent(wrist)
        _, reported = calibrated(self._device("wrist"), model.K, T_parent_wrist)
        if self._driver.external or reported is not T_parent_wrist:
            links = [link for link in links if link.child_frame_id != wrist]
            links.append(_transform(parent, wrist, reported))
        self._tf_static.publish(TFMessage(transforms=links))


def _transform(parent: str, child: str, T_parent_child: FloatArray) -> TransformStamped:
    pose_of = matrix_to_pose(T_parent_child)
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    p, at = message.transform.translation, pose_of.position
    p.x, p.y, p.z = at.x, at.y, at.z
    message.transform.rotation = pose_of.orientation
    return message
