"""A grasp is a success when the jaws are steady and an image shows that the target is gone, and nothing else."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import pad_depth
from tests.guarded import RecordingArm
from tests.refusals import refused
from tests.tool_nodes.tools.cell import Cell
from toolhand.sim.scene.files import parse_scene
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.grasp_scenes import GraspScenes
from toolhand.tool_nodes.motion.grip import LOOK_S, steady_grip
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.plans import GraspPlan
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import (
    BoolArray,
    FloatArray,
    Frame,
    Grasped,
    GraspTarget,
    GripperOutcome,
    MotionOutcome,
    MotionStatus,
    Trajectory,
)

SCENE = """
objects:
  - {name: toy block, position: [0.45, 0.0]}
  - {name: red box, position: [0.50, -0.15]}
"""
GRASP = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))
FREE = (0.40, 0.15)
ELSEWHERE = (0.55, 0.0)


def outline(cell: Cell, name: str) -> BoolArray:
    """The true mask (H, W) of an object."""
    ids = cell.station.make_camera(cell.station.scene_camera()).capture().ids
    assert ids is not None
    return ids == [placed.item for placed in cell.station.scene.objects].index(name)


def middle(mask: BoolArray) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return float((columns.mean() + 0.5) / mask.shape[1]), float((rows.mean() + 0.5) / mask.shape[0])


def grasp_block(cell: Cell, target: GraspTarget) -> None:
    cell.station.manipulator.grasp(GRASP, cell.station.camera.capture(), target)


class Jaws(RecordingArm):
    """Jaws that are found at one opening after another [m], the last one from then on."""

    def __init__(self, openings: Iterable[float]) -> None:
        super().__init__()
        self._coming = iter(openings)
        self.opening_m = next(self._coming)

    def rest(self, seconds: float) -> MotionOutcome:
        self.opening_m = next(self._coming, self.opening_m)
        return super().rest(seconds)


@pytest.mark.parametrize(
    ("openings", "looks", "empty"),
    [
        ((0.046, 0.046), 1, False),
        ((0.046, 0.0458, 0.030), 1, False),
        ((0.069, 0.059, 0.0, 0.0), 2, True),
        ((0.013, 0.0), 1, True),
        ((0.0015,), 0, True),
        ((0.060, 0.058, 0.056, 0.054, 0.0535, 0.0533), 5, False),
        ([0.08 - 0.001 * k for k in range(70)], 15, False),
    ],
)
def test_jaws_are_read_until_they_are_steady(openings: Iterable[float], looks: int, empty: bool) -> None:
    grip = steady_grip(Jaws(openings))
    assert (grip.took_s, grip.empty) == (pytest.approx(looks * LOOK_S), empty)


def test_what_slips_out_after_the_lift_is_told_and_no_longer_held(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    manipulator, world = cell.station.manipulator, cell.world
    monkeypatch.setattr(cell.station.arm, "rest", lose(cell, cell.station.arm.rest))
    with refused(ErrorCode.OBJECT_DROPPED, "slipped out after lifting"):
        manipulator.grasp(GRASP, cell.station.camera.capture())
    assert manipulator.held is None
    assert world.opening_m > 0.08


def lose(cell: Cell, rest: Callable[[float], MotionOutcome]) -> Callable[[float], MotionOutcome]:
    """Time in which the block falls out of the hand."""

    def lost(seconds: float) -> MotionOutcome:
        if cell.block[2] > 0.1:
            cell.put("toy block", *FREE, 0.023)
        return rest(seconds)

    return lost


def test_another_object_than_the_one_that_was_meant_is_no_success(cell: Cell) -> None:
    box = outline(cell, "red box")
    with refused(ErrorCode.WRONG_OBJECT, r"the target still stands at image point \(0\.\d+, 0\.\d+\)"):
        grasp_block(cell, GraspTarget(box))
    assert cell.holds_block
    assert cell.station.manipulator.held is not None, "it holds something, which can be put down"
    cell.call("robot.capture_image")
    assert cell.call("robot.place_object_at_2d_location", point_2d=cell.in_image(*FREE)).ok


def test_an_image_that_fails_over_the_place_leaves_the_one_from_the_park_position(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    manipulator, block, before = cell.station.manipulator, outline(cell, "toy block"), cell.station.camera.capture()
    capture, held = cell.station.camera.capture, list[object]()

    def fails_once() -> Frame:
        held.append(manipulator.held)
        if len(held) == 1:
            raise ToolError(ErrorCode.TIMEOUT, "No image came.")
        return capture()

    monkeypatch.setattr(manipulator, "_camera", SimpleNamespace(capture=fails_once))
    manipulator.grasp(GRASP, before, GraspTarget(block, (middle(block),)))
    assert cell.holds_block
    assert held[0] is None, "what is held is not taken out of the image that shows it"
    assert held[1] is not None


def test_an_outline_of_two_objects_is_judged_by_where_it_was_pointed_at(cell: Cell) -> None:
    block, box = outline(cell, "toy block"), outline(cell, "red box")
    grasp_block(cell, GraspTarget(block | box, (middle(block),)))
    assert cell.holds_block


def test_an_outline_of_two_objects_of_which_the_other_one_was_lifted_is_no_success(cell: Cell) -> None:
    block, box = outline(cell, "toy block"), outline(cell, "red box")
    with pytest.raises(ToolError, match="Something else was lifted"):
        grasp_block(cell, GraspTarget(block | box, (middle(box),)))


def box_goes(cell: Cell, monkeypatch: pytest.MonkeyPatch, x: float, y: float, z: float | None = None) -> None:
    """The red box is elsewhere once the arm rests: in the base frame [m], as high as it is where z is None."""
    rest = cell.station.arm.rest
    height = float(cell.world.snapshot().objects["red_box_1"].position_m[2]) if z is None else z

    def moved(seconds: float) -> MotionOutcome:
        cell.put("red box", x, y, height)
        return rest(seconds)

    monkeypatch.setattr(cell.station.arm, "rest", moved)


def test_what_is_gone_beside_the_target_was_lifted_too(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    block = outline(cell, "toy block")
    box_goes(cell, monkeypatch, 0.0, 1.5, 0.0)
    with refused(ErrorCode.WRONG_OBJECT, "More than the target was lifted"):
        grasp_block(cell, GraspTarget(block, (middle(block),)))


def test_what_was_pushed_beside_the_target_was_not_lifted(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    block = outline(cell, "toy block")
    box_goes(cell, monkeypatch, 0.55, -0.22)
    grasp_block(cell, GraspTarget(block, (middle(block),)))


def test_a_target_that_was_only_pushed_is_not_lifted(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    block, box = outline(cell, "toy block"), outline(cell, "red box")
    box_goes(cell, monkeypatch, 0.50, -0.27)
    with pytest.raises(ToolError, match="the target still stands"):
        grasp_block(cell, GraspTarget(block | box, (middle(box),)))


# -- what is held ----------------------------------------------------------------------------------


def test_what_is_held_is_what_the_mask_shows_and_its_neighbour_stays_an_obstacle() -> None:
    cell = Cell(
        parse_scene(
            "objects:\n  - {name: toy block, position: [0.45, 0.0]}\n  - {name: toy block, position: [0.45, 0.047]}\n"
        )
    )
    ids = cell.station.make_camera(cell.station.scene_camera()).capture().ids
    assert ids is not None
    frame, scenes = cell.station.camera.capture(), GraspScenes(cell.station.planner, load_robot().gripper)
    known, _, points = scenes.of(GRASP, frame, GraspTarget(ids == 0))
    assert np.abs(points[:, 1]).max() < 0.03, "what is held is one block wide"
    assert any(box.T_parent_box[1, 3] > 0.03 for box in known[0].boxes), "its neighbour is in the way"
    *_, both = scenes.of(GRASP, frame)
    assert both[:, 1].max() > 0.06, "without a mask all that touches is taken for one thing"


def test_a_lift_goes_straight_up_from_where_closing_has_pushed_the_arm(cell: Cell) -> None:
    arm = PushedArm()
    Manipulator(arm, cell.station.planner, cell.station.camera).grasp(GRASP, cell.station.camera.capture())
    fk = Kinematics().fk
    path = np.array([fk(q)[:3, 3] for q in arm.followed[2].q])
    assert np.hypot(*(arm.pushed_m[:2] - GRASP[:2, 3])) > 0.012
    assert np.hypot(*(path[:, :2] - arm.pushed_m[:2]).T).max() < 0.003
    assert path[-1, 2] - path[0, 2] > 0.1


class PushedArm(RecordingArm):
    """Closing on an object that stands aside pushes it by 14 mm."""

    pushed_m: FloatArray

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        super().move_gripper(opening_m)
        self.opening_m = max(opening_m, 0.046)
        if opening_m == 0.0:
            self.q = self.q + np.eye(7)[0] * 0.03
            self.pushed_m = Kinematics().fk(self.q)[:3, 3]
        return GripperOutcome(MotionStatus.SUCCEEDED, self.opening_m, True)


# -- on the way ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grasped() -> Any:
    """The moment after a grasp of which nobody said what it was for."""
    cell = Cell(parse_scene(SCENE))
    cell.station.manipulator.grasp(GRASP, cell.station.camera.capture())
    return cell.save()


@pytest.mark.parametrize("leg", [0, 1])
def test_what_is_lost_on_the_way_to_a_place_is_not_said_to_be_placed(
    holding: Cell, leg: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, manipulator = holding, holding.station.manipulator
    follow, legs = cell.station.arm.follow, iter(range(99))

    def followed(trajectory: Trajectory) -> Any:
        outcome = follow(trajectory)
        if next(legs) == leg:
            # The jaws are still closing when they are read first.
            cell.put("toy block", *ELSEWHERE, 0.023)
            cell.world.step(12)
        return outcome

    monkeypatch.setattr(cell.station.arm, "follow", followed)
    with refused(ErrorCode.OBJECT_DROPPED, "slipped out on the way"):
        manipulator.place(np.array([*FREE, 0.0]), cell.station.camera.capture())
    assert manipulator.held is None


def test_what_is_lost_on_the_way_home_is_told_once_the_arm_is_there(holding: Cell) -> None:
    cell, manipulator = holding, holding.station.manipulator
    cell.world.command_arm(cell.world.arm_position + 0.2 * np.eye(7)[0])
    cell.world.step(600)
    cell.put("toy block", *FREE, 0.023)
    with refused(ErrorCode.OBJECT_DROPPED, "The arm is parked"):
        manipulator.return_to_park()
    assert manipulator.held is None
    assert cell.parked


def test_a_hand_that_has_lost_what_it_held_may_grasp_again(holding: Cell) -> None:
    cell, manipulator = holding, holding.station.manipulator
    cell.put("toy block", 0.45, 0.0, 0.023)
    cell.world.step(600)
    manipulator.grasp(GRASP, cell.station.camera.capture())
    assert cell.holds_block


# -- the conversation ------------------------------------------------------------------------------


def test_a_conversation_knows_what_its_grasp_is_for_and_what_it_holds(cell: Cell) -> None:
    result = cell.grasp()
    assert result.facts["grasped"]["seen"]
    assert result.facts["grasped"]["check_s"] <= 0.5
    held = cell.session.grasps.held
    assert held is not None
    assert held.target.points
    assert np.array_equal(held.target.mask, cell.session.variables["segmentation_mask"])
    cell.call("robot.place_object_at_2d_location", point_2d=cell.in_image(*FREE))
    assert cell.session.grasps.held is None


def test_a_grasp_tells_where_the_object_stood_and_there_it_can_be_put_back(cell: Cell) -> None:
    before = cell.block.copy()
    stood = cell.grasp().facts["grasped"]
    assert stood["stood_m"][:2] == pytest.approx(before[:2], abs=0.005)
    assert stood["stood_m"][2] == pytest.approx(0.0, abs=0.002)
    assert stood["stood"] == pytest.approx(cell.in_image(*stood["stood_m"][:2]), abs=0.002)
    assert cell.call("robot.place_object_at_2d_location", point_2d=stood["stood"]).ok
    assert np.linalg.norm(cell.block - before) < 0.005


def test_a_place_that_the_new_image_hides_is_told_in_space_alone(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    manipulator = cell.station.manipulator
    run = manipulator.run_grasp

    def grasped(plan: GraspPlan) -> Grasped:
        found = run(plan)
        cell.put("red box", 0.48, 0.0, 0.09)  # between the camera and where the block stood
        cell.world.step(50)
        return found

    monkeypatch.setattr(manipulator, "run_grasp", grasped)
    result = cell.grasp()
    assert result.ok, result.text
    stood = result.facts["grasped"]
    assert stood["stood"] is None
    assert stood["stood_m"][:2] == pytest.approx([0.45, 0.0], abs=0.005)


def test_a_pose_that_was_written_down_with_fewer_digits_is_the_same_grasp(cell: Cell) -> None:
    cell.grasp()
    T = np.round(cell.session.variables["grasp_pose"], 3)
    assert cell.session.grasps.find(T) is not None
    assert cell.session.grasps.find(T + 0.01) is None
    assert cell.session.fork().grasps.find(T) is not None


def test_a_pose_made_by_code_is_proven_by_the_jaws_alone(cell: Cell) -> None:
    result = cell.call("robot.execute_grasp", grasp_pose=cell.down_at(0.45, 0.0, 0.025))
    assert result.ok, result.text
    assert result.facts["grasped"]["seen"] is False
    assert result.facts["grasped"]["stood_m"] is result.facts["grasped"]["stood"] is None
    assert cell.session.grasps.held is None
