"""The arm's drivers: session, controllers, fault, joint states, clock and limits."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from controller_manager_msgs.srv import ListControllers
from example_interfaces.msg import Bool
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from toolhand.tool_nodes.motion.urdf_xml import UrdfFile
from toolhand.tool_nodes.ros.bringup.findings import problem
from toolhand.tool_nodes.ros.bringup.listening import HEARD_S, Listening
from toolhand.tool_nodes.ros.faults import FAULT_TOPIC, LIST_SERVICE

_SLOWEST_HZ = 20.0
"""Joint states must come so often [1/s]: an arm at 2 rad/s turns by 0.1 rad between two of them, half of the path
tolerance."""

_CLOCKS_S = 0.1
"""Clocks of arm and computer may differ by so much [s]: more would pair images with poses of another moment."""

_LIMIT_SLACK = 0.01
"""Limits of one joint in two descriptions are the same to within this [rad]: printed digits, and degrees."""

_LIST_CONTROLLERS = f"/{LIST_SERVICE}"
_BROADCASTER, _FAULT_CONTROLLER = "joint_state_broadcaster", FAULT_TOPIC.partition("/")[0]


class DriverChecks(Listening):
    """What the arm's own programs must be like; each check returns a sentence, or raises ToolError."""

    def session(self) -> str:
        """The arm's driver is in the graph, so that it has a session with the arm."""
        if not self._link.offers(_LIST_CONTROLLERS):
            raise problem(
                f"The arm's driver is not in the graph: nobody serves {_LIST_CONTROLLERS}.",
                "Start ros2_kortex (launch/kinova.launch.yaml has the command). If it ends by itself, close the arm's "
                "Web App in every browser: only one client may have the session; and look for TIMEOUT in its log, "
                "after which the arm must be switched off and on.",
            )
        return "The arm's driver is in the graph."

    def controllers(self) -> str:
        """The controllers that motions need are active, and the gripper's takes the action that is sent."""
        answer = self._link.call(ListControllers, _LIST_CONTROLLERS, ListControllers.Request())
        states = {entry.name: entry.state for entry in answer.controller}
        trajectories, gripper = (
            name.split("/")[0] for name in (self._robot.trajectory_action, self._robot.gripper_action)
        )
        for name in (_BROADCASTER, trajectories, gripper, _FAULT_CONTROLLER):
            if states.get(name) != "active" and (self._hardware or name != _FAULT_CONTROLLER):
                found = f"is {states[name]}" if name in states else "is not loaded"
                raise problem(
                    f"The controller {name} {found}, but must be active.",
                    f"ros2 run controller_manager spawner {name}; the twist controller, which moves the same joints, "
                    "must be inactive.",
                )
        wanted = str(self._parameter("motion", "gripper_action"))
        offered = self._offered(self._robot.gripper_action)
        if offered and wanted not in offered:
            raise problem(
                f"The gripper's controller takes {' and '.join(offered)}, but the motion node sends {wanted}.",
                f"toolhand up kinova gripper_action:={offered[0]}",
            )
        return f"{trajectories} and {gripper} ({wanted}) are active."

    def _offered(self, action: str) -> list[str]:
        """Types of an action's servers, without their package: a client of another type is no server of it."""
        name = self._node.resolve_topic_name(action)
        kinds: set[str] = set()
        for node, namespace in self._node.get_node_names_and_namespaces():
            served = dict(get_action_server_names_and_types_by_node(self._node, node, namespace))
            kinds |= {kind.rpartition("/")[2] for kind in served.get(name, [])}
        return sorted(kinds)

    def fault(self) -> str:
        """The arm is not in a fault."""
        heard = self._hear(Bool, FAULT_TOPIC)
        if heard is None and not self._hardware:
            return f"Without an arm nothing is heard on /{FAULT_TOPIC}."
        if heard is None:
            raise problem(
                f"Nothing came on /{FAULT_TOPIC} within {HEARD_S:g} s, so that a fault would not be noticed.",
                f"ros2 run controller_manager spawner {_FAULT_CONTROLLER}",
            )
        if heard.data:
            raise problem(
                "The arm is in a fault: it ignores every command while its controllers report success.",
                "Find the cause (the Web App names it, under Notifications), make sure that nobody is near the arm, "
                "then clear it: toolhand stop --reset-fault",
            )
        return "The arm is in no fault."

    def joint_states(self) -> str:
        """All joints are measured, often enough, once each, and at rest."""
        self._readings.clear()
        self._joints.wait_for(lambda reading: len(self._readings) > 1, HEARD_S)
        newest = self._joints.newest
        if newest is None or not self._readings:
            raise problem(
                f"No joint states of this robot came within {HEARD_S:g} s: "
                f"{self._joints.complaint or 'nothing came on /joint_states'}.",
                "Look at joint_state_broadcaster, and whether --robot names the robot that is there.",
            )
        if complaint := self._joints.complaint:
            raise problem(f"The joint states cannot be used: {complaint}.", "Look who publishes /joint_states.")
        began, count = time.monotonic(), len(self._readings)
        time.sleep(1.0)
        rate = (len(self._readings) - count) / (time.monotonic() - began)
        if rate < _SLOWEST_HZ:
            raise problem(
                f"Joint states come {rate:.0f} times a second, but must come {_SLOWEST_HZ:.0f} times.",
                "Look at the network and at state_publish_rate.",
            )
        recent = self._readings[count:]
        if any(later.stamp_ns < earlier.stamp_ns for earlier, later in pairwise(recent)):
            raise problem(
                "The stamps of the joint states go back: two clocks, or two publishers, are at work.",
                "Look who publishes /joint_states: ros2 topic info -v /joint_states",
            )
        if (unrest := self._joints.unrest()) is not None:
            raise problem(
                f"The arm is not at rest, though nobody here has asked it to move: {unrest.why}.",
                "Let go of it, end the program that moves it, and begin again.",
            )
        return f"{self._robot.dof} joints and the gripper are measured {rate:.0f} times a second, at rest."

    def clock(self) -> str:
        """The robot's stamps are of now, by this computer's clock."""
        if self._parameter("motion", "use_sim_time"):
            return "The graph runs on simulated time; no clocks were compared."
        # Each came some time after its stamp; the one that was on its way for the shortest time tells most.
        ahead_s = time.time() - time.monotonic()
        offset_s = max(reading.stamp_ns / 1e9 - (reading.received_s + ahead_s) for reading in self._readings)
        if abs(offset_s) > _CLOCKS_S:
            raise problem(
                f"The joint states are stamped {abs(offset_s):.2f} s {'ahead of' if offset_s > 0 else 'behind'} this "
                "computer's clock.",
                "Let both computers follow one time server (chrony), and look at use_sim_time.",
            )
        return f"Clocks agree to {1000 * abs(offset_s):.0f} ms."

    def limits(self) -> str:
        """The arm is within the limits, which are those of the driver's own description."""
        newest = self._joints.newest
        assert newest is not None
        q, robot = newest.q, self._robot
        for name, at, low, high in zip(robot.arm_joints, q, robot.lower, robot.upper, strict=True):
            if not low <= at <= high:
                raise problem(
                    f"{name} is measured at {at:.3f} rad, outside of its range from {low:.3f} to {high:.3f} rad.",
                    "Bring it back with the Web App or by hand; is it the robot that --robot names?",
                )
        described = self._hear(
            String,
            "robot_description",
            QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        )
        if described is None:
            return "The arm is within its limits; nobody publishes /robot_description to compare them with."
        for name, low, high in _limits_in(described.data, robot.arm_joints):
            at = robot.arm_joints.index(name)
            if robot.lower[at] < low - _LIMIT_SLACK or robot.upper[at] > high + _LIMIT_SLACK:
                raise problem(
                    f"The driver's description lets {name} turn from {low:.2f} to {high:.2f} rad, but {robot.name} "
                    f"here from {robot.lower[at]:.2f} to {robot.upper[at]:.2f} rad.",
                    "Is it the robot that --robot names? docs/guides/robot.md says how to make a folder for another.",
                )
        return "The arm is within its limits, which are the driver's."


def _limits_in(description: str, joints: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """Ranges [rad] of those joints in a URDF that have one. Raises ToolError UNAVAILABLE where a joint is missing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot_description.urdf"
        path.write_text(description, "utf-8")
        root = UrdfFile(path).root
    found = {joint.get("name"): joint for joint in root.findall("joint")}
    for name in joints:
        joint = found.get(name)
        if joint is None:
            raise problem(
                f"The driver's description has no joint {name}: it is another robot.",
                "Name the robot that is there with --robot.",
            )
        limit = joint.find("limit")
        if joint.get("type") == "revolute" and limit is not None:
            low, high = (float(limit.get(key, "nan")) for key in ("lower", "upper"))
            if math.isfinite(low) and math.isfinite(high):
                yield name, low, high
