"""What every planner has to do alike: the same questions of nine kinds, from fixed seeds."""

import os
from dataclasses import replace

import numpy as np
import pytest

from tests.gen3 import GEN3, NAMED_STATES
from tests.tool_nodes.motion.planners.questions import KINDS, Chain, draw_question, faults
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.scene_model import SceneModel
from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, JointGoal, LinearGoal, PoseGoal

PARK = NAMED_STATES["Park"]
DOWN = np.diag([1.0, -1.0, -1.0])
QUESTIONS = int(os.environ.get("TOOLHAND_PLANNER_QUESTIONS", "2"))
"""Questions of each kind; more where the variable says so."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_is_answered_exactly_or_refused_by_its_code(planner: Planner, kind: str) -> None:
    first = list(KINDS).index(kind)
    for seed in range(first, QUESTIONS * len(KINDS), len(KINDS)):
        assert faults(planner, draw_question(seed, GEN3), GEN3) == []


def test_a_path_that_cuts_a_corner_between_its_samples_is_planned_with_more_room(planner: Planner) -> None:
    """Of 200 questions the one where samples 0.1 s apart led a finger into a box."""
    assert faults(planner, draw_question(19, GEN3), GEN3) == []


@pytest.mark.parametrize("q", [PARK, PARK + 0.3, NAMED_STATES["Home"]])
def test_the_judge_agrees_with_the_kinematics_that_plan(q: np.ndarray) -> None:
    np.testing.assert_allclose(Chain(GEN3).at(q), Kinematics(GEN3).fk(q), atol=1e-9)


def test_a_turned_hand_is_turned_as_asked(planner: Planner) -> None:
    """Parts of a quaternion in the wrong order would turn the hand elsewhere."""
    for tilt, yaw in ((0.4, 0.7), (-0.3, -1.2)):
        lean = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
        T = pose(rotation_z(yaw) @ lean @ DOWN, [0.45, 0.1, 0.35])
        end = planner.plan(PARK, PoseGoal(T[None], 1e-6, 1e-6), CollisionScene()).q[-1]
        np.testing.assert_allclose(Chain(GEN3).at(end), T, atol=3e-6)


def test_a_turn_alone_is_a_straight_line_too(planner: Planner) -> None:
    T = Kinematics(GEN3).fk(PARK)
    T[:3, :3] = rotation_z(0.4) @ T[:3, :3]
    path = planner.plan(PARK, LinearGoal(T), CollisionScene()).q
    assert max(np.linalg.norm(Chain(GEN3).at(q)[:3, 3] - T[:3, 3]) for q in path) < 1e-3
    np.testing.assert_allclose(Chain(GEN3).at(path[-1]), T, atol=3e-5)


def test_what_is_held_stays_in_the_way_until_it_is_let_go(planner: Planner) -> None:
    """A wall that the empty hand passes over, and a long object in the hand that would run into it."""
    start, end = (
        planner.plan(PARK, PoseGoal(pose(DOWN, [0.45, y, 0.42])[None]), CollisionScene()).q[-1] for y in (-0.25, 0.25)
    )
    end = GEN3.nearest_turn(end, start)
    wall = Box(pose(np.eye(3), [0.45, 0.0, 0.09]), np.array([0.2, 0.02, 0.09]))
    held = Box(pose(np.eye(3), [0.0, 0.0, 0.22]), np.array([0.015, 0.015, 0.09]))
    bare = CollisionScene((wall,))
    holding = replace(bare, attached=(held,), opening_m=0.03)
    straight = np.linspace(start, end, 60)
    assert Checker(SceneModel(bare, GEN3), start).path_free(straight)
    assert not Checker(SceneModel(holding, GEN3), start).path_free(straight)
    for scene in (holding, holding, replace(bare, opening_m=0.03), holding):
        path = planner.plan(start, JointGoal(end), scene).q
        assert Checker(SceneModel(scene, GEN3), start).path_free(path)


def test_a_pose_is_said_to_be_reachable_where_it_is(planner: Planner) -> None:
    T = pose(DOWN, [0.45, 0.1, 0.25])
    block = CollisionScene((Box(pose(np.eye(3), [0.45, 0.1, 0.2]), np.full(3, 0.08)),))
    lid = CollisionScene((Box(pose(np.eye(3), [0.45, 0.1, 0.46]), np.array([0.1, 0.1, 0.01])),))
    up = np.array([0.0, 0.0, 0.1])
    assert planner.reachable(T, CollisionScene())
    assert planner.reachable(T, CollisionScene(), up)
    assert not planner.reachable(T, block)
    assert not planner.reachable(T, lid, up)
    assert not planner.reachable(pose(DOWN, [1.2, 0.1, 0.25]), CollisionScene())


@pytest.mark.parametrize(
    ("start", "goal", "speed", "says"),
    [
        (PARK[:6], JointGoal(PARK), 1.0, "start must be 7 finite joint positions"),
        (PARK * np.nan, JointGoal(PARK), 1.0, "start must be 7 finite joint positions"),
        (PARK + 3.0 * np.eye(7)[1], JointGoal(PARK), 1.0, "start must be within the joint limits"),
        (PARK, JointGoal(PARK[:6]), 1.0, "goal must be 7 finite joint positions"),
        (PARK, JointGoal(PARK + 3.0 * np.eye(7)[1]), 1.0, "joint_2 must be within"),
        (PARK, PoseGoal(np.eye(4)), 1.0, "poses of shape"),
        (PARK, PoseGoal(np.full((1, 4, 4), np.nan)), 1.0, "rigid transform"),
        (PARK, LinearGoal(np.zeros((4, 4))), 1.0, "rigid transform"),
        (PARK, JointGoal(PARK), 0.0, "speed must be in"),
        (PARK, JointGoal(PARK), 1.5, "speed must be in"),
        (PARK, "home", 1.0, "goal must be a PoseGoal, LinearGoal or JointGoal"),
    ],
)
def test_a_malformed_question_is_refused(
    planner: Planner, start: object, goal: object, speed: float, says: str
) -> None:
    with pytest.raises(ToolError, match=says) as refused:
        planner.plan(start, goal, CollisionScene(), speed)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_joint_without_stops_may_begin_and_end_at_any_turn(planner: Planner) -> None:
    start = PARK + 2 * np.pi * GEN3.continuous
    goal = PARK - 4 * np.pi * GEN3.continuous + 0.2 * np.eye(7)[0]
    path = planner.plan(start, JointGoal(goal), CollisionScene()).q
    np.testing.assert_array_equal(path[0], start)
    assert np.abs(path[-1] - (start + 0.2 * np.eye(7)[0])).max() < 2e-4
    assert np.abs(path - start).max() < 0.3
