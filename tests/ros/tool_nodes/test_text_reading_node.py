"""The node text_reading, as a program and a service."""

from typing import Any, NoReturn

import numpy as np
import pytest
import rclpy
from std_msgs.msg import Header
from toolhand_interfaces.srv import ReadText

from tests.gen3 import GEN3
from toolhand.bench.ros.manners import AT_REST, LEAD_S, MOVING, Manner, of_robot
from toolhand.sim.drawings.builder import ImageBuilder
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import Deadlines, Service
from toolhand.tool_nodes.ros.messages import image_to_rgb, rgb_to_image
from toolhand.tool_nodes.ros.rest import RestJudge, Unrest
from toolhand.tool_nodes.ros.spinning import run_node

DEADLINES = Deadlines(availability_s=60.0, response_s=60.0)


@pytest.fixture(scope="module")
def read(start: Any, make_node: Any) -> Any:
    """Asks the service of a node that was started with a perception."""
    caller = make_node("reader")
    services = {}
    for name in ("sim", "pixels"):
        arguments = ("-p", f"perception:={name}", "-r", f"__ns:=/{name}")
        start("toolhand.tool_nodes.nodes.text_reading_node", "--ros-args", *arguments)
        services[name] = Service(caller, ReadText, f"/{name}/read_text", DEADLINES)
    return lambda name, rgb: services[name](ReadText.Request(image=rgb_to_image(rgb, Header(frame_id="camera"))))


def test_texts_come_with_boxes_scores_and_an_image(read: Any) -> None:
    image = ImageBuilder(400, 140)
    left, top, right, bottom = image.text("Harbour 27", (40, 60), 30)
    image.text("North Gate", (60, 120), 24)
    rgb = image.frame().rgb
    answer = read("pixels", rgb)
    assert list(answer.texts) == ["Harbour 27", "North Gate"]
    box = answer.boxes[0]
    assert box.center.position.x == pytest.approx((left + right - 1) / 2, abs=6.0)
    assert box.center.position.y == pytest.approx((top + bottom - 1) / 2, abs=6.0)
    assert (box.size_x, box.size_y) == pytest.approx((right - left, bottom - top), abs=16.0)
    assert all(0.7 < score <= 1.0 for score in answer.scores)
    assert answer.status.backend == "rapidocr"
    assert list(answer.kinds) == ["text", "text"]
    shown = image_to_rgb(answer.visualization)
    assert shown.shape == rgb.shape
    assert not np.array_equal(shown, rgb)
    assert answer.visualization.header.frame_id == "camera"


def test_an_image_without_text_is_answered_with_nothing(read: Any) -> None:
    answer = read("pixels", np.full((60, 80, 3), 90, np.uint8))
    assert (list(answer.texts), list(answer.boxes), list(answer.scores)) == ([], [], [])
    assert answer.status.success


def test_the_simulators_truth_about_texts_is_not_available_over_ros(read: Any) -> None:
    with pytest.raises(ToolError, match="rapidocr") as caught:
        read("sim", np.zeros((60, 80, 3), np.uint8))
    assert caught.value.code is ErrorCode.IMAGE_UNUSABLE


def test_another_perception_ends_with_one_sentence(start: Any) -> None:
    status, _, err = start(
        "toolhand.tool_nodes.nodes.text_reading_node", "--ros-args", "-p", "perception:=guess"
    ).wait()
    assert status == 2
    assert "pixels or served or sim" in err
    assert err.count("\n") == 1


# -- how a node ends where rclpy's own handler of the signal shuts the context down at the same moment


class RCLError(RuntimeError):
    """As rclpy raises it."""


def interrupted() -> NoReturn:
    """A node that is told to end while it is being made."""
    raise KeyboardInterrupt


@pytest.fixture
def shutdown_fails(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`shutdown_fails(ok)`: rclpy.try_shutdown raises, and rclpy.ok() is `ok` afterwards."""

    def fail() -> NoReturn:
        raise RCLError("failed to shutdown: rcl_shutdown already called on the given context")

    def arrange(ok: bool) -> None:
        monkeypatch.setattr(rclpy, "init", lambda args: None)
        monkeypatch.setattr(rclpy, "try_shutdown", fail)
        monkeypatch.setattr(rclpy, "ok", lambda: ok)

    return arrange


def test_a_context_that_somebody_else_has_just_shut_down_is_no_error(shutdown_fails: Any) -> None:
    shutdown_fails(ok=False)
    run_node(interrupted)


def test_a_shutdown_that_fails_is_told(shutdown_fails: Any) -> None:
    shutdown_fails(ok=True)
    with pytest.raises(RCLError):
        run_node(interrupted)


# -- the judge of rest: no manner of joint states has a motion called rest, and none has rest refused


_WATCHED_S = 5.0
"""How long after the stop the judge is asked [s]: a whole swing of the slowest but one."""


def judged(manner: Manner) -> tuple[bool, list[Unrest]]:
    """Whether rest was said at any time after the stop, and why it was not."""
    judge, why = RestJudge(GEN3, 0.002), list[Unrest]()
    for t, said in manner.messages(0.0, LEAD_S + _WATCHED_S):
        named = of_robot(said.joints, GEN3)
        known = {name: value for name, value in named.items() if name in GEN3.joints}
        if not said.velocities:
            known = {name: (position, float("nan")) for name, (position, _) in known.items()}
        judge.hear(known, round(1e9 * said.stamp_s), t)
        if t >= LEAD_S:
            unrest = judge.unrest(t, LEAD_S)
            if unrest is None:
                return True, why
            why.append(unrest)
    return False, why


@pytest.mark.parametrize("manner", [*MOVING, *AT_REST], ids=lambda manner: manner.name)
def test_rest_is_said_of_an_arm_at_rest_and_of_no_other(manner: Manner) -> None:
    rests, why = judged(manner)
    assert rests is not manner.moves, why[-1:]
    assert all("nan" not in unrest.why and "inf" not in unrest.why for unrest in why)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("velocity 0, j2 turns", "joint_2 moves: it was measured to travel by"),
        ("j2 left out, and turning", "joint_2 has not been measured for"),
        ("second driver silent", "joint_4 has not been measured for"),
        ("the same message again and again", "the time stamp of joint_1 has not advanced for"),
        ("clock running back", "the time stamps of joint_1 go back"),
        ("positions stand, velocity does not", "joint_4 is reported to move at 0.100 rad/s"),
        ("stamps a thousand times too slow", "joint_1 was measured without a gap for 0.00 s"),
        ("jaws creep", f"{GEN3.gripper.joint} moves"),
    ],
)
def test_why_rest_is_not_said_names_the_joint(name: str, told: str) -> None:
    (manner,) = (each for each in MOVING if each.name == name)
    _, why = judged(manner)
    assert told in why[-1].why
