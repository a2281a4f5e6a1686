"""Whatever a planner answers, one sentence says why it is refused, and nothing of it moves."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3
from tests.refusals import refused
from tests.tool_nodes.motion.planners.tables import ASIDE, PARK
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.checked_planner import CheckedPlanner, checked
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.planner_wrapper import PlannerWrapper
from toolhand.tool_nodes.motion.timing import MOST_SAMPLES, SAMPLE_PERIOD, resampled, time_waypoints
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

RAISED = Kinematics(GEN3).fk(PARK)
RAISED[2, 3] += 0.08
WALL = CollisionScene((Box(pose(np.eye(3), [0.45, 0.0, 0.2]), np.array([0.25, 0.01, 0.2])),))


class AlteringPlanner(PlannerWrapper):
    """The embedded planner, whose answers something happens to."""

    def __init__(self, lie: Callable[[Trajectory], Any], says: Any = True) -> None:
        super().__init__(EmbeddedPlanner(0, GEN3))
        self._lie, self._says = lie, says

    def plan(self, *question: Any) -> Any:
        return self._lie(self._planner.plan(*question))

    def reachable(self, *question: Any) -> Any:
        return self._says


def crash(trajectory: Trajectory) -> Trajectory:
    raise RuntimeError("the library\nis gone")


def above(y: float, z: float) -> FloatArray:
    """Joint positions of a hand that points down, 45 cm ahead."""
    q = Kinematics(GEN3).solve_ik(pose(np.diag([1.0, -1.0, -1.0]), [0.45, y, z]), PARK, 400)
    assert q is not None
    return q


def dip(trajectory: Trajectory) -> Trajectory:
    """It begins and ends as it should, and is down on the table between."""
    return time_waypoints(np.array([trajectory.q[0], above(0.0, 0.05), trajectory.q[-1]]), GEN3)


def bulge(trajectory: Trajectory) -> Trajectory:
    middle = (trajectory.q[0] + trajectory.q[-1]) / 2 + 0.02 * np.eye(7)[0]
    return time_waypoints(np.array([trajectory.q[0], middle, trajectory.q[-1]]), GEN3, 0.5)


UNUSABLE: dict[str, tuple[Callable[[Trajectory], Any], str]] = {
    "nothing": (lambda t: None, "answers NoneType where it must answer a Trajectory"),
    "a list": (lambda t: [t.t, t.q, t.qd], "answers list where it must answer a Trajectory"),
    "bytes": (lambda t: pickle.dumps(t), "answers bytes where"),
    "a crash": (crash, "failed: RuntimeError: the library is gone"),
    "no samples": (lambda t: replace(t, t=t.t[:0], q=t.q[:0], qd=t.qd[:0]), "positions and velocities for each time"),
    "NaN": (lambda t: replace(t, q=t.q * np.nan), "NaN or infinite numbers"),
    "infinite times": (lambda t: replace(t, t=t.t + np.array([*np.zeros(len(t.t) - 1), np.inf])), "NaN or infinite"),
    "a million samples": (
        lambda t: replace(t, t=np.arange(1e6), q=np.zeros((10**6, 7)), qd=np.zeros((10**6, 7))),
        f"answers 1,000,000 samples, where {MOST_SAMPLES:,} are the most",
    ),
    "words": (lambda t: replace(t, q=[["a"] * 7] * len(t.t)), "answers arrays that are no numbers"),
    "rows of several lengths": (lambda t: replace(t, q=[[0.0] * (k % 3) for k in range(len(t.t))]), "no numbers"),
    "a number": (lambda t: replace(t, t=3.0), "answers arrays that are no numbers"),
    "a table of times": (lambda t: replace(t, t=np.zeros((len(t.t), 2))), "its times are no list"),
    "another robot's joints": (lambda t: replace(t, joint_names=tuple("abcdefg")), "does not give 7 joint positions"),
    "six joints": (lambda t: replace(t, q=t.q[:, :6], qd=t.qd[:, :6]), "does not give 7 joint positions"),
    "time that stands still": (lambda t: replace(t, t=np.zeros(len(t.t))), "its times do not increase from 0"),
    "no end": (lambda t: replace(t, t=t.t[:-9], q=t.q[:-9], qd=t.qd[:-9]), "it does not begin and end at rest"),
}
WRONG: dict[str, tuple[Callable[[Trajectory], Any], Goal, CollisionScene, str]] = {
    "starts elsewhere": (
        lambda t: replace(t, q=t.q + 1e-3 * np.eye(7)[3]),
        JointGoal(ASIDE),
        CollisionScene(),
        "it starts 0.001 rad away from where the arm is",
    ),
    "ends elsewhere": (
        lambda t: EmbeddedPlanner(0, GEN3).plan(PARK, JointGoal(PARK + 0.1), CollisionScene(), 0.5),
        JointGoal(ASIDE),
        CollisionScene(),
        "rad away from the goal",
    ),
    "ends at another pose": (
        lambda t: EmbeddedPlanner(0, GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene(), 0.5),
        PoseGoal(RAISED[None]),
        CollisionScene(),
        "mm and .* rad away from the goal",
    ),
    "too fast": (
        lambda t: replace(t, t=t.t * 0.95, qd=t.qd / 0.95),
        JointGoal(ASIDE),
        CollisionScene(),
        "times as fast as the limits allow at 50 % speed",
    ),
    "a jump": (
        lambda t: replace(t, q=np.vstack([t.q[:1], t.q[1:] + 1.0])),
        JointGoal(ASIDE),
        CollisionScene(),
        "times as fast as the limits allow at 50 % speed",
    ),
    "no line": (bulge, LinearGoal(RAISED), CollisionScene(), "it leaves the straight line by"),
    "a line to elsewhere": (
        lambda t: replace(t, q=2 * t.q[0] - t.q, qd=-t.qd),
        LinearGoal(RAISED),
        CollisionScene(),
        "mm and .* rad away from the goal",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_trajectory_of_the_robot_is_a_fault_of_the_planner(name: str) -> None:
    lie, says = UNUSABLE[name]
    with refused(ErrorCode.UNAVAILABLE, says) as caught:
        CheckedPlanner(AlteringPlanner(lie), GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert caught.value.message.startswith("The planner AlteringPlanner ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", WRONG)
def test_a_path_that_does_not_answer_the_question_is_refused(name: str) -> None:
    lie, goal, scene, says = WRONG[name]
    with refused(ErrorCode.PLAN_FAILED, f"^The path of the planner was refused: .*{says}"):
        CheckedPlanner(AlteringPlanner(lie), GEN3).plan(PARK, goal, scene, 0.5)


def test_a_path_through_the_table_or_a_wall_is_refused() -> None:
    with pytest.raises(ToolError, match=r"The path that the planner found is blocked: .*the table would collide"):
        CheckedPlanner(AlteringPlanner(dip), GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene())
    start, end = above(-0.2, 0.25), above(0.2, 0.25)
    through = time_waypoints(np.array([start, end]), GEN3)
    with refused(ErrorCode.PLAN_FAILED, r"The path that the planner found is blocked: .*the obstacle near"):
        CheckedPlanner(AlteringPlanner(lambda t: through), GEN3).plan(start, JointGoal(end), WALL)


@pytest.mark.parametrize("says", [None, 1.0, "yes", np.zeros(2)])
def test_whether_a_pose_can_be_reached_is_yes_or_no(says: Any) -> None:
    with refused(ErrorCode.UNAVAILABLE, "where it must say whether a pose can be reached"):
        CheckedPlanner(AlteringPlanner(lambda t: t, says), GEN3).reachable(RAISED, CollisionScene())


def test_an_honest_planner_is_let_through_and_its_arrays_are_copied() -> None:
    answers: list[Trajectory] = []

    def keep(trajectory: Trajectory) -> Trajectory:
        answers.append(trajectory)
        return trajectory

    planner = CheckedPlanner(AlteringPlanner(keep), GEN3)
    for goal in (JointGoal(ASIDE), PoseGoal(RAISED[None]), LinearGoal(RAISED)):
        path = planner.plan(PARK, goal, CollisionScene(), 0.5)
        np.testing.assert_array_equal(path.q, answers[-1].q)
        assert path.q is not answers[-1].q
    assert planner.reachable(RAISED, CollisionScene())


def test_only_the_embedded_planner_is_believed() -> None:
    own = EmbeddedPlanner(0, GEN3)
    assert checked(own, GEN3) is own
    assert isinstance(checked(PlannerWrapper(own), GEN3), CheckedPlanner)


class Counted(AlteringPlanner):
    """Counts what it is asked."""

    asked = 0

    def plan(self, *question: Any) -> Any:
        self.asked += 1
        return super().plan(*question)


def test_nothing_else_is_tried_with_a_planner_that_is_broken() -> None:
    scene = parse_scene("objects:\n  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}\n")
    broken = Counted(crash)
    station = Station(
        scene, StationConfig(image_size=(320, 240)), wrap_planner=lambda planner: CheckedPlanner(broken, GEN3)
    )
    frame, before = station.camera.capture(), station.arm.state().q
    with refused(ErrorCode.UNAVAILABLE, "The planner Counted failed"):
        station.manipulator.grasp(pose(np.diag([1.0, -1.0, -1.0]), [0.42, 0.12, 0.16]), frame)
    assert broken.asked == 1
    np.testing.assert_array_equal(station.arm.state().q, before)


def test_samples_far_apart_are_joined_by_the_cubics_that_the_controller_follows() -> None:
    fine = EmbeddedPlanner(0, GEN3).plan(PARK, JointGoal(ASIDE), CollisionScene())
    rows = [*range(0, len(fine.t) - 10, 10), len(fine.t) - 1]
    coarse = Trajectory(fine.joint_names, fine.t[rows], fine.q[rows], fine.qd[rows])
    dense = resampled(coarse, 10_000)
    assert dense is not None
    assert np.diff(dense.t).max() <= SAMPLE_PERIOD + 1e-9
    for k, t in enumerate(coarse.t):
        at = int(np.abs(dense.t - t).argmin())
        np.testing.assert_array_equal(dense.q[at], coarse.q[k])
        np.testing.assert_array_equal(dense.qd[at], coarse.qd[k])
    near = np.array([np.interp(dense.t, fine.t, column) for column in fine.q.T]).T
    assert np.abs(dense.q - near).max() < 2e-3
    slope = np.diff(dense.q, axis=0) / np.diff(dense.t)[:, None]
    assert np.abs(slope - (dense.qd[1:] + dense.qd[:-1]) / 2).max() < 5e-3
    assert resampled(coarse, 10) is None
