"""The suite of skills: what the hand does beside grasping and placing, judged by the simulator's state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tool_nodes.tools.cell import Cell
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.motion import skills
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.skills import stood_up
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.suites import parse_suites
from toolhand.tool_nodes.types import Box, MotionOutcome

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12]}
  - {name: red box, position: [0.50, -0.15]}
"""
SUITES = ("spacetools", "skills")


@pytest.fixture
def holding(holding: Cell) -> Cell:
    """A conversation that begins with the block in the hand."""
    holding.session = Session()
    holding.call("robot.capture_image")
    return holding


def tips(cell: Cell) -> float:
    """Height of the lower end of the fingers over the table [m]."""
    manipulator = cell.station.manipulator
    T = manipulator._kinematics.fk(cell.station.arm.state().q)
    ends = cell.station.robot.gripper.tips(cell.world.opening_m)
    return float((ends @ T[:3, :3].T + T[:3, 3])[:, 2].min())


def tool_place(cell: Cell) -> np.ndarray:
    return cell.station.manipulator._kinematics.fk(cell.station.arm.state().q)[:3, 3]


def untouched(cell: Cell) -> bool:
    objects = cell.world.snapshot().objects
    placed = {item.id: item.position_m for item in cell.station.scene.objects}
    return all(
        item.touching == {"table"} and np.hypot(*(item.position_m - placed[name])[:2]) < 0.002
        for name, item in objects.items()
    )


def test_no_list_of_tools_that_a_model_reads_has_them_unless_it_is_asked_for() -> None:
    assert "skills" in parse_suites("skills")
    assert "skills" not in parse_suites("all")
    names = {schema["function"]["name"] for schema in Station(parse_scene(SCENE)).toolbox.schemas()}
    assert not {"robot.open_gripper", "robot.point_at", "robot.hand_over"} & names


def test_the_gripper_closes_and_opens_where_the_arm_is(cell: Cell) -> None:
    before = tool_place(cell)
    result = cell.call("robot.close_gripper")
    assert result.text == "The gripper is closed."
    assert cell.world.opening_m < 0.002
    assert cell.call("robot.open_gripper").facts["skill"]["opening_m"] > 0.08
    assert cell.world.opening_m > 0.08
    assert np.linalg.norm(tool_place(cell) - before) < 0.001
    assert untouched(cell)


def test_what_is_held_in_the_air_is_not_let_go(holding: Cell) -> None:
    error = holding.refusal("robot.open_gripper")
    assert error.code is ErrorCode.ALREADY_HOLDING
    assert "put it down" in error.hint
    assert holding.holds_block
    assert "closed on the toy block already" in holding.call("robot.close_gripper").text
    assert holding.holds_block


def test_what_is_held_low_over_the_table_may_be_let_go(holding: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(opening_m: float, stage: str) -> float:
        raise ToolError(ErrorCode.STOPPED, "Stopped before the release.")

    manipulator = holding.station.manipulator
    with monkeypatch.context() as patched:
        patched.setattr(manipulator, "_jaws", stopped)
        assert holding.refusal("robot.place_object_at_3d_location", point_3d=holding.in_camera(0.40, 0.0))
    assert "let go of the toy block" in holding.call("robot.open_gripper").text
    assert holding.world.snapshot().objects["toy_block_1"].touching == {"table"}
    assert manipulator.held is None


def test_a_lift_is_as_long_as_was_asked_and_keeps_what_is_held(holding: Cell) -> None:
    before, block = tool_place(holding), holding.block[2]
    assert holding.call("robot.lift", distance_m=0.05).text == "The gripper is 5.0 cm higher."
    assert tool_place(holding) - before == pytest.approx([0.0, 0.0, 0.05], abs=0.002)
    assert holding.block[2] == pytest.approx(block + 0.05, abs=0.004)
    assert holding.holds_block
    assert holding.call("robot.return_to_park").ok
    assert holding.parked
    assert holding.holds_block
    assert holding.refusal("robot.lift", distance_m=0.5).code is ErrorCode.INVALID_ARGUMENT


def test_pointing_hovers_over_the_place_and_touches_nothing(cell: Cell) -> None:
    result = cell.call("robot.point_at", point=cell.in_image(0.42, 0.12), image_index=0)
    assert result.ok, result.text
    assert np.hypot(*(tool_place(cell)[:2] - (0.42, 0.12))) < 0.03
    assert 0.045 + 0.03 < tips(cell) < 0.045 + 0.09
    assert untouched(cell)
    assert cell.call("robot.return_to_park").ok
    assert cell.parked
    assert cell.world.opening_m > 0.08


def test_a_place_out_of_reach_is_refused_before_anything_moves(cell: Cell) -> None:
    error = cell.refusal("robot.point_at", point=cell.in_image(0.80, 0.10), image_index=0)
    assert error.code is ErrorCode.OUT_OF_WORKSPACE
    assert cell.parked


def test_pointing_at_one_place_after_another_does_not_take_the_arm_for_an_obstacle(cell: Cell) -> None:
    for x, y in ((0.42, 0.12), (0.50, -0.15)):
        assert cell.call("robot.point_at", point=cell.in_image(x, y), image_index=0).ok
        assert np.hypot(*(tool_place(cell)[:2] - (x, y))) < 0.05
        assert 0.03 < tips(cell) < 0.20
        assert untouched(cell)


def test_slowly_takes_longer(cell: Cell) -> None:
    took = []
    for speed in (1.0, 0.3):
        arguments = {"point": cell.in_image(0.42, 0.12), "image_index": 0, "speed": speed}
        took.append(cell.call("robot.point_at", **arguments).value["execution_time_s"])
        cell.call("robot.return_to_park", speed=speed)
    assert took[1] > 1.5 * took[0]
    assert cell.refusal("robot.return_to_park", speed=0.0).code is ErrorCode.INVALID_ARGUMENT


# -- handing over ----------------------------------------------------------------------------------


def pulling(cell: Cell, newtons: float, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Somebody pulls at the block once 2 s were waited; the list grows by the seconds that are waited."""
    rest: Callable[[float], MotionOutcome] = cell.station.arm.rest
    waited: list[float] = []
    body = cell.world.model.body("toy_block_1").id

    def resting(seconds: float) -> MotionOutcome:
        waited.append(seconds)
        held = cell.station.manipulator.held is not None
        cell.world.data.xfrc_applied[body, 0] = newtons if held and sum(waited) > 2.0 else 0.0
        return rest(seconds)

    monkeypatch.setattr(cell.station.arm, "rest", resting)
    return waited


def test_an_object_is_let_go_of_when_somebody_pulls_at_it(holding: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = pulling(holding, 12.0, monkeypatch)
    result = holding.call("robot.hand_over")
    assert result.text == "Somebody pulled, and I let go of the toy block."
    assert 2.0 < sum(waited) < 6.0
    assert holding.station.manipulator.held is None
    assert not holding.holds_block
    assert holding.parked
    assert holding.world.opening_m > 0.08


def test_without_a_pull_it_is_held_out_and_may_be_held_out_again(
    holding: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = holding.call("robot.hand_over")
    assert "still held out" in result.text
    assert holding.holds_block
    x, _, z = holding.block
    assert x > 0.55
    assert z > 0.1
    pulling(holding, 12.0, monkeypatch)
    holding.call("robot.capture_image")  # it shows the arm, which is no obstacle for itself
    assert holding.call("robot.hand_over").text.startswith("Somebody pulled")
    assert not holding.holds_block
    assert holding.parked


def test_a_word_opens_the_gripper_where_an_object_is_held_out(holding: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skills, "HANDS_OVER_S", 1.5)
    assert "still held out" in holding.call("robot.hand_over").text
    assert "let go of the toy block" in holding.call("robot.open_gripper").text
    assert not holding.holds_block


def test_an_empty_hand_has_nothing_to_hand_over_or_to_stand_up(cell: Cell) -> None:
    assert cell.refusal("robot.hand_over").code is ErrorCode.NOT_HOLDING
    point = cell.in_image(0.40, 0.0)
    assert cell.refusal("robot.stand_upright", point=point, image_index=0).code is ErrorCode.NOT_HOLDING
    assert cell.parked


def test_a_stop_ends_the_wait_and_nothing_moves_afterwards(holding: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = holding.station.arm.rest

    def resting(seconds: float) -> MotionOutcome:
        if tool_place(holding)[0] > 0.5:
            holding.station.arm.stop()
        return rest(seconds)

    monkeypatch.setattr(holding.station.arm, "rest", resting)
    assert holding.refusal("robot.hand_over").code is ErrorCode.STOPPED
    place = tool_place(holding)
    assert holding.refusal("robot.return_to_park").code is ErrorCode.STOPPED
    assert np.linalg.norm(tool_place(holding) - place) < 0.001
    assert holding.holds_block


# -- upright ---------------------------------------------------------------------------------------


def test_a_lying_object_is_turned_onto_either_end_and_a_standing_one_is_not() -> None:
    down = np.diag([1.0, -1.0, -1.0])
    pose = np.eye(4)
    pose[2, 3] = 0.15
    lying = HeldObject(Box(pose, np.array([0.03, 0.09, 0.02])), down, np.array([0.0, 0.0, 0.17]), 0.06)
    ends = list(stood_up(lying))
    assert len(ends) == 2
    for turned in ends:
        R = turned.R_base_gripper @ turned.box.T_parent_box[:3, :3]
        assert R[2, 2] == pytest.approx(1.0)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert turned.box.half_extents[2] == 0.09
        middle = turned.R_base_gripper @ (turned.middle - turned.box.T_parent_box[:3, 3])
        assert middle == pytest.approx([0.0, 0.0, -0.09], abs=1e-9)
    assert not list(stood_up(HeldObject(Box(pose, np.array([0.03, 0.03, 0.09])), down, np.zeros(3), 0.06)))


# -- the guard -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["robot.open_gripper", "robot.close_gripper", "robot.lift", "robot.point_at"])
def test_no_skill_moves_in_a_dry_run(name: str) -> None:
    cell = Cell(parse_scene(SCENE), SUITES, MotionGuard(Mode.DRY_RUN))
    arguments = {
        "robot.lift": {"distance_m": 0.05},
        "robot.point_at": {"point": cell.in_image(0.42, 0.12), "image_index": 0},
    }
    opening = cell.world.opening_m
    assert cell.refusal(name, **arguments.get(name, {})).code is ErrorCode.NOT_APPROVED
    assert cell.parked
    assert cell.world.opening_m == pytest.approx(opening, abs=1e-4)
