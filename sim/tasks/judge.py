"""The judge: what a command means in a scene, and whether the simulator's truth agrees that it was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import mujoco

from sim.camera.ray import CameraModel
from sim.scene.scenes import Scene
from sim.station import StationConfig
from sim.tasks.predicates import THRESHOLDS, PlaceRelation, Snapshot, judge_pick, judge_place
from sim.world import LOG_PERIOD_S
from tool_nodes.language.relations import RELATION_WORDS
from tool_nodes.motion.robot_model import RobotModel
from tool_nodes.ports import Camera
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.types import FloatArray


class JudgedWorld(Protocol):
    """What a judge needs of a world, here or in another process; see sim.world.World."""

    @property
    def robot(self) -> RobotModel:
        """Which robot it has."""

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


class MovedArm(Protocol):
    """Tells when the arm first began to move."""

    first_motion_at: float | None


class JudgedStation(Protocol):
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


def held_ids(snapshot: Snapshot) -> frozenset[str]:
    """What the gripper holds, off the table."""
    return frozenset(
        name
        for name, state in snapshot.objects.items()
        if "gripper" in state.touching and "table" not in state.touching
    )


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
