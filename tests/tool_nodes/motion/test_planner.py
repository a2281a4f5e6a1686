"""The embedded planner on tables with boxes, walls and held objects."""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest

from tests.gen3 import (
    ACCELERATION_LIMITS,
    ARM_JOINTS,
    CONTINUOUS,
    GEN3,
    GRIPPER_BOX,
    MAX_OPENING,
    NAMED_STATES,
    POSITION_LIMITS,
    VELOCITY_LIMITS,
    fingertip_depth,
    gripper_points,
    knuckle_from_opening,
    load_robot_spec,
)
from toolhand.tool_nodes.geometry import pose, rotation_angle, rotation_z, transform
from toolhand.tool_nodes.motion import planner as planner_module
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.rrt import _Tree
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Box, CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

DOWN = np.diag([1.0, -1.0, -1.0])
PARK = NAMED_STATES["Park"]
EMPTY = CollisionScene()
FK = Kinematics().fk


def box(x: float, y: float, z: float, half: tuple[float, float, float], yaw: float = 0.0) -> Box:
    return Box(pose(rotation_z(yaw), [x, y, z]), np.array(half))


def top_down(x: float, y: float, tip_z: float, yaw: float = 0.0) -> FloatArray:
    """Pose whose open fingertips are at height tip_z."""
    return pose(rotation_z(yaw) @ DOWN, [x, y, tip_z + fingertip_depth(MAX_OPENING)])


def both_yaws(T: FloatArray) -> PoseGoal:
    flipped = T.copy()
    flipped[:3, :2] *= -1
    return PoseGoal(np.stack([T, flipped]))


def assert_valid(trajectory: Trajectory, start: FloatArray, speed: float = 1.0) -> None:
    dt = np.diff(trajectory.t)[:, None]
    assert trajectory.joint_names == ARM_JOINTS
    np.testing.assert_array_equal(trajectory.q[0], start)
    assert (dt > 0).all()
    assert (np.abs(trajectory.q) <= POSITION_LIMITS).all()
    assert (np.abs(trajectory.qd) <= VELOCITY_LIMITS * speed * 1.0001).all()
    assert (np.abs(np.diff(trajectory.qd, axis=0)) <= ACCELERATION_LIMITS * speed**2 * dt * 1.001).all()
    assert not trajectory.qd[[0, -1]].any()
    low, high = GRIPPER_BOX
    tips = np.array([transform(FK(q), gripper_points(MAX_OPENING)[3:]) for q in trajectory.q[::5]])
    assert (tips > low - 2e-3).all()
    assert (tips < high + 2e-3).all()


def touches(trajectory: Trajectory, boxes: tuple[Box, ...]) -> bool:
    """True if the physics model, open, overlaps a box or itself anywhere; written without the planner's own model."""
    spec = load_robot_spec()
    for index, obstacle in enumerate(boxes):
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, obstacle.T_parent_box[:3, :3].ravel())
        spec.worldbody.add_body(name=f"box{index}").add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=obstacle.half_extents, pos=obstacle.T_parent_box[:3, 3], quat=quat
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    count = int(trajectory.duration / 0.004) + 1
    for time in np.linspace(0, trajectory.duration, count):
        data.qpos[:7] = [np.interp(time, trajectory.t, column) for column in trajectory.q.T]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if any(contact.dist < -1e-6 for contact in data.contact):
            return True
    return False


def wall(height: float) -> Box:
    return box(0.51, 0.0, height / 2, (0.29, 0.01, height / 2))


@pytest.fixture(scope="module")
def planner() -> EmbeddedPlanner:
    return EmbeddedPlanner()


def test_pregrasps_among_boxes_are_reached_within_tolerance(planner: EmbeddedPlanner) -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        radius, azimuth = rng.uniform(0.3, 0.66), rng.uniform(-0.7, 0.7)
        target = np.array([radius * np.cos(azimuth), radius * np.sin(azimuth)])
        boxes: list[Box] = []
        while len(boxes) < 6:
            at, height = rng.uniform([0.25, -0.45], [0.7, 0.45]), rng.uniform(0.02, 0.1)
            if np.linalg.norm(at - target) > 0.17:
                boxes.append(box(at[0], at[1], height, (0.03, 0.03, height), rng.uniform(-3, 3)))
        goal = both_yaws(top_down(target[0], target[1], 0.12, rng.uniform(-np.pi, np.pi)))
        trajectory = planner.plan(PARK, goal, CollisionScene(tuple(boxes)))
        assert_valid(trajectory, PARK)
        reached = FK(trajectory.q[-1])
        assert any(
            np.linalg.norm(reached[:3, 3] - T[:3, 3]) < 5e-4 and rotation_angle(reached[:3, :3], T[:3, :3]) < 5e-3
            for T in goal.T_base_gripper
        )
        assert not touches(trajectory, tuple(boxes))


def test_a_wall_between_start_and_goal_is_gone_around(planner: EmbeddedPlanner) -> None:
    scene = CollisionScene((wall(0.4),))
    left = planner.plan(PARK, both_yaws(top_down(0.4, 0.3, 0.1)), scene).q[-1]
    goal = both_yaws(top_down(0.4, -0.3, 0.1))
    direct = planner.plan(left, goal, EMPTY)
    around = planner.plan(left, goal, scene)
    assert touches(direct, scene.boxes)
    assert not touches(around, scene.boxes)
    assert_valid(around, left)


def test_the_same_seed_gives_the_same_bytes_whatever_was_asked_before() -> None:
    scene = CollisionScene((wall(0.4),))
    first, second = EmbeddedPlanner(seed=3), EmbeddedPlanner(seed=3)
    second.plan(PARK, both_yaws(top_down(0.5, 0.1, 0.2)), EMPTY)
    left = first.plan(PARK, both_yaws(top_down(0.4, 0.3, 0.1)), scene).q[-1]
    plans = [planner.plan(left, both_yaws(top_down(0.4, -0.3, 0.1)), scene) for planner in (first, second, first)]
    assert plans[0].q.tobytes() == plans[1].q.tobytes() == plans[2].q.tobytes()
    assert plans[0].t.tobytes() == plans[1].t.tobytes() == plans[2].t.tobytes()


def test_nothing_of_the_clock_is_in_a_path_unless_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    goal = NAMED_STATES["Home"]
    scene = CollisionScene((wall(0.4),))
    left = EmbeddedPlanner().plan(PARK, both_yaws(top_down(0.4, 0.3, 0.1)), scene).q[-1]
    expected = EmbeddedPlanner().plan(left, both_yaws(top_down(0.4, -0.3, 0.1)), scene)
    ticks = itertools.count(step=1e6)
    monkeypatch.setattr(planner_module.time, "monotonic", lambda: next(ticks))
    again = EmbeddedPlanner().plan(left, both_yaws(top_down(0.4, -0.3, 0.1)), scene)
    assert again.q.tobytes() == expected.q.tobytes()
    with pytest.raises(ToolError, match=r"^No path to the goal was found within 0 samples and 5 s\. ") as caught:
        EmbeddedPlanner(planning_s=5.0).plan(left, both_yaws(top_down(0.4, -0.3, 0.1)), scene)
    assert caught.value.code is ErrorCode.PLAN_FAILED
    assert EmbeddedPlanner(planning_s=5.0).plan(PARK, JointGoal(goal), EMPTY).q.any()


def test_a_goal_that_no_way_leads_to_is_told_apart_from_a_way_that_is_blocked(
    planner: EmbeddedPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner_module, "ITERATIONS", 200)
    left = planner.plan(PARK, both_yaws(top_down(0.4, 0.3, 0.1)), EMPTY).q[-1]
    right = planner.plan(PARK, both_yaws(top_down(0.4, -0.3, 0.1)), EMPTY).q[-1]
    halves = tuple(box(sign * 0.66, 0.0, 0.75, (0.54, 0.01, 0.75)) for sign in (-1, 1))
    with pytest.raises(ToolError, match=r"^No path to the goal was found within 200 samples\. ") as caught:
        planner.plan(left, JointGoal(right), CollisionScene(halves))
    assert caught.value.code is ErrorCode.PLAN_FAILED
    assert "obstacle" not in caught.value.message
    # A shortcut that is none: the path that the search found was free, what is made of it is not.
    monkeypatch.setattr(planner_module, "ITERATIONS", 20_000)
    monkeypatch.setattr(planner_module, "shortcut", lambda path, *_, **__: path[[0, -1]])
    with pytest.raises(ToolError, match=r"^The path that was found to the goal is blocked: .* obstacle near") as caught:
        planner.plan(left, JointGoal(right), CollisionScene((wall(0.4),)))
    assert caught.value.code is ErrorCode.PLAN_FAILED


def test_the_nearest_node_of_a_large_tree_is_the_nearest() -> None:
    rng, weights = np.random.default_rng(0), np.linspace(0.2, 1.0, 7)
    tree = _Tree(np.zeros((1, 7)), weights)
    nodes = [np.zeros(7)]
    for count in (1, 100, 4094, 4095, 4096, 9000):
        while len(nodes) < count:
            nodes.append(rng.uniform(-3, 3, 7))
            assert tree.add(nodes[-1], 0) == len(nodes) - 1
        for q in rng.uniform(-3, 3, (50, 7)):
            distances = np.linalg.norm((np.array(nodes) - q) * weights, axis=1)
            assert tree.nearest(q) == int(distances.argmin())
            assert tree.nearest(nodes[-1]) == len(nodes) - 1


def test_the_margin_widens_a_gap_that_the_hand_just_fits(planner: EmbeddedPlanner) -> None:
    gap = 0.172
    boxes = tuple(box(0.45 + side * (gap / 2 + 0.02), 0.0, 0.1, (0.02, 0.05, 0.1)) for side in (-1, 1))
    T = top_down(0.45, 0.0, 0.05)
    assert planner.reachable(T, CollisionScene(boxes, margin=0.002))
    assert not planner.reachable(T, CollisionScene(boxes, margin=0.02))


def test_of_two_alternatives_the_one_nearer_to_the_start_is_taken(planner: EmbeddedPlanner) -> None:
    near = top_down(0.45, 0.1, 0.1, 0.3)
    start = planner.plan(PARK, PoseGoal(near[None]), EMPTY).q[-1]
    near[2, 3] += 0.05
    far = near.copy()
    far[:3, :2] *= -1
    for poses in ([near, far], [far, near]):
        end = planner.plan(start, PoseGoal(np.stack(poses)), EMPTY).q[-1]
        assert rotation_angle(FK(end)[:3, :3], near[:3, :3]) < 1e-3


def test_a_linear_motion_keeps_to_its_line_and_orientation(planner: EmbeddedPlanner) -> None:
    start = planner.plan(PARK, both_yaws(top_down(0.5, -0.2, 0.12, 0.7)), EMPTY).q[-1]
    begin = FK(start)
    end = begin.copy()
    end[:3, 3] += [0.05, 0.02, -0.10]
    trajectory = planner.plan(start, LinearGoal(end), EMPTY)
    assert_valid(trajectory, start)
    direction = (end - begin)[:3, 3]
    direction /= np.linalg.norm(direction)
    for q in trajectory.q:
        T = FK(q)
        offset = T[:3, 3] - begin[:3, 3]
        assert np.linalg.norm(offset - (offset @ direction) * direction) < 2e-4
        assert rotation_angle(T[:3, :3], begin[:3, :3]) < 1e-3
    np.testing.assert_allclose(FK(trajectory.q[-1]), end, atol=1e-4)


def test_a_linear_motion_turns_evenly_about_one_axis(planner: EmbeddedPlanner) -> None:
    start = planner.plan(PARK, both_yaws(top_down(0.45, 0.0, 0.15)), EMPTY).q[-1]
    begin = FK(start)
    end = begin.copy()
    end[:3, :3] = rotation_z(0.8) @ begin[:3, :3]
    trajectory = planner.plan(start, LinearGoal(end), EMPTY)
    for q in trajectory.q:
        T = FK(q)
        assert np.linalg.norm(T[:3, 3] - begin[:3, 3]) < 2e-4
        np.testing.assert_allclose(T[:3, 2], [0, 0, -1], atol=1e-3)
    assert rotation_angle(FK(trajectory.q[-1])[:3, :3], end[:3, :3]) < 1e-3


def test_a_blocked_line_names_what_is_in_the_way(planner: EmbeddedPlanner) -> None:
    start = planner.plan(PARK, both_yaws(top_down(0.45, 0.0, 0.20)), EMPTY).q[-1]
    down = FK(start)
    down[2, 3] -= 0.15
    scene = CollisionScene((box(0.45, 0.0, 0.06, (0.06, 0.06, 0.06)),))
    with pytest.raises(ToolError, match=r"with the obstacle near x=0\.45 m, y=0\.00 m \(0\.12 m high\)") as caught:
        planner.plan(start, LinearGoal(down), scene)
    assert caught.value.code is ErrorCode.PLAN_FAILED


def test_speed_slows_the_same_motion_down(planner: EmbeddedPlanner) -> None:
    goal = both_yaws(top_down(0.5, 0.1, 0.12))
    fast, slow = planner.plan(PARK, goal, EMPTY), planner.plan(PARK, goal, EMPTY, speed=0.25)
    assert slow.duration == pytest.approx(4 * fast.duration)
    assert_valid(slow, PARK, speed=0.25)


def test_a_joint_goal_takes_the_nearest_turn(planner: EmbeddedPlanner) -> None:
    start = PARK + np.where(CONTINUOUS, 2 * np.pi, 0.0)
    trajectory = planner.plan(start, JointGoal(NAMED_STATES["Home"]), EMPTY)
    assert_valid(trajectory, start)
    np.testing.assert_allclose(trajectory.q[-1], NAMED_STATES["Home"] + np.where(CONTINUOUS, 2 * np.pi, 0.0))


def test_the_gripper_backs_out_from_beside_an_object_that_it_touches(planner: EmbeddedPlanner) -> None:
    start = planner.plan(PARK, both_yaws(top_down(0.45, 0.0, 0.01)), EMPTY).q[-1]
    hand = FK(start)
    up = hand.copy()
    up[2, 3] += 0.1
    finger = hand[:3, 3] + hand[:3, :3] @ [0.055, 0.0, 0.13]
    beside = CollisionScene((Box(pose(np.eye(3), [finger[0], finger[1], 0.03]), np.array([0.01, 0.01, 0.03])),))
    assert_valid(planner.plan(start, LinearGoal(up), beside), start)
    sideways = hand.copy()
    sideways[:3, 3] += hand[:3, :3] @ [0.03, 0.0, 0.0]
    with pytest.raises(ToolError, match="would collide"):
        planner.plan(start, LinearGoal(sideways), beside)


HELD = Box(pose(np.eye(3), [0.0, 0.0, 0.18]), np.array([0.02, 0.02, 0.05]))


def holding(planner: EmbeddedPlanner, x: float, y: float, bottom_z: float) -> tuple[FloatArray, CollisionScene]:
    """Arm over (x, y) holding a 4 x 4 x 10 cm box whose bottom is at bottom_z."""
    T = pose(DOWN, [x, y, bottom_z + 0.23])
    return planner.plan(PARK, both_yaws(T), EMPTY).q[-1], CollisionScene(attached=(HELD,))


def test_a_held_object_that_stands_on_the_table_can_be_lifted(planner: EmbeddedPlanner) -> None:
    start, scene = holding(planner, 0.45, 0.1, bottom_z=-0.002)
    up = FK(start)
    up[2, 3] += 0.12
    assert_valid(planner.plan(start, LinearGoal(up), scene), start)


def test_a_held_object_is_not_pressed_into_the_table(planner: EmbeddedPlanner) -> None:
    start, scene = holding(planner, 0.45, 0.1, bottom_z=0.05)
    onto, into = FK(start), FK(start)
    onto[2, 3] -= 0.05
    into[2, 3] -= 0.06
    assert_valid(planner.plan(start, LinearGoal(onto), scene), start)
    with pytest.raises(ToolError, match="held object with the table"):
        planner.plan(start, LinearGoal(into), scene)


def test_a_held_object_is_carried_clear_of_an_obstacle_that_the_bare_hand_clears(planner: EmbeddedPlanner) -> None:
    start, _ = holding(planner, 0.4, 0.2, bottom_z=0.03)
    obstacle = box(0.4, 0.0, 0.045, (0.05, 0.03, 0.045))
    across = FK(start)
    across[1, 3] = -0.2
    bare = planner.plan(start, LinearGoal(across), CollisionScene((obstacle,)))
    assert_valid(bare, start)
    with pytest.raises(ToolError, match=r"held object with the obstacle near x=0\.40 m, y=0\.00 m"):
        planner.plan(start, LinearGoal(across), CollisionScene((obstacle,), (HELD,)))
    carried = planner.plan(start, both_yaws(across), CollisionScene((obstacle,), (HELD,)))
    axis = np.linspace(-1, 1, 11)
    held = (
        HELD.T_parent_box[:3, 3] + np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3) * HELD.half_extents
    )
    swept = np.vstack([transform(FK(q), held) for q in carried.q]) - obstacle.T_parent_box[:3, 3]
    assert (np.abs(swept) > obstacle.half_extents).any(axis=1).all()


def test_fingers_are_modelled_at_the_width_of_what_they_hold(planner: EmbeddedPlanner) -> None:
    T = top_down(0.45, 0.0, 0.05)
    half = (gripper_points(MAX_OPENING)[3, 0] + 0.005, 0.0)
    posts = tuple(box(0.45 + sign * (half[0] + 0.022), 0.0, 0.05, (0.006, 0.01, 0.05)) for sign in (-1, 1))
    thin = Box(pose(np.eye(3), [0, 0, 0.14]), np.array([0.005, 0.01, 0.03]))
    assert knuckle_from_opening(0.01) > knuckle_from_opening(MAX_OPENING)
    assert not planner.reachable(T, CollisionScene(posts))
    assert planner.reachable(T, CollisionScene(posts, (thin,)))


def test_reachable_says_yes_over_the_table_and_no_far_away_or_in_a_box(planner: EmbeddedPlanner) -> None:
    T = top_down(0.45, 0.1, 0.05)
    assert planner.reachable(T, EMPTY)
    assert not planner.reachable(top_down(0.8, 0.5, 0.05), EMPTY)
    assert not planner.reachable(T, CollisionScene((box(0.45, 0.1, 0.1, (0.05, 0.05, 0.1)),)))
    assert not planner.reachable(top_down(0.45, 0.1, -0.03), EMPTY)


@pytest.mark.parametrize(
    ("goal", "code", "words"),
    [
        (PoseGoal(top_down(1.2, 0.0, 0.1)[None]), ErrorCode.OUT_OF_WORKSPACE, r"0\.\d\d m beyond the arm's reach"),
        (LinearGoal(top_down(1.2, 0.0, 0.1)), ErrorCode.OUT_OF_WORKSPACE, r"beyond the arm's reach"),
        (PoseGoal(top_down(0.45, 0.0, -0.05)[None]), ErrorCode.OUT_OF_WORKSPACE, r"0\.050 m outside the workspace"),
        (JointGoal(NAMED_STATES["Vertical"]), ErrorCode.OUT_OF_WORKSPACE, "fingertip out of the workspace"),
        (
            JointGoal(np.array([0, 2.3, 0, 0, 0, 0, 0.0])),
            ErrorCode.INVALID_ARGUMENT,
            r"joint_2 must be within \[-2\.24, 2\.24\] rad",
        ),
        (JointGoal(np.array([0, 2.0, 0, 1.5, 0, 0, 0.0])), ErrorCode.PLAN_FAILED, "would collide"),
        (JointGoal(np.full(7, np.nan)), ErrorCode.INVALID_ARGUMENT, "7 finite"),
        (PoseGoal(np.eye(4)), ErrorCode.INVALID_ARGUMENT, r"shape \(M, 4, 4\)"),
        (PoseGoal(np.full((1, 4, 4), np.nan)), ErrorCode.INVALID_ARGUMENT, "rigid transform"),
        (PoseGoal(top_down(0.4, 0, 0.1)[None], 0.0), ErrorCode.INVALID_ARGUMENT, "tolerances"),
        (LinearGoal(np.zeros((4, 4))), ErrorCode.INVALID_ARGUMENT, "rigid transform"),
    ],
)
def test_an_impossible_goal_is_refused_with_its_stage(
    planner: EmbeddedPlanner, goal: Goal, code: ErrorCode, words: str
) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        planner.plan(PARK, goal, EMPTY)
    assert caught.value.code is code


@pytest.mark.parametrize("speed", [0.0, -1.0, 1.5, float("nan")])
def test_a_speed_out_of_range_is_refused(planner: EmbeddedPlanner, speed: float) -> None:
    with pytest.raises(ToolError, match=r"speed must be in \(0, 1\]"):
        planner.plan(PARK, JointGoal(NAMED_STATES["Home"]), EMPTY, speed)


def test_a_malformed_start_or_scene_is_refused(planner: EmbeddedPlanner) -> None:
    goal = JointGoal(NAMED_STATES["Home"])
    with pytest.raises(ToolError, match="start must be 7 finite"):
        planner.plan(np.zeros(6), goal, EMPTY)
    with pytest.raises(ToolError, match=r"joint_4 is at 2\.9"):
        planner.plan(np.array([0, 0, 0, 2.9, 0, 0, 0.0]), goal, EMPTY)
    with pytest.raises(ToolError, match="finite half extents"):
        planner.plan(PARK, goal, CollisionScene((box(np.nan, 0, 0, (0.1, 0.1, 0.1)),)))
    with pytest.raises(ToolError, match="must be positive"):
        planner.plan(PARK, goal, CollisionScene((box(0.5, 0, 0, (0.1, 0.0, 0.1)),)))


def test_a_pose_is_not_reached_along_a_line_on_which_something_stands(planner: EmbeddedPlanner) -> None:
    T, back = top_down(0.45, 0.12, 0.05), np.array([0.0, -0.25, 0.0])
    between = CollisionScene((box(0.45, -0.005, 0.05, (0.03, 0.01, 0.05)),))
    first = T.copy()
    first[:3, 3] += back
    assert planner.reachable(T, EMPTY, back)
    assert planner.reachable(T, between)
    assert planner.reachable(first, between)
    assert not planner.reachable(T, between, back)


def test_fingers_alone_reach_into_boxes_that_yield_and_no_deeper_than_they_do(planner: EmbeddedPlanner) -> None:
    T, back = top_down(0.45, 0.0, 0.03), np.array([0.0, 0.0, 0.1])
    face = MAX_OPENING / 2 + GEN3.gripper.finger_thickness

    def reached(depth: float, yielding_m: float) -> bool:
        """True with a box beside the fingertips, so far within the outer face of one of them [m]."""
        side = box(0.45 + face - depth + 0.02, 0.0, 0.0275, (0.02, 0.05, 0.0275))
        return planner.reachable(T, CollisionScene((side,), margin=0.0, yielding_m=yielding_m), back)

    assert reached(-0.01, 0.0)
    assert not reached(0.003, 0.0)
    assert reached(0.003, 0.008)
    assert not reached(0.012, 0.008)
    under_the_palm = box(0.45, 0.0, 0.06, (0.02, 0.01, 0.06))
    assert not planner.reachable(T, CollisionScene((under_the_palm,), margin=0.0, yielding_m=0.02), back)
