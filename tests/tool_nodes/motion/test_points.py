"""A cloud of points in the collision scene: balls that the planner meets exactly, and goes around."""

from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3, NAMED_STATES
from tests.refusals import refused
from tests.tool_nodes.motion.test_planner import (
    EMPTY,
    FK,
    HELD,
    PARK,
    assert_valid,
    both_yaws,
    holding,
    top_down,
    touches,
    wall,
)
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.scene_model import SceneModel, SceneModels
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import MOST_CLOUD_POINTS, Box, CollisionScene, FloatArray, JointGoal, LinearGoal

SPACING, RADIUS = 0.02, 0.018
"""Points of a grid and the radius of their balls [m], which leave no gap: half the diagonal of a cell is 0.0173 m."""
WALL = wall(0.4)


def cloud_of(box: Box) -> FloatArray:
    """Points (N, 3) on the outside of a box, and in it, SPACING apart or less."""
    half = np.asarray(box.half_extents)
    axes = [np.linspace(-h, h, int(np.ceil(2 * h / SPACING)) + 1) for h in half]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid + box.T_parent_box[:3, 3]


@pytest.fixture(scope="module")
def planner() -> EmbeddedPlanner:
    return EmbeddedPlanner()


def test_a_ball_is_met_wherever_the_box_in_it_is_and_nowhere_that_the_box_around_it_is_not() -> None:
    rng = np.random.default_rng(5)
    radius, met, missed = 0.06, 0, 0
    for _ in range(40):
        point = rng.uniform([0.2, -0.4, 0.1], [0.7, 0.4, 0.6])
        scenes = (
            CollisionScene((Box(pose(np.eye(3), point), np.full(3, radius / np.sqrt(3))),), margin=0.0),
            CollisionScene(points=point[None], point_radius=radius, margin=0.0),
            CollisionScene((Box(pose(np.eye(3), point), np.full(3, radius)),), margin=0.0),
        )
        inner, ball, outer = (Checker(SceneModel(scene, GEN3)) for scene in scenes)
        bare = Checker(SceneModel(EMPTY, GEN3))
        for q in rng.uniform(*GEN3.sampled_range, size=(60, GEN3.dof)):
            if not bare.free(q):
                continue
            assert ball.free(q) or not outer.free(q)
            assert inner.free(q) or not ball.free(q)
            met, missed = met + (not ball.free(q)), missed + ball.free(q)
    assert met > 20
    assert missed > 200


def test_the_margin_is_kept_from_points_as_from_boxes() -> None:
    at = np.array([[0.5, 0.0, 0.3]])
    thick, kept = (
        SceneModel(CollisionScene(points=at, point_radius=radius, margin=margin), GEN3)
        for radius, margin in ((0.03, 0.0), (0.01, 0.02))
    )
    rng = np.random.default_rng(2)
    for q in rng.uniform(*GEN3.sampled_range, size=(50, GEN3.dof)):
        assert thick.update(q) == kept.update(q)
        assert thick.depths() == kept.depths()


def test_a_wall_of_points_is_gone_around(planner: EmbeddedPlanner) -> None:
    points = cloud_of(WALL)
    scene = CollisionScene(points=points, point_radius=RADIUS)
    assert 1000 < len(points) <= MOST_CLOUD_POINTS
    left = planner.plan(PARK, both_yaws(top_down(0.4, 0.3, 0.1)), scene).q[-1]
    goal = both_yaws(top_down(0.4, -0.3, 0.1))
    assert touches(planner.plan(left, goal, EMPTY), (WALL,))
    around = planner.plan(left, goal, scene)
    assert not touches(around, (WALL,))
    assert_valid(around, left)
    again = EmbeddedPlanner().plan(left, goal, scene)
    assert again.q.tobytes() == around.q.tobytes()


def test_a_motion_into_points_is_refused_and_says_where_they_are(planner: EmbeddedPlanner) -> None:
    T = top_down(0.45, 0.1, 0.05)
    at = T[:3, 3] + [0.0, 0.0, -0.02]
    scene = CollisionScene(points=at[None], point_radius=RADIUS)
    assert planner.reachable(T, EMPTY)
    assert not planner.reachable(T, scene)
    with refused(ErrorCode.PLAN_FAILED, r"with a point of the cloud near x=0\.45 m, y=0\.10 m, z="):
        planner.plan(PARK, both_yaws(T), scene)


def test_a_held_object_meets_the_points_that_the_bare_hand_clears(planner: EmbeddedPlanner) -> None:
    start, _ = holding(planner, 0.4, 0.2, bottom_z=0.03)
    across = FK(start)
    across[1, 3] = -0.2
    points = np.array([[0.4, 0.0, 0.06]])
    assert_valid(planner.plan(start, LinearGoal(across), CollisionScene(points=points)), start)
    with pytest.raises(ToolError, match="held object with a point of the cloud"):
        planner.plan(start, LinearGoal(across), CollisionScene(attached=(HELD,), points=points))


def test_no_contact_is_lost_however_many_points_lie_in_the_robot() -> None:
    points = FK(PARK)[:3, 3] + np.random.default_rng(0).uniform(-0.05, 0.05, (MOST_CLOUD_POINTS, 3))
    model = SceneModel(CollisionScene(points=points, point_radius=1.5), GEN3)
    assert model.update(PARK) > 20 * MOST_CLOUD_POINTS
    assert not any(warning.number for warning in model._data.warning)
    assert not Checker(model).free(PARK)


def test_scenes_with_other_points_have_other_models() -> None:
    models, point = SceneModels(), np.array([[0.5, 0.0, 0.2]])
    first = models.of(CollisionScene(points=point))
    assert models.of(CollisionScene(points=point.copy())) is first
    assert models.of(CollisionScene(points=point, point_radius=0.02)) is not first
    assert models.of(CollisionScene(points=point + 0.01)) is not first


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"points": np.array([[0.5, np.nan, 0.1]])}, "finite positions"),
        ({"points": np.zeros(3)}, r"positions \(N, 3\)"),
        ({"points": np.zeros((2, 2))}, r"positions \(N, 3\)"),
        ({"points": np.zeros((1, 3)), "point_radius": 0.0}, "greater than 0"),
        ({"points": np.zeros((1, 3)), "point_radius": np.inf}, "finite radius"),
        ({"points": np.zeros((MOST_CLOUD_POINTS + 1, 3))}, f"at most {MOST_CLOUD_POINTS} points"),
    ],
)
def test_malformed_points_are_refused(planner: EmbeddedPlanner, wrong: dict[str, Any], sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        planner.plan(PARK, JointGoal(NAMED_STATES["Home"]), CollisionScene(**wrong))
