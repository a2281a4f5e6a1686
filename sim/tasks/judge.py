"""The judge: watches an episode in the simulator, and lets the task score what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np

from toolhand.sim.camera.ray import CameraModel
from toolhand.sim.contacts import Contacts
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import History, Score, Task, Transcript
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.types import FloatArray


class JudgedWorld(Protocol):
    """What a judge needs of a world, here or in another process; see toolhand.sim.world.World."""

    @property
    def robot(self) -> RobotModel:
        """Which robot it has."""

    @property
    def model(self) -> mujoco.MjModel:
        """The physics' model."""

    @property
    def data(self) -> mujoco.MjData:
        """A state for images of what was logged."""

    @property
    def log(self) -> list[tuple[float, FloatArray]]:
        """(time [s], qpos) of the motion so far."""

    @property
    def contact_log(self) -> list[tuple[float, Contacts]]:
        """(time [s], what touches what) of the states of `log`; empty where that is not known."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""

    def snapshot(self) -> Snapshot:
        """The objects' true state."""

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        """Let time pass; snapshots every `every` seconds, first and last included."""


class MovedArm(Protocol):
    """Notes when the arm first began to move."""

    first_motion_at: float | None


class JudgedStation(Protocol):
    """A station whose episodes can be judged: toolhand.sim.station.Station, or one over ROS 2."""

    @property
    def scene(self) -> Scene:
        """What stands on the table at the start."""

    @property
    def config(self) -> StationConfig:
        """Backends and seed."""

    @property
    def world(self) -> JudgedWorld:
        """Its physics."""

    @property
    def arm(self) -> MovedArm:
        """Its arm."""

    @property
    def toolbox(self) -> Toolbox:
        """Its tools."""

    def scene_camera(self) -> CameraModel:
        """Calibration and true pose of the scene camera."""

    def make_camera(self, model: CameraModel) -> Camera:
        """A camera in its world."""


class Judge:
    """Watches one episode, to score it by what the simulator knows. Make it before the robot moves.

    Args:
        station: Station that the robot works at.
        before: The objects before the robot moved, where that is over: `before` of the judge that saw it; now where
            None.

    Attributes:
        before: The objects before the robot moved.
    """

    def __init__(self, station: JudgedStation, before: Snapshot | None = None) -> None:
        self._station = station
        self.before = before or station.world.snapshot()

    @property
    def sim_time_s(self) -> float:
        """Simulated time since the beginning [s]."""
        return self._station.world.time - self.before.time

    def score(self, task: Task, transcript: Transcript) -> Score:
        """Let time pass as the task asks, then let it score.

        Raises:
            ToolError: INTERNAL where the physics broke: such an episode has no score.
        """
        return task.score(self.history(task.holds_s), transcript)

    def history(self, holds_s: Sequence[float]) -> History:
        """What is known of the episode; `holds_s` as of Task. Raises ToolError INTERNAL where the physics broke."""
        world, scene = self._station.world, self._station.scene
        holds = tuple(tuple(world.hold(seconds)) for seconds in holds_s)
        after = holds[-1][-1] if holds else world.snapshot()
        log = [(time, qpos) for time, qpos in world.log if time >= self.before.time]
        states = np.array([qpos for _, qpos in log]).reshape(len(log), world.model.nq)
        poses = {}
        for placed in scene.objects:
            address = world.model.jnt_qposadr[world.model.body_jntadr[world.model.body(placed.id).id]]
            poses[placed.id] = states[:, address : address + 7]
        touched = dict(world.contact_log)
        known = all(time in touched for time, _ in log)
        return History(
            scene=scene,
            T_base_camera=self._station.scene_camera().T_base_camera,
            before=self.before,
            times=np.array([time for time, _ in log]),
            poses=poses,
            holds=holds,
            after=after,
            hand=_between_the_jaws(world, states),
            contacts=tuple(touched[time] for time, _ in log) if known else None,
            opening_m=getattr(world, "opening_m", None),
            parked_hand=_hand(world.robot, world.robot.park[None])[0],
        )


def _between_the_jaws(world: JudgedWorld, states: FloatArray) -> FloatArray:
    """(T, 3) where a held object is taken to be, at logged states (T, nq), base frame [m]."""
    arm = [int(world.model.joint(name).qposadr[0]) for name in world.robot.arm_joints]
    return _hand(world.robot, states[:, arm])


def _hand(robot: RobotModel, q: FloatArray) -> FloatArray:
    """(T, 3) the same at joint positions (T, n) [rad]."""
    T_base_gripper = Kinematics(robot).fk_path(q)
    return T_base_gripper[:, :3, 3] + robot.gripper.hold_depth * T_base_gripper[:, :3, 2]
