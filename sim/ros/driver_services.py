"""What ros2_kortex and ros2_control serve beside the two actions: a fault and its reset, controllers and their switch.

Sources: picknik_reset_fault_controller, hardware_interface.cpp of ros2_kortex 1fdbef3, controller_manager of jazzy.
"""

from __future__ import annotations

from typing import Any

from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers, SwitchController
from example_interfaces.msg import Bool
from example_interfaces.srv import Trigger
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from toolhand.sim.ros.awaiting import awaited
from toolhand.sim.ros.driver import ACTIVE, INACTIVE, Driver
from toolhand.sim.ros.physics import Physics
from toolhand.sim.world import World

_UPDATE_RATE = 1000
"""Of the controller_manager of ros2_kortex [Hz]."""


class DriverServices:
    """Serves them for the driver kortex, and publishes the fault.

    Args:
        physics: Runs the driver.
    """

    def __init__(self, node: Node, physics: Physics, driver: Driver) -> None:
        self._node = node
        self._physics = physics
        self._driver = driver
        robot = physics.world.robot
        self._types = {
            "joint_state_broadcaster": ("joint_state_broadcaster/JointStateBroadcaster", ()),
            driver.trajectory_controller: (
                "joint_trajectory_controller/JointTrajectoryController",
                tuple(f"{joint}/position" for joint in robot.arm_joints),
            ),
            "twist_controller": (
                "picknik_twist_controller/PicknikTwistController",
                tuple(f"tcp/twist.{kind}.{axis}" for kind in ("linear", "angular") for axis in "xyz"),
            ),
            driver.gripper_controller: (
                "parallel_gripper_action_controller/GripperActionController",
                (f"{robot.gripper.joint}/position",),
            ),
            "fault_controller": (
                "picknik_reset_fault_controller/PicknikResetFaultController",
                ("reset_fault/command", "reset_fault/async_success"),
            ),
        }
        self._fault = node.create_publisher(Bool, "fault_controller/internal_fault", 1)
        group = ReentrantCallbackGroup()
        for kind, name, serve in (
            (Trigger, "fault_controller/reset_fault", self._reset_fault),
            (ListControllers, "controller_manager/list_controllers", self._list),
            (SwitchController, "controller_manager/switch_controller", self._switch),
        ):
            node.create_service(kind, name, serve, callback_group=group)

    def show_fault(self) -> None:
        """Publish whether the arm is in fault; called in the physics thread, before the joint states."""
        if self._driver.active("fault_controller"):
            self._fault.publish(Bool(data=self._driver.internal_fault))

    async def _reset_fault(self, request: Any, response: Any) -> Any:
        """Answers once the arm stands still, and no sooner: the original waits for its hardware without a deadline."""
        if not self._driver.active("fault_controller"):
            response.success, response.message = False, "The fault_controller is inactive."
            return response
        repaired = await awaited(self._node, self._physics.call(lambda world: self._driver.reset_fault()))
        await awaited(self._node, repaired)
        response.success = True
        return response

    def _list(self, request: Any, response: Any) -> Any:
        for name, state in self._driver.controllers.items():
            kind, interfaces = self._types[name]
            claimed = list(interfaces) if state == ACTIVE else []
            response.controller.append(
                ControllerState(
                    name=name,
                    state=state,
                    type=kind,
                    update_rate=_UPDATE_RATE,
                    claimed_interfaces=claimed,
                    required_command_interfaces=list(interfaces),
                )
            )
        return response

    async def _switch(self, request: Any, response: Any) -> Any:
        response.message = await awaited(self._node, self._physics.call(lambda world: self._switched(world, request)))
        response.ok = not response.message
        return response

    def _switched(self, world: World, request: Any) -> str:
        """Carry out a switch, wholly or not at all; why not, or ""."""
        driver, strict = self._driver, request.strictness == SwitchController.Request.STRICT
        states = dict(driver.controllers)
        for state, names in ((INACTIVE, request.deactivate_controllers), (ACTIVE, request.activate_controllers)):
            for name in names:
                if name not in states:
                    return f"Could not switch '{name}' since no controller with this name exists."
                if strict and states[name] == state:
                    return f"Could not switch '{name}' since it is {state} already."
                states[name] = state
        if states["twist_controller"] == states[driver.trajectory_controller] == ACTIVE:
            return "Can't start twist controller while joint based controller is running!"
        driver.controllers = states
        return ""
