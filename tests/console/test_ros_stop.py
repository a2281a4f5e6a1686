"""The stop server's client in a graph: before anybody is there, with somebody, and after they have gone."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rclpy_zenoh import overlay
from tests.waiting import until

overlay.install()

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from toolhand_interfaces.msg import StopState

from rclpy_zenoh.wire import start_router
from toolhand.console import ros_stop
from toolhand.console.ros_stop import RosStopper
from toolhand.console.stopping import StopAnswer, StopOutcome
from toolhand.tool_nodes.ros.stop_state import QOS

PATIENCE_S = 30.0
"""A bound against hanging, not a promise [s]."""


class MotionNodeDouble:
    """Serves /stop and /reset_stop as the motion node does, and can keep an answer back."""

    def __init__(self) -> None:
        self.context = Context()
        rclpy.init(args=[], context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node("motion_double", context=self.context)
        group = ReentrantCallbackGroup()
        self.confirms = True
        self.answers = threading.Event()
        self.answers.set()
        self.stops = 0
        self.node.create_service(Trigger, "stop", self._on_stop, callback_group=group)
        self.node.create_service(Trigger, "reset_stop", self._on_reset, callback_group=group)
        self.states = self.node.create_publisher(StopState, "stop_state", QOS)
        self.states.publish(StopState(confirmed=True))
        self.executor = MultiThreadedExecutor(24, context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self._spin, daemon=True)
        self.thread.start()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()

    def _on_stop(self, request: Any, response: Any) -> Any:
        self.stops += 1
        self.states.publish(StopState(stops=self.stops, latched=True, confirmed=False))
        self.answers.wait(PATIENCE_S)
        self.states.publish(StopState(stops=self.stops, latched=True, confirmed=self.confirms))
        response.success, response.message = self.confirms, "at rest" if self.confirms else "the arm moves"
        return response

    def _on_reset(self, request: Any, response: Any) -> Any:
        response.success, response.message = self.confirms, "Motions are allowed again."
        self.states.publish(StopState(stops=self.stops, latched=not self.confirms, confirmed=self.confirms))
        return response

    def close(self) -> None:
        self.answers.set()
        self.executor.shutdown(timeout_sec=2.0)
        self.thread.join(2.0)
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def stopper(monkeypatch: pytest.MonkeyPatch) -> Iterator[RosStopper]:
    with start_router() as router:
        monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router.endpoint)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + os.getpid() % 200))
        stopper = RosStopper(answer_s=2.0)
        stopper.start()
        yield stopper
        stopper.close()


def called(call: Callable[[Callable[[StopAnswer], None]], None]) -> StopAnswer:
    answers: list[StopAnswer] = []
    call(answers.append)
    until(lambda: answers)
    assert len(answers) == 1
    return answers[0]


def test_a_stop_before_and_after_a_graph_is_there(stopper: RosStopper) -> None:
    answer = called(stopper.stop)
    assert answer.state is StopOutcome.UNREACHABLE
    assert "nobody serves /stop" in answer.message
    assert called(stopper.reset).state is StopOutcome.REFUSED
    for _ in range(2):  # it comes, goes and comes back
        robot = MotionNodeDouble()
        try:
            until(lambda: stopper.state().reachable)
            until(lambda: stopper.state().latched is False)
            assert called(stopper.stop) == StopAnswer(StopOutcome.STOPPED, "at rest", 1)
            until(lambda: stopper.state().latched)
            assert stopper.state().confirmed
            assert called(stopper.reset).state is StopOutcome.RESET
            until(lambda: not stopper.state().latched)
            robot.confirms = False
            assert called(stopper.stop).state is StopOutcome.UNCONFIRMED
            assert called(stopper.reset).state is StopOutcome.REFUSED
        finally:
            robot.close()
        until(lambda: not stopper.state().reachable)


def test_a_stop_needs_no_router_once_both_sides_know_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with start_router() as router:
        monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router.endpoint)
        monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + os.getpid() % 200))
        stopper, robot = RosStopper(answer_s=2.0), MotionNodeDouble()
        stopper.start()
        until(lambda: stopper.state().reachable)
    try:  # the router has ended
        assert called(stopper.stop).state is StopOutcome.STOPPED
        assert called(stopper.reset).state is StopOutcome.RESET
    finally:
        stopper.close()
        robot.close()


def test_stops_at_once_are_each_answered_and_none_waits_for_another(stopper: RosStopper) -> None:
    robot = MotionNodeDouble()
    try:
        until(lambda: stopper.state().reachable)
        robot.answers.clear()
        answers: list[StopAnswer] = []
        for _ in range(40):
            stopper.stop(answers.append)
        until(lambda: robot.stops == ros_stop.MOST_CALLS)
        assert answers == []
        robot.answers.set()
        until(lambda: len(answers) == 40)
        assert {answer.state for answer in answers} == {StopOutcome.STOPPED}
    finally:
        robot.close()


def test_a_motion_node_that_is_silent_or_goes_leaves_a_stop_unconfirmed(stopper: RosStopper) -> None:
    robot = MotionNodeDouble()
    until(lambda: stopper.state().reachable)
    robot.answers.clear()
    silent = called(stopper.stop)
    assert silent.state is StopOutcome.UNCONFIRMED
    assert "has not answered within 2 s" in silent.message
    answers: list[StopAnswer] = []
    stopper.stop(answers.append)
    until(lambda: robot.stops == 2)
    robot.context.try_shutdown()
    until(lambda: answers)
    assert answers[0].state is StopOutcome.UNCONFIRMED
    robot.close()
