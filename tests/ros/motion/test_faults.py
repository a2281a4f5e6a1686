"""Faults of the graph during a task: the arm ends still, the answer names the stage, the next command works."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.context import Context
from simulation_interfaces.srv import ResetSimulation
from toolhand_interfaces.action import ExecuteGrasp
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from rclpy_zenoh.wire import start_router
from tests.gen3 import ARM_JOINTS
from toolhand.tool_nodes.motion.manipulation import Manipulator

Record = Callable[[str, object], None]


def anew(cell: Any) -> None:
    cell.set("sim", "fault", "")
    cell.call(ResetSimulation, "reset_simulation")
    cell.set("motion", "seed", 0)


@pytest.fixture
def cell(sim_cell: Any) -> Iterator[Any]:
    anew(sim_cell)
    yield sim_cell
    sim_cell.set("sim", "fault", "")


def succeed(goal: Any) -> Any:
    _, result = goal.end()
    assert result.status.success, result.status
    return result


def next_command_works(cell: Any, target: Any) -> None:
    """Whatever was held is placed; else the block is grasped."""
    if cell.motion._manipulator.held is not None:
        succeed(cell.place(target.place))
    else:
        succeed(cell.grasp(target.T_base_gripper))


def fail(cell: Any, goal: Any, record: Record, since_s: float | None = None) -> Any:
    """The status of a goal that fails; the arm is still then."""
    began_s = time.monotonic() if since_s is None else since_s
    _, result = goal.end()
    record("reaction_wall_s", round(time.monotonic() - began_s, 3))
    record("answer", f"{result.status.error_code}: {result.status.message}")
    assert not result.status.success
    return result.status


def test_a_controller_that_aborts(cell: Any, target: Any, record_property: Record) -> None:
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    cell.set("sim", "fault", "controller_abort")
    status = fail(cell, goal, record_property)
    assert status.error_code == "EXECUTION_FAILED"
    assert "the controller aborted" in status.message
    assert "the move to the pre-grasp" in status.message or "the approach" in status.message
    cell.assert_still()
    cell.set("sim", "fault", "")
    next_command_works(cell, target)


def test_a_controller_that_never_finishes(cell: Any, target: Any, record_property: Record) -> None:
    cell.set("sim", "fault", "controller_hang")
    status = fail(cell, cell.grasp(target.T_base_gripper), record_property)
    assert status.error_code == "EXECUTION_FAILED"
    assert "the move to the pre-grasp" in status.message
    assert "did not finish within" in status.message
    cell.assert_still()
    cell.set("sim", "fault", "")
    next_command_works(cell, target)


def test_jaws_that_jam_while_closing(cell: Any, target: Any, record_property: Record) -> None:
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: any("approach" in text for text in goal.stages), "the approach")
    cell.set("sim", "fault", "gripper_jam")
    status = fail(cell, goal, record_property)
    assert status.error_code == "CONTROLLER_FAULT"
    assert "closing" in status.message
    assert "did not move" in status.message
    cell.assert_still()
    cell.set("sim", "fault", "")
    next_command_works(cell, target)


def test_jaws_that_jam_while_releasing(cell: Any, target: Any, record_property: Record) -> None:
    succeed(cell.grasp(target.T_base_gripper))
    cell.set("sim", "fault", "gripper_jam")
    status = fail(cell, cell.place(target.place), record_property)
    assert status.error_code == "CONTROLLER_FAULT"
    assert "the release" in status.message
    cell.assert_still()
    cell.set("sim", "fault", "")
    next_command_works(cell, target)


def test_an_arm_that_is_not_where_the_plan_begins(
    cell: Any, target: Any, record_property: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else moves the arm between planning and motion."""
    client = ActionClient(cell.operator, FollowJointTrajectory, "joint_trajectory_controller/follow_joint_trajectory")
    assert client.wait_for_server(30.0)
    original = Manipulator.run_grasp

    def nudged(self: Manipulator, plan: Any) -> float:
        q = plan.legs[0].q[0] + np.eye(7)[0] * 0.3
        point = JointTrajectoryPoint(positions=q.tolist(), time_from_start=Duration(sec=1))
        trajectory = JointTrajectory(joint_names=list(ARM_JOINTS), points=[point])
        handle = cell.done(client.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory)))
        cell.done(handle.get_result_async())
        return original(self, plan)

    with monkeypatch.context() as patched:
        patched.setattr(Manipulator, "run_grasp", nudged)
        status = fail(cell, cell.grasp(target.T_base_gripper), record_property)
    assert status.error_code == "EXECUTION_FAILED"
    assert "the move to the pre-grasp" in status.message
    assert "starts 0.30 rad away" in status.message
    cell.assert_still()
    client.destroy()
    next_command_works(cell, target)


def test_a_clock_that_pauses_for_long(cell: Any, target: Any, record_property: Record) -> None:
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    cell.set("sim", "fault", "clock_pause")
    status = fail(cell, goal, record_property)
    assert status.error_code == "UNAVAILABLE"
    assert "clock stands still" in status.message
    assert "the move to the pre-grasp" in status.message
    cell.set("sim", "fault", "")
    cell.wait(lambda: cell.speed < 0.005 and not any(cell.active.values()), "rest")
    cell.assert_still()
    next_command_works(cell, target)


def test_a_clock_that_jumps(cell: Any, target: Any) -> None:
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    cell.set("sim", "fault", "clock_jump")
    succeed(goal)
    succeed(cell.place(target.place))


def test_a_client_that_vanishes(cell: Any, target: Any, record_property: Record) -> None:
    """Nobody could cancel the motion any more, so it ends."""
    cell._grasps.destroy()
    try:
        contexts = len(cell._contexts)
        passer_by = cell.spin(lambda context: rclpy.create_node("passer_by", context=context))
        client = ActionClient(passer_by, ExecuteGrasp, "execute_grasp")
        assert client.wait_for_server(30.0)
        cell.done(client.send_goal_async(cell.grasp_goal(target.T_base_gripper)))
        cell.wait(lambda: cell.speed > 0.1, "motion")
        gone: Context = cell._contexts[contexts]
        gone.shutdown()
        gone_at = cell.samples[-1]
        cell.wait(lambda: not cell.motion._busy.locked(), "the end of the motion")
    finally:
        cell._grasps = ActionClient(cell.operator, ExecuteGrasp, "execute_grasp")
    record_property("reaction_wall_s", round(time.monotonic() - gone_at.wall_s, 3))
    cell.assert_still()
    next_command_works(cell, target)


def test_a_simulator_that_is_killed_and_restarted(make_cell: Any, target: Any, record_property: Record) -> None:
    cell = make_cell(use_sim_time=True)
    cell.start_simulator()
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    cell.simulator.kill()
    status = fail(cell, goal, record_property)
    assert status.error_code == "UNAVAILABLE"
    assert "the move to the pre-grasp" in status.message
    count = len(cell.samples)
    cell.simulator.start()
    cell.wait(lambda: len(cell.samples) > count + 5, "the new simulator")
    cell.set("sim", "real_time_factor", 8.0)
    succeed(cell.grasp(target.T_base_gripper))


def test_a_router_that_is_killed_and_restarted(make_cell: Any, target: Any, record_property: Record) -> None:
    router = start_router()
    port = int(router.endpoint.rsplit(":", 1)[1])
    cell = make_cell(router.endpoint, use_sim_time=True)
    cell.start_simulator()
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    router.close()
    closed_s = time.monotonic()
    # Nodes that know each other talk without the router; if the motion fails all the same, it fails as a system.
    cell.wait(lambda: not cell.motion._busy.locked(), "the end of the motion")
    record_property("reaction_wall_s", round(time.monotonic() - closed_s, 3))
    with start_router(port):
        count = len(cell.samples)
        cell.wait(lambda: len(cell.samples) > count + 5, "the graph")
        cell.wait(lambda: cell.speed < 0.005, "rest")
        cell.assert_still()
        _, result = goal.end()
        record_property("answer", f"{result.status.error_code}: {result.status.message}")
        assert result.status.success or result.status.error_code == "UNAVAILABLE", result.status
        cell.set("sim", "real_time_factor", 8.0)
        next_command_works(cell, target)
