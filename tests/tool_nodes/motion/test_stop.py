"""A stop ends what was going on for good: a reset a moment later brings nothing of it back."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.gen3 import NAMED_STATES, pad_depth
from tests.saying import call
from tests.stations import restored
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationState
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.plans import ManipulatorState
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.stop_latch import StopLatch
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import CollisionScene, Frame, Goal, JointGoal, Trajectory

SCENE = "objects:\n  - {name: toy block, position: [0.45, 0.0]}\n"
GRASP = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))
PLACE = np.array([0.45, 0.12, 0.0])

GRASP_STAGES = (
    "planning",
    "waiting for approval",
    "opening",
    "the move to the pre-grasp",
    "the approach",
    "closing",
    "the lift",
    "the return to the park position",
    "the look at what was lifted",
)
PLACE_STAGES = (
    "planning",
    "waiting for approval",
    "the move above the place",
    "the descent",
    "the release",
    "the retreat",
    "opening",
    "the return to the park position",
)


class Cell:
    """A station on which somebody stops and resets, once, when something happens."""

    def __init__(self) -> None:
        self.station = restored(parse_scene(SCENE))
        self.world, self.arm = self.station.world, self.station.arm
        self.due = lambda stage: False
        self.stopped_at_s: float | None = None
        self.guard = MotionGuard(Mode.ASK, self)
        self.manipulator = Manipulator(self.arm, self, self, self.on_stage, self.guard)

    def stop_and_reset(self) -> None:
        if self.stopped_at_s is None:
            self.stopped_at_s = self.world.time
            self.arm.stop()
            self.arm.reset_stop()

    def on_stage(self, stage: str) -> None:
        if self.due(stage):
            self.stop_and_reset()

    # As planner, camera and approver.

    def plan(self, start: Any, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        self.on_stage("a plan")
        return self.station.planner.plan(start, goal, scene, speed)

    def reachable(self, T: Any, scene: CollisionScene) -> bool:
        return self.station.planner.reachable(T, scene)

    def capture(self) -> Frame:
        self.on_stage("a picture")
        return self.station.camera.capture()

    def decide(self, request: MotionRequest) -> Decision:
        self.on_stage("the question")
        return Decision(True, "", request.hash, "person")

    def assert_stopped(self, work: Callable[[], Any]) -> None:
        """The work ends with STOPPED, and the arm is not commanded any more."""
        with pytest.raises(ToolError) as caught:
            work()
        assert caught.value.code is ErrorCode.STOPPED, caught.value
        assert self.stopped_at_s is not None
        assert self.world.time == self.stopped_at_s, "something moved after the stop"


@pytest.fixture
def cell() -> Cell:
    return Cell()


@pytest.fixture(scope="module")
def grasped() -> tuple[StationState, ManipulatorState]:
    """The moment after a grasp."""
    cell = Cell()
    cell.manipulator.grasp(GRASP, cell.capture())
    return cell.station.save(), cell.manipulator.save()


@pytest.mark.parametrize("moment", [*GRASP_STAGES, "a plan", "a picture", "the question"])
def test_a_grasp_that_was_stopped_is_not_brought_back_by_a_reset(cell: Cell, moment: str) -> None:
    frame = cell.station.camera.capture()
    cell.due = lambda stage: stage == moment
    cell.assert_stopped(lambda: cell.manipulator.grasp(GRASP, frame))
    assert cell.manipulator.held is None or moment in GRASP_STAGES[6:]


@pytest.mark.parametrize("moment", [*PLACE_STAGES, "a plan", "a picture", "the question"])
def test_a_placement_that_was_stopped_is_not_brought_back_by_a_reset(
    cell: Cell, grasped: tuple[StationState, ManipulatorState], moment: str
) -> None:
    cell.station.restore(grasped[0])
    cell.manipulator.restore(grasped[1])
    frame = cell.station.camera.capture()
    cell.due = lambda stage: stage == moment
    cell.assert_stopped(lambda: cell.manipulator.place(PLACE, frame))


@pytest.mark.parametrize("moment", ["the return from where the arm was left", "a plan", "a picture", "the question"])
def test_a_way_back_that_was_stopped_is_not_brought_back_by_a_reset(cell: Cell, moment: str) -> None:
    away = NAMED_STATES["Park"] + 0.3 * np.eye(7)[0]
    cell.arm.follow(cell.station.planner.plan(NAMED_STATES["Park"], JointGoal(away), CollisionScene()))
    cell.due = lambda stage: stage == moment
    cell.assert_stopped(cell.manipulator.return_to_park)


@pytest.mark.parametrize("steps", [1, 40, 300, 700, 1000, 1500])
def test_a_stop_and_reset_within_a_motion_brakes_it_and_ends_all(
    cell: Cell, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = cell.capture()
    step, made = cell.world.step, [0]

    def counted() -> None:
        step()
        made[0] += 1
        if made[0] == steps:
            cell.stop_and_reset()

    monkeypatch.setattr(cell.world, "step", counted)
    with pytest.raises(ToolError) as caught:
        cell.manipulator.grasp(GRASP, frame)
    assert caught.value.code is ErrorCode.STOPPED
    assert cell.world.time < (cell.stopped_at_s or 0.0) + 1.0
    assert np.abs(cell.world.arm_velocity).max() < 0.01


def test_what_is_asked_for_after_the_reset_is_done(cell: Cell) -> None:
    frame = cell.capture()
    cell.due = lambda stage: stage == "the question"
    cell.assert_stopped(lambda: cell.manipulator.grasp(GRASP, frame))
    assert cell.manipulator.grasp(GRASP, frame).opening_m > 0.03


def test_a_grasp_that_begins_while_a_stop_is_latched_is_not_begun_by_the_reset(cell: Cell) -> None:
    frame = cell.capture()
    cell.arm.stop()
    cell.due = lambda stage: stage == "the question"
    cell.assert_stopped(lambda: cell.manipulator.grasp(GRASP, frame))


class Told:
    """A policy that grasps, turn after turn, and between two turns somebody stops and resets."""

    name = "told"

    def __init__(self, turns: Sequence[str], meanwhile: Callable[[int], None]) -> None:
        self.turns, self.meanwhile = list(turns), meanwhile
        self.asked = 0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.meanwhile(self.asked)
        self.asked += 1
        return Reply(self.turns[min(self.asked, len(self.turns)) - 1])


LOOK = call("robot.capture_image")


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_a_stop_while_the_policy_thinks_ends_the_command_whatever_is_reset(turn: int) -> None:
    station = Station(parse_scene(SCENE))
    T = (np.linalg.inv(station.camera.capture().T_base_camera) @ GRASP).tolist()
    before = station.world.time

    def meanwhile(asked: int) -> None:
        if asked == turn:
            station.arm.stop()
            station.arm.reset_stop()

    policy = Told([LOOK, LOOK, call("robot.execute_grasp", grasp_pose=T)], meanwhile)
    episode = Agent(policy, station.toolbox).run("pick up the toy block")
    assert episode.error_code is ErrorCode.STOPPED
    assert "Stopped by the operator" in episode.answer
    assert policy.asked == turn + 1
    assert station.world.time == before
    assert (
        Agent(
            Told([call("robot.execute_grasp", grasp_pose=T), "<answer>Done.</answer>"], lambda _: None), station.toolbox
        )
        .run("pick up the toy block")
        .success
    )


def test_a_motion_that_is_stopped_ends_the_command_though_the_policy_would_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    station = Station(parse_scene(SCENE))
    T = (np.linalg.inv(station.camera.capture().T_base_camera) @ GRASP).tolist()
    stopped_at: list[float] = []
    step = station.world.step

    def stopping() -> None:
        step()
        if station.world.time > 0.5 and not stopped_at:
            stopped_at.append(station.world.time)
            station.arm.stop()
            station.arm.reset_stop()

    monkeypatch.setattr(station.world, "step", stopping)
    policy = Told([call("robot.execute_grasp", grasp_pose=T) + LOOK], lambda _: None)
    episode = Agent(policy, station.toolbox).run("pick up the toy block")
    assert episode.error_code is ErrorCode.STOPPED
    assert "during the move to the pre-grasp" in episode.answer
    assert policy.asked == 1
    assert [record.name for record in episode.records] == ["robot.execute_grasp"], "nothing was called after it"
    assert station.world.time < stopped_at[0] + 1.0


def test_a_command_that_meets_a_latched_stop_says_so_before_the_policy_is_asked() -> None:
    station = Station(parse_scene(SCENE))
    station.arm.stop()
    policy = Told([LOOK], lambda _: None)
    episode = Agent(policy, station.toolbox).run("pick up the toy block")
    assert episode.error_code is ErrorCode.STOPPED
    assert policy.asked == 0
    assert "A stop is latched" in episode.answer
    assert "reset_stop" in episode.answer


def test_a_stop_during_a_call_is_not_forgotten_before_its_motion_begins() -> None:
    """A motion tool takes an image before it hands the motion on."""
    station = Station(parse_scene(SCENE))
    T = (np.linalg.inv(station.camera.capture().T_base_camera) @ GRASP).tolist()
    capture = station.camera.capture

    def stopping() -> Frame:
        station.arm.stop()
        station.arm.reset_stop()
        return capture()

    station.camera.capture = stopping  # type: ignore[method-assign]
    before = station.world.time
    record = station.toolbox.call("robot.execute_grasp", {"grasp_pose": T}, Session())
    assert record.result.error is not None
    assert record.result.error.code is ErrorCode.STOPPED
    assert station.world.time == before


def test_the_latch_counts_and_a_stop_beats_a_reset() -> None:
    latch = StopLatch()
    early = latch.watch()
    latch.set()
    late = latch.watch()
    assert latch.is_set
    assert early.halted
    latch.clear()
    assert not latch.is_set
    assert early.halted
    assert late.halted, "what began while a stop was latched stays refused"
    assert not latch.watch().halted
    with latch.job():
        assert not latch.halted
        latch.set()
        latch.clear()
        assert latch.halted
        with latch.job():
            assert latch.halted, "a part of a job is no new job"
    assert not latch.halted


def test_the_job_of_one_thread_is_not_that_of_another() -> None:
    latch = StopLatch()
    seen: list[bool] = []
    with latch.job():
        latch.set()
        latch.clear()
        thread = threading.Thread(target=lambda: seen.append(latch.halted))
        thread.start()
        thread.join()
        assert latch.halted
    assert seen == [False]
