"""Stops at random moments of a pick and place over ROS: are they confirmed, how soon, and does anything move after?

Every second stop waits until the arm moves: on a busy machine, planning takes most of a task's time. It needs a
free-running simulated graph; it loads a world of its own and begins it anew for every stop. Between stops time runs
fast, around each it runs as on the wall clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from geometry_msgs.msg import Point, PointStamped, PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from simulation_interfaces.srv import LoadWorld, ResetSimulation
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.action import ExecuteGrasp, Place

from sim.scene.files import parse_scene, scene_yaml
from sim.scene.scenes import Scene
from sim.station import Station
from tool_nodes.results import ErrorCode, ToolError, unavailable
from tool_nodes.ros.calling import call
from tool_nodes.ros.joint_states import JointReading, JointStates
from tool_nodes.ros.messages import BASE_FRAME, matrix_to_pose
from tool_nodes.toolbox.toolbox import Session
from tool_nodes.types import FloatArray

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
"""
PLACE = (0.40, -0.02, 0.0)
"""Free place on the table, base frame [m]."""

STILL = 0.005
"""The arm is at rest below this [rad/s]."""

MOVING = 0.05
"""A stop that waits for a motion comes when the fastest joint is above this [rad/s]; ten times STILL."""

WATCH_S = 0.5
"""How long after a confirmed stop the arm is watched, in time of the robot [s]."""

LEAD_S = 0.2
"""Time runs as on the wall clock from this long before a stop [s]."""

FAST = 4.0
"""Real-time factor of the moves between two measurements [-]."""
_PATIENCE_S = 60.0
"""Longest wait for the graph [s]."""
_ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_FAULTS = frozenset({"STOPPED", "CANCELLED", "UNAVAILABLE", "INTERNAL", "TIMEOUT", "CONTROLLER_FAULT"})


@dataclass(frozen=True)
class StopSample:
    """One stop.

    Attributes:
        moment_s: When it was to be, in time of the robot after the first goal was sent [s].
        phase: Phase of the motion then.
        speed: Speed of the fastest joint then [rad/s].
        confirmed: The answer said that the arm stands still.
        reaction_s: From the call until no joint moved any more, in time of the robot [s].
        answer_s: From the call to the answer, by the wall clock [s].
        goal_code: Error code that the motion ended with.
        refused: A goal that was sent before the reset was refused with STOPPED.
        later_commands: Goals that the controllers accepted after the confirmation, before the reset.
        later_speed: Speed of the fastest joint in that time [rad/s].
        next_code: How the first command after the reset ended; empty for success.
    """

    moment_s: float
    phase: str
    speed: float
    confirmed: bool
    reaction_s: float
    answer_s: float
    goal_code: str
    refused: bool
    later_commands: int
    later_speed: float
    next_code: str

    @property
    def quiet(self) -> bool:
        """No command was sent and nothing moved after the confirmation."""
        return self.later_commands == 0 and self.later_speed < 2 * STILL

    @property
    def usable(self) -> bool:
        """The first command after the reset was carried out, or failed as a task and not as a system."""
        return self.next_code not in _FAULTS


def measure_stops(
    node: Node, n: int, seed: int = 0, on_sample: Callable[[StopSample], None] = lambda sample: None
) -> list[StopSample]:
    """Stop n picks and placements at random moments.

    Args:
        node: Spun by an executor in another thread; its graph is free-running.
        n: Number of stops.
        seed: Seed of the moments.
        on_sample: Gets each sample at once.

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where the graph does not answer; INTERNAL where it cannot do the task.
    """
    trials = _Trials(node)
    total_s = trials.rehearse()
    moments = np.random.default_rng(seed)
    samples: list[StopSample] = []
    while len(samples) < n:
        sample = trials.stop_at(float(moments.uniform(0.0, total_s)), in_motion=len(samples) % 2 == 1)
        if sample is not None:
            samples.append(sample)
            on_sample(sample)
    return samples


def stop_rows(samples: Sequence[StopSample]) -> list[dict[str, Any]]:
    """Rows for a benchmark's document."""
    moving = [sample for sample in samples if sample.speed > STILL]

    def percentiles(values: Sequence[float]) -> dict[str, float | None]:
        return {f"p{p}_ms": round(1e3 * float(np.percentile(values, p)), 1) if values else None for p in (50, 95, 99)}

    return [
        {
            "name": "stop",
            "n": len(samples),
            "confirmed": sum(sample.confirmed for sample in samples),
            "refused_while_latched": sum(sample.refused for sample in samples),
            "quiet_after": sum(sample.quiet for sample in samples),
            "usable_after_reset": sum(sample.usable for sample in samples),
            "next_command": dict(Counter(sample.next_code or "done" for sample in samples)),
        },
        {"name": "stop_reaction_simulated", "n": len(samples)} | percentiles([s.reaction_s for s in samples]),
        {"name": "stop_reaction_simulated_moving", "n": len(moving)} | percentiles([s.reaction_s for s in moving]),
        {"name": "stop_answer_wall", "n": len(samples)} | percentiles([s.answer_s for s in samples]),
    ]


def easy_grasp(scene: Scene) -> FloatArray:
    """A grasp (4, 4) of the toy block in the base frame, as the tools find it in process."""
    station, session = Station(scene), Session()

    def use(name: str, **arguments: Any) -> Any:
        return station.toolbox.call(name, arguments, session).result

    use("robot.capture_image")
    use("robot.get_depth_with_pointcloud")
    (point,) = use("roborefer.detect_one", obj_name="toy block", image_index=0).variables.values()
    use("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
    found = use(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    T: FloatArray = station.camera.capture().T_base_camera @ found.variables["grasp_pose"]
    return T


class _Trials:
    """Plays the task again and again, and stops it."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = ReentrantCallbackGroup()
        self._clients: dict[str, Any] = {}
        self._readings: list[JointReading] = []
        self._joints = JointStates(node, "joint_states", self._readings.append)
        self._accepted: set[bytes] = set()
        self._active: dict[str, int] = {}
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for name in (self._joints.robot.trajectory_action, self._joints.robot.gripper_action):
            topic = f"{name}/_action/status"
            node.create_subscription(GoalStatusArray, topic, self._status_of(name), latched, callback_group=self._group)
        self._grasps = ActionClient(node, ExecuteGrasp, "execute_grasp", callback_group=self._group)
        self._places = ActionClient(node, Place, "place", callback_group=self._group)
        scene = parse_scene(SCENE)
        pose = PoseStamped(header=Header(frame_id=BASE_FRAME), pose=matrix_to_pose(easy_grasp(scene)))
        self._grasp = ExecuteGrasp.Goal(grasp=pose, approval_mode=ExecuteGrasp.Goal.AUTO)
        x, y, z = PLACE
        point = PointStamped(header=Header(frame_id=BASE_FRAME), point=Point(x=x, y=y, z=z))
        self._place = Place.Goal(target=Place.Goal.POINT_3D, point_3d=point, approval_mode=Place.Goal.AUTO)
        answer = self._call(LoadWorld, "load_world", resource_string=scene_yaml(scene))
        if answer.result.result != 1:
            raise unavailable(f"The world could not be loaded: {answer.result.error_message}")

    # -- the task --------------------------------------------------------------------------------

    def rehearse(self) -> float:
        """Duration of the undisturbed task [s], in time of the robot, with time to think."""
        self._begin()
        began_s = self._now()
        for client, goal in ((self._grasps, self._grasp), (self._places, self._place)):
            result = self._end(self._send(client, goal))
            if not result.status.success:
                raise ToolError(ErrorCode.INTERNAL, f"The task cannot be done undisturbed: {result.status.message}")
        return self._now() - began_s

    def stop_at(self, moment_s: float, in_motion: bool) -> StopSample | None:
        """Begin anew, play until a moment, stop, look, reset, and go on; None where the task was over before.

        With `in_motion`, it is the first moment from then on at which the arm moves.
        """
        self._begin()
        due_s = self._now() + moment_s
        goal = self._send(self._grasps, self._grasp)
        self._wait(lambda: self._now() >= due_s - LEAD_S or goal.ended)
        if goal.ended:  # the moment lies in the second half
            goal = self._send(self._places, self._place)
            self._wait(lambda: self._now() >= due_s - LEAD_S or goal.ended)
        self._set("sim", "real_time_factor", 1.0)
        self._wait(lambda: self._now() >= due_s or goal.ended)
        if in_motion:
            self._wait(lambda: _speed(self._newest()) > MOVING or goal.ended)
        if goal.ended:
            return None

        at = self._newest()
        phase, count = goal.phase, len(self._readings)
        called_s = time.monotonic()
        answer = self._call(Trigger, "stop")
        answer_s = time.monotonic() - called_s
        goal_code = self._end(goal).status.error_code
        moving = [reading for reading in self._readings[count:] if _speed(reading) > STILL]
        reaction_s = max(0.0, (moving[-1].stamp_ns - at.stamp_ns) / 1e9) if moving else 0.0

        commands, count, until_s = set(self._accepted), len(self._readings), self._now() + WATCH_S
        refused = self._end(self._send(self._grasps, self._grasp)).status.error_code == "STOPPED"
        self._wait(lambda: self._now() >= until_s)
        later = [_speed(reading) for reading in self._readings[count:]]
        later_commands = len(self._accepted - commands) + sum(self._active.values())

        self._call(Trigger, "reset_stop")
        self._set("sim", "real_time_factor", FAST)
        return StopSample(
            moment_s, phase, _speed(at), answer.success, reaction_s, answer_s, goal_code, refused,
            later_commands, max(later), self._go_on(),
        )  # fmt: skip

    def _go_on(self) -> str:
        """Error code of the first command after a reset: place what is held, else grasp."""
        status = self._end(self._send(self._places, self._place)).status
        if status.error_code in ("NOT_HOLDING", "OBJECT_DROPPED"):
            status = self._end(self._send(self._grasps, self._grasp)).status
        return str(status.error_code)

    def _begin(self) -> None:
        self._set("sim", "real_time_factor", FAST)
        self._call(ResetSimulation, "reset_simulation")
        self._set("motion", "seed", 0)
        self._readings.clear()
        self._wait(lambda: len(self._readings) > 0)

    # -- the graph -------------------------------------------------------------------------------

    def _status_of(self, name: str) -> Callable[[Any], None]:
        def note(message: Any) -> None:
            self._active[name] = sum(entry.status in _ACTIVE for entry in message.status_list)
            self._accepted.update(bytes(entry.goal_info.goal_id.uuid) for entry in message.status_list)

        return note

    def _newest(self) -> JointReading:
        newest = self._joints.newest
        if newest is None:
            raise unavailable("No joint states have come from the simulator.")
        return newest

    def _now(self) -> float:
        """Time of the robot [s]."""
        return self._newest().stamp_ns / 1e9

    def _call(self, kind: Any, name: str, **fields: Any) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name, callback_group=self._group)
        return call(self._clients[name], kind.Request(**fields), _PATIENCE_S, _PATIENCE_S)

    def _set(self, node: str, name: str, value: Any) -> None:
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        result = self._call(SetParameters, f"{node}/set_parameters", parameters=parameters).results[0]
        if not result.successful:
            raise unavailable(f"{node} refused {name}: {result.reason}")

    def _send(self, client: ActionClient, goal: Any) -> _Goal:
        if not client.wait_for_server(timeout_sec=_PATIENCE_S):
            raise unavailable("The motion node does not serve its actions.")
        sent = _Goal(client, goal)
        self._wait(lambda: sent.accepted)
        return sent

    def _end(self, goal: _Goal) -> Any:
        self._wait(lambda: goal.ended)
        return goal.result

    def _wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise ToolError(ErrorCode.TIMEOUT, f"The graph did not go on within {_PATIENCE_S:g} s.")
            time.sleep(0.001)


class _Goal:
    """A goal on its way."""

    def __init__(self, client: ActionClient, goal: Any) -> None:
        self.phase = ""
        self._future: Any = None
        client.send_goal_async(goal, feedback_callback=self._on_feedback).add_done_callback(self._on_answer)

    def _on_feedback(self, message: Any) -> None:
        self.phase = message.feedback.phase

    def _on_answer(self, sent: Any) -> None:
        self._future = sent.result().get_result_async()

    @property
    def accepted(self) -> bool:
        """The server has taken it."""
        return self._future is not None

    @property
    def ended(self) -> bool:
        """The result is there."""
        return self._future is not None and bool(self._future.done())

    @property
    def result(self) -> Any:
        """The action's result."""
        return self._future.result().result


def _speed(reading: JointReading) -> float:
    return float(np.abs(reading.qd).max())
