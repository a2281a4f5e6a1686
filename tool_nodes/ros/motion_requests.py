"""Requests for an approval as messages: every number crosses unchanged, so that the hash can be made again there."""

from __future__ import annotations

from typing import Any

import numpy as np
from std_msgs.msg import Header
from toolhand_interfaces.msg import MotionLeg
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage

from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.motion.approval import MotionRequest, MotionStep
from toolhand.tool_nodes.ros.messages import (
    image_to_rgb,
    matrix_to_pose,
    nanoseconds,
    pose_to_matrix,
    rgb_to_image,
    time_message,
)
from toolhand.tool_nodes.types import FloatArray, Trajectory

MAX_STEPS = 100
"""Steps of a motion that is shown; a place has 5. Rounded up."""

MAX_POINTS = 20_000
"""Points of a leg that is shown; at 100 a second, more than three minutes without a rest."""

MAX_JOINTS = 32
"""Joints of a leg that is shown; the arms here have 6 or 7."""

MAX_IMAGE_PX = 4096 * 4096
"""Pixels of an image that is shown; four times those of a 4K screen."""

_SAME = 1e-6
"""Two poses of which one was a quaternion on the way differ by no more [m, -]: far more than rounding."""


def request_message(request: MotionRequest, plan_id: str, deadline_s: float, header: Header) -> Any:
    """A toolhand_interfaces/msg/MotionRequest without its proof.

    Args:
        request: Motion that waits for an answer.
        plan_id: Plan of the goal that asks.
        deadline_s: Time until the question is withdrawn [s].
        header: Time of the question, and the frame of the end pose.
    """
    message = MotionRequestMessage(
        header=header,
        hash=request.hash,
        request_id=request.request_id,
        plan_id=plan_id,
        what=request.what,
        summary=list(request.summary),
        legs=[_leg(step) for step in request.steps],
        duration=request.duration_s,
        end_pose=matrix_to_pose(request.T_end),
        end_matrix=np.asarray(request.T_end, np.float64).ravel().tolist(),
        deadline=deadline_s,
    )
    if request.image is not None:
        seen = Header(stamp=time_message(round(request.stamp * 1e9)), frame_id=header.frame_id)
        message.image, message.camera = rgb_to_image(request.image, seen), request.camera
    return message


def _leg(step: MotionStep) -> Any:
    if not isinstance(step, Trajectory):
        return MotionLeg(jaw_opening=float(step))
    return MotionLeg(
        joint_names=list(step.joint_names),
        times=step.t.tolist(),
        positions=step.q.ravel().tolist(),
        velocities=step.qd.ravel().tolist(),
    )


def request_of(message: Any) -> MotionRequest:
    """The request of a message, whose hash, duration, summary and end are those of its legs.

    Raises:
        BadMessage: Says why it must not be shown: one of them is not, or a number is none, or there are too many.
    """
    if len(message.legs) > MAX_STEPS:
        raise BadMessage(f"the request has {len(message.legs)} steps, and at most {MAX_STEPS} are shown")
    if message.image.height * message.image.width > MAX_IMAGE_PX:
        raise BadMessage(f"its picture has more than {MAX_IMAGE_PX} pixels")
    T_end = _numbers(message.end_matrix, "end_matrix").reshape(4, 4)
    request = MotionRequest(
        what=message.what,
        summary=tuple(message.summary),
        steps=tuple(_step(leg, number) for number, leg in enumerate(message.legs, 1)),
        T_end=T_end,
        duration_s=message.duration,
        hash=message.hash,
        request_id=message.request_id,
        image=image_to_rgb(message.image) if len(message.image.data) else None,
        camera=message.camera,
        stamp=nanoseconds(message.image.header.stamp) / 1e9,
    )
    if not request.is_true:
        raise BadMessage("its hash, its duration or its summary is not that of its legs")
    if not np.allclose(pose_to_matrix(message.end_pose), T_end, atol=_SAME):
        raise BadMessage("its end pose is not that of its hash")
    return request


def _step(leg: Any, number: int) -> MotionStep:
    """One step. Raises BadMessage."""
    arrays = [_numbers(getattr(leg, name), f"step {number}: {name}") for name in ("times", "positions", "velocities")]
    t, q, qd = arrays
    rows, joints = len(t), len(leg.joint_names)
    if not joints:
        if rows or len(q) or len(qd):
            raise BadMessage(f"step {number} names no joint, but has numbers of joints")
        return float(_numbers([leg.jaw_opening], f"step {number}: jaw_opening")[0])
    if not 1 <= rows <= MAX_POINTS or joints > MAX_JOINTS:
        raise BadMessage(
            f"step {number} has {rows} points of {joints} joints; shown are 1 to {MAX_POINTS} of at most {MAX_JOINTS}"
        )
    if len(q) != rows * joints or len(qd) != rows * joints or leg.jaw_opening:
        raise BadMessage(f"step {number} does not have one position and velocity for each joint and time")
    if t[0] != 0.0 or (np.diff(t) <= 0.0).any():
        raise BadMessage(f"step {number}: times must increase from 0")
    return Trajectory(tuple(leg.joint_names), t, q.reshape(rows, joints), qd.reshape(rows, joints))


def _numbers(values: Any, what: str) -> FloatArray:
    numbers = np.array(values, np.float64)
    if not np.isfinite(numbers).all():
        raise BadMessage(f"{what} has a number that is not finite")
    return numbers
