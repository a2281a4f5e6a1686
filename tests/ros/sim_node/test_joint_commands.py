"""A controller manager elsewhere has the simulated joints: what it hears, and what its commands do."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from tests.gen3 import ARM_JOINTS, GEN3, GRIPPER_JOINT
from tests.refusals import refused
from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import PARK
from toolhand.sim.ros.joint_commands import COMMANDS, STATES
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.ros.messages import nanoseconds

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def graph(start: Callable[..., Graph]) -> Graph:
    return start(driver="ros2_control")


def commander(graph: Graph) -> Callable[[dict[str, float]], None]:
    publisher = graph.node.create_publisher(JointState, COMMANDS, 1)
    graph.wait(publisher.get_subscription_count)

    def command(positions: dict[str, float]) -> None:
        # As joint_state_topic_hardware_interface sends them: mimic joints are named last and have no positions.
        names = [*positions, "robotiq_85_right_knuckle_joint"]
        publisher.publish(JointState(name=names, position=list(positions.values())))

    return command


def newest(heard: list[Any]) -> dict[str, float]:
    return dict(zip(heard[-1].name, heard[-1].position, strict=True)) if heard else {}


def test_the_joints_are_shown_to_the_controller_manager_alone_in_the_time_of_the_wall(graph: Graph) -> None:
    heard, frames = graph.hear(JointState, STATES), graph.hear(TFMessage, "/tf_static", LATCHED)
    state = graph.wait(lambda: heard and heard[-1])
    assert list(state.name) == [*ARM_JOINTS, GRIPPER_JOINT]
    assert abs(nanoseconds(state.header.stamp) / 1e9 - time.time()) < 60.0
    topics = {name for name, _ in graph.node.get_topic_names_and_types()}
    services = {name for name, _ in graph.node.get_service_names_and_types()}
    assert not topics & {"/joint_states", "/robot_description"}
    assert not [name for name in services if "controller" in name], "they are another program's"
    sent = graph.wait(lambda: frames and frames[-1].transforms)
    assert {each.child_frame_id for each in sent} == {GEN3.wrist_camera_frame, "zed_left_camera_frame_optical"}


def test_commands_are_reached_at_no_more_than_the_limits_whatever_is_commanded(graph: Graph) -> None:
    heard, command = graph.hear(JointState, STATES), commander(graph)
    graph.wait(lambda: heard)
    before, aside = PARK[0], PARK[0] + 0.6
    command({"joint_1": aside, GRIPPER_JOINT: 0.4})
    graph.wait(lambda: abs(newest(heard)["joint_1"] - aside) < 0.01 and abs(newest(heard)[GRIPPER_JOINT] - 0.4) < 0.02)
    # By the stamps of what was measured: as far from the start in a time as the limit allows, and a servo's swing.
    begun = [m for m in heard if abs(m.position[0] - before) > 0.02]
    took_s = (nanoseconds(begun[-1].header.stamp) - nanoseconds(begun[0].header.stamp)) / 1e9
    assert took_s > 0.5 * 0.56 / GEN3.velocity[0]
    others = np.array([newest(heard)[name] for name in ARM_JOINTS[1:]])
    assert np.abs(others - PARK[1:]).max() < 0.02, "joints that were not named stay"


@pytest.mark.parametrize("positions", [{"joint_1": np.nan}, {"wheel": 1.0}, {}])
def test_what_is_no_command_of_this_robot_moves_nothing(graph: Graph, positions: dict[str, float]) -> None:
    heard, command = graph.hear(JointState, STATES), commander(graph)
    command(positions)
    command({"joint_7": PARK[6] + 0.2})
    graph.wait(lambda: heard and abs(newest(heard)["joint_7"] - PARK[6] - 0.2) < 0.01)
    assert abs(newest(heard)["joint_1"] - PARK[0]) < 0.01


@pytest.mark.parametrize("setting", [{"lockstep": True}, {"real_time_factor": 0.0}])
def test_time_of_a_controller_manager_is_the_walls(start: Callable[..., Graph], setting: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "With driver:=ros2_control time passes as on the wall: lockstep:=false "):
        start(driver="ros2_control", **setting)


@pytest.mark.parametrize(
    ("fault", "have"),
    [("arm_deaf", "ideal or kortex"), ("clock_jump", "ideal or kortex"), ("controller_stopped", "kortex")],
)
def test_what_is_a_controller_managers_is_refused(start: Callable[..., Graph], fault: str, have: str) -> None:
    sentence = rf"^The driver ros2_control has no fault {fault}: start with driver:={have}\.$"
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        start(driver="ros2_control", fault=fault)
