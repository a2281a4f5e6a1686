"""Grasps and placements over a free-running simulator: feedback, cancel at every stage, approval, one at a time."""

import threading
from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from simulation_interfaces.srv import ResetSimulation
from std_msgs.msg import Header
from toolhand_interfaces.action import Place
from toolhand_interfaces.srv import ExecuteGrasp as ExecuteGraspOnce
from toolhand_interfaces.srv import GetHeld, RunSkill
from vision_msgs.msg import Point2D

from toolhand.sim.ros.move_group_double import MoveGroupDouble
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.drivers.moveit import MoveItPlanner
from toolhand.tool_nodes.motion.checked_planner import CheckedPlanner
from toolhand.tool_nodes.ros.messages import mask_to_image, matrix_to_pose
from toolhand.tool_nodes.ros.moveit_messages import HELD, TIPS, WALLS
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import BoolArray

SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
Record = Callable[[str, object], None]


@pytest.fixture
def cell(sim_cell: Any) -> Any:
    """The module's cell as freshly started."""
    sim_cell.call(ResetSimulation, "reset_simulation")
    sim_cell.set("motion", "seed", 0)
    return sim_cell


def succeed(goal: Any) -> Any:
    status, result = goal.end()
    assert result.status.success, result.status
    assert status == SUCCEEDED
    return result


def test_a_grasp_and_a_placement_tell_what_they_do(cell: Any, target: Any) -> None:
    grasp = cell.grasp(target.T_base_gripper)
    result = succeed(grasp)
    assert grasp.phases == ["planning", "approaching", "closing", "lifting"]
    assert 0.03 < result.opening < 0.06
    assert result.execution_time > 1.0
    assert result.image.encoding == "rgb8"
    assert result.plan_id
    place = cell.place(target.place)
    result = succeed(place)
    assert place.phases == ["planning", "carrying", "lowering", "releasing", "retreating"]
    assert result.opening > 0.08
    for goal in (grasp, place):
        progress = [feedback.progress for feedback in goal.feedback]
        assert progress == sorted(progress)
        assert {feedback.plan_id for feedback in goal.feedback[1:]} == {goal.end()[1].plan_id}


def test_a_second_goal_is_refused_at_once_and_disturbs_nothing(cell: Any, target: Any) -> None:
    first = cell.grasp(target.T_base_gripper)
    cell.wait(lambda: cell.speed > 0.1, "motion")
    for second in (cell.grasp(target.T_base_gripper), cell.place(target.place)):
        status, result = second.end()
        assert (status, result.status.error_code) == (ABORTED, "UNAVAILABLE")
        assert result.status.message.startswith("busy")
    pose = PoseStamped(header=Header(frame_id="base_link"), pose=matrix_to_pose(target.T_base_gripper))
    once = cell.call(ExecuteGraspOnce, "execute_grasp_once", grasp=pose, approval_mode="auto")
    assert once.status.message.startswith("busy")
    refused = cell.call(
        SetParameters, "motion/set_parameters", parameters=[Parameter("seed", value=1).to_parameter_msg()]
    )
    assert not refused.results[0].successful
    assert not first.ended
    succeed(first)


def test_a_plan_can_be_made_first_and_run_later_once(cell: Any, target: Any) -> None:
    commands = cell.commands
    planned = succeed(cell.grasp(target.T_base_gripper, "plan_only"))
    assert planned.plan_id
    assert cell.commands == commands, "planning moves nothing"
    result = succeed(cell.grasp(target.T_base_gripper, plan_id=planned.plan_id))
    assert result.plan_id == planned.plan_id
    _, again = cell.grasp(target.T_base_gripper, plan_id=planned.plan_id).end()
    assert again.status.error_code == "INVALID_ARGUMENT"


def test_a_goal_may_ask_for_a_share_of_the_allowed_speed_and_for_no_more(cell: Any, target: Any) -> None:
    commands, goal = cell.commands, cell.grasp_goal(target.T_base_gripper, "plan_only")
    goal.speed = 0.3
    succeed(cell.send_grasp(goal))
    for speed in (1.5, -0.1, nan, 9.9e-3, 1e-4, 5e-324):
        goal.speed = speed
        _, result = cell.send_grasp(goal).end()
        skill = cell.call(RunSkill, "run_skill", name="park", speed=speed)
        for status in (result.status, skill.status):
            assert status.error_code == "INVALID_ARGUMENT", status
            assert "0.01 to 1" in status.message or "must be finite" in status.message
    assert cell.commands == commands


def test_a_plan_is_refused_where_the_scene_has_changed(cell: Any, target: Any) -> None:
    planned = succeed(cell.grasp(target.T_base_gripper, "plan_only"))
    cell.move_entity("red_box_1", (0.40, -0.05, 0.05))
    _, result = cell.grasp(target.T_base_gripper, plan_id=planned.plan_id).end()
    assert result.status.error_code == "SCENE_CHANGED"
    assert "scene has changed" in result.status.message


@pytest.mark.parametrize(
    ("mode", "code"), [("ask", "NOT_APPROVED"), ("", "INVALID_ARGUMENT"), ("yes", "INVALID_ARGUMENT")]
)
def test_what_is_not_approved_does_not_move(cell: Any, target: Any, mode: str, code: str) -> None:
    commands = cell.commands
    status, result = cell.grasp(target.T_base_gripper, mode).end()
    assert (status, result.status.error_code) == (ABORTED, code)
    assert cell.commands == commands


def test_the_services_do_what_the_actions_do(cell: Any, target: Any) -> None:
    pose = PoseStamped(header=Header(frame_id="base_link"), pose=matrix_to_pose(target.T_base_gripper))
    result = cell.call(ExecuteGraspOnce, "execute_grasp_once", grasp=pose, approval_mode="auto")
    assert result.status.success, result.status.message
    assert 0.03 < result.opening < 0.06


def test_poses_may_be_in_any_frame_that_is_known(cell: Any, target: Any) -> None:
    optical = "zed_left_camera_frame_optical"
    T_camera_gripper = np.linalg.inv(target.T_base_camera) @ target.T_base_gripper
    assert succeed(cell.grasp(T_camera_gripper, "plan_only", frame_id=optical)).plan_id
    _, result = cell.grasp(T_camera_gripper, "plan_only", frame_id="nowhere").end()
    assert result.status.error_code == "UNAVAILABLE"
    assert "nowhere" in result.status.message
    _, result = cell.grasp(T_camera_gripper, "plan_only", frame_id="").end()
    assert result.status.error_code == "INVALID_ARGUMENT"
    assert "frame_id" in result.status.message


def test_a_stamp_before_the_beginning_of_time_and_an_endless_name_are_one_short_sentence(
    cell: Any, target: Any
) -> None:
    goal = cell.grasp_goal(target.T_base_gripper, "plan_only", frame_id="camera_link")
    goal.grasp.header.stamp.sec = -5
    _, result = cell.send_grasp(goal).end()
    assert (result.status.error_code, result.status.message) == (
        "INVALID_ARGUMENT",
        "The stamp must not be negative, got -5 s.",
    )
    _, result = cell.grasp(target.T_base_gripper, "plan_only", frame_id="n" * 5000).end()
    assert result.status.error_code == "UNAVAILABLE"
    assert len(result.status.message) < 400
    _, result = cell.grasp(target.T_base_gripper, "y" * 5000).end()
    assert result.status.error_code == "INVALID_ARGUMENT"
    assert len(result.status.message) < 200


def test_a_place_may_be_a_point_of_the_image(cell: Any, target: Any) -> None:
    def place(x: float, mode: str = "auto") -> Any:
        goal = Place.Goal(target=Place.Goal.POINT_2D, point_2d=Point2D(x=x, y=0.5), approval_mode=mode)
        return cell.send_place(goal).end()[1].status

    assert place(0.5).error_code == "NOT_HOLDING"
    assert place(1.5).error_code == "INVALID_ARGUMENT"
    succeed(cell.grasp(target.T_base_gripper))
    free = any(place(x, "plan_only").success for x in (0.5, 0.4, 0.6))
    assert free, "somewhere in the middle of the picture the table is free"


def block_mask(scene: Scene) -> BoolArray:
    """The toy block (240, 320) in an image as the cell's camera takes it."""
    toolbox, session = Station(scene, StationConfig(image_size=(320, 240))).toolbox, Session()
    toolbox.call("robot.capture_image", {}, session)
    found = toolbox.call("roborefer.detect_one", {"obj_name": "toy block", "image_index": 0}, session).result
    ((x, y),) = found.facts["points"]
    segmented = toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session).result
    return np.asarray(segmented.variables["segmentation_mask"], bool)


def test_what_is_held_is_known_by_the_words_that_it_was_pointed_at_by(cell: Any, target: Any) -> None:
    def held() -> tuple[bool, str]:
        answer = cell.call(GetHeld, "get_held")
        assert answer.status.success
        return answer.holding, answer.called

    assert held() == (False, "")
    goal = cell.grasp_goal(target.T_base_gripper)
    goal.mask, goal.called = mask_to_image(block_mask(target.scene), Header(frame_id="base_link")), "toy block"
    succeed(cell.send_grasp(goal))
    assert held() == (True, "toy block")
    again = cell.grasp(target.T_base_gripper).end()[1].status
    assert again.error_code == "ALREADY_HOLDING"
    assert "grasped as 'toy block'" in again.message
    goal.called = "two\nlines"
    assert cell.send_grasp(goal).end()[1].status.error_code == "INVALID_ARGUMENT"


GRASP_STAGES = ("opening", "the move to the pre-grasp", "the approach", "closing", "the lift", "the return to")
PLACE_STAGES = ("the move above", "the descent", "the release", "the retreat", "the return to")


def cancel_during(cell: Any, goal: Any, stages: tuple[str, ...], stage: str, record: Record) -> None:
    """Cancel in the middle of a stage; checks everything that holds after a cancel."""
    cell.wait(lambda: any(stage in text.lower() for text in goal.stages), stage)
    commands = cell.commands
    cell.wait(lambda: cell.commands > commands or cell.speed > 0.02 or goal.ended, "motion")
    before = cell.samples[-1]
    goal.cancel()
    status, result = goal.end()
    assert (status, result.status.error_code) == (CANCELED, "CANCELLED"), result.status
    # A short stage, such as opening jaws that are open, may be over when the request to cancel arrives.
    assert any(name in result.status.message for name in stages[stages.index(stage) :]), result.status.message
    assert "stands still" in result.status.message
    commands = cell.commands
    cell.assert_still()
    after = cell.samples[-1]
    record("reaction_s", {"robot": round(after.t - before.t, 3), "wall": round(after.wall_s - before.wall_s, 3)})
    assert cell.commands == commands, "no motion command after a cancel"


@pytest.mark.parametrize("stage", GRASP_STAGES)
def test_a_grasp_is_cancelled_at_every_stage(cell: Any, target: Any, stage: str, record_property: Record) -> None:
    cancel_during(cell, cell.grasp(target.T_base_gripper), GRASP_STAGES, stage, record_property)
    holding = cell.motion._manipulator.held is not None
    succeed(cell.place(target.place) if holding else cell.grasp(target.T_base_gripper))


@pytest.mark.parametrize("stage", PLACE_STAGES)
def test_a_placement_is_cancelled_at_every_stage(cell: Any, target: Any, stage: str, record_property: Record) -> None:
    succeed(cell.grasp(target.T_base_gripper))
    cancel_during(cell, cell.place(target.place), PLACE_STAGES, stage, record_property)
    # What was released is somewhere near the place; what is held still can be placed.
    _, result = cell.place(target.place).end()
    assert result.status.success or result.status.error_code in ("NOT_HOLDING", "PLACE_BLOCKED"), result.status
    assert result.status.success or stage in PLACE_STAGES[2:]


def test_an_object_is_picked_placed_and_picked_again_by_the_paths_of_move_group(make_cell: Any, target: Any) -> None:
    cell = make_cell(lockstep=True, use_sim_time=True, planner="moveit", availability_deadline_s=30.0)
    assert isinstance(cell.motion._planner, CheckedPlanner)
    assert isinstance(cell.motion._planner._planner, MoveItPlanner)
    asked: list[str] = []
    hold, held_back, released = threading.Event(), threading.Event(), threading.Event()

    class Counting(MoveGroupDouble):
        def _on_plan(self, request: Any, response: Any) -> Any:
            asked.append("path")
            if hold.is_set():
                held_back.set()
                released.wait(120.0)
            return super()._on_plan(request, response)

        def _on_line(self, request: Any, response: Any) -> Any:
            asked.append("line")
            return super()._on_line(request, response)

    double = cell.spin(lambda context: Counting(context=context, parameter_overrides=[Parameter("seed", value=3)]))
    cell.start_simulator(lockstep=True)
    pose = target.T_base_gripper
    _, result = cell.grasp(pose).end()
    assert result.status.success, result.status.message
    assert set(double._cell._attached) == {HELD, WALLS, TIPS}
    _, result = cell.place(target.place).end()
    assert result.status.success, result.status.message
    assert set(double._cell._attached) == {WALLS, TIPS}
    block = next(item for item in target.scene.objects if item.item == "toy block")
    moved = pose.copy()
    moved[:2, 3] += np.subtract(target.place[:2], block.position_m[:2])
    _, result = cell.grasp(moved).end()
    assert result.status.success, result.status.message
    assert result.opening > 0.01
    # To the pre-grasp, home, above the place, home, to the pre-grasp, home; down and up again each time.
    assert asked.count("path") >= 6
    assert asked.count("line") >= 6
    # A stop does not wait for an answer that does not come.
    hold.set()
    waiting = cell.place(target.place)
    cell.wait(held_back.is_set, "a question to move_group")
    assert cell.stop().success
    _, result = waiting.end()
    released.set()
    assert result.status.error_code == "STOPPED", result.status.message
    cell.assert_still()
