"""Success is what the joints measure, not what a controller says: arms in fault, jaws that still move, whole turns."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from std_srvs.srv import Trigger

from tests.gen3 import GEN3, opening_from_knuckle, time_waypoints
from tests.ros.motion.conftest import a_way
from tests.ros.motion.drivers import Drivers
from toolhand.sim.station import Station
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.ros.watching import PathWatch
from toolhand.tool_nodes.types import MotionStatus, Trajectory

Beside = Callable[..., Any]


@pytest.fixture
def beside(make_cell: Any) -> Beside:
    """`beside(wrapped=True)`: a motion node beside drivers with these parameters."""

    def make(**parameters: Any) -> Any:
        action = parameters.get("gripper_action", "GripperCommand")
        cell = make_cell(availability_deadline_s=2.0, stop_deadline_s=3.0, gripper_action=action)
        cell.drivers = cell.spin(lambda context: Drivers(context, **parameters))
        cell.wait(lambda: cell.motion._stop.joints.newest is not None, "joint states")
        return cell

    return make


@pytest.fixture
def cell(beside: Beside) -> Any:
    return beside()


# -- the arm ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "left", "why"),
    [
        ("ignore", 0.4, "carries on, but the arm has not begun to move"),
        ("short", 0.2, "says that it has arrived, but the arm stopped elsewhere"),
    ],
)
def test_an_arm_that_does_not_move_is_a_fault_whatever_its_controller_says(
    cell: Any, arm: RosArm, fault: str, left: float, why: str
) -> None:
    cell.drivers.fault = fault
    outcome = arm.follow(a_way(arm))
    assert outcome.status is MotionStatus.FAILED
    assert outcome.faulty
    assert why in outcome.message
    assert outcome.max_error_rad == pytest.approx(left, abs=0.03)
    assert cell.drivers.cancels == (fault == "ignore"), "it is not waited for until the leg's end"
    cell.drivers.fault = ""
    assert arm.follow(a_way(arm)).status is MotionStatus.SUCCEEDED


def test_an_arm_that_stands_still_on_its_way_is_not_waited_for(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "short"
    outcome = arm.follow(a_way(arm, 2.0))
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, True)
    assert "carries on, but the arm stopped elsewhere" in outcome.message
    assert cell.drivers.cancels == 1


def test_an_arm_that_leaves_its_path_is_cancelled_on_the_way(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "stray"
    outcome = arm.follow(a_way(arm))
    assert outcome.status is MotionStatus.FAILED
    assert "off its path" in outcome.message
    assert cell.drivers.cancels == 1


def test_an_arm_that_is_elsewhere_gets_no_goal(cell: Any, arm: RosArm) -> None:
    trajectory = a_way(arm)
    cell.drivers.q = cell.drivers.q + 0.3
    cell.wait(lambda: np.abs(arm.state().q - trajectory.q[0]).max() > 0.2, "joint states")
    outcome = arm.follow(trajectory)
    assert outcome.status is MotionStatus.FAILED
    assert "starts 0.30 rad away" in outcome.message
    assert cell.drivers.goals == 0


def test_an_arm_that_arrives_a_little_later_than_is_said_has_arrived(cell: Any, arm: RosArm) -> None:
    cell.drivers.fault = "late"
    outcome = arm.follow(a_way(arm, 0.2))
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    assert outcome.max_error_rad < 0.02


def test_nonsense_gets_no_goal(cell: Any, arm: RosArm) -> None:
    good = a_way(arm)
    q = good.q.copy()
    q[5] += 0.2
    for wrong in (q, np.full_like(q, np.nan), q[:, :6]):
        outcome = arm.follow(Trajectory(good.joint_names, good.t, wrong, good.qd))
        assert outcome.status is MotionStatus.FAILED
        assert "refused before it began" in outcome.message
    assert cell.drivers.goals == 0


@pytest.mark.parametrize("fault", ["ignore", "short", "stray"])
def test_the_jaws_do_not_close_after_an_arm_that_does_not_obey(
    beside: Beside, target: Any, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A grasp as the motion node runs it, planned on the simulator's image; the drivers only pretend."""
    cell, station = beside(wrapped=True, fault=fault), Station(target.scene)
    monkeypatch.setattr(cell.motion._camera, "capture", station.camera.capture)
    _, result = cell.grasp(target.T_base_gripper).end()
    assert result.status.error_code in ("CONTROLLER_FAULT", "EXECUTION_FAILED"), result.status
    assert "the move to the pre-grasp" in result.status.message
    assert cell.drivers.jaws_commanded == 1, "they were opened before the arm moved, and that is all"
    assert cell.drivers.goals == 2


# -- whole turns -----------------------------------------------------------------------------------


def test_positions_that_are_wrapped_are_those_of_the_path(beside: Beside) -> None:
    arm: RosArm = beside(wrapped=True).motion._arm
    state = arm.state()
    assert state.q[2] < 0.0, "the park position has joint_3 beyond pi"
    away = a_way(arm)
    outcome = arm.follow(away)
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    assert outcome.max_error_rad < 0.02
    # Through pi and back: a joint that is measured on the other side is still on its path.
    back = time_waypoints(np.vstack([away.q[-1], away.q[-1] - 1.0]))
    outcome = arm.follow(back)
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    assert outcome.max_error_rad < 0.02


def test_a_path_in_another_turn_is_the_same_path_but_for_joints_with_stops() -> None:
    class Reading:
        def __init__(self, q: Any) -> None:
            self.q, self.stamp_ns = q, 0

    path = np.linspace(np.zeros(7), np.full(7, 0.5), 20)
    for joint, continuous in enumerate((True, False) * 3 + (True,)):
        watch = PathWatch(time_waypoints(path), GEN3)
        watch(Reading(path[7] + 2.0 * np.pi * np.eye(7)[joint]))  # type: ignore[arg-type]
        assert watch.strayed is not continuous
        watch = PathWatch(time_waypoints(path[[0, -1]]), GEN3)  # two points only: the line between them counts
        watch(Reading(path[9]))  # type: ignore[arg-type]
        assert watch.off_rad < 0.02


@pytest.mark.parametrize(("moves", "jump_s", "stuck"), [(True, 0.0, False), (False, 0.0, True), (False, 10.0, False)])
def test_an_arm_that_stands_still_while_it_should_turn_is_stuck_unless_time_is_unknown(
    moves: bool, jump_s: float, stuck: bool
) -> None:
    trajectory = time_waypoints(np.array([np.zeros(7), np.full(7, 2.0)]), 0.5)
    watch, found = PathWatch(trajectory, GEN3), False
    for t in np.arange(0.0, 2.0, 0.02):
        q = np.array([np.interp(t - 0.1, trajectory.t, column) for column in trajectory.q.T])
        reading = SimpleNamespace(q=q * moves, stamp_ns=round(1e9 * (t + jump_s * (t > 0.3))))
        watch(reading)  # type: ignore[arg-type]
        found = found or watch.stuck()
    assert found is watch.was_stuck is stuck


# -- the jaws --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        {"gripper_velocity": "zero"},
        {"gripper_velocity": "zero", "gripper_action": "ParallelGripperCommand"},
        {"gripper_velocity": "none"},
    ],
)
def test_a_stall_that_is_said_too_early_is_not_believed(beside: Beside, shown: dict[str, str]) -> None:
    cell = beside(knuckle_speed=0.5, **shown)
    arm: RosArm = cell.motion._arm
    cell.drivers.fault = "early"
    outcome = arm.move_gripper(0.02)
    assert outcome.status is MotionStatus.SUCCEEDED, outcome
    assert not outcome.stalled, "they went on and arrived"
    assert outcome.opening_m == pytest.approx(0.02, abs=0.002)
    cell.drivers.object = 0.7
    outcome = arm.move_gripper(0.0)
    assert outcome.stalled, "this time they met something"
    assert outcome.opening_m == pytest.approx(opening_from_knuckle(0.7), abs=0.002)


@pytest.mark.parametrize("fault", ["jam", "idle"])
def test_jaws_that_stay_where_they_are_have_failed_whatever_is_said(cell: Any, arm: RosArm, fault: str) -> None:
    cell.drivers.fault = fault
    outcome = arm.move_gripper(0.0)
    assert outcome.status is MotionStatus.FAILED
    assert "did not move" in outcome.message


def test_a_stop_waits_for_jaws_whose_velocity_nobody_tells(beside: Beside) -> None:
    cell = beside(gripper_velocity="zero", knuckle_speed=0.1)
    cell.drivers._knuckle_goal = 0.1
    cell.wait(lambda: cell.drivers.knuckle > 0.02, "the jaws")
    answer = cell.stop()
    assert answer.success, answer.message
    assert cell.drivers.knuckle == pytest.approx(0.1, abs=0.01)
    cell.reset_stop()


@pytest.mark.parametrize("position", [float("nan"), float("inf")])
def test_a_wheel_without_a_position_keeps_no_arm_from_moving_and_stopping(beside: Beside, position: float) -> None:
    cell = beside()
    cell.drivers.beside = {"left_wheel_joint": position}
    arm: RosArm = cell.motion._arm
    assert arm.follow(a_way(arm)).status is MotionStatus.SUCCEEDED
    answer = cell.stop()
    assert answer.success, answer.message
    cell.reset_stop()


def test_a_stop_names_the_joint_that_has_no_position(beside: Beside) -> None:
    cell = beside()
    cell.drivers.q = np.where(np.arange(7) == 3, np.nan, cell.drivers.q)
    answer = cell.stop()
    assert not answer.success
    assert "could not be confirmed" in answer.message
    assert "nan as the position of joint_4" in answer.message


# -- the whole motion ------------------------------------------------------------------------------


def test_a_grasp_and_a_placement_on_the_joint_states_of_ros2_kortex(make_cell: Any, target: Any) -> None:
    cell = make_cell(use_sim_time=True, availability_deadline_s=5.0)
    cell.start_simulator(real_time_factor=8.0, driver="kortex")
    assert cell.motion._arm.state().q[2] < 0.0
    for send in (lambda: cell.grasp(target.T_base_gripper), lambda: cell.place(target.place)):
        _, result = send().end()
        assert result.status.success, result.status
    assert result.opening > 0.08
    cell.set("sim", "fault", "arm_deaf")
    _, result = cell.grasp(target.T_base_gripper).end()
    assert result.status.error_code == "CONTROLLER_FAULT"
    assert "the move to the pre-grasp" in result.status.message
    assert "the arm has not begun to move" in result.status.message
    cell.set("sim", "fault", "")
    goal = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.2, "motion")
    cell.set("sim", "fault", "internal_fault")
    _, result = goal.end()
    assert result.status.error_code == "CONTROLLER_FAULT"
    assert "reports that it is in fault" in result.status.message
    cell.assert_still()
    cell.set("sim", "fault", "")
    assert "in fault" in cell.call(Trigger, "return_to_park").message, "it lasts until a person resets it"
    assert cell.call(Trigger, "reset_fault").success
    assert cell.call(Trigger, "return_to_park").success
