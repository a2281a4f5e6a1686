"""Cells with a domain of their own: the motion node in this process, an operator, a simulator or fake drivers."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from rclpy_zenoh import overlay

overlay.install()

import rclpy
from action_msgs.msg import GoalStatusArray
from geometry_msgs.msg import Point, PointStamped, PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import EntityState
from simulation_interfaces.srv import SetEntityState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.action import ExecuteGrasp, Place

from tests.gen3 import time_waypoints
from toolhand.bench.ros.task import PLACE, SCENE, easy_grasp
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.nodes.motion_node import MotionNode
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.ros.messages import matrix_to_pose, nanoseconds
from toolhand.tool_nodes.types import FloatArray, Trajectory

ROOT = Path(__file__).parents[3]
PACKAGE = Path(overlay.__file__).parents[1]
PATIENCE_S = 40.0
"""A bound against hanging, not a promise."""
UNDER_WAY_S = 2.0
"""Robot time within which an image that was published has arrived [s]: a quarter of a second of the wall clock."""

CONTROLLERS = ("joint_trajectory_controller/follow_joint_trajectory", "robotiq_gripper_controller/gripper_cmd")

_domains = itertools.cycle(range(1 + os.getpid() % 100, 200))


@dataclass(frozen=True)
class Target:
    """A grasp of the toy block in the base frame, a free place, where the camera is, and the scene of all."""

    T_base_gripper: FloatArray
    T_base_camera: FloatArray
    place: tuple[float, float, float]
    scene: Scene


@pytest.fixture(scope="session")
def target() -> Target:
    scene = parse_scene(SCENE)
    T_base_camera = Station(scene).camera.capture().T_base_camera
    return Target(easy_grasp(scene), T_base_camera, PLACE, scene)


@dataclass(frozen=True)
class Sample:
    """What joint_states showed: robot time [s], wall clock [s], fastest arm joint [rad/s]."""

    t: float
    wall_s: float
    speed: float


class Simulator:
    """sim_node in another process."""

    def __init__(self, environment: dict[str, str], parameters: dict[str, Any]) -> None:
        arguments = [item for name, value in parameters.items() for item in ("-p", f"{name}:={value}")]
        self._command = [sys.executable, "-m", "rclpy_zenoh.run", "toolhand.sim.sim_node", "--ros-args", *arguments]
        paths = os.pathsep.join(map(str, (PACKAGE, ROOT)))
        self._environment = os.environ | environment | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, env=self._environment, cwd=ROOT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)


class Goal:
    """A goal of the operator, on its way."""

    def __init__(self, cell: Cell, client: ActionClient, goal: Any) -> None:
        self.feedback: list[Any] = []
        self._cell = cell
        self._sent = client.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        self.handle = cell.done(self._sent)
        assert self.handle.accepted
        self._result = self.handle.get_result_async()

    @property
    def phases(self) -> list[str]:
        return list(dict.fromkeys(feedback.phase for feedback in self.feedback))

    @property
    def stages(self) -> list[str]:
        return [feedback.text for feedback in self.feedback]

    @property
    def ended(self) -> bool:
        return bool(self._result.done())

    def cancel(self) -> None:
        self._cell.done(self.handle.cancel_goal_async())

    def end(self) -> tuple[int, Any]:
        """(status, result)."""
        response = self._cell.done(self._result)
        return response.status, response.result


class Cell:
    """The motion node and an operator, each with a session of its own.

    Attributes:
        samples: Every joint state so far.
        active: By controller, the number of its goals that are on their way.
        accepted: By controller, how many goals it has accepted so far.
    """

    def __init__(self, endpoint: str, domain: int, motion_parameters: dict[str, Any]) -> None:
        self.environment = {"RCLPY_ZENOH_ROUTER": endpoint, "ROS_DOMAIN_ID": str(domain)}
        self._contexts: list[Context] = []
        self._executors: list[MultiThreadedExecutor] = []
        self._threads: list[threading.Thread] = []
        self.simulator: Simulator | None = None
        self.samples: list[Sample] = []
        self.active: dict[str, int] = dict.fromkeys(CONTROLLERS, 0)
        self.accepted: dict[str, set[bytes]] = {name: set() for name in CONTROLLERS}
        overrides = [Parameter(name, value=value) for name, value in motion_parameters.items()]
        self.motion: MotionNode = self.spin(lambda context: MotionNode(context=context, parameter_overrides=overrides))
        self.operator = self.spin(lambda context: rclpy.create_node("operator", context=context))
        group = ReentrantCallbackGroup()
        self._grasps = ActionClient(self.operator, ExecuteGrasp, "execute_grasp", callback_group=group)
        self._places = ActionClient(self.operator, Place, "place", callback_group=group)
        self.operator.create_subscription(JointState, "joint_states", self._on_joints, 50)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for name in CONTROLLERS:
            self.operator.create_subscription(
                GoalStatusArray, f"{name}/_action/status", lambda m, name=name: self._on_status(name, m), latched
            )

    def spin(self, make: Callable[[Context], Any]) -> Any:
        """A node in a context and an executor of its own."""
        context = Context()
        with patch.dict(os.environ, self.environment):
            rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
        node = make(context)
        executor = MultiThreadedExecutor(4, context=context)
        executor.add_node(node)
        thread = threading.Thread(target=self._spin, args=(executor,), daemon=True)
        thread.start()
        self._contexts.append(context)
        self._executors.append(executor)
        self._threads.append(thread)
        return node

    @staticmethod
    def _spin(executor: MultiThreadedExecutor) -> None:
        with contextlib.suppress(ExternalShutdownException):
            executor.spin()

    def close(self) -> None:
        if self.simulator is not None:
            self.simulator.kill()
        for executor, thread in zip(self._executors, self._threads, strict=True):
            nodes = executor.get_nodes()
            executor.shutdown(timeout_sec=5.0)
            thread.join(PATIENCE_S)
            for node in nodes:
                node.destroy_node()
        for context in self._contexts:
            context.try_shutdown()

    # -- what is seen ----------------------------------------------------------------------------

    def _on_joints(self, message: JointState) -> None:
        speed = max(abs(v) for name, v in zip(message.name, message.velocity, strict=True) if name.startswith("joint"))
        self.samples.append(Sample(nanoseconds(message.header.stamp) / 1e9, time.monotonic(), speed))

    def _on_status(self, name: str, message: GoalStatusArray) -> None:
        self.active[name] = sum(entry.status in (1, 2, 3) for entry in message.status_list)
        self.accepted[name] |= {bytes(entry.goal_info.goal_id.uuid) for entry in message.status_list}

    @property
    def commands(self) -> int:
        """Goals that the controllers have accepted so far."""
        return sum(map(len, self.accepted.values()))

    @property
    def speed(self) -> float:
        return self.samples[-1].speed if self.samples else 0.0

    def wait(self, condition: Callable[[], Any], what: str = "this") -> Any:
        """The first true value of a condition."""
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            assert time.monotonic() < end, f"waited in vain for {what}"
            time.sleep(0.002)
        return value

    def done(self, future: Any) -> Any:
        self.wait(future.done, "an answer")
        return future.result()

    def assert_still(self, tolerance: float = 0.01) -> None:
        """No joint moves, for three measurements from now on."""
        count = len(self.samples)
        self.wait(lambda: len(self.samples) >= count + 4, "joint states")
        assert max(sample.speed for sample in self.samples[count + 1 : count + 4]) < tolerance

    # -- what is done ----------------------------------------------------------------------------

    def call(self, kind: Any, name: str, /, **fields: Any) -> Any:
        client = self.operator.create_client(kind, name, callback_group=ReentrantCallbackGroup())
        try:
            assert client.wait_for_service(PATIENCE_S), name
            return self.done(client.call_async(kind.Request(**fields)))
        finally:
            self.operator.destroy_client(client)

    def stop(self) -> Any:
        return self.call(Trigger, "stop")

    def reset_stop(self) -> Any:
        return self.call(Trigger, "reset_stop")

    def set(self, node: str, name: str, value: Any) -> None:
        parameter = Parameter(name, value=value).to_parameter_msg()
        answer = self.call(SetParameters, f"{node}/set_parameters", parameters=[parameter])
        assert answer.results[0].successful, answer.results[0].reason

    def move_entity(self, name: str, position: tuple[float, float, float]) -> None:
        """Put an object somewhere else, and let the images that were under way then arrive: where the clock of a node
        is late, one of them counts as new."""
        state = EntityState()
        p, state.pose.orientation.w = state.pose.position, 1.0
        p.x, p.y, p.z = position
        answer = self.call(SetEntityState, "set_entity_state", entity=name, state=state)
        assert answer.result.result == 1, answer.result.error_message
        arrived = self.samples[-1].t + UNDER_WAY_S
        self.wait(lambda: self.samples[-1].t > arrived, "pictures that were under way")

    @staticmethod
    def grasp_goal(T: FloatArray, mode: str = "auto", plan_id: str = "", frame_id: str = "base_link") -> Any:
        pose = PoseStamped(header=Header(frame_id=frame_id), pose=matrix_to_pose(T))
        return ExecuteGrasp.Goal(grasp=pose, approval_mode=mode, plan_id=plan_id)

    def grasp(self, T: FloatArray, mode: str = "auto", plan_id: str = "", frame_id: str = "base_link") -> Goal:
        return self.send_grasp(self.grasp_goal(T, mode, plan_id, frame_id))

    def send_grasp(self, goal: Any) -> Goal:
        assert self._grasps.wait_for_server(PATIENCE_S)
        return Goal(self, self._grasps, goal)

    def send_place(self, goal: Any) -> Goal:
        assert self._places.wait_for_server(PATIENCE_S)
        return Goal(self, self._places, goal)

    def place(self, point: tuple[float, float, float] = PLACE, mode: str = "auto") -> Goal:
        x, y, z = point
        at = PointStamped(header=Header(frame_id="base_link"), point=Point(x=x, y=y, z=z))
        return self.send_place(Place.Goal(target=Place.Goal.POINT_3D, point_3d=at, approval_mode=mode))

    def start_simulator(self, **parameters: Any) -> None:
        values = {"image_width": 320, "image_height": 240, "scene_yaml": f'"{_quoted(SCENE)}"'} | parameters
        self.simulator = Simulator(self.environment, values)
        self.wait(lambda: self.samples, "the simulator")


def _quoted(text: str) -> str:
    return text.replace("\n", "\\n")


MakeCell = Callable[..., Cell]


@pytest.fixture
def make_cell(router: str) -> Iterator[MakeCell]:
    """`make_cell(lockstep=True)`: a cell whose motion node has these parameters."""
    cells: list[Cell] = []

    def make(endpoint: str = router, **parameters: Any) -> Cell:
        cells.append(Cell(endpoint, next(_domains), parameters))
        return cells[-1]

    yield make
    for cell in cells:
        cell.close()


@pytest.fixture(scope="module")
def sim_cell(router: str) -> Iterator[Cell]:
    """A cell with a free-running simulator, shared by a module."""
    cell = Cell(router, next(_domains), {"use_sim_time": True, "availability_deadline_s": 2.0})
    cell.start_simulator(real_time_factor=8.0)
    yield cell
    cell.close()


@pytest.fixture
def arm(cell: Any) -> RosArm:
    """The arm port of a module's own cell."""
    arm: RosArm = cell.motion._arm
    return arm


def a_way(arm: RosArm, by: float = 0.4) -> Trajectory:
    """Every joint of the arm turns by so much [rad] from where it is."""
    q = arm.state().q
    return time_waypoints(np.vstack([q, q + by]))
