"""In lockstep: motions over ROS are those of one process to the last bit, and can be stopped and cancelled."""

from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from simulation_interfaces.srv import StepSimulation
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from vision_msgs.msg import Point2D

from tests.gen3 import ARM_JOINTS, NAMED_STATES
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import carried
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.ros.messages import mask_to_image


@pytest.mark.parametrize(("gripper_action", "places"), [("GripperCommand", True), ("ParallelGripperCommand", False)])
def test_the_same_motion_as_in_process(
    make_cell: Any, target: Any, gripper_action: str, places: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grasp opens the jaws and closes them: with the other action of a gripper that is enough."""
    asked: dict[str, tuple[Any, ...]] = {}

    def spy(name: str) -> None:
        original = getattr(Manipulator, name)

        def plan(self: Manipulator, *arguments: Any) -> Any:
            asked.setdefault(name, arguments)
            return original(self, *arguments)

        monkeypatch.setattr(Manipulator, name, plan)

    spy("plan_grasp")
    spy("plan_place")
    pose = carried(target.T_base_gripper.astype(np.float32))  # grasps are sampled in single precision
    cell = make_cell(lockstep=True, use_sim_time=True, gripper_action=gripper_action)
    cell.start_simulator(lockstep=True, gripper_action=gripper_action)
    goal = cell.grasp_goal(pose)
    if places:
        mask, point = outline(target)
        goal.mask, goal.pointed_at = mask_to_image(mask, Header()), [point]
    _, grasped = cell.send_grasp(goal).end()
    assert grasped.status.success, grasped.status.message
    after_grasp = cell.motion._arm.state()
    if places:
        _, placed = cell.place(target.place).end()
        assert placed.status.success, placed.status.message
        after_place = cell.motion._arm.state()

    # The same pose, and the same image as it came through the messages.
    station = Station(target.scene, StationConfig(image_size=(320, 240)))
    began = station.arm.state().stamp
    assert asked["plan_grasp"][0].tobytes() == pose.tobytes()
    assert asked["plan_grasp"][1].T_base_camera.tobytes() == station.camera.capture().T_base_camera.tobytes()
    assert (asked["plan_grasp"][2] is not None) == places
    here = station.manipulator.grasp(pose, *asked["plan_grasp"][1:])
    expected = station.arm.state()
    assert (grasped.opening, grasped.check_time) == (here.opening_m, here.check_s)
    stood = [[at.x, at.y, at.z] for at in grasped.stood]
    assert stood == ([] if here.stood is None else [here.stood.tolist()])
    assert grasped.execution_time == pytest.approx(expected.stamp - began, abs=1e-9)
    assert after_grasp.q.tobytes() == expected.q.tobytes()
    assert after_grasp.qd.tobytes() == expected.qd.tobytes()
    if not places:
        return
    station.manipulator.place(*asked["plan_place"])
    assert placed.execution_time == pytest.approx(station.arm.state().stamp - expected.stamp, abs=1e-9)
    expected = station.arm.state()
    assert after_place.q.tobytes() == expected.q.tobytes()
    assert after_place.qd.tobytes() == expected.qd.tobytes()


def outline(target: Any) -> tuple[Any, Point2D]:
    """The mask (240, 320) of what the target's grasp is for, and a point in its middle."""
    station = Station(target.scene, StationConfig(image_size=(320, 240)))
    mask = station.make_camera(station.scene_camera()).capture().ids == 0
    rows, columns = np.nonzero(mask)
    return mask, Point2D(x=float(columns.mean() + 0.5) / 320, y=float(rows.mean() + 0.5) / 240)


@pytest.fixture
def cell(make_cell: Any) -> Any:
    """In lockstep, where time passes only while somebody makes steps."""
    cell = make_cell(lockstep=True, use_sim_time=True)
    cell.start_simulator(lockstep=True)
    return cell


def test_stop_and_cancel(cell: Any, target: Any) -> None:
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.2, "motion")
    answer = cell.stop()
    assert answer.success, answer.message
    _, result = goal.end()
    assert result.status.error_code == "STOPPED"
    stopped_at = cell.samples[-1].t
    cell.assert_still()
    assert cell.samples[-1].t == stopped_at, "no time passes while nothing moves"
    assert cell.reset_stop().success

    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.2 and goal.phases[-1] == "approaching", "motion")
    goal.cancel()
    _, result = goal.end()
    assert result.status.error_code == "CANCELLED"
    cell.assert_still()
    _, result = cell.grasp(target.T_base_gripper).end()
    assert result.status.success, result.status


def test_a_stop_makes_the_steps_that_nobody_else_makes(cell: Any) -> None:
    """Somebody begins a motion, steps it into its middle and goes away."""
    client = ActionClient(cell.operator, FollowJointTrajectory, "joint_trajectory_controller/follow_joint_trajectory")
    assert client.wait_for_server(60.0)
    q = NAMED_STATES["Park"] + 0.5 * np.eye(7)[0]
    point = JointTrajectoryPoint(positions=q.tolist(), time_from_start=Duration(sec=1))
    goal = FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names=list(ARM_JOINTS), points=[point]))
    handle = cell.done(client.send_goal_async(goal))
    assert handle.accepted
    result = handle.get_result_async()
    cell.call(StepSimulation, "step_simulation", steps=250)
    cell.wait(lambda: cell.speed > 0.2, "motion")
    answer = cell.stop()
    assert answer.success, answer.message
    cell.assert_still()
    cell.call(StepSimulation, "step_simulation", steps=300)
    assert cell.done(result).status == GoalStatus.STATUS_CANCELED, "no step takes the motion up again"
    cell.assert_still()
    client.destroy()


@pytest.mark.parametrize(("lockstep", "limit_s"), [(True, None), (False, 0.25)])
def test_planning_is_limited_in_seconds_only_where_time_runs_on(
    make_cell: Any, lockstep: bool, limit_s: float | None
) -> None:
    motion = make_cell(lockstep=lockstep, planning_s=0.25).motion
    assert motion._manipulator._planner._planner._planning_s == limit_s
