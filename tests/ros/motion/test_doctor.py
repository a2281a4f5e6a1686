"""The doctor names the first object that is wrong with an arm that was set up, and moves nothing unasked."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers
from example_interfaces.msg import Bool
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger

from tests.gen3 import GEN3
from tests.ros.motion.conftest import Cell, MakeCell
from tests.ros.motion.drivers import Drivers
from tests.ros.motion.test_approval import TOKEN, Operator
from tests.ros.tool_nodes.fake_camera import FakeCamera
from toolhand.bench.ros.task import SCENE
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.camera_names import WRIST, ZED
from toolhand.tool_nodes.nodes.camera_node import CameraNode
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros import link as link_module
from toolhand.tool_nodes.ros.bringup import Bringup, cameras, drivers, listening
from toolhand.tool_nodes.ros.bringup.findings import Finding, check_all, network
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import time_message

ACTIVE = ("joint_state_broadcaster", "joint_trajectory_controller", "robotiq_gripper_controller", "fault_controller")
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Arm(Drivers):
    """The drivers of a Gen3, whose messages and controllers can be changed."""

    def __init__(self, context: Any) -> None:
        super().__init__(context, wrapped=True, gripper_action="ParallelGripperCommand", gripper_velocity="zero")
        self._publisher = self._joints
        self._joints = self
        self._now_s = time.time()
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._fault = self.create_publisher(Bool, "fault_controller/internal_fault", 1)
        self.behave()
        self.create_timer(0.1, self._tell)
        self.create_service(ListControllers, "controller_manager/list_controllers", self._on_list)

    def behave(self) -> None:
        """As a Gen3 without a fault."""
        self.silent, self.offset_s, self.fault, self.by_wall = False, 0.0, "", True
        self.controllers = dict.fromkeys(ACTIVE, "active") | {"twist_controller": "inactive"}
        self.change: Callable[[Any], Any] = lambda message: None
        self.in_fault: bool | None = False
        self.describe(GEN3.urdf_text())

    def describe(self, urdf: str) -> None:
        self._description.publish(String(data=urdf))

    def publish(self, message: Any) -> None:
        """What the joint states' timer calls."""
        message.header.stamp = time_message(time.time_ns() + round(self.offset_s * 1e9))
        if self.change(message) is None:
            self._publisher.publish(message)

    def _tell(self) -> None:
        if self.in_fault is not None:
            self._fault.publish(Bool(data=self.in_fault))

    def _on_list(self, request: Any, response: Any) -> Any:
        response.controller = [ControllerState(name=name, state=state) for name, state in self.controllers.items()]
        return response


class Bench:
    """An arm with both cameras, the nodes camera and motion, and an operator who says no unless told otherwise."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.arm: Arm = cell.spin(Arm)
        station = Station(parse_scene(SCENE), StationConfig(image_size=(160, 120)))
        frames = (station.camera.capture(), station.wrist_camera.capture())
        node: Node = cell.spin(lambda context: Node("cameras", context=context))
        self.eyes = [
            FakeCamera(node, frame, [], names.topics) for frame, names in zip(frames, (ZED["new"], WRIST), strict=True)
        ]
        self._frames = frames
        self.camera_node = cell.spin(lambda context: CameraNode(context=context))
        self.behave()

    def behave(self) -> None:
        self.arm.behave()
        for eye, frame, names in zip(self.eyes, self._frames, (ZED["new"], WRIST), strict=True):
            eye.behave()
            eye.frame = replace(frame)
            eye.header = lambda names=names: Header(stamp=time_message(time.time_ns()), frame_id=names.optical_frame)

    def examine(self, ask: Callable[[str], bool] | None = None, hardware: bool = True) -> list[Finding]:
        with RosLink(self.cell.environment) as link:
            return list(check_all(Bringup(link, GEN3, ask, hardware).checks))


@pytest.fixture(scope="module")
def bench(router: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    file = tmp_path_factory.mktemp("operator") / "token"
    file.touch(0o600)
    file.write_text(TOKEN + "\n")
    settings = {"approval": "ask-motion", "approval_token_file": str(file), "gripper_action": "ParallelGripperCommand"}
    cell = Cell(router, 231, settings | {"availability_deadline_s": 2.0, "approval_deadline_s": 20.0})
    yield Bench(cell)
    cell.close()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is absent is waited for in shorter."""
    for module in (listening, drivers, cameras):
        monkeypatch.setattr(module, "HEARD_S", 2.5)
    monkeypatch.setattr(link_module, "_DISCOVERY_S", 2.5)


@pytest.fixture
def sound(bench: Bench) -> Iterator[Bench]:
    yield bench
    bench.behave()


def test_simulated_hardware_needs_no_fault_controller(sound: Bench) -> None:
    """As ros2_kortex's launch files have it with use_fake_hardware:=true."""
    del sound.arm.controllers["fault_controller"]
    sound.arm.in_fault = None
    assert [finding for finding in sound.examine(hardware=False) if not finding.passed] == []


def test_a_sound_arm_passes_every_check_and_is_not_moved(sound: Bench) -> None:
    findings = sound.examine()
    assert [finding for finding in findings if not finding.passed] == []
    assert findings[-1].check == "first motion"
    assert "was not moved" in findings[-1].says
    assert sound.arm.goals == 0


def test_the_first_motion_is_shown_approved_and_measured(sound: Bench) -> None:
    operator, asked = Operator(sound.cell), []
    sound.cell.wait(lambda: sound.cell.motion.count_subscribers("/motion_request"), "the subscription")
    with ThreadPoolExecutor(1) as pool:
        findings = pool.submit(sound.examine, lambda question: not asked.append(question))
        request = operator.next()
        assert request.what.startswith("Try the arm: straight up")
        assert operator.answer(request.hash).success
        last = findings.result()[-1]
    assert last.passed, last
    assert re.fullmatch(r"The gripper was measured (19|20)\.\d mm higher, and came back\.", last.says)
    assert len(asked) == 1  # to allow motions again after the stop was tried
    assert sound.arm.goals == 2


def test_a_person_who_says_no_ends_it_without_a_motion(sound: Bench) -> None:
    operator, before = Operator(sound.cell), sound.arm.goals
    sound.cell.wait(lambda: sound.cell.motion.count_subscribers("/motion_request"), "the subscription")
    with ThreadPoolExecutor(1) as pool:
        findings = pool.submit(sound.examine, lambda question: True)
        operator.answer(operator.next().hash, approve=False, reason="not yet")
        last = findings.result()[-1]
    assert not last.passed
    assert "not approved: not yet" in last.says
    assert sound.arm.goals == before


def without(*names: str) -> Callable[[Any], None]:
    """A change of joint states that leaves joints out."""

    def change(message: Any) -> None:
        kept = [index for index, name in enumerate(message.name) if name not in names]
        for field in ("name", "position", "velocity"):
            setattr(message, field, [getattr(message, field)[index] for index in kept])

    return change


def put(joint: str, position: float) -> Callable[[Any], None]:
    """A change of joint states that measures a joint elsewhere [rad]."""

    def change(message: Any) -> None:
        message.position[list(message.name).index(joint)] = position

    return change


def renamed(message: Any) -> None:
    message.name = [f"{name}_of_another" for name in message.name]


def twice(message: Any) -> None:
    for field in ("name", "position", "velocity"):
        setattr(message, field, [*getattr(message, field), getattr(message, field)[0]])


class Every:
    """A change of joint states that lets only one in so many through."""

    def __init__(self, n: int) -> None:
        self._n, self._count = n, 0

    def __call__(self, message: Any) -> bool | None:
        self._count += 1
        return None if self._count % self._n == 0 else True


class Backwards:
    """A change of joint states: every other one is of half a second before."""

    def __init__(self) -> None:
        self._odd = False

    def __call__(self, message: Any) -> None:
        self._odd = not self._odd
        if self._odd:
            message.header.stamp = time_message(time.time_ns() - 500_000_000)


def eye(index: int, change: Callable[[dict[str, Any]], None]) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        bench.eyes[index].change = change

    return fault


def frame(index: int, **change: Callable[[Any], Any]) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        seen = bench.eyes[index].frame
        bench.eyes[index].frame = replace(seen, **{name: new(getattr(seen, name)) for name, new in change.items()})

    return fault


def arm(**values: Any) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        for name, value in values.items():
            setattr(bench.arm, name, value)

    return fault


def controller(name: str, state: str | None) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        if state is None:
            del bench.arm.controllers[name]
        else:
            bench.arm.controllers[name] = state

    return fault


def description(old: str, new: str) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        assert old in GEN3.urdf_text()
        bench.arm.describe(GEN3.urdf_text().replace(old, new))

    return fault


def misnamed(frame_id: str) -> Callable[[Bench], None]:
    def fault(bench: Bench) -> None:
        bench.eyes[0].header = lambda: Header(stamp=time_message(time.time_ns()), frame_id=frame_id)

    return fault


def stale(bench: Bench) -> None:
    stamp = time_message(time.time_ns() - 2_000_000_000)
    bench.eyes[0].header = lambda: Header(stamp=stamp, frame_id=ZED["new"].optical_frame)


def latched(bench: Bench) -> None:
    assert bench.cell.call(Trigger, "stop").success


def encode(messages: dict[str, Any]) -> None:
    messages["depth"].encoding = "64FC1"


def uncalibrated(messages: dict[str, Any]) -> None:
    messages["camera_info"].k = [0.0] * 9


FAULTS = {
    "the trajectory controller is inactive": (
        controller("joint_trajectory_controller", "inactive"),
        "controllers",
        "joint_trajectory_controller is inactive",
    ),
    "the gripper's controller is inactive": (
        controller("robotiq_gripper_controller", "inactive"),
        "controllers",
        "robotiq_gripper_controller is inactive",
    ),
    "no fault controller": (controller("fault_controller", None), "controllers", "fault_controller is not loaded"),
    "faults are not told": (arm(in_fault=None), "fault", "Nothing came on /fault_controller/internal_fault"),
    "a fault": (arm(in_fault=True), "fault", "The arm is in a fault"),
    "no joint states": (arm(silent=True), "joint states", "nothing came on /joint_states"),
    "the gripper is not measured": (
        arm(change=without(GEN3.gripper.joint)),
        "joint states",
        f"none of {GEN3.gripper.joint}",
    ),
    "a joint named twice": (arm(change=twice), "joint states", "twice in one message"),
    "a joint that is no number": (
        arm(change=put("joint_2", float("nan"))),
        "joint states",
        "as the position of joint_2",
    ),
    "another robot's joints": (arm(change=renamed), "joint states", "none of joint_1"),
    "slow joint states": (arm(change=Every(20)), "joint states", "times a second, but must come 20"),
    "stamps that go back": (arm(change=Backwards()), "joint states", "The stamps of the joint states go back"),
    "an arm that moves": (arm(fault="restless"), "joint states", "is reported to move at 0.100 rad/s"),
    "a clock that is ahead": (arm(offset_s=3.0), "clock", "ahead of this computer's clock"),
    "a clock that is behind": (arm(offset_s=-0.4), "clock", "behind this computer's clock"),
    "a joint beyond its range": (arm(change=put("joint_2", 2.6)), "limits", "joint_2 is measured at 2.600 rad"),
    "narrower limits": (description('lower="-2.57', 'lower="-1.57'), "limits", "The driver's description lets joint_4"),
    "another robot's description": (description('"joint_3"', '"elbow"'), "limits", "has no joint joint_3"),
    "a silent scene camera": (eye(0, dict.clear), "cameras", "Nothing came from the scene camera"),
    "a silent wrist camera": (eye(1, dict.clear), "cameras", "Nothing came from the wrist camera"),
    "an unknown frame": (misnamed("elsewhere"), "transforms", "no transform from base_link to elsewhere"),
    "a stale camera": (stale, "pictures", "older than the request"),
    "a black picture": (frame(0, rgb=lambda rgb: rgb * 0), "pictures", "is black"),
    "a dark picture": (frame(1, rgb=lambda rgb: rgb // 16), "pictures", "too dark"),
    "hardly any depth": (
        frame(1, depth=lambda depth: np.where(np.arange(depth.size).reshape(depth.shape) % 10, np.nan, depth)),
        "pictures",
        "% of the wrist camera's picture has depth",
    ),
    "depth of an unknown encoding": (eye(0, encode), "pictures", "has encoding '64FC1'"),
    "no calibration": (eye(0, uncalibrated), "pictures", "holds no calibration"),
    "a latched stop": (latched, "stop", "A stop is latched"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_failing_line_names_the_fault(sound: Bench, name: str) -> None:
    fault, check, words = FAULTS[name]
    before = sound.arm.goals
    fault(sound)
    try:
        last = sound.examine()[-1]
    finally:
        if fault is latched:
            assert sound.cell.call(Trigger, "reset_stop").success
    assert (last.check, last.passed) == (check, False), last
    assert words in last.says
    assert last.hint
    assert sound.arm.goals == before


def test_a_graph_without_a_driver_is_told_to_close_the_web_app(router: str) -> None:
    with RosLink({"RCLPY_ZENOH_ROUTER": router, "ROS_DOMAIN_ID": "230"}) as link:
        (finding,) = check_all(Bringup(link, GEN3).checks)
    assert (finding.check, finding.passed) == ("session", False)
    assert "Web App" in finding.hint


def test_motions_that_ask_nobody_are_refused(make_cell: MakeCell) -> None:
    with RosLink(make_cell(approval="auto").environment) as link:
        (finding,) = check_all((("approval", Bringup(link, GEN3).approval),))
    assert not finding.passed
    assert "approval is auto" in finding.says


def test_the_other_type_of_gripper_action_is_noticed(make_cell: MakeCell) -> None:
    cell = make_cell(gripper_action="GripperCommand")
    cell.spin(Arm)
    with RosLink(cell.environment) as link:
        (finding,) = check_all((("controllers", Bringup(link, GEN3).controllers),))
    assert not finding.passed
    assert finding.hint == "toolhand up kinova gripper_action:=ParallelGripperCommand"


def test_an_arm_that_does_not_answer_in_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert network(address) == f"127.0.0.1 answers on port {address.partition(':')[2]}."
    (finding,) = check_all((("network", lambda: network(address)),))
    assert not finding.passed
    assert "Connection refused" in finding.says


@pytest.mark.parametrize("address", ["", "arm:", "arm:0", "arm:70000", "arm:x", ":10000"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(ToolError) as caught:
        network(address)
    assert caught.value.code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.UNAVAILABLE)
