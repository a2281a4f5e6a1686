"""Somebody who can call the motion node but is not the operator: nothing moves, and each refusal has a code."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from toolhand_interfaces.srv import ApproveMotion
from toolhand_interfaces.srv import ExecuteGrasp as ExecuteGraspOnce
from vision_msgs.msg import Point2D

from toolhand.tool_nodes.ros.messages import mask_to_image, matrix_to_pose

CODES = {"NOT_APPROVED", "INVALID_ARGUMENT", "OUT_OF_WORKSPACE", "IK_FAILED", "PLAN_FAILED", "UNAVAILABLE"}


def hostile_poses(T: np.ndarray) -> list[Any]:
    """Messages that are no pose, or none that the arm may go to."""
    poses = []
    for x, y, z in ((3.0, 0.0, 0.3), (0.45, 0.1, -0.2), (0.0, 0.0, 0.1), (math.nan, 0.0, 0.3), (1e300, 0.0, 0.0)):
        pose = matrix_to_pose(T)
        pose.position.x, pose.position.y, pose.position.z = x, y, z
        poses.append(pose)
    for quaternion in ((0.0, 0.0, 0.0, 0.0), (math.inf, 0.0, 0.0, 1.0), (5.0, 0.0, 0.0, 0.0)):
        pose = matrix_to_pose(T)
        q = pose.orientation
        q.w, q.x, q.y, q.z = quaternion
        poses.append(pose)
    return poses


def hostile_masks() -> list[dict[str, Any]]:
    """What a grasp is said to be meant for, that no image shows."""
    full = mask_to_image(np.ones((480, 640), bool), Header())
    cut = mask_to_image(np.ones((480, 640), bool), Header())
    cut.data = cut.data[:1000]
    return [
        {"mask": mask_to_image(np.ones((4, 4), bool), Header())},
        {"mask": mask_to_image(np.zeros((480, 640), bool), Header())},
        {"mask": cut},
        {"pointed_at": [Point2D(x=0.5, y=0.5)]},
        {"mask": full, "pointed_at": [Point2D(x=math.nan, y=0.5)]},
        {"mask": full, "pointed_at": [Point2D(x=0.5, y=1.5)]},
        {"mask": full, "pointed_at": [Point2D(x=0.5, y=0.5)] * 100},
    ]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # numbers that overflow are refused before they do
@pytest.mark.parametrize("mode", ["ask-motion", "dry-run"])
def test_no_direct_call_moves_an_arm_whose_operator_asks_or_only_plans(
    make_cell: Callable[..., Any], target: Any, mode: str
) -> None:
    cell = make_cell(use_sim_time=True, availability_deadline_s=5.0, approval=mode)
    cell.start_simulator(real_time_factor=8.0)
    before = cell.commands
    statuses = []
    for approval_mode in ("auto", "ask"):
        statuses.append(cell.grasp(target.T_base_gripper, approval_mode).end()[1].status)
        assert statuses[-1].error_code == "NOT_APPROVED", statuses[-1]
    for approval_mode in ("AUTO", "approved", "auto\n", ""):
        statuses.append(cell.grasp(target.T_base_gripper, approval_mode).end()[1].status)
        assert statuses[-1].error_code == "INVALID_ARGUMENT", statuses[-1]
    for plan_id in ("0" * 32, "../../etc", "approved", "x" * 5000):
        statuses.append(cell.grasp(target.T_base_gripper, plan_id=plan_id).end()[1].status)
    for frame_id in ("", "nowhere", "x" * 3000):
        statuses.append(cell.grasp(target.T_base_gripper, frame_id=frame_id).end()[1].status)
    planned = cell.grasp(target.T_base_gripper, "plan_only").end()[1]
    assert planned.status.success
    statuses.append(cell.grasp(target.T_base_gripper, plan_id=planned.plan_id).end()[1].status)
    assert statuses[-1].error_code == "NOT_APPROVED"
    for pose in [matrix_to_pose(target.T_base_gripper), *hostile_poses(target.T_base_gripper)]:
        stamped = PoseStamped(header=Header(frame_id="base_link"), pose=pose)
        request = {"grasp": stamped, "approval_mode": "auto"}
        statuses.append(cell.call(ExecuteGraspOnce, "execute_grasp_once", **request).status)
        if abs(pose.position.x) > 100.0:
            assert statuses[-1].error_code == "INVALID_ARGUMENT"
            assert "within 100 m along each axis" in statuses[-1].message
    stamped = PoseStamped(header=Header(frame_id="base_link"), pose=matrix_to_pose(target.T_base_gripper))
    for masked in hostile_masks():
        request = {"grasp": stamped, "approval_mode": "plan_only"} | masked
        statuses.append(cell.call(ExecuteGraspOnce, "execute_grasp_once", **request).status)
        assert statuses[-1].error_code == "INVALID_ARGUMENT", statuses[-1]
    statuses.append(cell.place((0.4, -1e300, 0.1)).end()[1].status)
    assert statuses[-1].error_code == "INVALID_ARGUMENT", statuses[-1]
    for k in range(12):
        token = ("", "0" * 32, "approved", "x" * 2000)[k % 4]
        answer = cell.call(ApproveMotion, "approve_motion", hash="0" * 64, approve=True, proof=token, reason="operator")
        statuses.append(answer.status)
    assert not any(status.success for status in statuses)
    assert {status.error_code for status in statuses} <= CODES
    assert all(status.message for status in statuses)
    cell.call(Trigger, "return_to_park")
    assert cell.commands == before
    cell.assert_still()


def test_the_guards_settings_cannot_be_changed_by_other_nodes(make_cell: Callable[..., Any], target: Any) -> None:
    cell = make_cell(use_sim_time=True, availability_deadline_s=5.0, approval="dry-run")
    cell.start_simulator(real_time_factor=8.0)
    before = cell.commands
    for name, value in {
        "approval": "auto",
        "speed_limit": 1.0,
        "motions_per_minute": 100,
        "approval_token_file": "",
        "workspace_low": [-9.0, -9.0, -9.0],
        "workspace_high": [9.0, 9.0, 9.0],
    }.items():
        parameter = Parameter(name, value=value).to_parameter_msg()
        answer = cell.call(SetParameters, "motion/set_parameters", parameters=[parameter])
        assert not answer.results[0].successful, name
        assert answer.results[0].reason
    assert cell.grasp(target.T_base_gripper).end()[1].status.error_code == "NOT_APPROVED"
    assert cell.commands == before
