"""Joint states: the robot's joints are asked, and only they; what is wrong with one of them is told by its name."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rclpy_zenoh import overlay

overlay.install()

from sensor_msgs.msg import JointState

from tests.gen3 import GEN3
from toolhand.tool_nodes.ros.arm_trace import ArmTrace
from toolhand.tool_nodes.ros.joint_states import JointReading, JointStates
from toolhand.tool_nodes.ros.messages import time_message
from toolhand.tool_nodes.ros.watching import silence

ARM, GRIPPER = GEN3.joints[:7], GEN3.joints[7]


class Node:
    """Keeps the callback of its only subscription and what is logged."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def create_subscription(self, kind: Any, topic: str, callback: Any, *rest: Any, **more: Any) -> None:
        self.send = callback

    def get_logger(self) -> Node:
        return self

    def warning(self, text: str, **options: Any) -> None:
        self.warnings.append(text)


class Listening:
    def __init__(self) -> None:
        self.node, self.readings = Node(), list[JointReading]()
        self.joints = JointStates(self.node, "joint_states", self.readings.append)  # type: ignore[arg-type]
        self.stamp_ns = 0

    def hear(self, *joints: tuple[str, float], velocity: list[float] | None = None, **changed: Any) -> int:
        """Send one message; how many readings that gave."""
        before, self.stamp_ns = len(self.readings), self.stamp_ns + 10_000_000
        message = JointState(
            name=[name for name, _ in joints], position=[q for _, q in joints], velocity=velocity or [], **changed
        )
        message.header.stamp = time_message(self.stamp_ns)
        self.node.send(message)
        return len(self.readings) - before

    def robot(self, **changed: float) -> list[tuple[str, float]]:
        return [(name, changed.get(name, 0.1)) for name in GEN3.joints]


@pytest.fixture
def listening() -> Listening:
    return Listening()


@pytest.mark.parametrize("stranger", [math.nan, math.inf, -math.inf, 1e300])
@pytest.mark.parametrize("first", [True, False])
def test_a_joint_that_is_not_the_robots_hides_nothing(listening: Listening, stranger: float, first: bool) -> None:
    wheel, robot = [("left_wheel_joint", stranger)], listening.robot()
    assert listening.hear(*(wheel + robot if first else robot + wheel)) == 1
    assert listening.readings[-1].q.tolist() == [0.1] * 7
    assert listening.joints.complaint == ""
    assert not listening.node.warnings


def test_a_wheel_that_is_named_twice_hides_nothing(listening: Listening) -> None:
    assert listening.hear(*listening.robot(), ("wheel", 0.0), ("wheel", 1.0)) == 1


def test_a_driver_of_velocities_alone_beside_the_arm_is_no_complaint(listening: Listening) -> None:
    listening.node.send(JointState(name=["left_wheel", "right_wheel"], velocity=[1.0, 1.0]))
    assert listening.joints.complaint.startswith("joint states come, but none of joint_1, ")
    assert listening.hear(*listening.robot()) == 1
    listening.node.send(JointState(name=["left_wheel", "right_wheel"], velocity=[1.0, 1.0]))
    assert listening.joints.complaint == ""


@pytest.mark.parametrize("stranger", [math.nan, math.inf])
def test_the_velocity_of_a_stranger_does_not_keep_the_arm_from_resting(listening: Listening, stranger: float) -> None:
    for _ in range(40):
        listening.hear(*listening.robot(), ("wheel", 0.0), velocity=[0.0] * 8 + [stranger])
    assert listening.joints.unrest() is None


@pytest.mark.parametrize("name", [*ARM, GRIPPER])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_joint_of_the_robot_without_a_position_is_no_reading_and_named(
    listening: Listening, name: str, value: float
) -> None:
    assert listening.hear(*listening.robot(**{name: value})) == 0
    assert listening.joints.complaint == f"the joint states give {value:g} as the position of {name}"
    assert listening.node.warnings == [f"A message is ignored: {listening.joints.complaint}."]
    error = silence(listening.joints)
    assert f"{value:g} as the position of {name}." in error.message
    assert "Look at what publishes them" in error.hint
    assert listening.hear(*listening.robot()) == 1
    assert listening.joints.complaint == ""


@pytest.mark.parametrize("name", [ARM[0], ARM[4], GRIPPER])
def test_a_joint_that_is_named_twice_is_no_reading_and_named(listening: Listening, name: str) -> None:
    assert listening.hear(*listening.robot(), (name, 99.0)) == 0
    assert listening.hear((name, 99.0), *listening.robot()) == 0
    assert listening.joints.complaint == f"the joint states name {name} twice in one message"
    assert listening.hear(*listening.robot(), (name, 0.1)) == 0, "twice the same number is as odd"
    assert f"name {name} twice" in silence(listening.joints).message


def test_fewer_positions_than_names_are_no_reading(listening: Listening) -> None:
    listening.node.send(JointState(name=[*GEN3.joints], position=[0.1] * 7))
    assert listening.joints.complaint == "the joint states of joint_1 have 8 names, but 7 positions"
    listening.node.send(JointState(name=[*GEN3.joints], velocity=[0.1] * 8))
    assert "8 names, but 0 positions" in listening.joints.complaint


def test_a_half_that_went_bad_is_not_taken_from_before(listening: Listening) -> None:
    halves = listening.robot()[:4], listening.robot()[4:]
    assert listening.hear(*halves[1]) == 0
    assert listening.hear(*halves[0]) == 1
    listening.hear((GRIPPER, math.nan))
    assert listening.hear(*halves[0]) == 0, "where the jaws are is not known any more"
    assert GRIPPER in listening.joints.complaint
    listening.hear(*halves[1])
    assert listening.hear(*halves[0]) == 1


def test_what_is_wrong_with_a_message_is_not_said_of_readings_that_come(listening: Listening) -> None:
    listening.hear(*listening.robot())
    listening.hear(*listening.robot(joint_1=math.nan))
    for late_s, said in ((-60.0, "clock stands still"), (60.0, "nan as the position of joint_1")):
        listening.joints._newest = replace(listening.readings[-1], received_s=time.monotonic() - late_s)
        assert said in silence(listening.joints).message


def test_joints_of_another_name_are_told() -> None:
    listening = Listening()
    assert listening.hear(*[(f"gen3_{name}", q) for name, q in listening.robot()]) == 0
    assert "none of joint_1, joint_2" in silence(listening.joints).message


@pytest.mark.parametrize(
    ("extra", "known"), [(("wheel", math.nan), True), (("joint_2", 9.0), False), (("joint_1", math.nan), False)]
)
def test_where_the_arm_was_is_known_by_the_same_rule(extra: tuple[str, float], known: bool) -> None:
    node = Node()
    trace = ArmTrace(node, lambda: None)  # type: ignore[arg-type]
    assert trace.turned(1, 2) is None
    for stamp_ns in (0, 3):
        message = JointState(name=[*ARM, extra[0]], position=[*np.full(7, 0.1).tolist(), extra[1]])
        message.header.stamp = time_message(stamp_ns)
        node.send(message)
    assert trace.turned(1, 2) == (0.0 if known else None)
