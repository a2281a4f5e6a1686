"""The tools that move the robot: what they report, and that a failure leaves arm and object where it says."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.tool_nodes.tools.cell import Cell
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import FloatArray, Trajectory

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
"""
FREE = (0.40, -0.02)
OCCUPIED = (0.50, -0.15)
OUT_OF_REACH = (0.80, 0.10)


# -- what they report ------------------------------------------------------------------------------


def test_a_grasp_lifts_the_object_and_reports_time_and_measured_width(cell: Cell) -> None:
    result = cell.grasp()
    match = re.fullmatch(
        r"Grasp executed successfully in (\d+\.\d\d) s\. The gripper holds an object (\d\.\d{3}) m wide\. "
        r"Use \$captured_image \(image, 480x640x3\) to reference the view after the grasp\.",
        result.text,
    )
    assert match
    assert float(match[2]) == pytest.approx(0.046, abs=0.008)
    assert result.value["success"] is True
    assert result.value["execution_time_s"] == pytest.approx(float(match[1]), abs=0.01)
    assert cell.holds_block
    assert cell.block[2] > 0.1
    assert cell.parked
    assert np.array_equal(result.image, cell.session.variables["captured_image"].rgb)
    assert not np.array_equal(result.image, cell.session.images[0].rgb)


def test_a_place_in_the_image_is_where_the_object_ends_up(holding: Cell) -> None:
    result = holding.call("robot.place_object_at_2d_location", placement_point_2d=holding.in_image(*FREE))
    assert re.fullmatch(
        r"Object placed successfully in \d+\.\d\d s\. The gripper is open and empty\. "
        r"Use \$captured_image \(image, 480x640x3\) to reference the view after the placement\.",
        result.text,
    )
    assert set(result.value) == {"success", "execution_time_s", "image"}
    assert np.linalg.norm(holding.block[:2] - FREE) < 0.03
    assert holding.block[2] == pytest.approx(0.023, abs=0.005)
    assert holding.parked
    assert holding.world.opening_m > 0.08


def test_a_place_in_space_is_where_the_object_ends_up(holding: Cell) -> None:
    result = holding.call("robot.place_object_at_3d_location", point_3d=holding.in_camera(*FREE))
    assert result.ok
    assert np.linalg.norm(holding.block[:2] - FREE) < 0.03
    assert result.facts["placed"]["verified"]
    assert "Not verified" not in result.text


def test_an_object_that_was_placed_can_be_grasped_again(holding: Cell) -> None:
    assert holding.call("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE)).ok
    holding.session = Session()
    holding.call("robot.capture_image")
    assert holding.grasp().ok
    assert holding.holds_block


def test_the_paper_names_of_the_places_are_accepted(holding: Cell) -> None:
    point = holding.in_image(*OCCUPIED)
    for argument in ("point_2d", "placement_point_2d"):
        error = holding.refusal("robot.place_object_at_2d_location", **{argument: point})
        assert error.code is ErrorCode.PLACE_BLOCKED


# -- grasps that cannot be -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        lambda T: T * [[2, 2, 2, 1]],
        lambda T: T * [[-1, 1, 1, 1]],
        lambda T: T + np.array([[0, 0.2, 0, 0]] + [[0] * 4] * 3),
        lambda T: np.vstack([T[:3], [[0, 0, 0, 2]]]),
        lambda T: np.zeros((4, 4)),
    ],
    ids=["scaled", "mirrored", "sheared", "last row", "zero"],
)
def test_a_pose_that_is_not_rigid_is_refused(cell: Cell, spoil: Callable[[FloatArray], FloatArray]) -> None:
    before = cell.world.time
    error = cell.refusal("robot.execute_grasp", grasp_pose=spoil(np.eye(4)).tolist())
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "must be a rigid 4x4 pose" in error.message
    assert cell.world.time == before


@pytest.mark.parametrize(
    "position", [(1.5, 0.0, 0.1), (0.45, 1.2, 0.1), (0.4, 0.0, 2.0), (40.0, 0.0, 0.0), (0.45, 0.0, -0.3)]
)
def test_a_grasp_out_of_reach_is_refused_before_anything_moves(
    cell: Cell, position: tuple[float, float, float]
) -> None:
    before = cell.world.time
    error = cell.refusal("robot.execute_grasp", grasp_pose=cell.down_at(*position))
    assert error.code in (ErrorCode.OUT_OF_WORKSPACE, ErrorCode.IK_FAILED, ErrorCode.PLAN_FAILED)
    assert cell.world.time == before
    assert cell.parked


def test_a_grasp_at_nothing_reports_an_empty_gripper_and_goes_back_to_park(cell: Cell) -> None:
    error = cell.refusal("robot.execute_grasp", grasp_pose=cell.down_at(0.45, 0.0, 0.05))
    assert error.code is ErrorCode.GRIPPER_EMPTY
    assert "closed to 0 mm without holding anything" in error.message
    assert error.hint
    assert cell.parked
    assert cell.world.opening_m > 0.08
    assert cell.grasp().ok


def test_a_second_grasp_is_refused_while_something_is_held(holding: Cell) -> None:
    before = holding.world.time
    error = holding.refusal("robot.execute_grasp", grasp_pose=holding.down_at(0.45, 0.0, 0.05))
    assert error.code is ErrorCode.ALREADY_HOLDING
    assert "already holds an object" in error.message
    assert '"put it down"' in error.hint
    assert holding.world.time == before
    assert holding.holds_block


def test_a_look_tells_by_which_words_what_is_held_was_grasped(holding: Cell) -> None:
    assert (
        "The gripper holds an object that was grasped as 'toy block'. Use $captured_image"
        in holding.call("robot.capture_image").text
    )
    assert holding.station.toolbox.call("robot.capture_image", {}, Session()).result.text.count("'toy block'") == 1
    assert "was grasped as 'toy block'" in holding.refusal("robot.execute_grasp", grasp_pose=np.eye(4)).message


# -- places that cannot be -------------------------------------------------------------------------


def test_nothing_can_be_placed_by_an_empty_hand(cell: Cell) -> None:
    before = cell.world.time
    for name, point in (
        ("robot.place_object_at_2d_location", {"point_2d": [0.5, 0.5]}),
        ("robot.place_object_at_3d_location", {"point_3d": [0.0, 0.0, 1.0]}),
    ):
        assert cell.refusal(name, **point).code is ErrorCode.NOT_HOLDING
    assert cell.world.time == before


def test_a_place_that_cannot_be_used_is_refused_and_the_object_still_held(holding: Cell) -> None:
    before = holding.world.time
    for x, y, z, code in (
        (*OUT_OF_REACH, 0.0, ErrorCode.OUT_OF_WORKSPACE),
        (*OCCUPIED, 0.2, ErrorCode.PLACE_BLOCKED),
        (*FREE, 0.3, ErrorCode.PLACE_BLOCKED),
    ):
        error = holding.refusal("robot.place_object_at_3d_location", point_3d=holding.in_camera(x, y, z))
        assert error.code is code
        assert f"x={x:.2f} m, y={y:.2f} m" in error.message
    for place, code in ((OUT_OF_REACH, ErrorCode.OUT_OF_WORKSPACE), (OCCUPIED, ErrorCode.PLACE_BLOCKED)):
        error = holding.refusal("robot.place_object_at_2d_location", point_2d=holding.in_image(*place))
        assert error.code is code
    assert holding.world.time == before
    assert holding.holds_block
    assert holding.call("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE)).ok


def test_a_place_without_a_way_is_given_up_after_a_few_searches(holding: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []

    def no_way(*arguments: object) -> Trajectory:
        searches.append(arguments)
        raise ToolError(ErrorCode.PLAN_FAILED, "There is no way.")

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddedPlanner, "_plan_poses", no_way)  # each would use up its whole budget
        error = holding.refusal("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE))
    assert error.code is ErrorCode.PLACE_BLOCKED
    assert "There is no way" in error.message
    assert len(searches) == 12
    assert holding.holds_block
    assert holding.call("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE)).ok


def test_a_place_inside_a_solid_object_is_blocked_and_no_cavity(holding: Cell) -> None:
    error = holding.refusal("robot.place_object_at_3d_location", placement_point_3d=holding.in_camera(*OCCUPIED))
    assert error.code is ErrorCode.PLACE_BLOCKED
    assert holding.station.manipulator.held is not None


def test_an_object_lost_from_the_hand_is_noticed_before_the_arm_moves(holding: Cell) -> None:
    world = holding.world
    address = world.model.jnt_qposadr[world.model.body("toy_block_1").jntadr[0]]
    world.data.qpos[address : address + 3] = (0.3, 0.4, 0.023)
    world.step(500)
    before = world.time
    error = holding.refusal("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE))
    assert error.code is ErrorCode.OBJECT_DROPPED
    assert world.time == before
    later = holding.refusal("robot.place_object_at_2d_location", point_2d=holding.in_image(*FREE))
    assert later.code is ErrorCode.NOT_HOLDING


# -- stop ------------------------------------------------------------------------------------------


def stop_after(cell: Cell, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    step, due = cell.world.step, cell.world.time + seconds

    def observed(count: int = 1) -> None:
        step(count)
        if cell.world.time >= due:
            cell.station.arm.stop()

    monkeypatch.setattr(cell.world, "step", observed)


@pytest.mark.parametrize("seconds", [0.2, 1.0, 3.3, 4.5])
def test_a_stop_at_any_moment_of_a_grasp_leaves_the_arm_where_it_is(
    cell: Cell, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after(cell, seconds, monkeypatch)
    result = cell.grasp()
    assert result.error is not None
    assert result.error.code is ErrorCode.STOPPED
    assert np.abs(cell.world.arm_velocity).max() < 0.01
    assert cell.world.time < seconds + 1.5
    before = cell.world.time
    assert cell.refusal("robot.execute_grasp", grasp_pose=cell.down_at(0.45, 0.0, 0.05)).code in (
        ErrorCode.STOPPED,
        ErrorCode.ALREADY_HOLDING,
    )
    assert cell.world.time == before


def test_after_a_reset_the_arm_works_again(cell: Cell) -> None:
    cell.station.arm.stop()
    result = cell.grasp()
    assert result.error is not None
    assert result.error.code is ErrorCode.STOPPED
    cell.station.arm.reset_stop()
    assert cell.call("robot.execute_grasp", grasp_pose="$grasp_pose").ok
    assert cell.holds_block


def test_broken_physics_during_a_motion_is_an_internal_error(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    step = cell.world.step

    def broken(count: int = 1) -> None:
        if cell.world.time > 1.0:
            cell.world.data.qvel[0] = np.nan
        step(count)

    monkeypatch.setattr(cell.world, "step", broken)
    result = cell.grasp()
    assert result.error is not None
    assert result.error.code is ErrorCode.INTERNAL
    assert "physics reported" in result.error.message
