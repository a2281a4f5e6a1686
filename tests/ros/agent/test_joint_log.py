"""The joints of a command over ROS 2: thinned, on the recorder's clock, and whole when drivers send them apart."""

from typing import Any

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from tests.gen3 import GEN3
from toolhand.agent_node.ros.joint_log import PERIOD_S, JointLog


class Node:
    """Keeps the callback of its only subscription."""

    def create_subscription(self, kind: Any, topic: str, callback: Any, *rest: Any, **more: Any) -> None:
        self.send = callback


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def parts() -> tuple[Node, Clock, JointLog]:
    node, clock = Node(), Clock()
    return node, clock, JointLog(node, clock)  # type: ignore[arg-type]


def test_nothing_measured_is_an_empty_motion(parts: tuple[Node, Clock, JointLog]) -> None:
    assert parts[2].motion().positions.shape == (0, len(GEN3.joints))


def test_a_fast_driver_is_thinned_and_times_are_the_recorders(parts: tuple[Node, Clock, JointLog]) -> None:
    node, clock, log = parts
    for tick in range(101):
        clock.now = 5.0 + tick * 0.001
        node.send(JointState(name=[*GEN3.joints], position=[tick * 0.1] * 8))
    motion = log.motion()
    assert np.allclose(motion.times, [5.0, 5.0 + PERIOD_S, 5.0 + 2 * PERIOD_S])
    assert np.allclose(motion.positions[:, 7], [0.0, 4.0, 8.0])


def test_arm_and_gripper_that_are_sent_apart_are_put_together(parts: tuple[Node, Clock, JointLog]) -> None:
    node, _, log = parts
    node.send(JointState(name=[*GEN3.joints[:7]], position=[1.0] * 7))
    assert len(log.motion().times) == 0
    node.send(JointState(name=[GEN3.joints[7]], position=[0.5]))
    node.send(JointState(name=[*GEN3.joints[:7]], position=[2.0] * 7))
    assert log.motion().positions.tolist() == [[2.0] * 7 + [0.5]]


def test_a_clock_that_is_set_back_never_puts_times_out_of_order(parts: tuple[Node, Clock, JointLog]) -> None:
    node, clock, log = parts
    for clock.now in (3.0, 1.0, 3.1):
        node.send(JointState(name=[*GEN3.joints], position=[clock.now] * 8))
    assert log.motion().times.tolist() == [3.0, 3.1]


def test_continuous_joints_that_are_reported_modulo_a_turn_do_not_jump(parts: tuple[Node, Clock, JointLog]) -> None:
    node, clock, log = parts
    for tick, angle in enumerate(np.arange(3.0, 3.6, 0.1)):
        clock.now = tick * 2 * PERIOD_S
        wrapped = float(np.remainder(angle + np.pi, 2 * np.pi) - np.pi)
        node.send(JointState(name=[*GEN3.joints], position=[wrapped] * 7 + [0.0]))
    positions = log.motion().positions
    assert np.allclose(positions[:, 2], np.arange(3.0, 3.6, 0.1))
    assert np.abs(np.diff(positions[:, 1])).max() > 6.0, "a joint with stops has no turns"
