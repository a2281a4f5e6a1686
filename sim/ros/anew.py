"""Another scene in a simulator that is not Toolhand's: its objects are spawned one by one, from files of USD."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from simulation_interfaces.msg import EntityFilters, Resource
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetSimulationState,
    ResetSimulation,
    SetSimulationState,
    SpawnEntity,
)
from std_srvs.srv import Trigger

from toolhand.sim.ros.entity_world import HeardTopics
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.simulators import Simulator
from toolhand.sim.usd.prims import prim_names
from toolhand.sim.usd.stage import object_text
from toolhand.sim.world import SETTLE_S
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.ros.link import RosLink

SEEDED = ("pointing", "segmentation", "depth", "grasping", "text_reading", "motion")
"""Nodes, beside sim, with a parameter `seed`: each is as freshly started when it is set."""
PARKED_RAD = 0.02
"""An arm that is further from its park position than this goes there before an episode [rad]: about a centimetre at the
hand, with which no image changes."""
_LOOK_S = 0.05
"""Wall-clock time between two looks at what the simulator does [s]; a round figure."""


def set_seed(link: RosLink, node: str, seed: int) -> None:
    """Set the parameter `seed` of a node. Raises ToolError INTERNAL where it refuses."""
    request = SetParameters.Request(parameters=[Parameter("seed", value=seed).to_parameter_msg()])
    (result,) = link.call(SetParameters, f"/{node}/set_parameters", request).results
    if not result.successful:
        raise ToolError(ErrorCode.INTERNAL, f"The node {node} does not take the seed {seed}: {result.reason}")


class SceneSpawner:
    """Puts scenes into a simulator that spawns objects from files.

    Args:
        link: Takes part in the graph.
        topics: Joints and clock.
        simulator: Names of services and entities.
        folder: Folder of the files; the simulator reads them by their paths.

    Raises:
        ToolError: INVALID_ARGUMENT for a simulator whose objects have no files of USD.
    """

    def __init__(
        self, link: RosLink, topics: HeardTopics, simulator: Simulator, robot: RobotModel, folder: Path
    ) -> None:
        if not simulator.entities:
            raise invalid("Only a simulator that spawns objects from USD is given other scenes: isaac.")
        self._link, self._topics, self._simulator = link, topics, simulator
        self._robot, self._folder = robot, folder

    def begin(self, scene: Scene, seed: int) -> None:
        """Let everything be as freshly started with a scene and a seed.

        Raises:
            ToolError: INTERNAL where something is refused; TIMEOUT where something does not happen; UNAVAILABLE where
                nobody answers.
        """
        self._reset()
        for entity in self._entities():
            self._ask(DeleteEntity, "delete_entity", DeleteEntity.Request(entity=entity))
        self._until(lambda: not self._entities(), "does not delete the objects of the scene before")
        for name, placed in zip(prim_names(p.id for p in scene.objects).values(), scene.objects, strict=True):
            self._spawn(name, placed)
        wanted = len(scene.objects)
        self._until(lambda: len(self._entities()) == wanted, "does not show what was spawned")
        for node in SEEDED:
            set_seed(self._link, node, seed)
        self._park()
        start = self._now()
        self._until(lambda: self._now() >= start + SETTLE_S, "stands still")

    def _reset(self) -> None:
        """Reset, and wait for it: the answer may come before it begins, and the clock goes back in it."""
        self._until(lambda: self._now() > 0.0, "publishes no time")
        newest = 0.0

        def went_back() -> bool:
            nonlocal newest
            newest = max(newest, self._now())
            return self._now() < newest

        went_back()
        self._ask(ResetSimulation, "reset_simulation", ResetSimulation.Request())
        self._until(went_back, "does not reset its clock")
        name = self._simulator.service("get_simulation_state")
        state = self._link.call(GetSimulationState, name, GetSimulationState.Request()).state
        if state.state != state.STATE_PLAYING:
            request = SetSimulationState.Request()
            request.state.state = state.STATE_PLAYING
            self._ask(SetSimulationState, "set_simulation_state", request)

    def _spawn(self, name: str, placed: PlacedObject) -> None:
        file = self._folder / f"{name}.usda"
        write_whole(file, object_text(placed).encode())
        request = SpawnEntity.Request(name=self._simulator.entities + name)
        if hasattr(request, "entity_resource"):  # simulation_interfaces 2; before, the URI is a field of its own
            request.entity_resource = Resource(uri=str(file))
        else:
            request.uri = str(file)
        pose = request.initial_pose.pose
        pose.position.x, pose.position.y, pose.position.z = (float(value) for value in placed.position_m)
        turn = pose.orientation
        turn.w, turn.x, turn.y, turn.z = (float(value) for value in placed.quat_wxyz)
        spawned = self._ask(SpawnEntity, "spawn_entity", request).entity_name
        if spawned != request.name:
            raise ToolError(ErrorCode.INTERNAL, f"The simulator spawned {spawned!r} in place of {request.name!r}.")

    def _park(self) -> None:
        """The controllers hold where the arm was before the reset; what is not parked goes there through the guard."""
        joints = self._topics.joints_at(self._topics.time)
        park = dict(zip(self._robot.arm_joints, self._robot.park, strict=True))
        q = [joints.get(name, value) for name, value in park.items()]
        away = self._robot.joint_difference(self._robot.check_joints(q, "measured joints"), self._robot.park)
        if abs(away).max() > PARKED_RAD:
            answer = self._link.call(Trigger, "/return_to_park", Trigger.Request())
            if not answer.success:
                raise ToolError(ErrorCode.INTERNAL, f"The arm does not go back to its park position: {answer.message}")

    def _entities(self) -> list[str]:
        request = GetEntities.Request(filters=EntityFilters(filter=self._simulator.filter))
        found = self._ask(GetEntities, "get_entities", request).entities
        direct = len(self._simulator.entities)
        return [name for name in found if name.startswith(self._simulator.entities) and "/" not in name[direct:]]

    def _now(self) -> float:
        return self._topics.time

    def _ask(self, kind: Any, service: str, request: Any) -> Any:
        """The answer of a service of the simulator. Raises ToolError INTERNAL where it refuses."""
        answer = self._link.call(kind, self._simulator.service(service), request)
        if answer.result.result != answer.result.RESULT_OK:
            raise ToolError(ErrorCode.INTERNAL, f"The simulator refuses {service}: {answer.result.error_message}")
        return answer

    def _until(self, come: Callable[[], bool], what: str) -> None:
        patience = time.monotonic() + self._link.deadlines.response_s
        while not come():
            if time.monotonic() > patience:
                raise ToolError(
                    ErrorCode.TIMEOUT, f"The simulator {what}.", "Is it playing, and does it publish /clock?"
                )
            time.sleep(_LOOK_S)
