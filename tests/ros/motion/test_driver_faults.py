"""Faults that the driver reports: at that leg, without a further goal, until a person resets them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers
from example_interfaces.msg import Bool
from example_interfaces.srv import Trigger as DriverTrigger
from rclpy.callback_groups import ReentrantCallbackGroup
from std_srvs.srv import Trigger

from tests.gen3 import NAMED_STATES
from tests.ros.motion.conftest import Cell, _domains, a_way
from tests.ros.motion.drivers import Drivers
from tests.ros.motion.half_turns import crossings
from tests.ros.motion.leg_faults import DriverFault, Trials
from toolhand.tool_nodes.ros import faults
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.motion_messages import LEAST_S, trajectory_goal
from toolhand.tool_nodes.types import MotionStatus, Trajectory


class FaultyDrivers(Drivers):
    """Perfect drivers that can report a fault and serve its reset, and a controller_manager.

    Attributes:
        reported: What is published as internal_fault, with each joint state; None for nothing.
        asked: How often the reset was asked for.
        answers: False: the reset is never answered.
        lasting: The reset is carried out, and the fault comes again.
        states: States of controllers by their name.
    """

    def __init__(self, context: Any = None) -> None:
        super().__init__(context)
        self.begin()
        group = ReentrantCallbackGroup()
        self._fault = self.create_publisher(Bool, "fault_controller/internal_fault", 1)
        self.create_service(DriverTrigger, "fault_controller/reset_fault", self._reset, callback_group=group)
        self.create_service(ListControllers, "controller_manager/list_controllers", self._list, callback_group=group)

    def begin(self) -> None:
        """All is as at first."""
        self.reported: bool | None = False
        self.asked, self.answers, self.lasting = 0, True, False
        self.states = {"joint_trajectory_controller": "active", "robotiq_gripper_controller": "active"}
        self.fault, self.goals, self.cancels = "", 0, 0
        self.knuckle_speed, self.object, self.knuckle, self._knuckle_goal = 4.0, 0.8, 0.0, 0.0
        self.q = np.asarray(NAMED_STATES["Park"], float).copy()
        self.release.clear()

    def _show(self) -> None:
        if getattr(self, "reported", None) is not None and hasattr(self, "_fault"):
            self._fault.publish(Bool(data=self.reported))
        super()._show()

    def _reset(self, request: Any, response: Any) -> Any:
        self.asked += 1
        while not self.answers:
            if self.release.wait(0.05):
                break
        self.reported, response.success = self.lasting, True
        return response

    def _list(self, request: Any, response: Any) -> Any:
        response.controller = [ControllerState(name=name, state=state) for name, state in self.states.items()]
        return response


@pytest.fixture(scope="module")
def faulty_cell(router: str) -> Iterator[Cell]:
    """A motion node beside such drivers, shared by the module."""
    cell = Cell(router, next(_domains), {"availability_deadline_s": 10.0, "stop_deadline_s": 3.0})
    cell.drivers = cell.spin(lambda context: FaultyDrivers(context))  # type: ignore[attr-defined]
    cell.wait(lambda: cell.motion._stop.joints.newest is not None, "joint states")
    yield cell
    cell.close()


@pytest.fixture
def cell(faulty_cell: Any) -> Iterator[Any]:
    cell, drivers = faulty_cell, faulty_cell.drivers
    drivers.begin()
    cell.wait(lambda: np.abs(cell.motion._arm.state().q - drivers.q).max() < 0.01, "the start")
    cell.wait(lambda: not cell.motion._stop.faults.present, "no fault")
    yield cell
    drivers.release.set()
    cell.motion._stop.joints._listeners = cell.motion._stop.joints._listeners[:1]


def report(cell: Any, fault: bool) -> None:
    cell.drivers.reported = fault
    cell.wait(lambda: cell.motion._stop.faults.present is fault, "the fault")


# -- before, within and after a leg ----------------------------------------------------------------


def test_in_fault_no_command_begins_and_the_driver_is_not_reset(cell: Any, arm: RosArm, target: Any) -> None:
    report(cell, True)
    for send in (lambda: cell.grasp(target.T_base_gripper), lambda: cell.place(target.place)):  # one after the other
        _, result = send().end()
        assert result.status.error_code == "CONTROLLER_FAULT"
        assert "reports that it is in fault" in result.status.message
        assert "Nothing has moved" in result.status.message
        assert "--reset-fault" in result.status.hint
    assert not cell.call(Trigger, "return_to_park").success
    outcome, jaws = arm.follow(a_way(arm)), arm.move_gripper(0.02)
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, True)
    assert jaws.status is MotionStatus.FAILED
    assert cell.drivers.goals == cell.drivers.asked == 0


def test_a_fault_within_a_leg_ends_it_however_soon_it_goes(cell: Any, arm: RosArm) -> None:
    trajectory, faults = a_way(arm, 1.0), cell.motion._stop.faults
    count = faults.count

    def blink(reading: Any) -> None:
        if reading.q[0] > trajectory.q[0, 0] + 0.3:
            cell.drivers.reported = faults.count == count

    cell.motion._stop.joints._listeners += (blink,)
    outcome = arm.follow(trajectory)
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, True)
    assert "reports that it is in fault" in outcome.message
    assert outcome.max_error_rad > 0.2, "it was ended on its way"
    assert cell.drivers.cancels == 1
    cell.motion._stop.joints._listeners = cell.motion._stop.joints._listeners[:1]
    report(cell, False)
    assert arm.follow(a_way(arm)).status is MotionStatus.SUCCEEDED


def test_jaws_that_stall_on_nothing_because_of_a_fault_hold_nothing(cell: Any, arm: RosArm) -> None:
    cell.drivers.knuckle_speed, cell.drivers.object = 0.5, 0.4
    cell.motion._stop.joints._listeners += (lambda reading: setattr(cell.drivers, "reported", reading.knuckle > 0.2),)
    outcome = arm.move_gripper(0.0)
    assert outcome.status is MotionStatus.FAILED
    assert "reports that it is in fault" in outcome.message


def test_a_driver_that_reports_nothing_is_judged_by_what_is_measured(cell: Any, arm: RosArm) -> None:
    cell.drivers.reported = None
    assert arm.follow(a_way(arm)).status is MotionStatus.SUCCEEDED
    cell.drivers.fault = "ignore"
    still = arm.follow(a_way(arm))
    cell.drivers.fault = "short"
    short = arm.follow(a_way(arm))
    assert "the arm has not begun to move" in still.message
    assert "the arm stopped elsewhere" in short.message
    assert still.faulty
    assert short.faulty


# -- controllers that do not run -------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "goals"), [("reject", 0), ("abort", 1)])
def test_the_controller_that_does_not_run_is_named(cell: Any, arm: RosArm, fault: str, goals: int) -> None:
    cell.drivers.fault = fault
    cell.drivers.states["joint_trajectory_controller"] = "inactive"
    outcome = arm.follow(a_way(arm))
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, True)
    assert "its controller joint_trajectory_controller is inactive" in outcome.message
    assert cell.drivers.goals == goals
    cell.drivers.states["joint_trajectory_controller"] = "active"
    outcome = arm.follow(a_way(arm))
    assert (outcome.status, outcome.faulty) == (MotionStatus.FAILED, False)
    assert "inactive" not in outcome.message


# -- short legs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("duration_s", [0.02, 0.0999, LEAST_S, 0.3])
def test_very_short_legs_are_padded_at_their_end(duration_s: float) -> None:
    q = np.vstack([np.zeros(7), np.full(7, 0.001)])
    trajectory = Trajectory(("a",) * 7, np.array([0.0, duration_s]), q, np.zeros_like(q))
    points = trajectory_goal(trajectory).trajectory.points
    last = points[-1].time_from_start
    assert last.sec + last.nanosec / 1e9 == pytest.approx(max(duration_s, LEAST_S), abs=1e-9)
    assert points[1].time_from_start.nanosec == round(duration_s * 1e9), "what was approved runs as it is"
    assert list(points[-1].positions) == [0.001] * 7
    assert len(points) == 2 + (duration_s < LEAST_S)


# -- the reset -------------------------------------------------------------------------------------


def reset(cell: Any) -> Any:
    return cell.call(Trigger, "reset_fault")


def test_a_person_resets_the_fault_and_the_next_motion_works(cell: Any, arm: RosArm) -> None:
    report(cell, True)
    answer = reset(cell)
    assert answer.success, answer.message
    assert answer.message == "The driver reports no fault any more."
    assert cell.drivers.asked == 1
    assert arm.follow(a_way(arm)).status is MotionStatus.SUCCEEDED
    assert reset(cell).message == "The driver had reported no fault."


def test_a_fault_whose_cause_is_still_there_is_not_said_to_be_reset(cell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_CLEARED_S", 0.3)
    report(cell, True)
    cell.drivers.lasting = True
    answer = reset(cell)
    assert not answer.success
    assert "its cause is still there" in answer.message


def test_a_reset_that_the_driver_never_answers_ends_and_blocks_no_stop(
    cell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "RESET_S", 1.0)
    report(cell, True)
    cell.drivers.answers = False
    client = cell.operator.create_client(Trigger, "reset_fault", callback_group=ReentrantCallbackGroup())
    assert client.wait_for_service(10.0)
    asked = client.call_async(Trigger.Request())
    cell.wait(lambda: cell.drivers.asked, "the reset")
    assert cell.stop().success
    answer = cell.done(asked)
    assert not answer.success
    assert "has not answered the reset within 1 s" in answer.message
    cell.reset_stop()


def test_nothing_is_reset_while_a_motion_is_on_its_way_or_where_nobody_serves_it(cell: Any, make_cell: Any) -> None:
    with cell.motion._latch.goal_on_its_way():
        answer = reset(cell)
    assert not answer.success
    assert "A motion is on its way" in answer.message
    assert cell.drivers.asked == 0
    alone = make_cell()
    answer = reset(alone)
    assert not answer.success
    assert "Nobody serves" in answer.message


# -- over the simulated arm with the manners of ros2_kortex ------------------------------------------


def test_a_command_ends_at_the_leg_with_the_fault_and_wrapped_joints_turn_the_short_way(make_cell: Any) -> None:
    cell = make_cell(lockstep=True, use_sim_time=True, availability_deadline_s=3.0)
    cell.start_simulator(lockstep=True, driver="kortex")
    trials = Trials(cell.operator)
    trials.prepare("grasp")
    run = trials.run(DriverFault("grasp", 4, "internal_fault", 0.4))
    assert run.right, run
    assert run.still, run
    assert run.works, run
    assert run.meanwhile == "CONTROLLER_FAULT"
    assert run.reaction_s <= 0.3
    with RosLink(cell.environment) as link:
        assert crossings(link, joint=2, n=2, seed=0) == [(True, True)] * 2
