"""The planner `moveit`: what its messages to move_group hold, what the codes mean, and answers that are wrong."""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from moveit_msgs.msg import CollisionObject, MoveItErrorCodes, OrientationConstraint, RobotTrajectory
from shape_msgs.msg import SolidPrimitive
from trajectory_msgs.msg import JointTrajectoryPoint

from tests.gen3 import ARM_JOINTS, GEN3, GRIPPER_JOINT, TIP_FRAME
from tests.refusals import refused
from tests.tool_nodes.motion.planners.over_double import over_double
from tests.tool_nodes.motion.planners.questions import KINDS, draw_question
from tests.tool_nodes.motion.planners.tables import ASIDE, PARK
from toolhand.sim.ros.move_group_double import MoveGroupDouble
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner_wrapper import InterruptedPlanning
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.moveit_messages import (
    BOXES,
    HELD,
    POINTS,
    TABLE,
    TIPS,
    WALLS,
    joint_positions,
    pose_constraints,
    read_points,
    refusal,
    robot_state,
    scene_change,
    workspace,
)
from toolhand.tool_nodes.types import Box, CollisionScene, JointGoal, LinearGoal, PoseGoal

DOWN = np.diag([1.0, -1.0, -1.0])
PATIENT = Deadlines(availability_s=30.0, response_s=60.0)
"""Bounds against hanging on a busy machine, not promises."""
QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""A quarter turn about z: (w, x, y, z) = (sqrt(1/2), 0, 0, sqrt(1/2))."""


# -- messages ----------------------------------------------------------------------------------------


def parts(orientation: Any) -> tuple[float, ...]:
    return tuple(round(getattr(orientation, name), 9) for name in "wxyz")


def test_a_pose_goal_says_which_part_of_its_quaternion_is_which() -> None:
    goal = pose_constraints(pose(QUARTER, [0.1, 0.2, 0.3]), "base_link", TIP_FRAME, 5e-4, 5e-3)
    (place,), (turn,) = goal.position_constraints, goal.orientation_constraints
    half = round(np.sqrt(0.5), 9)
    assert parts(turn.orientation) == (half, 0.0, 0.0, half)
    assert (
        (turn.link_name, turn.header.frame_id) == (place.link_name, place.header.frame_id) == (TIP_FRAME, "base_link")
    )
    assert turn.parameterization == OrientationConstraint.ROTATION_VECTOR
    (ball,), (at,) = place.constraint_region.primitives, place.constraint_region.primitive_poses
    assert (ball.type, list(ball.dimensions)) == (SolidPrimitive.SPHERE, [5e-4])
    assert (at.position.x, at.position.y, at.position.z) == (0.1, 0.2, 0.3)
    assert parts(at.orientation) == (1.0, 0.0, 0.0, 0.0)
    flipped = pose_constraints(pose(DOWN, [0, 0, 0]), "base_link", TIP_FRAME, 1e-3, 1e-3)
    assert parts(flipped.orientation_constraints[0].orientation) == (0.0, 1.0, 0.0, 0.0)


def test_a_turn_by_all_that_moveit_allows_about_each_axis_is_within_the_angle_that_is_asked_for() -> None:
    (turn,) = pose_constraints(np.eye(4), "base_link", TIP_FRAME, 5e-4, 5e-3).orientation_constraints
    corner = [getattr(turn, f"absolute_{axis}_axis_tolerance") for axis in "xyz"]
    assert np.linalg.norm(corner) == pytest.approx(5e-3)


def test_a_state_is_a_difference_so_that_what_is_attached_stays() -> None:
    state = robot_state((*ARM_JOINTS, GRIPPER_JOINT), (*PARK, 0.3))
    assert state.is_diff
    assert list(state.joint_state.name) == [*ARM_JOINTS, GRIPPER_JOINT]
    assert list(state.joint_state.position) == [*PARK, 0.3]


def test_obstacles_are_shapes_in_the_base_frame_and_what_is_held_is_fixed_to_the_hand() -> None:
    box = Box(pose(QUARTER, [0.4, 0.1, 0.05]), np.array([0.02, 0.03, 0.05]))
    held = Box(pose(np.eye(3), [0.0, 0.0, 0.15]), np.array([0.01, 0.02, 0.04]))
    points = np.array([[0.5, 0.0, 0.1], [0.5, 0.1, 0.2]])
    scene = CollisionScene((box,), (held,), table_z=0.01, margin=0.005, points=points, point_radius=0.01)
    change = scene_change(scene, "base_link", TIP_FRAME, ["left_tip"], frozenset())
    assert change.is_diff
    assert change.robot_state.is_diff
    objects = {each.id: each for each in change.world.collision_objects}
    assert set(objects) == {TABLE, BOXES, POINTS}
    assert {each.header.frame_id for each in objects.values()} == {"base_link"}
    assert {each.operation for each in objects.values()} == {CollisionObject.ADD}
    np.testing.assert_allclose(objects[BOXES].primitives[0].dimensions, [0.05, 0.07, 0.11])
    assert parts(objects[BOXES].primitive_poses[0].orientation)[3] == round(np.sqrt(0.5), 9)
    assert [list(each.dimensions) for each in objects[POINTS].primitives] == [[0.015]] * 2
    slab = objects[TABLE]
    top = slab.primitive_poses[0].position.z + slab.primitives[0].dimensions[2] / 2
    assert 0.01 - top == pytest.approx(0.002)
    (attached,) = change.robot_state.attached_collision_objects
    assert (attached.link_name, attached.object.id, attached.object.header.frame_id) == (TIP_FRAME, HELD, TIP_FRAME)
    assert list(attached.touch_links) == ["left_tip"]
    np.testing.assert_allclose(attached.object.primitives[0].dimensions, [0.02, 0.04, 0.08])
    assert all(parts(each.pose.orientation)[0] == 1.0 for each in (*objects.values(), attached.object))


def test_what_is_let_go_is_taken_out_of_the_scene_after_it_has_left_the_hand() -> None:
    there = frozenset({TABLE, BOXES, POINTS, HELD})
    change = scene_change(CollisionScene(), "base_link", TIP_FRAME, [], there)
    (attached,) = change.robot_state.attached_collision_objects
    assert (attached.object.id, attached.object.operation) == (HELD, CollisionObject.REMOVE)
    gone = {each.id for each in change.world.collision_objects if each.operation == CollisionObject.REMOVE}
    assert gone == {BOXES, POINTS, HELD}
    bare = scene_change(CollisionScene(), "base_link", TIP_FRAME, [], frozenset({TABLE}))
    assert not bare.robot_state.attached_collision_objects
    assert [each.id for each in bare.world.collision_objects] == [TABLE]


def test_only_the_ends_of_the_fingers_can_touch_the_walls_about_the_workspace() -> None:
    low, high = GEN3.reach.low, GEN3.reach.high
    walls, tips = workspace(GEN3, "base_link", low, high, 0.04)
    assert (walls.object.id, walls.link_name, walls.object.header.frame_id) == (WALLS, "base_link", "base_link")
    assert (tips.object.id, tips.link_name, tips.object.header.frame_id) == (TIPS, TIP_FRAME, TIP_FRAME)
    assert set(walls.touch_links) == {*GEN3.urdf.links, HELD}
    assert set(tips.touch_links) == set(GEN3.urdf.links)
    at = [[getattr(pose.position, axis) for axis in "xyz"] for pose in tips.object.primitive_poses]
    np.testing.assert_allclose(at, GEN3.gripper.tips(0.04))
    faces: dict[str, list[tuple[float, float]]] = {axis: [] for axis in "xyz"}
    for slab, where in zip(walls.object.primitives, walls.object.primitive_poses, strict=True):
        axis = "xyz"[int(np.argmin(slab.dimensions))]
        middle, half = getattr(where.position, axis), min(slab.dimensions) / 2.0
        faces[axis].append((middle - half, middle + half))
    for axis, least, most in zip("xyz", low, high, strict=True):
        below, above = sorted(faces[axis])
        assert (least - below[1], above[0] - most) == pytest.approx((0.001, 0.001))


NO_PATH = (
    "FAILURE",
    "PLANNING_FAILED",
    "INVALID_MOTION_PLAN",
    "MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE",
    "TIMED_OUT",
    "PREEMPTED",
    "ABORT",
    "START_STATE_IN_COLLISION",
    "START_STATE_VIOLATES_PATH_CONSTRAINTS",
    "START_STATE_INVALID",
    "GOAL_IN_COLLISION",
    "GOAL_VIOLATES_PATH_CONSTRAINTS",
    "GOAL_CONSTRAINTS_VIOLATED",
    "GOAL_STATE_INVALID",
)
NOT_SET_UP = (
    "UNDEFINED",
    "CONTROL_FAILED",
    "UNABLE_TO_AQUIRE_SENSOR_DATA",
    "UNRECOGNIZED_GOAL_TYPE",
    "INVALID_GROUP_NAME",
    "INVALID_GOAL_CONSTRAINTS",
    "INVALID_ROBOT_STATE",
    "INVALID_LINK_NAME",
    "INVALID_OBJECT_NAME",
    "FRAME_TRANSFORM_FAILURE",
    "COLLISION_CHECKING_UNAVAILABLE",
    "ROBOT_STATE_STALE",
    "SENSOR_INFO_STALE",
    "COMMUNICATION_FAILURE",
    "CRASH",
)
MEANINGS = {
    "NO_IK_SOLUTION": ErrorCode.IK_FAILED,
    **dict.fromkeys(NO_PATH, ErrorCode.PLAN_FAILED),
    **dict.fromkeys(NOT_SET_UP, ErrorCode.UNAVAILABLE),
}


def test_every_code_of_moveit_has_a_meaning() -> None:
    codes = {name for name, value in vars(MoveItErrorCodes).items() if name.isupper() and isinstance(value, int)}
    assert codes == {*MEANINGS, "SUCCESS"}
    assert refusal(MoveItErrorCodes(val=MoveItErrorCodes.SUCCESS), "MoveIt found no path") is None
    for name, code in MEANINGS.items():
        error = refusal(MoveItErrorCodes(val=getattr(MoveItErrorCodes, name)), "MoveIt found no path")
        assert error is not None
        assert (error.code, error.message) == (code, f"MoveIt found no path: {name}.")
    strange = refusal(MoveItErrorCodes(val=4711, message="odd\n" * 200, source="ompl"), "MoveIt found no path")
    assert strange is not None
    assert strange.code is ErrorCode.UNAVAILABLE
    assert strange.message.startswith("MoveIt found no path: code 4711 (ompl: odd odd")
    assert len(strange.message) < 260


def answer(count: int = 3, names: tuple[str, ...] = ARM_JOINTS) -> Any:
    message = RobotTrajectory().joint_trajectory
    message.joint_names = list(names)
    for k in range(count):
        point = JointTrajectoryPoint(positions=[float(j) for j in range(len(names))], velocities=[0.0] * len(names))
        point.time_from_start.nanosec = 10_000_000 * k
        message.points.append(point)
    return message


def test_joints_are_read_by_their_names() -> None:
    t, q = read_points(answer(names=ARM_JOINTS[::-1]), ARM_JOINTS, 100)
    assert q.tolist() == [[6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]] * 3
    np.testing.assert_allclose(t, [0.0, 0.01, 0.02])
    assert joint_positions(robot_state(("other", *ARM_JOINTS[::-1]), range(8)), ARM_JOINTS).tolist() == [
        *range(7, 0, -1)
    ]


def broken(name: str) -> Any:
    message = answer()
    if name == "NaN":
        message.points[1].positions[2] = np.nan
    elif name == "no times":
        for point in message.points:
            point.time_from_start.nanosec = 0
    elif name == "short rows":
        message.points[1].positions = [0.0]
    elif name == "times that go back":
        message.points[2].time_from_start.nanosec = 1
    elif name == "a late start":
        message.points[0].time_from_start.nanosec = 1
    return message


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (answer(0), "it has no points"),
        (answer(101), "it has 101 points, where 100 are the most"),
        (answer(names=("joint_1", "elbow")), "it is for the joints joint_1, elbow"),
        (answer(names=()), "it is for the joints of no name"),
        (answer(names=(*ARM_JOINTS, "joint_1")), "it is for the joints"),
        (broken("NaN"), "it holds NaN or infinite numbers"),
        (broken("no times"), "its times do not increase from 0; move_group needs a response adapter"),
        (broken("short rows"), "its points do not have 7 positions each"),
        (broken("times that go back"), "its times do not increase from 0"),
        (broken("a late start"), "its times do not increase from 0"),
    ],
)
def test_an_answer_that_is_no_trajectory_is_refused_in_a_sentence(message: Any, says: str) -> None:
    with pytest.raises(BadMessage, match=says):
        read_points(message, ARM_JOINTS, 100)


# -- over the services -------------------------------------------------------------------------------


def test_the_planner_needs_a_graph() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "asks move_group by services of ROS 2"):
        registry.make("planner", "moveit")


def test_missing_messages_are_named_and_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "toolhand.tool_nodes.ros.move_group", raising=False)
    monkeypatch.setitem(sys.modules, "moveit_msgs.srv", None)
    with refused(ErrorCode.UNAVAILABLE, "needs MoveIt's messages: ", hint="Install .*-moveit-msgs beside ROS 2; "):
        registry.make("planner", "moveit", Setting(node=object()))


class Hostile(MoveGroupDouble):
    """A double that does what `mischief` says to its answers."""

    mischief: Any = staticmethod(lambda response: response)
    applied = 0

    def _on_plan(self, request: Any, response: Any) -> Any:
        return self.mischief(super()._on_plan(request, response))

    def _on_line(self, request: Any, response: Any) -> Any:
        return self.mischief(super()._on_line(request, response))

    def _on_apply(self, request: Any, response: Any) -> Any:
        self.applied += 1
        return super()._on_apply(request, response)


@pytest.fixture(scope="module")
def hostile() -> Iterator[tuple[Any, Any]]:
    with over_double("gen3", Hostile, PATIENT) as (planner, double):
        yield planner, double


@pytest.fixture
def asked(hostile: tuple[Any, Any]) -> Iterator[tuple[Any, Any]]:
    yield hostile
    hostile[1].mischief = Hostile.mischief


def path_of(response: Any) -> Any:
    plan = getattr(response, "motion_plan_response", None)
    return (plan.trajectory if plan is not None else response.solution).joint_trajectory


def elsewhere(response: Any) -> Any:
    for point in path_of(response).points:
        point.positions[3] += 0.2
    return response


def too_fast(response: Any) -> Any:
    for point in path_of(response).points:
        point.time_from_start.nanosec //= 3
        point.time_from_start.sec //= 3
        point.velocities = [3.0 * value for value in point.velocities]
    return response


def emptied(response: Any) -> Any:
    path_of(response).points = []
    return response


def renamed(response: Any) -> Any:
    path_of(response).joint_names = [f"left_{name}" for name in path_of(response).joint_names]
    return response


def not_a_number(response: Any) -> Any:
    path_of(response).points[1].positions[0] = np.nan
    return response


def of_no_code(response: Any) -> Any:
    response.motion_plan_response.error_code.val = 0
    return response


@pytest.mark.parametrize(
    ("mischief", "code", "says"),
    [
        (elsewhere, ErrorCode.PLAN_FAILED, "it starts 0.2 rad away from where the arm is"),
        (too_fast, ErrorCode.PLAN_FAILED, "times as fast as the limits allow"),
        (emptied, ErrorCode.UNAVAILABLE, "MoveIt's answer cannot be used: it has no points"),
        (renamed, ErrorCode.UNAVAILABLE, "cannot be used: it is for the joints left_joint_1"),
        (not_a_number, ErrorCode.UNAVAILABLE, "cannot be used: it holds NaN or infinite numbers"),
        (of_no_code, ErrorCode.UNAVAILABLE, "MoveIt found no path: UNDEFINED"),
    ],
)
def test_an_answer_that_lies_is_refused(asked: tuple[Any, Any], mischief: Any, code: ErrorCode, says: str) -> None:
    planner, double = asked
    double.mischief = mischief
    with refused(code, says):
        planner.plan(PARK, JointGoal(ASIDE), CollisionScene())


def test_a_million_points_are_refused_unread() -> None:
    message = answer(2)
    message.points = [message.points[0]] * 10**6
    with pytest.raises(BadMessage, match="it has 1,000,000 points, where 20,000 are the most"):
        read_points(message, ARM_JOINTS, 20_000)


def test_a_line_that_ends_early_says_how_far_it_goes(asked: tuple[Any, Any]) -> None:
    far = pose(np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), [0.3, 0.0, 0.3])
    with refused(ErrorCode.IK_FAILED, r"MoveIt can follow the straight line to \d+ % of its length"):
        asked[0].plan(PARK, LinearGoal(far), CollisionScene())


def test_the_scene_is_sent_where_it_has_changed_and_what_is_held_stays(asked: tuple[Any, Any]) -> None:
    planner, double = asked
    held = Box(pose(np.eye(3), [0.0, 0.0, 0.15]), np.array([0.01, 0.02, 0.04]))
    box = Box(pose(np.eye(3), [0.5, -0.3, 0.05]), np.full(3, 0.04))
    scene = CollisionScene((box,), opening_m=0.05)
    planner.plan(PARK, JointGoal(ASIDE), scene)
    before = double.applied
    for speed in (1.0, 0.5):
        planner.plan(PARK, JointGoal(ASIDE), scene, speed)
    assert double.applied == before
    holding = replace(scene, attached=(held,))
    for start, goal in ((PARK, JointGoal(ASIDE)), (ASIDE, JointGoal(PARK))):
        planner.plan(start, goal, holding)
        assert set(double._cell._attached) == {HELD, WALLS, TIPS}
        assert set(double._cell._objects) == {TABLE, BOXES}
    assert double.applied == before + 1
    planner.plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert set(double._cell._attached) == {WALLS, TIPS}
    assert set(double._cell._objects) == {TABLE}
    double._cell._objects.clear()  # as of one that was started again
    planner.plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert set(double._cell._objects) == {TABLE}
    planner.reseed(1)
    planner.plan(PARK, JointGoal(ASIDE), replace(holding, points=np.array([[0.5, 0.3, 0.1]])))
    assert set(double._cell._objects) == {TABLE, BOXES, POINTS}


def test_a_search_that_fails_before_its_time_is_over_is_made_once_more(asked: tuple[Any, Any]) -> None:
    """MoveIt fails so where its timing rounds off a corner into an obstacle; each search draws anew."""
    answers: list[int] = []

    def failing(response: Any) -> Any:
        answers.append(len(answers))
        if len(answers) < failures:
            response.motion_plan_response.error_code.val = MoveItErrorCodes.FAILURE
        return response

    asked[1].mischief = failing
    failures = 2
    assert (asked[0].plan(PARK, JointGoal(ASIDE), CollisionScene()).q[0] == PARK).all()
    answers.clear()
    failures = 10
    with pytest.raises(ToolError, match="FAILURE") as caught:
        asked[0].plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert (caught.value.code, len(answers)) == (ErrorCode.PLAN_FAILED, 2)


def test_a_start_in_collision_is_refused_as_moveit_does(asked: tuple[Any, Any]) -> None:
    at_hand = CollisionScene((Box(pose(np.eye(3), Kinematics(GEN3).fk(PARK)[:3, 3]), np.full(3, 0.05)),))
    with refused(ErrorCode.PLAN_FAILED, "MoveIt found no path: FAILURE\\."):
        asked[0].plan(PARK, JointGoal(ASIDE), at_hand)


@pytest.mark.parametrize("goal", [JointGoal(PARK), LinearGoal(Kinematics(GEN3).fk(PARK))])
def test_where_the_arm_is_already_there_is_nothing_to_follow(asked: tuple[Any, Any], goal: Any) -> None:
    """MoveIt answers one sample."""
    lengths = []

    def counted(response: Any) -> Any:
        lengths.append(len(path_of(response).points))
        return response

    asked[1].mischief = counted
    path = asked[0].plan(PARK, goal, CollisionScene())
    assert lengths == [1]
    assert (path.q == PARK).all()
    assert not path.qd.any()


@pytest.mark.parametrize("spacing", [0.1, 0.01])
def test_velocities_of_a_millisecond_later_do_not_matter(asked: tuple[Any, Any], spacing: float) -> None:
    """MoveIt's timing answers so: the first sample moves already, and cubics that keep the limits do not fit them."""

    def later(response: Any) -> Any:
        for point in path_of(response).points[:-1]:
            point.velocities = [v + 1e-3 * a for v, a in zip(point.velocities, GEN3.acceleration, strict=True)]
        return response

    asked[1].mischief = later
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolhand.sim.ros.move_group_double.SAMPLE_S", spacing)
        path = asked[0].plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert not path.qd[[0, -1]].any()


def test_an_answer_that_does_not_come_ends_in_time_and_a_late_one_is_dropped(asked: tuple[Any, Any]) -> None:
    planner, double = asked
    released: list[bool] = []

    def late(response: Any) -> Any:
        while not released:
            time.sleep(0.02)
        return elsewhere(response)

    planner.plan(PARK, JointGoal(ASIDE), CollisionScene())  # so that the scene is there
    double.mischief = late
    client = planner._planner._move_group
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_planning_s", 1.2 - PATIENT.response_s)
        with pytest.raises(ToolError, match=r"plan_kinematic_path did not answer within 1.2 s") as caught:
            planner.plan(PARK, JointGoal(ASIDE), CollisionScene())
    assert caught.value.code is ErrorCode.TIMEOUT
    released.append(True)
    double.mischief = Hostile.mischief
    np.testing.assert_array_equal(planner.plan(PARK, JointGoal(ASIDE), CollisionScene()).q[0], PARK)


def test_a_stop_ends_the_waiting_for_an_answer(asked: tuple[Any, Any]) -> None:
    planner, double = asked
    planner.plan(PARK, JointGoal(ASIDE), CollisionScene())  # so that the scene is there
    stopped, released = threading.Event(), threading.Event()

    def held_back(response: Any) -> Any:
        stopped.set()  # the stop comes while the answer is waited for
        released.wait(PATIENT.response_s)
        return response

    double.mischief = held_back
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner._planner._move_group, "_interrupted", stopped.is_set)
        with pytest.raises(InterruptedPlanning):
            planner.plan(PARK, JointGoal(ASIDE), CollisionScene())
        assert not released.is_set()
    released.set()
    double.mischief = Hostile.mischief
    np.testing.assert_array_equal(planner.plan(PARK, JointGoal(ASIDE), CollisionScene()).q[0], PARK)


@pytest.mark.parametrize(
    "goal",
    [
        JointGoal(ASIDE),
        PoseGoal(pose(DOWN, [0.45, 0.1, 0.3])[None]),
        LinearGoal(Kinematics(GEN3).fk(PARK)),
    ],
)
def test_a_move_group_that_is_set_up_for_another_arm_says_what_to_set(asked: tuple[Any, Any], goal: Any) -> None:
    planner, _ = asked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner._planner._move_group, "_group", "left_arm")
        with pytest.raises(ToolError, match="INVALID_GROUP_NAME") as caught:
            planner.plan(PARK, goal, CollisionScene())
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert "moveit_group" in caught.value.hint


@pytest.mark.parametrize("goal", [JointGoal(ASIDE), LinearGoal(Kinematics(GEN3).fk(PARK))])
def test_a_move_group_with_another_robot_is_not_asked_about_joints_that_it_does_not_know(goal: Any) -> None:
    """The real one ends itself over a state with a joint of another name."""

    class Other(MoveGroupDouble):
        def _on_get(self, request: Any, response: Any) -> Any:
            response = super()._on_get(request, response)
            response.scene.robot_state.joint_state.name = [*ARM_JOINTS, "finger_joint"]
            return response

    with (
        over_double("gen3", Other, PATIENT) as (planner, _),
        pytest.raises(ToolError, match="has no joint 'robotiq_85_left_knuckle_joint'") as caught,
    ):
        planner.plan(PARK, goal, CollisionScene())
    assert caught.value.code is ErrorCode.UNAVAILABLE


def test_a_move_group_that_is_not_there_or_goes_away_is_a_sentence() -> None:
    class Gone(MoveGroupDouble):
        def _on_plan(self, request: Any, response: Any) -> Any:
            self.context.try_shutdown()
            time.sleep(0.5)
            return response

    with over_double("gen3", Gone, PATIENT) as (planner, _):
        client = planner._planner._move_group  # type: ignore[attr-defined]
        for says in ("went away while it was working", "No node serves"):
            with refused(ErrorCode.UNAVAILABLE, says):
                planner.plan(PARK, PoseGoal(pose(DOWN, [0.45, 0.1, 0.3])[None]), CollisionScene())
            client._deadlines = Deadlines(availability_s=0.3)


def test_a_pose_without_joint_positions_is_not_searched_for(asked: tuple[Any, Any]) -> None:
    """MoveIt would search as long as it may, and say FAILURE."""
    planner, double = asked
    searched: list[Any] = []

    def counted(response: Any) -> Any:
        searched.append(response)
        return response

    double.mischief = counted
    folded = draw_question(list(KINDS).index("without joint positions"), GEN3)
    with refused(ErrorCode.IK_FAILED, "No joint positions within their limits reach the pose"):
        planner.plan(folded.start, folded.goal, folded.scene)
    assert not searched
