"""Which messages make one image: the closest that belong together, while the arm stood still."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header

from tests.gen3 import ARM_JOINTS
from toolhand.tool_nodes.ros.arm_trace import STILL_RAD, ArmTrace
from toolhand.tool_nodes.ros.image_matching import ImageMatching
from toolhand.tool_nodes.ros.messages import nanoseconds, time_message

MS = 1_000_000
ASKED = 1000
"""When the image is asked for [ms]."""


def header(ms: float) -> Header:
    return Header(stamp=time_message(round(ms * MS)))


class Request:
    """A request whose messages are given by their stamps [ms]; the arm does what `turned` says."""

    def __init__(self, turned: Any = 0.0, tolerance_ms: float = 50.0, latched: CameraInfo | None = None) -> None:
        self.turned = turned
        self.asked: list[tuple[float, float]] = []
        self.matching = ImageMatching(lambda: ASKED * MS, round(tolerance_ms * MS), self._turned, latched)

    def _turned(self, begin_ns: int, end_ns: int) -> float | None:
        self.asked.append((begin_ns / MS, end_ns / MS))
        value: float | None = self.turned(begin_ns / MS, end_ns / MS) if callable(self.turned) else self.turned
        return value

    def image(self, ms: float, width: int = 4, info: bool = True) -> Request:
        if info:
            self.info(ms, width)
        self.matching.add("image", Image(header=header(ms), width=width, height=3))
        return self

    def depth(self, ms: float) -> Request:
        self.matching.add("depth", Image(header=header(ms), width=4, height=3))
        return self

    def info(self, ms: float, width: int = 4) -> Request:
        self.matching.add("camera_info", CameraInfo(header=header(ms), width=width, height=3))
        return self

    def matched(self, at_the_end: bool = False) -> tuple[float, float, float] | None:
        """Stamps [ms] of image, depth and calibration; None where nothing is complete yet."""
        if self.matching._complete is None and not at_the_end:
            return None
        found = self.matching.wait(0.0)
        image, depth, info = (
            nanoseconds(one.header.stamp) / MS for one in (found.image, found.depth, found.camera_info)
        )
        return image, depth, info


def test_one_stamp_is_an_image_at_once_whatever_the_arm_does() -> None:
    request = Request(turned=1.0).image(1010).depth(1010)
    assert request.matched() == (1010, 1010, 1010)
    assert not request.asked


def test_the_closest_pair_is_taken_once_nothing_closer_can_come() -> None:
    request = Request().image(1000).depth(1020)
    assert request.matched() is None  # an image of 1018 may be on its way
    request.image(1033)
    assert request.matched() is None  # and a depth image of 1030
    request.depth(1053)
    assert request.matched() == (1033, 1020, 1033)
    assert request.asked == [(1020, 1033)]


def test_a_pair_does_not_wait_for_a_later_one_that_is_as_close() -> None:
    request = Request().depth(1012).image(1000).depth(1052)
    assert request.matched() is None
    assert request.image(1040).matched() == (1000, 1012, 1000)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_depth_may_be_before_or_after_the_image(order: tuple[int, int]) -> None:
    request = Request()
    for turn in (0, 1):
        pair = (lambda: request.image(1000 + 40 * turn), lambda: request.depth(1012 + 40 * turn))  # noqa: B023
        for index in order:
            pair[index]()
    assert request.matched(at_the_end=True) in {(1000, 1012, 1000), (1040, 1052, 1040)}


def test_an_arm_that_moved_between_the_stamps_makes_it_wait_for_a_later_pair() -> None:
    request = Request(turned=lambda begin, end: 0.3 if begin < 1040 else STILL_RAD / 2)
    request.image(1000).depth(1010).image(1033).depth(1043).image(1066)
    assert request.matched() is None
    request.depth(1076).image(1099)
    assert request.matched() == (1066, 1076, 1066)


def test_an_arm_that_goes_on_moving_is_the_reason() -> None:
    request = Request(turned=0.3).image(1000).depth(1010).image(1033)
    with pytest.raises(TimeoutError):
        request.matching.wait(0.0)
    assert request.matching.rejected == "image and depth are 10 ms apart, and the arm moved 0.300 rad meanwhile"


def test_without_joint_states_nobody_knows_whether_the_arm_stood_still() -> None:
    request = Request(turned=None).image(1000).depth(1010).image(1033)
    with pytest.raises(TimeoutError):
        request.matching.wait(0.0)
    assert "no joint states tell whether the arm stood still" in request.matching.rejected
    request.turned = 0.0
    request.matching.look_again()
    assert request.matched() == (1000, 1010, 1000)


@pytest.mark.parametrize(("apart_ms", "taken"), [(20.0, True), (20.1, False)])
def test_the_tolerance_is_a_bound(apart_ms: float, taken: bool) -> None:
    request = Request(tolerance_ms=20.0).image(1000).depth(1000 + apart_ms)
    if taken:
        assert request.matched(at_the_end=True) == (1000, 1020, 1000)
    else:
        with pytest.raises(TimeoutError):
            request.matching.wait(0.0)
        assert request.matching.rejected == (
            "image and depth never had the same stamp to within 20 ms; the closest were 20.1 ms apart"
        )


def test_without_a_tolerance_one_stamp_is_demanded() -> None:
    request = Request(tolerance_ms=0.0).image(1000).depth(1000.000001).image(1001)
    with pytest.raises(TimeoutError):
        request.matching.wait(0.0)
    assert request.depth(1001).matched() == (1001, 1001, 1001)


def test_neither_image_nor_depth_is_older_than_the_request() -> None:
    request = Request().image(999).depth(1001).image(1001.5).depth(998).image(1030).depth(1031)
    assert request.matched() == (1001.5, 1001, 1001.5)


def test_the_calibration_of_the_images_own_moment_is_waited_for() -> None:
    request = Request().info(10).image(1010, info=False).depth(1010)
    assert request.matched() is None
    assert request.info(1010).matched() == (1010, 1010, 1010)


def test_an_older_calibration_serves_where_the_driver_gives_no_other() -> None:
    request = Request().info(10, width=8).info(20).info(30, width=8).image(1010, info=False).depth(1010)
    assert request.matched() is None
    request.image(1500, info=False)
    assert request.matched() == (1010, 1010, 20)


def test_a_latched_calibration_serves_a_single_image() -> None:
    latched = CameraInfo(header=header(5), width=4, height=3)
    request = Request(latched=latched).image(1010, info=False).depth(1010)
    assert request.matched(at_the_end=True) == (1010, 1010, 5)


# -- the arm ---------------------------------------------------------------------------------------


class Listener:
    """Stands for a node: counts subscriptions."""

    def __init__(self) -> None:
        self.open: list[Any] = []

    def create_subscription(self, kind: Any, topic: str, callback: Any, *rest: Any, **more: Any) -> Any:
        self.open.append(callback)
        return callback

    def destroy_subscription(self, subscription: Any) -> None:
        self.open.remove(subscription)


class Arm:
    def __init__(self) -> None:
        self.node, self.heard = Listener(), threading.Event()
        self.trace = ArmTrace(self.node, self.heard.set)  # type: ignore[arg-type]
        assert self.trace.turned(0, 1) is None

    def at(self, ms: float, *q: float) -> None:
        position = [*q, *[0.0] * (7 - len(q)), 0.1]
        stamp: Time = time_message(round(ms * MS))
        self.node.open[0](JointState(header=Header(stamp=stamp), name=[*ARM_JOINTS, "finger"], position=position))

    def turned(self, begin_ms: float, end_ms: float) -> float | None:
        return self.trace.turned(round(begin_ms * MS), round(end_ms * MS))


def test_the_turn_is_that_of_the_readings_around_the_interval() -> None:
    arm = Arm()
    for ms, angle in ((0, 0.0), (10, 0.1), (20, 0.4), (30, 0.1), (40, 0.9)):
        arm.at(ms, 0.0, angle)
    assert arm.heard.is_set()
    for interval, expected in (((10, 30), 0.3), ((10, 10), 0.0), ((11, 12), 0.3), ((21, 29), 0.3), ((0, 40), 0.9)):
        np.testing.assert_allclose(arm.turned(*interval), expected)


def test_what_no_readings_enclose_is_not_known() -> None:
    arm = Arm()
    arm.at(10)
    arm.at(20)
    assert arm.turned(9, 15) is None
    assert arm.turned(15, 21) is None
    assert arm.turned(10, 20) == 0.0


def test_an_angle_that_passes_pi_has_not_turned_round() -> None:
    arm = Arm()
    arm.at(0, np.pi - 1e-4)
    arm.at(10, -np.pi + 1e-4)
    np.testing.assert_allclose(arm.turned(0, 10), 2e-4, atol=1e-9)


def test_messages_without_the_arm_or_with_nan_are_passed_over() -> None:
    arm = Arm()
    arm.node.open[0](JointState(header=header(5), name=["finger"], position=[1.0]))
    arm.at(5, float("nan"))
    arm.at(10)
    assert arm.turned(5, 10) is None


def test_a_clock_that_is_set_back_begins_anew() -> None:
    arm = Arm()
    arm.at(1000, 0.5)
    arm.at(10)
    arm.at(20)
    assert arm.turned(10, 20) == 0.0
    assert arm.turned(900, 1000) is None


def test_it_listens_from_the_first_question_until_it_is_closed() -> None:
    node = Listener()
    trace = ArmTrace(node, lambda: None)  # type: ignore[arg-type]
    assert not node.open
    trace.turned(0, 1)
    trace.turned(0, 1)
    assert len(node.open) == 1
    trace.close()
    assert not node.open
