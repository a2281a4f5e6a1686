"""A judge's world from any simulator: poses of its entities, and the joints that the robot's driver publishes."""

from __future__ import annotations

import bisect
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import mujoco
import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import EntityFilters, EntityState, SimulationState
from simulation_interfaces.srv import GetEntitiesStates, GetSimulationState, StepSimulation

from toolhand.sim.contacts import Contacts, touching
from toolhand.sim.posed import PosedWorld
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.simulators import SIMULATORS, Simulator, SimulatorName
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.usd.prims import prim_names
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import nanoseconds
from toolhand.tool_nodes.types import FloatArray

MOVED_RAD = 1e-3
"""A joint that has turned by more than this since the log began has begun to move [rad]; a round figure above noise."""
OVERTAKEN_S = 0.2
"""A message whose stamp is older than the newest by less than this was overtaken [s]; by more, the clock went back. Two
periods of a broadcaster at 10 Hz."""
MAX_SAMPLES = 25 * 600
"""States kept for the judge; ten minutes [-]."""
_POLL_S = 0.01
"""Wall-clock time between two looks at the entities [s]: below LOG_PERIOD_S of simulated time up to four times real
time."""
_WAIT_S = 0.02
"""Wall-clock time between two looks while time passes [s]; a round figure."""
_STILL_S = 0.3
"""Steps are over when the time has stood still for so long, wall clock [s]: Gazebo tells it ten times a second."""


class Caller(Protocol):
    """Calls services, as toolhand.tool_nodes.ros.link.RosLink does."""

    deadlines: Deadlines

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """The response. Raises ToolError."""


class RobotTopics(Protocol):
    """What the robot's driver and the simulator's clock say."""

    @property
    def time(self) -> float:
        """Newest time of the clock [s]."""

    def joints_at(self, time: float) -> dict[str, float]:
        """Positions of the measured joints by their names at a time [s], the nearest that are known [rad]."""


class HeardTopics:
    """RobotTopics over /joint_states and /clock.

    Args:
        robot: Robot whose joints count.
    """

    def __init__(self, node: Node, robot: RobotModel) -> None:
        self._known = robot.joints
        self._lock = threading.Lock()
        self._times: list[float] = []
        self._positions: list[dict[str, float]] = []
        self._clock = 0.0
        node.create_subscription(JointState, "/joint_states", self._hear_joints, 50)
        node.create_subscription(Clock, "/clock", self._hear_clock, 10)

    def _hear_joints(self, message: Any) -> None:
        positions = dict(zip(message.name, message.position, strict=False))
        found = {name: float(positions[name]) for name in self._known if name in positions}
        with self._lock:
            stamp = nanoseconds(message.header.stamp) / 1e9
            if self._times and stamp < self._times[-1] - OVERTAKEN_S:  # the simulation was reset
                self._times.clear()
                self._positions.clear()
            # Arm and gripper may come from two broadcasters, whose messages overtake each other.
            place = bisect.bisect_right(self._times, stamp)
            self._times.insert(place, stamp)
            before = self._positions[place - 1] if place else {}
            self._positions.insert(place, before)
            for index, known in enumerate(self._positions[place:], place):
                taken = {name: value for name, value in found.items() if known.get(name) == before.get(name)}
                self._positions[index] = known | taken  # but what is newer stays
            del self._times[:-MAX_SAMPLES], self._positions[:-MAX_SAMPLES]

    def _hear_clock(self, message: Any) -> None:
        self._clock = nanoseconds(message.clock) / 1e9

    @property
    def time(self) -> float:
        """See RobotTopics."""
        return self._clock

    def joints_at(self, time: float) -> dict[str, float]:
        """See RobotTopics; between two messages by a straight line, for continuous joints the short way."""
        with self._lock:
            if not self._times:
                return {}
            later = bisect.bisect_left(self._times, time)
            if later == 0 or later == len(self._times):
                return dict(self._positions[min(later, len(self._times) - 1)])
            before, after = self._positions[later - 1], self._positions[later]
            start, end = self._times[later - 1], self._times[later]
        share = (time - start) / (end - start) if end > start else 1.0
        turned = {
            name: (value - before.get(name, value) + np.pi) % (2 * np.pi) - np.pi for name, value in after.items()
        }
        return {name: value - (1 - share) * turned[name] for name, value in after.items()}


@dataclass(frozen=True)
class _Sample:
    """Entities at one time: pose (7,) and velocity (6,) of each object by its id."""

    time: float
    poses: dict[str, FloatArray]
    velocities: dict[str, FloatArray]


class HeldWorld:
    """A world in which time passes with the last commands.

    Steps are measured where their length `_step_s` [s] is 0, since no service tells it.
    """

    _link: Caller
    _simulator = SIMULATORS["toolhand"]
    _step_s = 0.0

    def snapshot(self) -> Snapshot:
        """The objects' state now."""
        raise NotImplementedError

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        """Let time pass; snapshots every `every` seconds, first and last included. Raises ToolError."""
        name = self._simulator.service("get_simulation_state")
        state = self._link.call(GetSimulationState, name, GetSimulationState.Request()).state.state
        playing, history = state == SimulationState.STATE_PLAYING, [self.snapshot()]
        for end in (history[0].time + (index + 1) * every for index in range(round(seconds / every))):
            history.append(self._seen(end) if playing else self._stepped(history[-1], end))
        return history

    def _stepped(self, now: Snapshot, end: float) -> Snapshot:
        length, name = self._step_s, self._simulator.service("step_simulation")
        count = round((end - now.time) / length) if length else 1
        while count > 0:
            result = self._link.call(StepSimulation, name, StepSimulation.Request(steps=count)).result
            if result.result != result.RESULT_OK:
                raise ToolError(ErrorCode.INTERNAL, f"The simulation cannot be stepped: {result.error_message}")
            before, now = now, self._seen(now.time + count * length, now.time)
            length = (now.time - before.time) / count
            count = round((end - now.time) / length)
        return now

    def _seen(self, end: float, stepped_from: float = math.inf) -> Snapshot:
        """What is there once the time is at an end, or has moved on from where it was stepped from and stands still.

        A simulator may answer before it has made its steps, as Gazebo does, or tell its time beside its answers, as
        Isaac Sim does.
        """
        newest, changed = self.snapshot(), time.monotonic()
        while newest.time < end - 1e-6 or newest.time == stepped_from:
            stood_s = time.monotonic() - changed
            if newest.time > stepped_from and stood_s > _STILL_S:
                break
            if stood_s > self._link.deadlines.response_s:
                raise ToolError(ErrorCode.TIMEOUT, "The simulated time does not pass.", "Is the simulation playing?")
            time.sleep(_WAIT_S)
            if (now := self.snapshot()).time > newest.time:
                newest, changed = now, time.monotonic()
        return newest


class EntityWorld(HeldWorld):
    """The world of any simulator with `simulation_interfaces`, as far as a judge needs it.

    It is a toolhand.sim.tasks.judge.JudgedWorld. What touches what comes from the poses, with the scene's own shapes;
    see toolhand.sim.posed.

    Args:
        link: Calls the services.
        topics: Joints and clock.
        simulator: Names of services and entities.
        scene: Scene on the table at the start; the simulator has its objects by their ids.

    Attributes:
        scene: Scene on the table at the start.

    Raises:
        ToolError: INTERNAL where the simulator lacks an object of the scene; UNAVAILABLE or TIMEOUT where it does not
            answer.
    """

    def __init__(
        self, link: Caller, topics: RobotTopics, simulator: Simulator, scene: Scene, robot: RobotModel
    ) -> None:
        self._link, self._topics, self._simulator = link, topics, simulator
        self.scene, self.robot = scene, robot
        self._posed = PosedWorld(scene, robot)
        prims = prim_names(placed.id for placed in scene.objects)
        names = prims if simulator.entities else {name: name for name in prims}
        self._ids = {simulator.entities + name: object_id for object_id, name in names.items()}
        self._samples: list[_Sample] = []
        self._logged: tuple[tuple[float, float] | None, list[tuple[float, FloatArray]]] = (None, [])
        self._started: dict[str, float] = {}
        self._moved_at: float | None = None
        self._lock, self._look = threading.Lock(), threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.record()

    # -- what was seen -----------------------------------------------------------------------------

    def follow(self) -> None:
        """Look at the entities again and again, in a thread of its own, until `close`."""
        self._thread = threading.Thread(target=self._poll, name="entities", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _poll(self) -> None:
        while not self._ended.wait(_POLL_S):
            try:
                self.record()
            except ToolError:  # a look that fails leaves a gap; the judge's own looks raise
                continue

    def record(self) -> _Sample:
        """Look at the entities once, and keep what is newer than the newest look. Raises ToolError."""
        with self._look:  # the answer to an older look would be taken for a clock that went back
            return self._record()

    def _record(self) -> _Sample:
        request = GetEntitiesStates.Request(filters=EntityFilters(filter=self._simulator.filter))
        answer = self._link.call(GetEntitiesStates, self._simulator.service("get_entities_states"), request)
        if answer.result.result != answer.result.RESULT_OK:
            raise ToolError(ErrorCode.INTERNAL, f"The simulator does not tell poses: {answer.result.error_message}")
        states = dict(zip(answer.entities, answer.states, strict=False))
        if missing := sorted(set(self._ids) - set(states)):
            raise ToolError(
                ErrorCode.INTERNAL,
                f"The simulator has no entity {missing[0]!r}.",
                "Its objects must have the names of the scene: export the scene with toolhand scene --usd.",
            )
        stamps = [nanoseconds(states[name].header.stamp) / 1e9 for name in self._ids]
        sample = _Sample(
            max(stamps, default=0.0) or self._topics.time,
            {object_id: _pose(states[name]) for name, object_id in self._ids.items()},
            {object_id: _velocity(states[name]) for name, object_id in self._ids.items()},
        )
        with self._lock:
            if self._samples and sample.time < self._samples[-1].time:
                self._samples.clear()
            if not self._samples or sample.time > self._samples[-1].time:
                self._samples.append(sample)
                del self._samples[:-MAX_SAMPLES]
            self._note_motion(sample.time)
        return sample

    def _note_motion(self, now: float) -> None:
        joints = {name: value for name, value in self._topics.joints_at(now).items() if name in self.robot.arm_joints}
        if not self._started:
            self._started = joints
        turned = (np.sin(0.5 * (joints[name] - start)) for name, start in self._started.items() if name in joints)
        if self._moved_at is None and any(2 * abs(half) > MOVED_RAD for half in turned):
            self._moved_at = time.monotonic()

    def mark(self) -> None:
        """Begin the log anew and forget the arm's first motion."""
        with self._lock:
            self._samples.clear()
            self._logged = None, []
            self._started, self._moved_at = {}, None
        self.record()

    @property
    def first_motion_at(self) -> float | None:
        """Wall clock (monotonic) of the arm's first motion that was seen since `mark` [s]."""
        return self._moved_at

    # -- what a judge asks -------------------------------------------------------------------------

    @property
    def model(self) -> mujoco.MjModel:
        """A model of the scene with the robot, in this process."""
        return self._posed.twin.model

    @property
    def data(self) -> mujoco.MjData:
        """A state of this process, for images of what was logged."""
        return self._posed.twin.data

    @property
    def body_index(self) -> dict[int, int]:
        """Body id to index into `scene.objects`."""
        return self._posed.twin.body_index

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.record().time

    @property
    def log(self) -> list[tuple[float, FloatArray]]:
        """(time [s], qpos) since `mark`, a state every LOG_PERIOD_S; between two looks on a straight line."""
        with self._lock:
            samples = list(self._samples)
        if not samples:
            return []
        seen = samples[0].time, samples[-1].time
        if seen == self._logged[0]:  # nothing has moved on since the last time
            return self._logged[1]
        found, later = [], 0
        count = int((samples[-1].time - samples[0].time) / LOG_PERIOD_S + 1e-6) + 1
        for at in (samples[0].time + index * LOG_PERIOD_S for index in range(count)):
            while later < len(samples) - 1 and samples[later].time < at - 1e-9:
                later += 1
            poses = _between(samples[max(later - 1, 0)], samples[later], at)
            found.append((at, self._posed.positions(poses, self._topics.joints_at(at))))
        self._logged = seen, found
        return found

    @property
    def contact_log(self) -> list[tuple[float, Contacts]]:
        """(time [s], what touches what) of the states of `log`."""
        return [(at, self._posed.contacts(qpos)) for at, qpos in self.log]

    def snapshot(self) -> Snapshot:
        """The objects' state now."""
        sample = self.record()
        contacts = self._posed.contacts(self._posed.positions(sample.poses, self._topics.joints_at(sample.time)))
        objects = {
            name: ObjectState(name, pose[:3], pose[3:], sample.velocities[name], touching(contacts, name))
            for name, pose in sample.poses.items()
        }
        return Snapshot(sample.time, objects)


def followed_world(link: RosLink, simulator: SimulatorName, scene: Scene, robot: RobotModel) -> EntityWorld:
    """A world that is looked at from now on; arguments and errors as of EntityWorld."""
    world = EntityWorld(link, HeardTopics(link.node, robot), SIMULATORS[simulator], scene, robot)
    world.follow()
    return world


def _pose(state: EntityState) -> FloatArray:
    p, q = state.pose.position, state.pose.orientation
    return np.array([p.x, p.y, p.z, q.w, q.x, q.y, q.z])


def _velocity(state: EntityState) -> FloatArray:
    v, w = state.twist.linear, state.twist.angular
    return np.array([v.x, v.y, v.z, w.x, w.y, w.z])


def _between(before: _Sample, after: _Sample, at: float) -> dict[str, FloatArray]:
    """Poses at a time between two looks, by a straight line."""
    if after.time <= before.time or at >= after.time:
        return after.poses
    share = max(0.0, (at - before.time) / (after.time - before.time))
    found = {}
    for name, pose in after.poses.items():
        start = before.poses[name]
        near = start[3:] if start[3:] @ pose[3:] >= 0 else -start[3:]
        turn = (1 - share) * near + share * pose[3:]
        found[name] = np.concatenate([(1 - share) * start[:3] + share * pose[:3], turn / np.linalg.norm(turn)])
    return found
