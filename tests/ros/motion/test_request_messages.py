"""A request for an approval crosses as a message bit for bit, or is not shown."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from std_msgs.msg import Header
from toolhand_interfaces.msg import MotionLeg
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage

from rclpy_zenoh.interfaces import cdr
from tests.guarded import KINEMATICS, a_motion, turned
from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.motion.approval import MotionRequest, make_request
from toolhand.tool_nodes.ros.messages import matrix_to_pose
from toolhand.tool_nodes.ros.motion_requests import MAX_POINTS, MAX_STEPS, request_message, request_of
from toolhand.tool_nodes.types import Trajectory

REQUEST = make_request(a_motion(0.085, turned(0.3), 0.0, turned(-1.0)), "7", KINEMATICS)


def a_message(request: MotionRequest = REQUEST) -> Any:
    return request_message(request, "plan", 60.0, Header(frame_id="base_link"))


def test_every_number_of_the_steps_comes_back_bit_for_bit() -> None:
    back = request_of(cdr.deserialize(cdr.serialize(a_message()), MotionRequestMessage))
    assert back.is_true
    assert (back.hash, back.request_id, back.what) == (REQUEST.hash, "7", "Test")
    for mine, theirs in zip(REQUEST.steps, back.steps, strict=True):
        if isinstance(mine, Trajectory):
            assert isinstance(theirs, Trajectory)
            assert mine.joint_names == theirs.joint_names
            for name in ("t", "q", "qd"):
                assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes()
        else:
            assert mine == theirs
    assert back.T_end.tobytes() == REQUEST.T_end.tobytes()
    assert (back.image, back.camera) == (None, "")
    image = np.full((3, 4, 3), 7, np.uint8)
    seen = request_of(a_message(replace(REQUEST, image=image, camera="wrist", stamp=12.25)))
    assert seen.image is not None
    assert (seen.image.tolist(), seen.camera, seen.stamp) == (image.tolist(), "wrist", 12.25)


def _number(name: str, value: float) -> Callable[[Any], None]:
    def change(message: Any) -> None:
        getattr(message.legs[1], name)[3] = value

    return change


def _put(name: str, value: Any) -> Callable[[Any], None]:
    return lambda message: setattr(message, name, value)


def _in_leg(number: int, **values: Any) -> Callable[[Any], None]:
    def change(message: Any) -> None:
        for name, value in values.items():
            setattr(message.legs[number], name, value)

    return change


def _many_points(message: Any) -> None:
    names, count = list(message.legs[1].joint_names), 100_000
    rows = [0.0] * (count * len(names))
    times = np.arange(float(count)).tolist()
    message.legs[1] = MotionLeg(joint_names=names, times=times, positions=rows, velocities=rows)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_number("times", 0.5), "times must increase"),
        (_number("times", float(np.nextafter(REQUEST.legs[0].t[3], 9.0))), "is not that of its legs"),
        (_number("positions", float("nan")), "step 2: positions has a number that is not finite"),
        (_number("positions", float("inf")), "not finite"),
        (_number("positions", float(np.nextafter(REQUEST.legs[0].q.flat[3], 9.0))), "is not that of its legs"),
        (_number("velocities", 1e-300), "is not that of its legs"),
        (_in_leg(0, jaw_opening=float("nan")), "jaw_opening has a number"),
        (_in_leg(0, jaw_opening=0.0), "is not that of its legs"),
        (_in_leg(0, times=[0.0]), "names no joint"),
        (_in_leg(1, jaw_opening=0.01), "one position and velocity"),
        (_in_leg(1, positions=[0.0]), "one position and velocity"),
        (_in_leg(1, times=[]), "has 0 points"),
        (_in_leg(1, joint_names=["joint_1"] * 7), "is not that of its legs"),
        (_in_leg(1, joint_names=["j"] * 1000), "of 1000 joints"),
        (_put("legs", []), "is not that of its legs"),
        (_put("legs", [MotionLeg() for _ in range(MAX_STEPS + 1)]), f"at most {MAX_STEPS}"),
        (_put("request_id", "8"), "is not that of its legs"),
        (_put("hash", "ab" * 32), "is not that of its legs"),
        (_put("duration", 0.5), "is not that of its legs"),
        (_put("summary", ["nothing moves"]), "is not that of its legs"),
        (_put("end_matrix", [0.0] * 15 + [float("nan")]), "end_matrix has a number"),
        (_put("end_matrix", np.eye(4).ravel().tolist()), "is not that of its legs"),
        (_put("end_pose", matrix_to_pose(np.eye(4))), "end pose"),
        (_many_points, f"1 to {MAX_POINTS}"),
        (lambda message: (setattr(message.image, "height", 2**20), setattr(message.image, "width", 2**11)), "pixels"),
    ],
)
def test_a_message_that_is_not_what_its_hash_says_is_not_shown(change: Callable[[Any], None], why: str) -> None:
    message = copy.deepcopy(a_message())
    change(message)
    with pytest.raises(BadMessage, match=why):
        request_of(message)
