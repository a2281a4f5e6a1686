"""The controllers: they move the arm as in process, refuse what is wrong, stop when cancelled."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from sensor_msgs.msg import JointState
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import StepSimulation

from tests.gen3 import GRIPPER_JOINT, knuckle_from_opening
from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import ARM, GRIPPER, PARK, arm_goal, gripper_goal, swing
from toolhand.sim.arm import SimArm
from toolhand.sim.ros.simulation import NO_GOAL_ACTIVE
from toolhand.sim.scene.files import named_scene
from toolhand.sim.world import World
from toolhand.tool_nodes.types import MotionStatus

DOWN = np.array([0.0, 0.35, 0.0, -0.25, 0.0, 0.2, 0.0])
ASIDE = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -0.4])


def step(graph: Graph, count: int) -> bool:
    """Make steps; False if no goal is active after them."""
    result = graph.call(StepSimulation, "/step_simulation", steps=count).result
    assert result.result == Result.RESULT_OK
    assert result.error_message in ("", NO_GOAL_ACTIVE)
    return not result.error_message


def run(graph: Graph, action: tuple[Any, str], goal: Any, chunk: int = 1, first: int = 0) -> Any:
    """Send a goal and step until it has ended."""
    handle = graph.send(*action, goal)
    assert handle.accepted
    future = handle.get_result_async()
    active = step(graph, first)
    for _ in range(5000):
        if not active:
            return graph.done(future)
        active = step(graph, chunk)
    raise AssertionError("the goal never ended")


def qpos(graph: Graph) -> np.ndarray:
    return graph.sim.physics.world.data.qpos.copy()


def test_in_lockstep_a_grasp_ends_in_the_same_state_as_in_process_to_the_last_bit(lockstep: Graph) -> None:
    world = World(named_scene("example"))
    arm = SimArm(world)
    position = world.arm_position
    openings = (0.02, 0.085, 0.0)
    for delta, opening in zip((DOWN, ASIDE, -DOWN), openings, strict=True):
        trajectory = swing(position, delta)
        outcome = arm.follow(trajectory)
        assert outcome.status is MotionStatus.SUCCEEDED
        steps = round(trajectory.duration / world.timestep)
        done = run(lockstep, ARM, arm_goal(trajectory), first=steps)
        assert done.status == GoalStatus.STATUS_SUCCEEDED
        assert lockstep.sim.physics.world.time == world.time
        assert np.array_equal(qpos(lockstep), world.data.qpos)

        gripped = arm.move_gripper(opening)
        done = run(lockstep, GRIPPER, gripper_goal(knuckle_from_opening(opening)))
        assert done.result.position == world.knuckle
        assert done.result.stalled == gripped.stalled
        assert lockstep.sim.physics.world.time == world.time
        assert np.array_equal(qpos(lockstep), world.data.qpos)
        position = trajectory.q[-1]
    assert np.array_equal(lockstep.sim.physics.world.data.qvel, world.data.qvel)


def test_free_running_the_arm_arrives_and_the_joint_states_say_so(playing: Graph) -> None:
    states = playing.hear(JointState, "/joint_states")
    target = PARK + ASIDE
    handle = playing.send(*ARM, arm_goal(swing(PARK, ASIDE)))
    outcome = playing.done(handle.get_result_async())
    assert outcome.status == GoalStatus.STATUS_SUCCEEDED
    assert outcome.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL
    seen = len(states)
    playing.wait(lambda: len(states) > seen + 1)
    assert np.abs(np.array(states[-1].position[:7]) - target).max() < 0.01


def test_time_stands_still_between_steps_and_a_goal_waits_for_them(lockstep: Graph) -> None:
    before = lockstep.sim.physics.world.time
    handle = lockstep.send(*ARM, arm_goal(swing(PARK, ASIDE)))
    result = handle.get_result_async()
    step(lockstep, 100)
    assert not result.done()
    assert lockstep.sim.physics.world.time == pytest.approx(before + 0.2)


def test_arm_and_gripper_move_side_by_side(lockstep: Graph) -> None:
    arm = lockstep.send(*ARM, arm_goal(swing(PARK, ASIDE))).get_result_async()
    jaws = lockstep.send(*GRIPPER, gripper_goal(0.8)).get_result_async()
    step(lockstep, 1200)
    assert lockstep.done(arm).status == GoalStatus.STATUS_SUCCEEDED
    assert lockstep.done(jaws).status == GoalStatus.STATUS_SUCCEEDED
    assert lockstep.done(jaws).result.reached_goal


def test_joints_may_come_in_any_order(lockstep: Graph) -> None:
    goal = arm_goal(swing(PARK, ASIDE))
    goal.trajectory.joint_names = list(reversed(goal.trajectory.joint_names))
    for point in goal.trajectory.points:
        point.positions = list(point.positions)[::-1]
        point.velocities = list(point.velocities)[::-1]
    assert run(lockstep, ARM, goal, chunk=50).status == GoalStatus.STATUS_SUCCEEDED
    assert np.abs(lockstep.sim.physics.world.arm_position - PARK - ASIDE).max() < 0.01


def test_a_first_point_in_the_future_is_reached_from_where_the_arm_is(lockstep: Graph) -> None:
    goal = arm_goal(swing(PARK, ASIDE))
    del goal.trajectory.points[:-1]
    assert run(lockstep, ARM, goal, chunk=50).status == GoalStatus.STATUS_SUCCEEDED


def test_a_cancelled_trajectory_ends_canceled_when_the_arm_stands_still(playing: Graph) -> None:
    world = playing.sim.physics.world
    handle = playing.send(*ARM, arm_goal(swing(PARK, 3 * ASIDE, 4.0)))
    result = handle.get_result_async()
    playing.wait(lambda: np.abs(world.arm_velocity).max() > 0.3)
    assert playing.done(handle.cancel_goal_async()).goals_canceling
    assert playing.done(result).status == GoalStatus.STATUS_CANCELED
    assert np.abs(world.arm_velocity).max() < 2e-3
    stopped_at = world.arm_position
    assert np.abs(stopped_at - PARK - 3 * ASIDE).max() > 0.1
    again = playing.send(*ARM, arm_goal(swing(stopped_at, -0.2 * ASIDE)))
    assert playing.done(again.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED


def test_a_cancel_in_lockstep_brakes_in_the_steps_that_follow(lockstep: Graph) -> None:
    handle = lockstep.send(*ARM, arm_goal(swing(PARK, 3 * ASIDE, 4.0)))
    result = handle.get_result_async()
    step(lockstep, 800)
    lockstep.done(handle.cancel_goal_async())
    assert not result.done()
    step(lockstep, 400)
    assert lockstep.done(result).status == GoalStatus.STATUS_CANCELED


def test_a_new_goal_takes_over_and_the_old_one_is_aborted(playing: Graph) -> None:
    world = playing.sim.physics.world
    first = playing.send(*ARM, arm_goal(swing(PARK, ASIDE, 5.0)))
    old = first.get_result_async()
    playing.wait(lambda: np.abs(world.arm_velocity).max() > 0.02)
    second = playing.send(*ARM, arm_goal(swing(world.arm_position, -ASIDE)))
    assert playing.done(old).status == GoalStatus.STATUS_ABORTED
    assert "took over" in playing.done(old).result.error_string
    assert playing.done(second.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED


def test_a_new_goal_that_cannot_begin_leaves_the_arm_at_rest(playing: Graph) -> None:
    world = playing.sim.physics.world
    playing.send(*ARM, arm_goal(swing(PARK, 3 * ASIDE, 4.0)))
    playing.wait(lambda: np.abs(world.arm_velocity).max() > 0.3)
    wrong = playing.send(*ARM, arm_goal(swing(PARK + 1.0, ASIDE)))
    outcome = playing.done(wrong.get_result_async())
    assert outcome.status == GoalStatus.STATUS_ABORTED
    playing.wait(lambda: not playing.sim.physics.moving)
    assert np.abs(world.arm_velocity).max() < 2e-3


def test_a_trajectory_that_starts_elsewhere_is_aborted_with_a_sentence(lockstep: Graph) -> None:
    outcome = lockstep.done(lockstep.send(*ARM, arm_goal(swing(PARK + 0.3, ASIDE))).get_result_async())
    assert outcome.status == GoalStatus.STATUS_ABORTED
    assert outcome.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert outcome.result.error_string == "The trajectory starts 0.30 rad away from where the arm is."


@pytest.mark.parametrize("turns", [(1, 0, -1, 0, 0, 0, 0), (0, 0, 2, 0, -1, 0, 3)])
@pytest.mark.parametrize("points", [slice(None), slice(-1, None)])
def test_continuous_joints_may_be_given_in_another_turn(lockstep: Graph, turns: tuple[int, ...], points: slice) -> None:
    goal = arm_goal(swing(PARK, ASIDE))
    for point in goal.trajectory.points:
        point.positions = (np.asarray(point.positions) + 2.0 * np.pi * np.asarray(turns)).tolist()
    goal.trajectory.points = goal.trajectory.points[points]
    assert run(lockstep, ARM, goal, chunk=50).status == GoalStatus.STATUS_SUCCEEDED
    assert np.abs(lockstep.sim.physics.world.arm_position - PARK - ASIDE).max() < 0.01


def test_a_whole_turn_of_a_joint_with_stops_is_a_distance(lockstep: Graph) -> None:
    goal = arm_goal(swing(PARK - 2.0 * np.pi * np.eye(7)[5], ASIDE))
    assert not lockstep.send(*ARM, goal).accepted


def no_points(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points = []


def six_joints(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.joint_names = goal.trajectory.joint_names[:6]


def twice_the_same_joint(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.joint_names = ["joint_1", *goal.trajectory.joint_names[:6]]


def nan_position(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[3].positions[2] = np.nan


def too_few_positions(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[3].positions = goal.trajectory.points[3].positions[:5]


def unsorted_times(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[3].time_from_start.nanosec = 0


def no_time(goal: FollowJointTrajectory.Goal) -> None:
    del goal.trajectory.points[1:]


def absurd_position(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[3].positions[0] = 1e300  # a continuous joint


def beyond_a_stop(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[-1].positions[1] = 2.3


def a_whole_year(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[-1].time_from_start.sec = 31_536_000


def a_jump(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[25].positions[0] += 0.1


def too_few_velocities(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[3].velocities = goal.trajectory.points[3].velocities[:6]


def an_end_that_is_no_rest(goal: FollowJointTrajectory.Goal) -> None:
    goal.trajectory.points[-1].velocities[4] = 0.1


@pytest.mark.parametrize(
    "spoil",
    [
        a_jump,
        too_few_velocities,
        an_end_that_is_no_rest,
        no_points,
        six_joints,
        twice_the_same_joint,
        nan_position,
        too_few_positions,
        unsorted_times,
        no_time,
        absurd_position,
        beyond_a_stop,
        a_whole_year,
    ],
)
def test_a_malformed_trajectory_is_rejected(
    lockstep: Graph, spoil: Callable[[FollowJointTrajectory.Goal], None]
) -> None:
    goal = arm_goal(swing(PARK, ASIDE))
    spoil(goal)
    assert not lockstep.send(*ARM, goal).accepted
    step(lockstep, 10)
    assert np.abs(lockstep.sim.physics.world.arm_position - PARK).max() < 1e-3


@pytest.mark.parametrize("position", [-0.01, 0.9, np.nan, np.inf])
def test_a_gripper_position_out_of_range_is_rejected(lockstep: Graph, position: float) -> None:
    assert not lockstep.send(*GRIPPER, gripper_goal(position)).accepted


def test_the_gripper_may_have_the_newer_action(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, gripper_action="ParallelGripperCommand")
    action = ParallelGripperCommand, GRIPPER[1]
    goal = ParallelGripperCommand.Goal(command=JointState(name=[GRIPPER_JOINT], position=[0.4]))
    outcome = run(graph, action, goal, chunk=20)
    assert outcome.result.reached_goal
    assert outcome.result.state.position[0] == pytest.approx(0.4, abs=0.03)
    goal.command.name = ["finger_joint"]
    assert not graph.send(*action, goal).accepted


def test_feedback_comes_while_the_arm_moves(playing: Graph) -> None:
    seen: list = []
    handle = playing.send(*ARM, arm_goal(swing(PARK, ASIDE)), feedback=seen.append)
    playing.done(handle.get_result_async())
    assert len(seen) > 3
    feedback = seen[-1].feedback
    assert np.allclose(
        np.array(feedback.desired.positions) - np.array(feedback.actual.positions), feedback.error.positions
    )
    closing: list = []
    handle = playing.send(*GRIPPER, gripper_goal(0.8), feedback=closing.append)
    playing.done(handle.get_result_async())
    positions = [one.feedback.position for one in closing]
    assert positions == sorted(positions)
    assert positions[-1] > 0.4


def test_an_aborting_controller_leaves_the_arm_at_rest_halfway(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="controller_abort")
    outcome = run(graph, ARM, arm_goal(swing(PARK, ASIDE)), chunk=10)
    assert outcome.status == GoalStatus.STATUS_ABORTED
    assert outcome.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert np.abs(graph.sim.physics.world.arm_velocity).max() < 2e-3
    assert np.abs(graph.sim.physics.world.arm_position - PARK - ASIDE).max() > 0.05


def test_a_hanging_controller_ends_only_when_cancelled(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="controller_hang")
    handle = graph.send(*ARM, arm_goal(swing(PARK, ASIDE)))
    result = handle.get_result_async()
    step(graph, 3000)
    assert not result.done()
    graph.done(handle.cancel_goal_async())
    step(graph, 300)
    assert graph.done(result).status == GoalStatus.STATUS_CANCELED
    assert graph.set_parameter("fault", "").successful
    world = graph.sim.physics.world
    assert run(graph, ARM, arm_goal(swing(world.arm_position, -ASIDE)), 50).status == GoalStatus.STATUS_SUCCEEDED


def test_a_jammed_gripper_stalls_where_it_was(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, fault="gripper_jam")
    outcome = run(graph, GRIPPER, gripper_goal(0.8), chunk=10)
    assert outcome.result.stalled
    assert not outcome.result.reached_goal
    assert outcome.result.position == pytest.approx(0.0, abs=0.02)
    graph.set_parameter("fault", "")
    assert run(graph, GRIPPER, gripper_goal(0.8), chunk=10).result.reached_goal
