"""What a task is: a sentence, a scene, and a score of its own.

A task is one file beside this one, e.g. `pick.py`. Its truth comes from the maker of the scene and from what the
simulator knows afterwards; the policy, and whatever reads the policy's sentence, have no say in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from toolhand.sim.contacts import Contacts
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.sim.world import LOG_PERIOD_S
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord
from toolhand.tool_nodes.types import BoolArray, FloatArray

Category = Literal["pick", "relational_pick", "pick_and_place"]

TASK_GOAL = "the task's own goal"
"""Source of a goal that was there before its sentence."""


PICKED_UP_S = 0.2
"""What is up for this long was picked up [s]: what is knocked over or bounces is in the air for less, as in
`toolhand.sim.tasks.stages.HELD_S`."""


@dataclass(frozen=True)
class Stage:
    """Whether a stage of a task was reached, as a truth value too.

    Attributes:
        first_at_s: When, in simulated time since the beginning [s]; None where it was not.
    """

    reached: bool
    first_at_s: float | None = None

    def __bool__(self) -> bool:
        return self.reached


@dataclass(frozen=True)
class Score:
    """What came of a task.

    Attributes:
        terms: Named, each in 0..1; a bool where there is nothing in between. The trainer weighs them.
        success: Everything that was asked for is true.
        reasons: One sentence for each object that is not as it should be.
        stages: How far it came, see `toolhand.sim.tasks.stages`; empty where the task has none. No part of a
            comparison: it is the way, not what came of it.
        picked_up: Ids of the objects that the hand lifted off the table at some time; empty where the task asks for no
            deed.
        meant: Ids of the objects that could be picked, any one of them; empty where the task asks for no deed.

    Raises:
        ToolError: INTERNAL for a term outside of 0..1: such an episode has no score.
    """

    terms: Mapping[str, float]
    success: bool
    reasons: tuple[str, ...] = ()
    stages: Mapping[str, Stage] = field(default_factory=dict, compare=False, repr=False)
    picked_up: tuple[str, ...] = field(default=(), compare=False, repr=False)
    meant: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def wrong_objects(self) -> tuple[str, ...]:
        """What was picked up and not meant."""
        return tuple(name for name in self.picked_up if name not in self.meant)

    def __post_init__(self) -> None:
        wrong = [f"{name}={value}" for name, value in self.terms.items() if not 0.0 <= value <= 1.0]
        if wrong:
            raise ToolError(ErrorCode.INTERNAL, f"The terms of a score lie in 0..1, not {', '.join(wrong)}.")

    @property
    def points(self) -> int:
        """Terms that are wholly true: 0 or 1 for a pick, up to 2 for a pick and place."""
        return sum(value == 1.0 for value in self.terms.values())


@dataclass(frozen=True)
class History:
    """What the simulator knows of one episode.

    Attributes:
        scene: Scene at the start, with its shapes.
        T_base_camera: (4, 4) true pose of the scene camera: left and behind are as it sees them.
        before: The objects before the robot moved.
        times: (T,) simulated time of each logged state, from the start to the end of the holds [s].
        poses: Pose of each object at those times, (T, 7): position in the base frame [m] and quaternion wxyz.
        holds: For each of the task's `holds_s` the states while nothing was done any more, first and last included.
        after: The objects at the very end.
        hand: (T, 3) point between the jaws at those times, base frame [m]; None where it is not known.
        contacts: Contacts at those times; None where they are not known.
        opening_m: How far the jaws are open at the end [m]; None where it is not known.
        parked_hand: (3,) point between the jaws where the arm is parked, base frame [m]; None where it is not known.
    """

    scene: Scene
    T_base_camera: FloatArray
    before: Snapshot
    times: FloatArray
    poses: Mapping[str, FloatArray]
    holds: tuple[tuple[Snapshot, ...], ...]
    after: Snapshot
    hand: FloatArray | None = None
    contacts: tuple[Contacts, ...] | None = None
    opening_m: float | None = None
    parked_hand: FloatArray | None = None

    @property
    def lifted(self) -> frozenset[str]:
        """Objects that were at least the threshold up for the whole hold time at some point."""
        return frozenset(name for name in self.poses if run_end(self.up(name), THRESHOLDS.hold_s) is not None)

    @property
    def picked_up(self) -> frozenset[str]:
        """Objects that were at least the threshold up for PICKED_UP_S at some point, also where they slipped then."""
        return frozenset(name for name in self.poses if run_end(self.up(name), PICKED_UP_S) is not None)

    def up(self, name: str) -> BoolArray:
        """(T,) where an object was at least the threshold up."""
        return self.poses[name][:, 2] - self.before.objects[name].position_m[2] >= THRESHOLDS.lift_m


class Transcript(Protocol):
    """What was said and done in an episode, e.g. an `toolhand.agent_node.episode.Episode`."""

    @property
    def task(self) -> str:
        """The operator's sentence."""

    @property
    def answer(self) -> str:
        """The answer to the operator."""

    @property
    def success(self) -> bool:
        """The tools reported that all was done."""

    @property
    def error_code(self) -> ErrorCode | None:
        """The stage that failed."""

    @property
    def records(self) -> list[CallRecord]:
        """The calls that were run, in order."""


class Task(Protocol):
    """One object to do, and how it is judged."""

    @property
    def text(self) -> str:
        """What the operator says."""

    @property
    def scene(self) -> Scene:
        """The table before."""

    @property
    def goal(self) -> str:
        """What has to be true in the end, in one line of the scene's ids, for results and reports."""

    @property
    def source(self) -> str:
        """Whose goal that is: TASK_GOAL, or where else it comes from."""

    @property
    def holds_s(self) -> tuple[float, ...]:
        """How long the world is let alone after the command, in stretches, before it is scored [s]; may be empty."""

    def score(self, history: History, transcript: Transcript) -> Score:
        """Judge an episode.

        Args:
            history: Simulator's record of the episode.
            transcript: Words and tool calls of the episode.

        Raises:
            ToolError: INTERNAL where the physics broke: such an episode has no score.
        """


@dataclass(frozen=True)
class SceneTask:
    """What the tasks beside this file have in common.

    Attributes:
        text: Sentence of the operator.
        scene: The table before, with the shapes; judges take positions from the history.
        source: Origin of the goal.
    """

    text: str
    scene: Scene
    source: str = field(default=TASK_GOAL, kw_only=True)
    holds_s: ClassVar[tuple[float, ...]] = (THRESHOLDS.still_s,)


def held_ids(snapshot: Snapshot) -> frozenset[str]:
    """What the gripper holds, off the table."""
    return frozenset(
        name
        for name, state in snapshot.objects.items()
        if "gripper" in state.touching and "table" not in state.touching
    )


def run_end(flags: BoolArray, seconds: float) -> int | None:
    """Index of the logged state in which something had been true on end for so long; None where it never was."""
    need, run = round(seconds / LOG_PERIOD_S), 0
    for index, flag in enumerate(flags):
        run = run + 1 if flag else 0
        if run >= need:
            return index
    return None
