"""Parameters of the simulator's node: declared, checked, and for some of them changed at run time."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim.camera.ray import AUTO
from sim.objects.chosen import choose_sets, sets_known_by
from sim.ros.controllers import GRIPPER_ACTIONS
from sim.ros.driver import DRIVER_FAULTS, DRIVERS, InjectedFault
from sim.scene.files import named_scene, parse_scene
from sim.scene.scenes import Scene
from sim.simulators import SIMULATORS, SimulatorName
from tool_nodes import registry
from tool_nodes.camera_names import ZED
from tool_nodes.motion.robot_model import DEFAULT_ROBOT
from tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from tool_nodes.results import ToolError, invalid
from tool_nodes.ros.parameters import told

FAULTS = (
    "",
    "gripper_jam",
    "controller_abort",
    "controller_hang",
    "arm_deaf",
    "camera_black",
    "camera_nan_depth",
    "camera_stale",
    "camera_wrong_encoding",
    "camera_no_info",
    "clock_pause",
    "clock_jump",
    *DRIVER_FAULTS,
)
"""Values of the parameter `fault`, for tests of what others do about it.

gripper_jam: the jaws stay where they are, so that goals end as stalled. controller_abort: trajectories are aborted
halfway. controller_hang: trajectories never end, unless cancelled. arm_deaf: the arm stays where it is while its
controller says success, as with a Gen3 that is in fault. camera_*: black pictures, depth all NaN, the old
picture again and again, an unknown encoding, no camera_info. clock_pause: time stands still, also for steps.
clock_jump: the clock shows 10 s more from now on, until a world is loaded or reset. Those of the driver kortex are
explained at `DRIVER_FAULTS`.
"""

CHANGEABLE = ("fault", "fault_goal", "fault_share", "seed", "real_time_factor", "camera_rate")
MAX_PIXELS = 4096
"""Greatest side of a picture [px]; bounds the memory."""


@dataclass(frozen=True)
class Settings:
    """Values of the parameters, in the order of their names.

    Attributes:
        robot: Which robot, or the folder of its files.
        scene: "example", a seed, or the path of a YAML file.
        scene_yaml: Text of a scene file; wins over `scene` unless it is empty.
        objects: Folders that are object sets beside the installed ones, separated as in PATH; counts at the start.
        seed: Seed of the cameras' sensors; counts from the next world on.
        real_time_factor: Simulated seconds per second; 0 is as fast as possible.
        lockstep: True: time passes only by step_simulation and simulate_steps.
        gripper_action: Type of the gripper's action.
        joint_state_rate: Joint states per simulated second [Hz].
        driver: Manners of the driver: "ideal"; or "kortex", those of ros2_kortex, see `sim.ros.driver`.
        camera_rate: Pictures per second while there is a subscriber [Hz].
        image_width: [px].
        image_height: [px].
        renderer: A name that `sim.camera.ray.make_camera` knows.
        sensor: Sensor model of cameras and readings, a name of the group `toolhand.sensor`, or SCENE+WRIST.
        zed_names: Names of zed-ros2-wrapper for the scene camera's topics and frame: "new" (5.1 and later) or "old".
        simulator: Simulator whose names services and entities have: "toolhand"; "isaac", whose manners the services
            have too; or "gazebo".
        fault: One of `FAULTS`.
        fault_goal: A fault of the driver kortex comes in this goal, counted over both controllers from the time at
            which `fault` is set; 0 is at once.
        fault_share: After this share of that goal's motion, 0 to 1.
    """

    robot: str = DEFAULT_ROBOT
    scene: str = "example"
    scene_yaml: str = ""
    objects: str = ""
    seed: int = 0
    real_time_factor: float = 1.0
    lockstep: bool = False
    gripper_action: str = "GripperCommand"
    joint_state_rate: float = 50.0
    driver: str = "ideal"
    camera_rate: float = 10.0
    image_width: int = 640
    image_height: int = 480
    renderer: str = "ray"
    sensor: str = DEFAULT_SENSOR
    zed_names: str = "new"
    simulator: SimulatorName = "toolhand"
    fault: str = ""
    fault_goal: int = 0
    fault_share: float = 0.0

    @property
    def injected(self) -> InjectedFault:
        """The fault of the driver."""
        return InjectedFault(self.fault, self.fault_goal, self.fault_share)

    @property
    def image_size(self) -> tuple[int, int]:
        """(width, height) [px]."""
        return self.image_width, self.image_height

    def first_scene(self) -> Scene:
        """The scene to begin with; its object sets are known from now on. Raises ToolError INVALID_ARGUMENT."""
        choose_sets(self.objects)
        return parse_scene(self.scene_yaml, "scene_yaml") if self.scene_yaml else named_scene(self.scene)


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_GONE = {"camera": "called renderer", "joint_states": "part of driver (ideal or kortex)"}
"""What parameters that there were once are today."""
_CHOICES = {
    "gripper_action": GRIPPER_ACTIONS,
    "driver": DRIVERS,
    "zed_names": tuple(ZED),
    "simulator": tuple(SIMULATORS),
    "fault": FAULTS,
}
_RANGES = {
    "seed": (0, 2**31 - 1),
    "real_time_factor": (0.0, 1000.0),
    "joint_state_rate": (1.0, 500.0),
    "camera_rate": (0.1, 60.0),
    "image_width": (16, MAX_PIXELS),
    "image_height": (16, MAX_PIXELS),
    "fault_goal": (0, 1000),
    "fault_share": (0.0, 1.0),
}


def checked(name: str, value: Any) -> Any:
    """The value of a parameter in its own type. Raises ToolError INVALID_ARGUMENT."""
    kind = type(getattr(Settings, name))
    if name == "scene" and type(value) is int:
        value = str(value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise _invalid(
            name, {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[kind], value
        )
    choices = (*registry.names("renderer"), AUTO) if name == "renderer" else _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise _invalid(name, " or ".join(choice or "empty" for choice in choices), value)
    if name == "sensor":
        require_sensor(value)
    if name in _RANGES:
        low, high = _RANGES[name]
        if not (math.isfinite(value) and low <= value <= high):
            raise _invalid(name, f"from {low:g} to {high:g}", value)
    return value


def _invalid(name: str, allowed: str, value: Any) -> ToolError:
    return invalid(f"Parameter {name} must be {allowed}, got {str(value)[:200]!r}.")


def declare(node: Node) -> Settings:
    """Declare the parameters of a node and read them. Raises ToolError INVALID_ARGUMENT."""
    for name, instead in _GONE.items():
        if node.declare_parameter(name, "", ParameterDescriptor(dynamic_typing=True)).value != "":
            raise invalid(f"Parameter {name} of sim is {instead} since version 0.2.0.")
        node.undeclare_parameter(name)
    values = {}
    for field in fields(Settings):
        # Of any type, because 1 is a rate and a seed is a scene, and a wrong type deserves a sentence.
        descriptor = ParameterDescriptor(
            description=_description(field.name), dynamic_typing=True, read_only=field.name not in CHANGEABLE
        )
        values[field.name] = checked(field.name, node.declare_parameter(field.name, field.default, descriptor).value)
    settings = _consistent(Settings(**values))
    told(node, "objects_known_by", sets_known_by(settings.objects), "What the object sets are known by")
    return settings


def _consistent(settings: Settings) -> Settings:
    """The same settings. Raises ToolError INVALID_ARGUMENT for a fault that the driver does not have."""
    if settings.fault in DRIVER_FAULTS and settings.driver != "kortex":
        raise invalid(f"The fault {settings.fault} is one of the driver kortex: start with driver:=kortex.")
    return settings


def changed(settings: Settings, parameters: list[Parameter]) -> tuple[Settings, SetParametersResult]:
    """The settings after a request to change parameters, and the answer to it."""
    try:
        own = {p.name: checked(p.name, p.value) for p in parameters if p.name in CHANGEABLE}
        return _consistent(replace(settings, **own)), SetParametersResult(successful=True)
    except ToolError as error:
        return settings, SetParametersResult(successful=False, reason=str(error))


def _description(name: str) -> str:
    """The line of `Settings`' docstring about a parameter."""
    lines = (line.strip() for line in (Settings.__doc__ or "").splitlines())
    return next((line.split(": ", 1)[1] for line in lines if line.startswith(f"{name}: ")), "")
