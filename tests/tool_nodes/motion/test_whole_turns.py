"""ros2_kortex reports continuous joints in (-pi, pi]: where measured joints are compared, whole turns do not count."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.gen3 import CONTINUOUS, MAX_OPENING, NAMED_STATES, joint_difference, nearest_turn, pad_depth, time_waypoints
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.approval import PlannedMotion
from toolhand.tool_nodes.motion.guard import GuardedArm, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.plans import PlanBook
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import (
    ArmState,
    CollisionScene,
    FloatArray,
    GripperOutcome,
    LinearGoal,
    MotionOutcome,
    Trajectory,
)

PARK = NAMED_STATES["Park"]
TURN = 2.0 * np.pi
SCENE = "objects:\n  - {name: toy block, position: [0.45, 0.0]}\n"
GRASP = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))


def wrapped(q: FloatArray) -> FloatArray:
    """As ros2_kortex reports it."""
    return nearest_turn(q, np.zeros(7))


class WrappedArm:
    """An arm that reports its joints as ros2_kortex does.

    Args:
        arm: Moves.
    """

    def __init__(self, arm: Any) -> None:
        self._arm = arm
        self.followed: list[Trajectory] = []

    def state(self) -> ArmState:
        state: ArmState = self._arm.state()
        return ArmState(wrapped(state.q), state.qd, state.opening_m, state.stamp)

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        self.followed.append(trajectory)
        return self._arm.follow(trajectory)  # type: ignore[no-any-return]

    def job(self) -> Any:
        return self._arm.job()

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        return self._arm.move_gripper(opening_m)  # type: ignore[no-any-return]

    def rest(self, seconds: float) -> MotionOutcome:
        return self._arm.rest(seconds)  # type: ignore[no-any-return]

    def stop(self) -> None:
        self._arm.stop()

    def reset_stop(self) -> None:
        self._arm.reset_stop()


@given(
    st.lists(st.floats(-20.0, 20.0), min_size=7, max_size=7),
    st.lists(st.floats(-20.0, 20.0), min_size=7, max_size=7),
    st.lists(st.integers(-3, 3), min_size=7, max_size=7),
)
def test_a_difference_is_the_same_in_every_turn_and_never_more_than_half_a_turn(
    q: list[float], reference: list[float], turns: list[int]
) -> None:
    a, b = np.array(q), np.array(reference)
    difference = joint_difference(a, b)
    assert (np.abs(difference[CONTINUOUS]) <= np.pi + 1e-9).all()
    assert (difference[~CONTINUOUS] == a[~CONTINUOUS] - b[~CONTINUOUS]).all()
    other = joint_difference(a + TURN * np.array(turns) * CONTINUOUS, b)
    gap = np.abs(other - difference)
    assert (np.minimum(gap, np.abs(gap - TURN)) < 1e-8).all(), "at half a turn either sign will do"


def test_a_grasp_and_a_placement_with_an_arm_that_reports_wrapped_joints() -> None:
    station = Station(parse_scene(SCENE))
    arm = WrappedArm(station.arm)
    manipulator = Manipulator(arm, station.planner, station.camera)
    manipulator.return_to_park()
    assert not arm.followed, "it is parked, whatever turn it reports"
    manipulator.grasp(GRASP, station.camera.capture())
    assert arm.followed[0].q[0, 2] < 0.0
    manipulator.place(np.array([0.40, -0.20, 0.0]), station.camera.capture())
    for leg in arm.followed:
        assert np.abs(leg.q[-1] - leg.q[0]).max() < np.pi, "no leg goes once around"


def test_a_plan_is_kept_for_an_arm_that_now_reports_another_turn() -> None:
    station = Station(parse_scene(SCENE))
    frame = station.camera.capture()
    plan = station.manipulator.plan_grasp(GRASP, frame)
    book = PlanBook()
    for q in (wrapped(PARK), PARK + TURN * CONTINUOUS):
        assert book.take(book.keep(plan, frame, PARK, None), type(plan), frame, q, None) is plan
    stops = ~CONTINUOUS
    with pytest.raises(ToolError, match="moved") as caught:
        book.take(book.keep(plan, frame, PARK, None), type(plan), frame, PARK + TURN * stops, None)
    assert caught.value.code is ErrorCode.SCENE_CHANGED


def test_the_way_home_is_permitted_in_any_turn() -> None:
    station = Station(parse_scene(SCENE))
    arm, guard, kinematics = WrappedArm(station.arm), MotionGuard(), Kinematics()
    home = time_waypoints(np.vstack([wrapped(PARK), wrapped(PARK) + 0.2, wrapped(PARK)]))
    motion = PlannedMotion("Test", (), kinematics.fk(PARK), "nothing", None)
    with guard.permit(lambda: motion, MAX_OPENING, lambda motion: None):
        assert GuardedArm(arm, guard).follow(home).status == "SUCCEEDED"


@pytest.mark.parametrize("turns", [-1, 1, 2])
def test_a_plan_begins_in_the_turn_that_was_measured(turns: int) -> None:
    station = Station(parse_scene(SCENE))
    start = PARK + TURN * turns * np.array([0, 0, 1, 0, 0, 0, 0])
    raised = Kinematics().fk(PARK)
    raised[2, 3] += 0.05
    leg = station.planner.plan(start, LinearGoal(raised), CollisionScene())
    assert (leg.q[0] == start).all()
    assert np.abs(leg.q - start).max() < 1.0
