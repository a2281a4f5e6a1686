"""The simulator as a ROS 2 node: from outside like ros2_kortex, two cameras and `simulation_interfaces`.

Run it with `ros2 run toolhand_bringup sim_node`, or `python -m rclpy_zenoh.run toolhand.sim.sim_node` without ROS 2.
Its parameters are those of `toolhand.sim.ros.settings.Settings`.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from toolhand.sim.camera.sensor import device
from toolhand.sim.ros.cameras import CameraServer
from toolhand.sim.ros.controllers import GripperController, TrajectoryController
from toolhand.sim.ros.driver import Driver, InjectedFault
from toolhand.sim.ros.driver_services import DriverServices
from toolhand.sim.ros.entities import Entities
from toolhand.sim.ros.joint_commands import JointCommands
from toolhand.sim.ros.physics import Physics
from toolhand.sim.ros.services import Services
from toolhand.sim.ros.settings import changed, declare
from toolhand.sim.ros.simulation import Simulation
from toolhand.sim.ros.state import StatePublisher
from toolhand.sim.ros.truth import TruthServer
from toolhand.sim.simulators import SIMULATORS
from toolhand.sim.world import World
from toolhand.tool_nodes.camera_names import ZED
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.ros.spinning import run_node

CLOCK_JUMP_S = 10.0
"""Jump of the clock when a world is reset [s]: no stamp of the old world can be taken for one of the new."""


class SimNode(Node):
    """The simulator.

    Args:
        options: Options of `rclpy.node.Node`.

    Raises:
        ToolError: INVALID_ARGUMENT for a bad parameter.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("sim", **options)
        self.settings = declare(self)
        robot = load_robot(self.settings.robot)
        world = World(self.settings.first_scene(), robot)
        self.physics = Physics(
            world,
            self._observe,
            self.get_logger().error,
            real_time_factor=self.settings.real_time_factor,
            playing=not self.settings.lockstep,
        )
        settings = self.settings
        self._driver = driver = Driver(settings.driver, robot, lambda: self.settings.seed)
        self._driver_services = DriverServices(self, self.physics, driver) if driver.kortex else None
        self._state_publisher = StatePublisher(
            self,
            settings.joint_state_rate,
            ZED[settings.zed_names].optical_frame,
            robot,
            lambda camera: device(self.settings.sensor, camera, self.settings.seed),
            driver,
        )
        self._camera_server = CameraServer(self, self.physics, self._state_publisher, lambda: self.settings)
        services = Services(self, self.physics, SIMULATORS[settings.simulator])
        self._simulation = Simulation(services, self.settings.lockstep, self.settings.scene)
        self._entity_server = Entities(services)
        self._truth_server = TruthServer(services, driver)
        self._controllers: tuple[TrajectoryController | GripperController, ...] = ()
        if driver.external:
            JointCommands(self, self.physics, robot)
        else:
            self._controllers = (
                TrajectoryController(self, self.physics, robot, lambda: self.settings.fault, driver),
                GripperController(self, self.physics, robot, settings.gripper_action, driver),
            )
        self._settings_lock = threading.Lock()
        self.add_on_set_parameters_callback(self._on_parameters)
        self._apply_fault("", self.settings.injected)
        self.physics.call(lambda world: self.physics.show())
        self._camera_server.start()
        self.physics.start()

    def destroy_node(self) -> None:
        """End the threads, then the node."""
        self._camera_server.close()
        self.physics.close()
        super().destroy_node()

    def _observe(self, world: World, at_once: bool) -> None:
        """Publish the state; called in the physics thread."""
        if self._driver.external:  # what commands it lives in the time of the wall
            self.physics.time_offset = time.time() - world.time
        offset = self.physics.time_offset
        try:
            self._driver.observe(world)
            if self._driver_services is not None:
                self._driver_services.show_fault()
            self._truth_server.observe(world)  # first: an image of a new world must not come before its labels
            self._state_publisher.publish(world, offset, at_once)
            for controller in self._controllers:
                controller.show_feedback(world, offset)
        except Exception:
            # Once the context is shut down nothing can be published; the thread is ended soon after.
            if self.context.ok():
                raise

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        with self._settings_lock:
            before = self.settings
            self.settings, result = changed(before, parameters)
            if self.settings.real_time_factor != before.real_time_factor:
                factor = self.settings.real_time_factor
                self.physics.call(lambda world: self.physics.set_factor(factor))
            self._apply_fault(before.fault, self.settings.injected)
        return result

    def _apply_fault(self, before: str, injected: InjectedFault) -> None:
        """What the physics has to do about the fault; the others read it where it matters."""
        fault = injected.name

        def apply(world: World) -> None:
            self.physics.jam_gripper(fault == "gripper_jam")
            self.physics.freeze(fault == "clock_pause")
            if fault == "clock_jump":
                self.physics.time_offset += CLOCK_JUMP_S
            if self._driver.kortex:
                self._driver.expect_fault(injected, world)
                self.physics.show()

        if fault != before:
            self.physics.call(apply)


def main(args: list[str] | None = None) -> None:
    """Run the simulator until it is interrupted."""
    run_node(SimNode, args)


if __name__ == "__main__":
    main()
