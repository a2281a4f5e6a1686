"""One episode: run a command on a station, then judge it by the simulator's truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from typing import Protocol as Port

import mujoco
import numpy as np

from agent_node.agent import TURN_BUDGET, Agent, Episode, Listener
from agent_node.commands import RELATION_WORDS, parse_command
from agent_node.policy import Policy
from agent_node.protocol import Protocol
from sim.cameras import CameraModel, overview_camera
from sim.predicates import THRESHOLDS, PlaceRelation, Snapshot, judge_pick, judge_place
from sim.scenes import Scene
from sim.station import StationConfig
from sim.world import LOG_PERIOD_S
from tool_nodes.catalogue import load_catalogue
from tool_nodes.perception.referring import refer
from tool_nodes.ports import Camera
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from tool_nodes.toolbox import Toolbox
from tool_nodes.types import FloatArray, ObjectView

ANIMATION_FRAMES = 60
ANIMATION_SIZE = (400, 300)


class JudgedWorld(Port):
    """What a judge needs of a world, here or in another process; see sim.world.World."""

    @property
    def model(self) -> mujoco.MjModel:
        """The physics' model."""

    @property
    def data(self) -> mujoco.MjData:
        """A state for pictures of what was logged."""

    @property
    def log(self) -> list[tuple[float, FloatArray]]:
        """(time [s], qpos) of the motion so far."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""

    def snapshot(self) -> Snapshot:
        """The objects' true state."""

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        """Let time pass; snapshots every `every` seconds, first and last included."""


class MovedArm(Port):
    """Tells when the arm first began to move."""

    first_motion_at: float | None


class JudgedStation(Port):
    """A station whose episodes can be judged: sim.station.Station, or one over ROS 2."""

    @property
    def scene(self) -> Scene:
        """What stands on the table at the start."""

    @property
    def config(self) -> StationConfig:
        """Backends and seed."""

    @property
    def world(self) -> JudgedWorld:
        """Its physics."""

    @property
    def arm(self) -> MovedArm:
        """Its arm."""

    @property
    def toolbox(self) -> Toolbox:
        """Its tools."""

    def scene_camera(self) -> CameraModel:
        """Calibration and true pose of the scene camera."""

    def make_camera(self, model: CameraModel) -> Camera:
        """A camera in its world."""


@dataclass(frozen=True)
class Goal:
    """What a command means in a scene.

    Attributes:
        target_ids: Any one of these is right.
        relation: Where to place it, or None for a pick.
        reference_ids: The things that the relation refers to.
    """

    target_ids: tuple[str, ...]
    relation: PlaceRelation | None = None
    reference_ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        picked = f"pick {' or '.join(self.target_ids)}"
        if self.relation is None:
            return picked
        where = RELATION_WORDS.get(self.relation, self.relation)
        return f"{picked}, place {' '.join((where, ' and '.join(self.reference_ids))).rstrip()}"


OWN_READING = "the robot's own reading of the sentence, not independent"
TASK_GOAL = "the task's own goal"


@dataclass(frozen=True)
class Basis:
    """What an episode is judged against.

    Attributes:
        goal: None where the sentence asks for nothing that is there.
        source: Whose goal it is: OWN_READING or TASK_GOAL.
        problem: Why there is no goal; empty where there is one.
    """

    goal: Goal | None
    source: str
    problem: str = ""

    def document(self) -> dict[str, str]:
        """The basis as `result.json` has it."""
        return {"goal": str(self.goal) if self.goal else f"nothing: {self.problem}", "source": self.source}


@dataclass(frozen=True)
class Truth:
    """The simulator's judgement; `placed` is None for a pick. `reasons` says what failed."""

    picked: bool
    placed: bool | None
    reasons: tuple[str, ...] = ()

    @property
    def score(self) -> int:
        """0 or 1 for a pick; for pick and place one point each."""
        return int(self.picked) + int(bool(self.placed))

    @property
    def success(self) -> bool:
        """Everything that was asked for is true."""
        return self.picked and self.placed is not False


@dataclass(frozen=True)
class Outcome:
    """An episode with its truth.

    Attributes:
        truth: None when an infrastructure error made the episode unscorable.
        basis: What `truth` was judged against.
        time_to_first_motion_s: Wall time from the command to the arm's first motion, or None.
        sim_time_s: Simulated time of the motions [s].
    """

    episode: Episode
    truth: Truth | None
    basis: Basis
    time_to_first_motion_s: float | None
    sim_time_s: float

    @property
    def scored(self) -> bool:
        """False after an infrastructure error: such an episode is counted but never scored."""
        return self.truth is not None

    @property
    def false_success(self) -> bool:
        """The tools reported success and the simulator disagrees."""
        return self.episode.success and self.truth is not None and not self.truth.success


def true_views(station: JudgedStation) -> list[ObjectView]:
    """The scene's objects as a perfect observer would describe them, in the order of `scene.objects`."""
    camera = station.scene_camera()
    T_camera_base = np.linalg.inv(camera.T_base_camera)
    width, height = camera.size
    views = []
    snapshot = station.world.snapshot()
    for placed in station.scene.objects:
        item = load_catalogue()[placed.item]
        position = snapshot.objects[placed.id].position_m
        x, y, z = (T_camera_base @ np.append(position, 1.0))[:3]
        u, v = (camera.K @ (x / z, y / z, 1.0))[:2]
        views.append(
            ObjectView(
                name=item.name,
                kind=item.kind,
                colour=item.colour,
                synonyms=tuple(item.synonyms),
                categories=tuple(item.categories),
                attributes=tuple(item.attributes),
                point=(float(u / width), float(v / height)),
                position_m=position,
                size_m=np.asarray(item.size_m, float),
                container=item.container,
            )
        )
    return views


def held_ids(snapshot: Snapshot) -> frozenset[str]:
    """What the gripper holds, off the table."""
    return frozenset(
        name
        for name, state in snapshot.objects.items()
        if "gripper" in state.touching and "table" not in state.touching
    )


def ground(text: str, station: JudgedStation) -> Basis:
    """What a sentence asks for in the true scene, as the scripted policy's own parser reads it.

    "Put it down" means what the gripper holds now. A parser that errs here errs in the policy too: where a task has a
    goal of its own, that is what to judge against.
    """
    views = true_views(station)
    ids = [placed.id for placed in station.scene.objects]
    try:
        command = parse_command(text)
        if command.target is None:
            targets = tuple(sorted(held_ids(station.world.snapshot())))
        else:
            targets = tuple(ids[i] for i in refer(command.target.text, views))
        references = tuple(ids[i] for phrase in command.references for i in refer(phrase.text, views))
    except ToolError as error:
        return Basis(None, OWN_READING, error.message)
    if not targets:
        return Basis(None, OWN_READING, "the command names no object, and the gripper held none at its start.")
    return Basis(Goal(targets, cast(PlaceRelation | None, command.relation), references), OWN_READING)


def lifted_ids(station: JudgedStation, before: Snapshot, start: float) -> set[str]:
    """Objects that were at least the threshold up for the whole hold time at some point of the motion."""
    model = station.world.model
    log = [(t, qpos) for t, qpos in station.world.log if t >= start]
    need = round(THRESHOLDS.hold_s / LOG_PERIOD_S)
    found = set()
    for placed in station.scene.objects:
        address = model.jnt_qposadr[model.body_jntadr[model.body(placed.id).id]]
        rest = before.objects[placed.id].position_m[2]
        run = 0
        for _, qpos in log:
            run = run + 1 if qpos[address + 2] - rest >= THRESHOLDS.lift_m else 0
            if run >= need:
                found.add(placed.id)
                break
    return found


def judge(goal: Goal | None, station: JudgedStation, before: Snapshot, start: float) -> Truth:
    """Let time pass as the thresholds say, then score. Raises ToolError INTERNAL on broken physics."""
    if goal is None:
        station.world.hold(0.1)
        return Truth(False, None, ("the command means nothing in this scene",))
    if goal.relation is None:
        history = station.world.hold(THRESHOLDS.hold_s)
        picked = judge_pick(before, history, goal.target_ids)
        return Truth(picked, None, () if picked else ("the target is not held up, or something else is",))
    # What is still in the hand was held too: the time after the last motion counts.
    station.world.hold(THRESHOLDS.hold_s)
    lifted = lifted_ids(station, before, start) | held_ids(before)
    history = station.world.hold(THRESHOLDS.still_s)
    right = lifted & set(goal.target_ids)
    picked = len(right) == 1 and lifted == right
    if not picked:
        return Truth(False, False, (f"lifted: {', '.join(sorted(lifted)) or 'nothing'}",))
    verdict = judge_place(
        station.scene,
        before,
        history,
        right.pop(),
        goal.relation,
        goal.reference_ids,
        station.scene_camera().T_base_camera,
    )
    return Truth(True, verdict.ok, tuple(verdict.reasons))


def run_episode(
    station: JudgedStation,
    policy: Policy,
    text: str,
    goal: Goal | None = None,
    turn_budget: int = TURN_BUDGET,
    stopped: Callable[[], bool] = lambda: False,
    listener: Listener = lambda kind, payload: None,
    protocol: Protocol | None = None,
) -> Outcome:
    """Run one command and judge it against the task's goal; `goal` None takes the robot's own reading (`ground`).

    The protocol is the one that the policy was made for; SpaceTools' where None.
    """
    agent = Agent(policy, station.toolbox, turn_budget, stopped, listener, protocol)
    return judged(station, text, agent.run, goal)


def judged(station: JudgedStation, text: str, carry_out: Callable[[str], Episode], goal: Goal | None = None) -> Outcome:
    """Judge what is done about a command, whoever does it; `goal` as in `run_episode`."""
    world = station.world
    before, start = world.snapshot(), world.time
    basis = ground(text, station) if goal is None else Basis(goal, TASK_GOAL)
    station.arm.first_motion_at = None
    began = time.monotonic()
    episode = carry_out(text)
    moved_at = station.arm.first_motion_at
    sim_time = world.time - start
    truth: Truth | None = None
    if episode.error_code not in INFRASTRUCTURE_ERRORS:
        try:
            truth = judge(basis.goal, station, before, start)
        except ToolError as error:
            episode.success, episode.error_code, episode.answer = False, error.code, str(error)
    return Outcome(episode, truth, basis, None if moved_at is None else moved_at - began, sim_time)


def summarize(outcome: Outcome, station: JudgedStation) -> dict[str, Any]:
    """The machine-readable result of a run."""
    episode, truth = outcome.episode, outcome.truth
    first = outcome.time_to_first_motion_s
    return {
        "task": episode.task,
        "answer": episode.answer,
        "success": episode.success,
        "truth": None
        if truth is None
        else {"picked": truth.picked, "placed": truth.placed, "score": truth.score}
        | ({"reasons": list(truth.reasons)} if truth.reasons else {}),
        "judged_against": None if truth is None else outcome.basis.document(),
        "error_code": episode.error_code,
        "tool_calls": episode.tool_calls,
        "turns": len(episode.turns),
        "time_to_first_motion_s": None if first is None else round(first, 3),
        "sim_time_s": round(outcome.sim_time_s, 3),
        "wall_s": round(episode.wall_s, 3),
        "seed": station.config.seed,
        "scene_seed": station.scene.seed,
    }


def animate(
    station: JudgedStation, cancelled: Callable[[], bool] = lambda: False
) -> tuple[Sequence[np.ndarray], Sequence[float]]:
    """Pictures of the logged motion, at most ANIMATION_FRAMES, and their simulated times [s]."""
    world = station.world
    log = world.log
    if len(log) < 2 or log[-1][0] - log[0][0] < 2 * LOG_PERIOD_S:
        return [], []
    picks = np.unique(np.linspace(0, len(log) - 1, min(ANIMATION_FRAMES, len(log))).astype(int))
    camera = station.make_camera(overview_camera(ANIMATION_SIZE))
    saved_time, saved_qpos = world.data.time, world.data.qpos.copy()
    frames, times = [], []
    try:
        for pick in picks:
            if cancelled():
                break
            world.data.time, world.data.qpos[:] = log[pick]
            mujoco.mj_kinematics(world.model, world.data)
            frames.append(camera.capture().rgb)
            times.append(log[pick][0] - log[0][0])
    finally:
        world.data.time, world.data.qpos[:] = saved_time, saved_qpos
        mujoco.mj_forward(world.model, world.data)
    return frames, times
