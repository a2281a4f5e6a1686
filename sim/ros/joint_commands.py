"""Position commands of controllers elsewhere: the arm and the gripper as a ros2_control system on topics.

The topics are those of ros2_kortex's description with `sim_isaac:=true`, as Isaac Sim has them, and of
joint_state_topic_hardware_interface: the controller manager commands and hears the simulated robot by them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from toolhand.sim.arm import Motion
from toolhand.sim.ros.physics import TICK_S, MovingPart, Physics
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray

COMMANDS, STATES = "isaac_joint_commands", "isaac_joint_states"
"""Topics of sensor_msgs/msg/JointState: what is commanded, and what is measured."""


class JointCommands:
    """Carries out the positions on `COMMANDS`: no joint faster than its limit, whatever is commanded.

    A command is reached over one tick of the physics, within which time does not pass evenly. Joints that are not
    named, positions that are not finite and joints of others change nothing.

    Args:
        physics: Runs the motions.
    """

    def __init__(self, node: Node, physics: Physics, robot: RobotModel) -> None:
        self._physics = physics
        self._robot = robot
        self._last: dict[str, float] = {}
        self._world: World | None = None
        node.create_subscription(JointState, COMMANDS, self._on_command, qos_profile_sensor_data)

    def _on_command(self, message: Any) -> None:
        commanded = {
            name: position
            for name, position in zip(message.name, message.position, strict=False)
            if math.isfinite(position)
        }
        self._physics.call(lambda world: self._command(world, commanded))

    def _command(self, world: World, commanded: dict[str, float]) -> None:
        """In the physics thread; a command that is sent again changes nothing, so that what rests may rest."""
        if world is not self._world:  # the controllers hold where the arm was in the world before
            self._world, self._last = world, {}
        news = {name: position for name, position in commanded.items() if self._last.get(name) != position}
        self._last |= news
        if any(name in news for name in self._robot.arm_joints):
            reference = dict(zip(self._robot.arm_joints, world.arm_reference.tolist(), strict=True))
            target = np.array([commanded.get(name, at) for name, at in reference.items()])
            self._physics.begin(MovingPart.ARM, lambda world, stopped: _reach(world, target))
        knuckle = news.get(self._robot.gripper.joint)
        if knuckle is not None:
            self._physics.begin(MovingPart.GRIPPER, lambda world, stopped: _close(world, knuckle))


def _reach(world: World, target: FloatArray) -> Motion[None]:
    """Draw the arm's reference to a position (n,) [rad]."""
    left, most = round(TICK_S / world.timestep), world.robot.velocity * world.timestep
    while (way := target - world.arm_reference).any():
        world.command_arm(world.arm_reference + np.clip(way / left, -most, most))
        left = max(left - 1, 1)
        yield


def _close(world: World, target: float) -> Motion[None]:
    """Draw the gripper's reference to a position [rad] at its speed; what it closes on holds it up."""
    gripper = world.robot.gripper
    command, most = world.knuckle, gripper.speed * world.timestep
    target = min(max(target, gripper.open_at), gripper.closed_at)
    while command != target:
        command += max(-most, min(most, target - command))
        world.command_knuckle(command)
        yield
