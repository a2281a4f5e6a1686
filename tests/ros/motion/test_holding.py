"""What is held follows measurement and motion: no parameter, and no new start, lets it fall."""

from typing import Any

import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from toolhand_interfaces.srv import GetHeld

from tests.ros.motion.drivers import Drivers
from toolhand.sim.station import Station


@pytest.fixture
def cell(make_cell: Any, target: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A motion node beside drivers, just started, which sees the simulator's image."""
    cell = make_cell(availability_deadline_s=2.0)
    cell.drivers = cell.spin(lambda context: Drivers(context, wrapped=True))
    cell.wait(lambda: cell.motion._stop.joints.newest is not None, "joint states")
    monkeypatch.setattr(cell.motion._camera, "capture", Station(target.scene).camera.capture)
    return cell


def jaws(cell: Any, knuckle: float) -> None:
    """Something moves the jaws to an angle [rad], and the motion node hears of it."""
    cell.drivers._knuckle_goal = knuckle
    cell.wait(lambda: abs(cell.motion._stop.joints.newest.knuckle - knuckle) < 1e-3, "the jaws")


def holds(cell: Any) -> bool:
    return bool(cell.call(GetHeld, "get_held").holding)


def test_a_node_that_is_started_with_full_jaws_keeps_them_closed_and_says_so(cell: Any, target: Any) -> None:
    jaws(cell, 0.4)
    status = cell.grasp(target.T_base_gripper).end()[1].status
    assert status.error_code == "ALREADY_HOLDING"
    assert holds(cell)
    cell.set("motion", "seed", 7)
    assert cell.grasp(target.T_base_gripper).end()[1].status.error_code == "ALREADY_HOLDING"
    assert cell.drivers.jaws_commanded == 0
    jaws(cell, 0.0)
    assert not holds(cell), "somebody has opened them"
    jaws(cell, 0.4)
    assert not holds(cell), "the node has seen them open since"


@pytest.mark.parametrize("knuckle", [0.0, 0.8])
def test_jaws_that_are_open_or_closed_at_the_start_hold_nothing(cell: Any, knuckle: float) -> None:
    jaws(cell, knuckle)
    assert not holds(cell)


@pytest.mark.parametrize(("name", "value"), [("still_velocity", 0.05), ("lockstep", True), ("speed_limit", 0.5)])
def test_a_parameter_that_would_have_no_effect_is_refused(cell: Any, name: str, value: Any) -> None:
    parameter = Parameter(name, value=value).to_parameter_msg()
    (answer,) = cell.call(SetParameters, "motion/set_parameters", parameters=[parameter]).results
    assert (answer.successful, "read-only" in answer.reason) == (False, True), answer.reason
