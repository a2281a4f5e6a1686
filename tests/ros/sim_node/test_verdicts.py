"""Poses of entities, as Isaac Sim and Gazebo give them, lead a judge to the verdict of the simulator's own truth.

An episode runs in this process; the simulator's services of entities are called without a graph.
"""

import bisect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import mujoco
import numpy as np
import pytest
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import GetEntitiesStates

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.posed import PosedWorld
from toolhand.sim.ros.entities import Entities
from toolhand.sim.ros.entity_world import EntityWorld
from toolhand.sim.ros.services import Services
from toolhand.sim.scene.files import named_scene
from toolhand.sim.simulators import SIMULATORS, SimulatorName
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.task import Score
from toolhand.sim.tasks.tasks import random_task
from toolhand.sim.world import World
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.ros.calling import Deadlines

NAMES: tuple[SimulatorName, ...] = ("isaac", "gazebo")
DONE = 301
"""Seed of a pick that is done."""
_EVERY_S = 0.1
"""Time between two snapshots, as toolhand.sim.world.World.hold has it [s]."""


class LocalServices:
    """The simulator's own service functions over a world; Isaac Sim's poses have single precision."""

    def __init__(self, world: World, name: SimulatorName) -> None:
        self.world, self.deadlines, self._simulator = world, Deadlines(), SIMULATORS[name]
        self._works: dict[str, Any] = {}
        desk = SimpleNamespace(physics=SimpleNamespace(time_offset=0.0), simulator=self._simulator, add=self._add)
        Entities(cast(Services, desk))
        self._add(None, "get_simulation_state", lambda world, request, response: _paused(response))
        self._add(None, "step_simulation", lambda world, request, response: world.step(int(request.steps)))

    def _add(self, kind: Any, name: str, work: Any) -> None:
        self._works[self._simulator.service(name)] = work

    def call(self, kind: Any, name: str, request: Any) -> Any:
        response = kind.Response()
        self._works[name](self.world, request, response)
        response.result = Result(result=Result.RESULT_OK)
        if kind is GetEntitiesStates and self._simulator.entities:
            for part in (p for s in response.states for p in (s.pose.position, s.pose.orientation)):
                for axis in (axis for axis in "xyzw" if hasattr(part, axis)):
                    setattr(part, axis, float(np.float32(getattr(part, axis))))
        return response


def _paused(response: Any) -> None:
    response.state.state = SimulationState.STATE_PAUSED


class LoggedJoints:
    """Joints of a world, as its driver would publish them."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def time(self) -> float:
        return self._world.time

    def joints_at(self, time: float) -> dict[str, float]:
        world = self._world
        later = bisect.bisect_left(world.log, time - 1e-6, key=lambda logged: logged[0])
        qpos = world.log[later][1] if later < len(world.log) else world.data.qpos
        return {name: float(qpos[world.model.joint(name).qposadr[0]]) for name in world.robot.joints}


class Held:
    """A station whose world has been held already, so that every judge sees the same moments."""

    def __init__(self, station: Station, world: Any, holds: Sequence[Sequence[Snapshot]]) -> None:
        self.scene, self.config, self.world = station.scene, station.config, self
        self._world, self._holds, self._station = world, list(holds), station

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        return self._holds.pop(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world if hasattr(self._world, name) else self._station, name)


def verdicts(seed: int) -> tuple[Score, dict[str, Score]]:
    """The score of an episode by the simulator's truth, and by the entities of each other simulator."""
    task = random_task(seed)
    station = Station(task.scene, StationConfig(seed=seed, image_size=(320, 240), sleep=True))
    world, joints = station.world, LoggedJoints(station.world)
    links = {name: LocalServices(world, name) for name in NAMES}
    seen: dict[str, Any] = {
        name: EntityWorld(link, joints, SIMULATORS[name], task.scene, world.robot) for name, link in links.items()
    }
    views: dict[str, Any] = {"": world, **seen}
    before = {name: view.snapshot() for name, view in views.items()}
    episode = Agent(ScriptedPolicy(), station.toolbox).run(task.text)
    shown = World(task.scene, world.robot)
    for link in links.values():
        link.world = shown
    for at, qpos in tuple(world.log):  # the entities are looked at as they were when the arm moved
        shown.data.qpos[:], shown.data.qvel[:], shown.data.time = qpos, 0.0, at
        mujoco.mj_forward(shown.model, shown.data)
        for entities in seen.values():
            entities.record()
    for link in links.values():
        link.world = world
    holds: dict[str, list[list[Snapshot]]] = {name: [] for name in views}
    for seconds in task.holds_s:
        moments = {name: [view.snapshot()] for name, view in views.items()}
        for _ in range(round(seconds / _EVERY_S)):
            world.step(round(_EVERY_S / world.timestep))
            for name, view in views.items():
                moments[name].append(view.snapshot())
        for name in views:
            holds[name].append(moments[name])
    scores = {
        name: Judge(cast(Any, Held(station, view, holds[name])), before[name]).score(task, episode)
        for name, view in views.items()
    }
    return scores.pop(""), scores


def said(score: Score) -> tuple[Any, ...]:
    stages = {name: bool(stage) for name, stage in score.stages.items()}
    return score.success, dict(score.terms), list(score.reasons), sorted(score.picked_up), stages


def test_the_verdict_is_that_of_the_truth_behind_every_name() -> None:
    truth, others = verdicts(DONE)
    assert truth.success
    assert {name: said(score) for name, score in others.items()} == dict.fromkeys(NAMES, said(truth))


def test_another_verdict_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PosedWorld, "contacts", lambda self, qpos: frozenset())  # so that nothing is held
    truth, others = verdicts(DONE)
    assert truth.success
    assert not any(score.success for score in others.values())


def test_what_touches_is_what_touches_in_the_physics() -> None:
    scene, robot = named_scene("shelf:31:generated:3"), load_robot()
    world, posed = World(scene, robot), PosedWorld(scene, robot)
    model, qpos = world.model, world.data.qpos
    poses = {
        placed.id: qpos[model.jnt_qposadr[model.body_jntadr[model.body(placed.id).id]] :][:7].astype(np.float32)
        for placed in scene.objects
    }
    joints = {name: float(qpos[model.joint(name).qposadr[0]]) for name in robot.joints}
    expected = {(name, other) for name, state in world.snapshot().objects.items() for other in state.touching}
    found = posed.contacts(posed.positions(poses, joints))
    assert {pair for a, b in found for pair in ((a, b), (b, a)) if pair[0] in poses} == expected
    assert len(expected) > len(scene.objects)
