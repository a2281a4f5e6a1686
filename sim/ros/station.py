"""A station whose tools, arm and physics are in other processes, for the judge of training/env/episode.py."""

from __future__ import annotations

import json
import threading
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
from simulation_interfaces.msg import Resource
from simulation_interfaces.srv import GetCurrentWorld, LoadWorld

from toolhand.sim.camera.ray import CameraModel, jittered, make_camera, scene_camera
from toolhand.sim.contacts import Contacts
from toolhand.sim.ros.anew import SEEDED, set_seed
from toolhand.sim.ros.entity_world import EntityWorld, HeldWorld
from toolhand.sim.scene.files import parse_scene, scene_yaml
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.station import StationConfig
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.remote import remote_toolbox
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.types import FloatArray

TRUTH, MARK = "/sim/get_truth", "/sim/mark"


def has_simulator(link: RosLink) -> bool:
    """True if the graph has the simulator's truth; a real arm has none."""
    return link.offers(TRUTH)


def begin_anew(link: RosLink, scene: Scene, seed: int) -> None:
    """Let a graph be as freshly started with another scene and seed, between two episodes.

    Raises:
        ToolError: INTERNAL where a node refuses, e.g. because a motion runs; UNAVAILABLE or TIMEOUT where none answers.
    """
    set_seed(link, "sim", seed)  # first: it counts from the next world on
    request = LoadWorld.Request()
    if hasattr(request, "world_resource"):
        request.world_resource = Resource(resource_string=scene_yaml(scene))
    else:
        request.resource_string = scene_yaml(scene)
    result = link.call(LoadWorld, "/load_world", request).result
    if result.result != result.RESULT_OK:
        raise ToolError(ErrorCode.INTERNAL, f"The simulator does not load the scene: {result.error_message}")
    for node in SEEDED:
        set_seed(link, node, seed)


class RemoteWorld(HeldWorld):
    """The world of sim_node, as far as a judge needs it.

    Attributes:
        scene: Scene on the table when it was loaded.
        robot: The simulator's.
    """

    def __init__(self, link: RosLink) -> None:
        self._link: RosLink = link
        answer = link.call(GetCurrentWorld, "/get_current_world", GetCurrentWorld.Request())
        self.scene: Scene = parse_scene(answer.world.world_resource.resource_string)
        self.robot = load_robot(self.truth()["robot"])
        self._twin = World(self.scene, self.robot)
        self._step_s = self._twin.timestep

    @property
    def model(self) -> mujoco.MjModel:
        """The model that the simulator has too."""
        return self._twin.model

    @property
    def data(self) -> mujoco.MjData:
        """A state of this process, for images of what was logged; not the simulator's."""
        return self._twin.data

    @property
    def body_index(self) -> dict[int, int]:
        """Body id to index into `scene.objects`."""
        return self._twin.body_index

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.truth()["time"])

    @property
    def log(self) -> list[tuple[float, FloatArray]]:
        """(time [s], qpos) since the last `mark`."""
        log = self.truth()["log"]
        return [(t, np.asarray(qpos)) for t, qpos in zip(log["times"], log["qpos"], strict=True)]

    @property
    def contact_log(self) -> list[tuple[float, Contacts]]:
        """(time [s], what touches what) of the states of `log`; empty where the simulator does not report them."""
        contacts: list[tuple[float, Contacts]] = []
        for t, pairs in self.truth()["log"].get("contacts", ()):
            contacts.append((t, contacts[-1][1] if pairs is None else frozenset((a, b) for a, b in pairs)))
        return contacts

    def truth(self) -> dict[str, Any]:
        """What the simulator knows now. Raises ToolError."""
        document: dict[str, Any] = json.loads(self._link.trigger(TRUTH))
        return document

    def mark(self) -> None:
        """Begin the log anew and forget the arm's first motion."""
        self._link.trigger(MARK)

    @property
    def first_motion_at(self) -> float | None:
        """Wall clock (monotonic, of this machine) when the arm first began to move since `mark` [s]."""
        found: float | None = self.truth()["first_motion_wall_s"]
        return found

    def snapshot(self) -> Snapshot:
        """The objects' true state."""
        return _snapshot(self.truth())


class RemoteArm:
    """When the arm first moved, and how to stop what moves it."""

    def __init__(self, world: RemoteWorld | EntityWorld) -> None:
        self._world = world
        self._stopped = threading.Event()

    @property
    def first_motion_at(self) -> float | None:
        """Wall clock (monotonic, of this machine) when the arm first began to move [s]; setting it forgets that."""
        return self._world.first_motion_at

    @first_motion_at.setter
    def first_motion_at(self, value: float | None) -> None:
        self._world.mark()

    def stop(self) -> None:
        """Cancel the motion that runs and every later one. May be called in a signal handler."""
        self._stopped.set()

    def stopped(self) -> bool:
        """True after `stop`."""
        return self._stopped.is_set()


class RosStation:
    """A station over a graph with a simulator; the counterpart of toolhand.sim.station.Station.

    Args:
        link: Takes part in the graph.
        config: Backends and seed that its nodes were started with.
        world: World of the judge; that of Toolhand's own simulator where None.
    """

    def __init__(self, link: RosLink, config: StationConfig, world: EntityWorld | None = None) -> None:
        self._link = link
        self.config = config
        self.world: RemoteWorld | EntityWorld = world or RemoteWorld(link)
        self.scene = self.world.scene
        self.arm = RemoteArm(self.world)

    @cached_property
    def toolbox(self) -> Toolbox:
        """The tools, in this process, with every backend in its node."""
        config = self.config
        return remote_toolbox(self._link.node, self._link.deadlines, self.arm.stopped, config.suites, config.role)

    def scene_camera(self) -> CameraModel:
        """Calibration and true pose of the scene camera."""
        return jittered(scene_camera(), self.scene)

    def make_camera(self, model: CameraModel) -> Camera:
        """A camera in this process's copy of the world."""
        world, lamp = self.world, np.asarray(self.scene.light_position_m)
        return make_camera("ray", world.model, world.data, model, world.body_index, lamp_position=lamp)


def _snapshot(truth: dict[str, Any]) -> Snapshot:
    objects = {
        name: ObjectState(
            id=name,
            position_m=np.asarray(state["position_m"]),
            quat_wxyz=np.asarray(state["quat_wxyz"]),
            velocity=np.asarray(state["velocity"]),
            touching=frozenset(state["touching"]),
        )
        for name, state in truth["objects"].items()
    }
    return Snapshot(time=truth["time"], objects=objects)
