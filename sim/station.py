"""A complete simulated robot station: world, camera, arm, perception and the toolbox over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sim.arm import SimArm
from sim.backends import Truth
from sim.camera.ray import CameraModel, jittered, make_camera, scene_camera, wrist_camera
from sim.perception import PerceptionNoise
from sim.scene.scenes import Scene
from sim.world import World
from tool_nodes import registry, workspace
from tool_nodes.backends import make_ports
from tool_nodes.motion.guard import MotionGuard
from tool_nodes.motion.manipulation import Manipulator
from tool_nodes.motion.robot_model import DEFAULT_ROBOT, load_robot
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from tool_nodes.ports import Camera, Planner
from tool_nodes.registry import Setting
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.sandbox.executor import CodeExecutor
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from tool_nodes.tools.spacetools.grasping import GraspTools
from tool_nodes.tools.spacetools.robot import robot_tools
from tool_nodes.tools.suites import Backends, make_toolbox
from tool_nodes.types import Frame


@dataclass(frozen=True)
class StationConfig:
    """Which backend stands behind each port.

    Attributes:
        perception: Preset of the perception ports, e.g. "sim" (simulator truth with noise).
        ports: Backends that stand behind single ports instead, by name.
        camera: "ray" (no GL), "gl", "auto" (GL where there is one), or another name of the registry.
        planner: Name of the planner.
        seed: Seeds perception noise, grasp sampling and planning.
        noise: Noise and failures of the simulator's truth.
        suites: Whose tools are offered.
        role: "operator" has all tools, "observer" none that moves the robot.
        robot: Which robot: a name or a folder, see `tool_nodes.motion.robot_model.find_robot`.
    """

    perception: str = DEFAULT_PRESET
    ports: PortNames = AS_PRESET
    camera: str = "ray"
    planner: str = "embedded"
    seed: int = 0
    noise: PerceptionNoise = field(default_factory=PerceptionNoise)
    suites: tuple[str, ...] = ("spacetools",)
    role: str = "operator"
    robot: str = DEFAULT_ROBOT


class CameraWithoutIds:
    """A camera whose frames lack the simulator's object ids, as a real one's do."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._last: tuple[Frame, Frame] | None = None

    def capture(self) -> Frame:
        """See ports.Camera."""
        frame = self._camera.capture()
        if self._last is None or self._last[0] is not frame:
            self._last = frame, replace(frame, ids=None)
        return self._last[1]


class Station:
    """One simulated station.

    Args:
        scene: What stands on the table.
        config: Backends and seed.
        wrap_planner: Puts something between the tools and the planner, e.g. a stopwatch.
        guard: Decides what may move; without one motions run at once, within the limits.
        on_stage: Told what begins in a motion, e.g. "the lift".
    """

    def __init__(
        self,
        scene: Scene,
        config: StationConfig | None = None,
        wrap_planner: Callable[[Planner], Planner] = lambda planner: planner,
        guard: MotionGuard | None = None,
        on_stage: Callable[[str], None] = lambda stage: None,
    ) -> None:
        config = config or StationConfig()
        if config.seed < 0:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The seed must be 0 or greater, got {config.seed}.")
        self.scene = scene
        self.config = config
        self.robot = load_robot(config.robot)
        truth = Truth([placed.item for placed in scene.objects], config.noise)
        self.ports = make_ports(config.perception, config.ports, Setting(config.seed, truth=truth, robot=self.robot))
        self.world = World(scene, self.robot)
        self.arm = SimArm(self.world)
        self.camera: Camera = self.make_camera(self.scene_camera())
        self.wrist_camera: Camera = self.make_camera(wrist_camera(self.robot))
        if not next(self.ports.over_truth, None):
            self.camera, self.wrist_camera = CameraWithoutIds(self.camera), CameraWithoutIds(self.wrist_camera)
        self.planner = wrap_planner(registry.make("planner", config.planner, Setting(config.seed, robot=self.robot)))
        self.manipulator = Manipulator(self.arm, self.planner, self.camera, on_stage, guard, self.robot)
        self.toolbox = self.new_toolbox()

    def new_toolbox(self) -> Toolbox:
        """The tools over the manipulator that the station has now; one toolbox serves any number of conversations."""
        config, world = self.config, self.world  # not self: a station in its own toolbox would wait for the collector
        ports = self.ports
        backends = Backends(
            pointer=ports.pointer,
            detector=ports.detector,
            segmenter=ports.segmenter,
            depth=ports.depth,
            reader=ports.reader,
            grasps=GraspTools(ports.grasps, self.manipulator.reachable, self.robot),
            boxes=BoundingBoxTools(),
            robot=robot_tools(config.role, self.camera, self.manipulator, clock=lambda: world.time),
            code=CodeExecutor(),
        )
        return make_toolbox(backends, config.suites)

    def scene_camera(self, size: tuple[int, int] = workspace.IMAGE_SIZE) -> CameraModel:
        """Calibration and true pose of the scene camera for pictures of size (width, height) [px]."""
        return jittered(scene_camera(size), self.scene)

    def make_camera(self, model: CameraModel) -> Camera:
        """A camera in this world."""
        world, seed = self.world, self.config.seed
        return make_camera(
            self.config.camera,
            world.model,
            world.data,
            model,
            world.body_index,
            seed=seed,
            lamp_position=np.asarray(self.scene.light_position_m),
        )
