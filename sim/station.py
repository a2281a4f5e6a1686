"""A complete simulated robot station: world, camera, arm, perception and the toolbox over them."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from toolhand.sim.arm import SimArm
from toolhand.sim.camera.following import FollowingCamera
from toolhand.sim.camera.ray import CameraModel, CameraState, jittered, scene_camera, wrist_camera
from toolhand.sim.camera.sensor import device, make_sensor, readings_of
from toolhand.sim.camera.sensors.readings import Readings
from toolhand.sim.objects.chosen import choose_sets
from toolhand.sim.perception import PerceptionNoise, Truth
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.world import World, WorldState
from toolhand.tool_nodes import registry, workspace
from toolhand.tool_nodes.backends import Ports, make_ports
from toolhand.tool_nodes.motion.checked_planner import checked
from toolhand.tool_nodes.motion.guard import MotionGuard
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.plans import ManipulatorState
from toolhand.tool_nodes.motion.robot_model import DEFAULT_ROBOT, load_robot
from toolhand.tool_nodes.motion.self_filter import RobotPose, SelfFilteredCamera, shape_of
from toolhand.tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from toolhand.tool_nodes.ports import Camera, Planner
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspTools
from toolhand.tool_nodes.tools.spacetools.robot import robot_tools
from toolhand.tool_nodes.tools.suites import Backends, make_toolbox
from toolhand.tool_nodes.types import Frame

IMAGES_KEPT = 16
"""Latest images of a camera without ids that can still be judged; more than an episode takes."""

SIDES_PX = (64, 4096)
"""An image's width and height lie between these [px]."""


@dataclass(frozen=True)
class StationConfig:
    """Which backend stands behind each port.

    Attributes:
        perception: Preset of the perception ports, e.g. "sim" (simulator truth with noise).
        ports: Backends that stand behind single ports instead, by name; the planner and the sensor of the cameras.
        renderer: "ray" (no GL), "gl", "auto" (GL where a GPU draws it), or another name of the registry.
        arm: "sim", or another name of the registry that makes a subclass of `toolhand.sim.arm.SimArm`.
        seed: Seeds sensors, perception noise, grasp sampling and planning.
        noise: Noise and failures of the simulator's truth.
        suites: Names of the suites of tools that are offered.
        role: "operator" has all tools, "observer" none that moves the robot.
        robot: Which robot: a name or a folder, see `toolhand.tool_nodes.motion.robot_model.find_robot`.
        image_size: (width, height) of the images of both cameras, each in SIDES_PX [px]; 4:3 keeps the field of view.
        timestep: One of `toolhand.sim.world.TIMESTEPS_S`; the robot's own, 2 ms, where None [s].
        sleep: Bodies at rest are not computed, see `toolhand.sim.world.World`: episodes take half as long.
        objects: Folders that are object sets beside the installed ones, see `toolhand.sim.objects.chosen.choose_sets`;
            those in use where empty.

    Raises:
        ToolError: INVALID_ARGUMENT for a seed below 0 and for images of another size.
    """

    perception: str = DEFAULT_PRESET
    ports: PortNames = AS_PRESET
    renderer: str = "ray"
    arm: str = "sim"
    seed: int = 0
    noise: PerceptionNoise = field(default_factory=PerceptionNoise)
    suites: tuple[str, ...] = ("spacetools",)
    role: str = "operator"
    robot: str = DEFAULT_ROBOT
    image_size: tuple[int, int] = workspace.IMAGE_SIZE
    timestep: float | None = None
    sleep: bool = False
    objects: str = ""

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise invalid(f"The seed must be 0 or greater, got {self.seed}.")
        low, high = SIDES_PX
        sides = self.image_size
        if len(sides) != 2 or not all(isinstance(side, int) and low <= side <= high for side in sides):
            size = "x".join(map(str, self.image_size))
            raise invalid(f"A picture's width and height must be {low} to {high} px, got {size}.")


@dataclass(frozen=True)
class StationState:
    """A moment of a station, mostly the physics' log; it can be pickled.

    Attributes:
        config: Configuration of the station, with the seed.
        cameras: The scene camera and the one at the wrist.
        manipulator: The robot's belief about what it holds.
    """

    config: StationConfig
    world: WorldState
    cameras: tuple[CameraState, ...]
    manipulator: ManipulatorState


class _Hand:
    """Who knows what is held; its images are the same object's, which must not keep it."""

    manipulator: Callable[[], Manipulator | None] = staticmethod(lambda: None)


class CameraWithoutIds:
    """A camera whose frames lack the simulator's object ids, as a real one's do."""

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._taken: deque[tuple[Frame, Frame]] = deque(maxlen=IMAGES_KEPT)

    def capture(self) -> Frame:
        """See ports.Camera."""
        frame = self._camera.capture()
        if not self._taken or self._taken[-1][0] is not frame:
            self._taken.append((frame, replace(frame, ids=None)))
        return self._taken[-1][1]

    def with_ids(self, frame: Frame) -> Frame:
        """The same image with its ids and all depth, for a judge; as it is where it is none of the last ones."""
        return next((whole for whole, shown in self._taken if shown.rgb is frame.rgb), frame)


class Station:
    """One simulated station.

    Args:
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
        self.config = config = config or StationConfig()
        choose_sets(config.objects)
        self.robot = load_robot(config.robot)
        self._names = config.ports.over(config.perception)
        self._guard, self._on_stage, self._wrap_planner = guard, on_stage, wrap_planner
        self._own_planner: Planner | None = None
        self._set_up(scene)

    def _set_up(self, scene: Scene) -> None:
        """Everything but the planner, which knows nothing of the scene, is made anew."""
        config = self.config
        self.scene = scene
        self.ports = self._make_ports()
        self.world = World(scene, self.robot, config.timestep, config.sleep)
        self.arm = self._make_arm()
        self._cameras: list[weakref.ref[FollowingCamera]] = []
        self._hand = _Hand()
        self.camera: Camera = self._without_robot(self.make_camera(self.scene_camera()))
        wrist = self.make_camera(wrist_camera(self.robot, config.image_size))
        self.wrist_camera: Camera = self._without_robot(wrist)
        if not next(self.ports.over_truth, None):
            self.camera, self.wrist_camera = CameraWithoutIds(self.camera), CameraWithoutIds(self.wrist_camera)
        self._make_planner()
        self.manipulator = self._make_manipulator()
        self.toolbox = self.new_toolbox()
        self.session = Session()

    def _without_robot(self, camera: Camera) -> Camera:
        arm, hand = self.arm, self._hand  # not self, which would wait for the collector

        def where(frame: Frame) -> RobotPose:
            manipulator = hand.manipulator()
            return RobotPose.of(arm.state(), None if manipulator is None else manipulator.held)

        return SelfFilteredCamera(camera, shape_of(self.robot), where)

    def _make_arm(self) -> SimArm:
        arm = registry.make("arm", self.config.arm, Setting(self.config.seed, robot=self.robot), world=self.world)
        if not isinstance(arm, SimArm):
            raise invalid(
                f"The arm {self.config.arm!r} moves nothing in the simulation: it is no toolhand.sim.arm.SimArm."
            )
        arm.readings = self._readings()
        return arm

    def _readings(self) -> Readings:
        return readings_of(device(self._names.sensor, "arm", self.config.seed))

    def _make_ports(self) -> Ports:
        config = self.config
        truth = Truth([placed.item for placed in self.scene.objects], config.noise)
        return make_ports(config.perception, config.ports, Setting(config.seed, truth=truth, robot=self.robot))

    def _make_manipulator(self) -> Manipulator:
        made = Manipulator(
            self.arm, self.planner, self.camera, self._on_stage, self._guard, self.robot, self.wrist_camera
        )
        self._hand.manipulator = weakref.ref(made)
        return made

    def _make_planner(self) -> None:
        """The one planner of the station, with the seed of the configuration."""
        seed = self.config.seed
        if self._own_planner is not None:
            self._own_planner.reseed(seed)
            return
        own = checked(registry.make("planner", self._names.planner, Setting(seed, robot=self.robot)), self.robot)
        self._own_planner, self.planner = own, self._wrap_planner(own)

    def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        """Call a tool in `session`, the station's own conversation, for programs that have no policy.

        Args:
            tool: Name, e.g. "robot.capture_image"; `toolbox.specs` has all.
            arguments: Arguments as a model gives them: images by number (`image_index`, 0 is the first that was taken),
                arrays by the name of a variable, e.g. "$segmentation_mask". The arrays are in `session.variables`.

        Raises:
            ToolError: What the tool reports; nothing of the session is lost.
        """
        result = self.toolbox.call(tool, arguments, self.session).result
        if result.error is not None:
            raise result.error
        return result

    # -- moments -----------------------------------------------------------------------------------

    def reset(self, seed: int, scene: Scene | None = None) -> None:
        """Be as a new station, to the last bit of every message, image and position; a stop is released.

        What a conversation has of it (`toolbox`, `arm`, `camera`) is to be asked for again.

        Args:
            scene: Scene on the table; the same objects where None, which takes some milliseconds.

        Raises:
            ToolError: INVALID_ARGUMENT for a seed below 0.
        """
        reseeded = seed != self.config.seed
        self.config = replace(self.config, seed=seed)
        if scene is not None and scene != self.scene:
            self._set_up(scene)
            return
        self.world.reset()
        self.arm.reset()
        for camera in self._alive_cameras():
            camera.reset(seed)
        if reseeded:
            self._reseed()
        self.manipulator.reset()
        self.session = Session()

    def save(self) -> StationState:
        """The moment, for `restore`; between two calls of tools, at any time of an episode.

        Raises:
            ToolError: INVALID_ARGUMENT for a camera of another package that cannot be saved.
        """
        cameras = tuple(camera.save() for camera in self._alive_cameras()[:2])
        return StationState(self.config, self.world.save(), cameras, self.manipulator.save())

    def restore(self, state: StationState) -> None:
        """Go to a saved moment of this station or of one like it: the same calls give the same replies, bit for bit.

        What a conversation has collected is its own (`toolhand.training.env.session.EpisodeSession.save` keeps both). A
        stop that is latched stays.

        Raises:
            ToolError: INVALID_ARGUMENT for a state of another scene, robot or configuration; nothing has changed.
        """
        for entry in fields(StationConfig):
            its, mine = getattr(state.config, entry.name), getattr(self.config, entry.name)
            if entry.name != "seed" and its != mine:
                raise invalid(
                    f"The saved state is of a station with another {entry.name}: {its!r}, but this one has {mine!r}."
                )
        self.world.restore(state.world)
        reseeded = state.config.seed != self.config.seed
        self.config = state.config
        for camera, its_state in zip(self._alive_cameras(), state.cameras, strict=False):
            camera.restore(its_state)
        if reseeded:
            self._reseed()
        self.manipulator.restore(state.manipulator)

    def _reseed(self) -> None:
        """Give what has a seed the one of the configuration."""
        planner = self.planner
        self.arm.readings = self._readings()
        self.ports = self._make_ports()
        self._make_planner()
        if self.planner is not planner:
            self.manipulator = self._make_manipulator()
        self.toolbox = self.new_toolbox()

    def _alive_cameras(self) -> list[FollowingCamera]:
        """The scene camera, the one at the wrist, and what else was made with `make_camera` and is still held."""
        found = [camera for camera in (reference() for reference in self._cameras) if camera is not None]
        self._cameras = [weakref.ref(camera) for camera in found]
        return found

    def object_ids_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> tuple[str, ...] | None:
        """What points of an image truly lie on, for a judge alone: no tool and no policy may ask.

        Args:
            frame: Image of one of the station's cameras, as the tools have it.
            points: Normalized (x, y), from the top left.

        Returns:
            For each point the id of an object of the scene, or ""; None for an image that it knows nothing of.
        """
        for camera in (self.camera, self.wrist_camera):
            if isinstance(camera, CameraWithoutIds):
                frame = camera.with_ids(frame)
        if frame.ids is None or frame.labels is not None:
            return None
        (height, width), found = frame.ids.shape, []
        for x, y in points:
            index = frame.ids[min(int(y * height), height - 1), min(int(x * width), width - 1)]
            found.append("" if index < 0 else self.scene.objects[index].id)
        return tuple(found)

    # -- parts -------------------------------------------------------------------------------------

    def new_toolbox(self, suites: Sequence[str] | None = None) -> Toolbox:
        """The tools over the manipulator that the station has now; one toolbox serves any number of conversations.

        Args:
            suites: Names of the suites of tools; the configuration's where None.
        """
        config, world = self.config, self.world  # not self: a station in its own toolbox would wait for the collector
        ports = self.ports
        backends = Backends(
            pointer=ports.pointer,
            detector=ports.detector,
            segmenter=ports.segmenter,
            depth=ports.depth,
            reader=ports.reader,
            grasps=GraspTools(ports.grasps, self.manipulator.reachable, self.robot),
            boxes=BoundingBoxTools(ports.boxes),
            robot=robot_tools(
                config.role, self.camera, self.manipulator, lambda: world.time, self.robot, self.wrist_camera
            ),
            code=CodeExecutor(),
            second_pointer=ports.second_pointer,
        )
        return make_toolbox(backends, config.suites if suites is None else suites)

    def scene_camera(self, size: tuple[int, int] | None = None) -> CameraModel:
        """Calibration and true pose of the scene camera for images (width, height) [px], the station's where None."""
        return jittered(scene_camera(size or self.config.image_size), self.scene)

    def make_camera(self, model: CameraModel) -> Camera:
        """A camera in this world, also after `world.change_objects`."""
        seed = self.config.seed
        sensor = make_sensor(self._names.sensor, model.name, seed)
        camera = FollowingCamera(self.config.renderer, self.world, model, self.scene, seed, sensor)
        self._cameras.append(weakref.ref(camera))
        return camera
