"""Parameters of the simulator's node: declared, checked, and for some of them changed at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Interval
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from toolhand.sim.camera.ray import AUTO
from toolhand.sim.objects.chosen import choose_sets, sets_known_by
from toolhand.sim.ros.controllers import GRIPPER_ACTIONS
from toolhand.sim.ros.driver import DRIVER_FAULTS, DRIVERS, InjectedFault
from toolhand.sim.scene.files import named_scene, parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.simulators import SimulatorName
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.camera_names import ZED
from toolhand.tool_nodes.motion.robot_model import DEFAULT_ROBOT
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from toolhand.tool_nodes.records import Before
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.parameters import one_of

_OWN_CONTROLLERS = ("ideal", "kortex")
"""Drivers with which controllers and clock are the simulator's own."""
FAULTS: Mapping[str, tuple[str, ...]] = {
    "": DRIVERS,
    "gripper_jam": DRIVERS,
    "controller_abort": _OWN_CONTROLLERS,
    "controller_hang": _OWN_CONTROLLERS,
    "arm_deaf": _OWN_CONTROLLERS,
    "camera_black": DRIVERS,
    "camera_nan_depth": DRIVERS,
    "camera_stale": DRIVERS,
    "camera_wrong_encoding": DRIVERS,
    "camera_no_info": DRIVERS,
    "clock_pause": _OWN_CONTROLLERS,
    "clock_jump": _OWN_CONTROLLERS,
    **dict.fromkeys(DRIVER_FAULTS, ("kortex",)),
}
"""Values of the parameter `fault`, for tests of what others do about it, and the drivers that have each.

gripper_jam: the jaws stay where they are, so that goals end as stalled. controller_abort: trajectories are aborted
halfway. controller_hang: trajectories never end, unless cancelled. arm_deaf: the arm stays where it is while its
controller says success, as with a Gen3 that is in fault. camera_*: black images, depth all NaN, the old
image again and again, an unknown encoding, no camera_info. clock_pause: time stands still, also for steps.
clock_jump: the clock shows 10 s more from now on, until a world is loaded or reset. Those of the driver kortex are
explained at `DRIVER_FAULTS`.
"""

CHANGEABLE = ("fault", "fault_goal", "fault_share", "seed", "real_time_factor", "camera_rate")
MAX_PIXELS = 4096
"""Greatest side of an image [px]; bounds the memory."""


_Pixels = Annotated[int, Interval(ge=16, le=MAX_PIXELS)]


def _text_of_seed(value: Any) -> Any:
    return str(value) if type(value) is int else value


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
        driver: Manners of the driver: "ideal"; "kortex", those of ros2_kortex, see `toolhand.sim.ros.driver`; or
            "ros2_control", where a controller manager elsewhere commands the joints in the time of the wall.
        camera_rate: Images per second while there is a subscriber [Hz].
        image_width: [px].
        image_height: [px].
        renderer: A name that `toolhand.sim.camera.ray.make_camera` knows.
        sensor: Sensor model of cameras and readings, a name of the group `toolhand.sensor`, or SCENE+WRIST.
        zed_names: Names of zed-ros2-wrapper for the scene camera's topics and frame: "new" (5.1 and later) or "old".
        simulator: Simulator whose names services and entities have: "toolhand"; or "isaac" or "gazebo", whose manners
            the services have too.
        fault: One of `FAULTS`.
        fault_goal: A fault of the driver kortex comes in this goal, counted over both controllers from the time at
            which `fault` is set; 0 is at once.
        fault_share: After this share of that goal's motion, 0 to 1.
    """

    robot: str = DEFAULT_ROBOT
    scene: Annotated[str, Before(_text_of_seed)] = "example"
    scene_yaml: str = ""
    objects: str = ""
    seed: Annotated[int, Interval(ge=0, le=2**31 - 1)] = 0
    real_time_factor: Annotated[float, Interval(ge=0.0, le=1000.0)] = 1.0
    lockstep: bool = False
    gripper_action: Annotated[str, one_of(tuple(GRIPPER_ACTIONS))] = "GripperCommand"
    joint_state_rate: Annotated[float, Interval(ge=1.0, le=500.0)] = 50.0
    driver: Annotated[str, one_of(tuple(DRIVERS))] = "ideal"
    camera_rate: Annotated[float, Interval(ge=0.1, le=60.0)] = 10.0
    image_width: _Pixels = 640
    image_height: _Pixels = 480
    renderer: str = "ray"
    sensor: str = DEFAULT_SENSOR
    zed_names: Annotated[str, one_of(tuple(ZED))] = "new"
    simulator: SimulatorName = "toolhand"
    fault: Annotated[str, one_of(tuple(FAULTS))] = ""
    fault_goal: Annotated[int, Interval(ge=0, le=1000)] = 0
    fault_share: Annotated[float, Interval(ge=0.0, le=1.0)] = 0.0

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


def declare(node: Node) -> Settings:
    """Declare the parameters of a node and read them. Raises ToolError INVALID_ARGUMENT."""
    settings = _consistent(parameters.read(node, Settings, CHANGEABLE))
    parameters.told(node, "objects_known_by", sets_known_by(settings.objects), "What the object sets are known by")
    return settings


def _consistent(settings: Settings) -> Settings:
    """The same. Raises ToolError INVALID_ARGUMENT for an unknown renderer or sensor, or a fault of another driver."""
    renderers = (*registry.names("renderer"), AUTO)
    if settings.renderer not in renderers:
        raise invalid(f"Parameter renderer must be {' or '.join(renderers)}, not {settings.renderer[:60]!r}.")
    require_sensor(settings.sensor)
    if settings.driver == "ros2_control" and (settings.lockstep or settings.real_time_factor != 1.0):
        raise invalid("With driver:=ros2_control time passes as on the wall: lockstep:=false real_time_factor:=1.0.")
    if settings.driver not in (have := FAULTS[settings.fault]):
        what = f"The driver {settings.driver} has no fault {settings.fault}"
        raise invalid(f"{what}: start with driver:={' or '.join(have)}.")
    return settings


def changed(settings: Settings, wanted: list[Parameter]) -> tuple[Settings, SetParametersResult]:
    """The settings after a request to change parameters, and the answer to it."""
    try:
        own = {each.name: each.value for each in wanted if each.name in CHANGEABLE}
        return _consistent(parameters.checked(Settings, vars(settings) | own)), SetParametersResult(successful=True)
    except ToolError as error:
        return settings, SetParametersResult(successful=False, reason=str(error))
