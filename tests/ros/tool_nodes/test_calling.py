"""Calls of another process that is absent, slow, stopped, killed, restarted or talks nonsense."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from toolhand_interfaces.action import Place
from toolhand_interfaces.msg import ToolStatus
from toolhand_interfaces.srv import CaptureImage

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.action_client import ActionClient, NotedFirst
from toolhand.tool_nodes.ros.calling import Deadlines, Service, call, run_goal
from toolhand.tool_nodes.ros.remote import RemoteCamera, RemoteManipulator
from toolhand.tool_nodes.ros.status import raise_failure
from toolhand.tool_nodes.types import Frame

SERVER = str(Path(__file__).with_name("tool_server.py"))
LONG_S = 60.0
PATIENT = Deadlines(availability_s=LONG_S, response_s=LONG_S, motion_s=LONG_S)


@pytest.fixture(scope="module")
def node(make_node: Any) -> Node:
    node: Node = make_node("caller")
    return node


@pytest.fixture
def server(start: Any) -> Iterator[Any]:
    program = start(SERVER)
    program.expect("ready")
    yield program
    program.process.send_signal(signal.SIGCONT)
    program.end()


@pytest.fixture
def capture(node: Node) -> Callable[..., Any]:
    """Calls capture_image; returns the message of the status."""
    services: dict[Deadlines, Service] = {}

    def ask(camera: str, deadlines: Deadlines = PATIENT) -> str:
        if deadlines not in services:
            services[deadlines] = Service(node, CaptureImage, "capture_image", deadlines)
        message: str = services[deadlines](CaptureImage.Request(camera=camera)).status.message
        return message

    return ask


def failing(action: Callable[[], Any]) -> tuple[ToolError, float]:
    """The error of an action, and how long it took [s]."""
    began = time.monotonic()
    with pytest.raises(ToolError) as caught:
        action()
    assert "\n" not in caught.value.message
    return caught.value, time.monotonic() - began


# -- services --------------------------------------------------------------------------------------


def test_without_a_server_a_call_ends_after_the_availability_deadline(capture: Callable[..., Any]) -> None:
    error, took_s = failing(lambda: capture("ok", Deadlines(availability_s=0.3, response_s=LONG_S)))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "No node serves" in error.message
    assert 0.3 <= took_s < LONG_S / 2


def test_answers_and_errors_of_the_tool_come_back(capture: Callable[..., Any], server: Any) -> None:
    assert capture("ok") == "ok"
    error, _ = failing(lambda: capture("fail"))
    assert (error.code, error.message, error.hint) == (
        ErrorCode.PLACE_BLOCKED,
        "There is something in the way.",
        "Choose another place.",
    )
    error, _ = failing(lambda: capture("no number"))
    assert error.code is ErrorCode.INTERNAL
    assert error.message.startswith("capture_image failed inside: ValueError")


def test_a_call_that_timed_out_neither_delays_nor_answers_the_next_one(
    capture: Callable[..., Any], server: Any
) -> None:
    hasty = Deadlines(availability_s=LONG_S, response_s=0.2)
    error, _ = failing(lambda: capture("1.5", hasty))
    assert error.code is ErrorCode.TIMEOUT
    assert "within 0.2 s" in error.message
    began = time.monotonic()
    answers = []
    while time.monotonic() - began < 2.0:  # the late answer comes meanwhile
        answers.append(capture("ok", hasty if not answers else PATIENT))
    assert set(answers) == {"ok"}


def test_calls_from_several_threads_get_their_own_answers(capture: Callable[..., Any], server: Any) -> None:
    capture("ok")
    wanted = [f"0.{k}1" for k in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(capture, reversed(wanted))) == list(reversed(wanted))


def test_a_server_that_is_killed_is_noticed_long_before_the_deadline(
    capture: Callable[..., Any], server: Any, start: Any, record_property: Callable[[str, object], None]
) -> None:
    capture("ok")
    server.expect("got ok")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(failing, lambda: capture("50"))
        server.expect("got 50")
        server.process.kill()
        killed = time.monotonic()
        error, _ = waiting.result()
    record_property("reaction_s", round(time.monotonic() - killed, 3))
    assert error.code is ErrorCode.UNAVAILABLE
    assert "went away" in error.message
    assert time.monotonic() - killed < LONG_S / 2

    again = start(SERVER)  # and a restarted one is found again
    assert capture("ok") == "ok"
    again.end()


def test_a_server_that_hangs_is_given_up_at_the_deadline_and_taken_back_later(
    capture: Callable[..., Any], server: Any
) -> None:
    capture("ok")
    server.process.send_signal(signal.SIGSTOP)
    error, _ = failing(lambda: capture("ok", Deadlines(availability_s=LONG_S, response_s=0.5)))
    assert error.code is ErrorCode.TIMEOUT
    server.process.send_signal(signal.SIGCONT)
    assert capture("0.01") == "0.01"


def test_an_answer_that_cannot_be_read_is_a_fault_of_the_system(node: Node, server: Any) -> None:
    error, _ = failing(RemoteCamera(node, PATIENT).capture)
    assert error.code is ErrorCode.INTERNAL
    assert "The answer of " in error.message
    assert "cannot be read: " in error.message


@pytest.mark.parametrize("name", ["availability_s", "response_s", "motion_s"])
@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_deadlines_must_be_positive(name: str, seconds: float) -> None:
    error, _ = failing(lambda: Deadlines(**{name: seconds}))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert name in error.message


def test_a_call_refuses_deadlines_that_are_not_positive(node: Node) -> None:
    client = node.create_client(CaptureImage, "capture_image")
    for deadlines in ((0.0, 1.0), (1.0, 0.0)):
        error, _ = failing(lambda given=deadlines: call(client, CaptureImage.Request(), *given))
        assert error.code is ErrorCode.INVALID_ARGUMENT


def test_a_code_that_nobody_knows_is_a_fault_of_the_system() -> None:
    error, _ = failing(lambda: raise_failure(ToolStatus(success=False, error_code="BROKEN")))
    assert error.code is ErrorCode.INTERNAL
    assert "BROKEN" in error.message


# -- actions ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(node: Node) -> Callable[..., Any]:
    client = ActionClient(node, Place, "place", callback_group=ReentrantCallbackGroup())

    def send(plan_id: str, deadlines: Deadlines = PATIENT, **options: Any) -> Any:
        return run_goal(client, Place.Goal(plan_id=plan_id), "place", deadlines, **options)

    return send


def test_a_goal_brings_feedback_and_a_result(place: Callable[..., Any], server: Any, wait_until: Any) -> None:
    phases: list[str] = []
    outcome = place("ok", on_feedback=lambda feedback: phases.append(feedback.phase))
    assert outcome.result.status.message == "placed"
    assert outcome.status == GoalStatus.STATUS_SUCCEEDED
    wait_until(lambda: phases == ["carrying"], "feedback came")


def test_a_refused_goal_is_an_error(place: Callable[..., Any], server: Any) -> None:
    error, _ = failing(lambda: place("refuse"))
    assert (error.code, error.message) == (ErrorCode.UNAVAILABLE, "place refused the goal.")


def test_a_goal_is_cancelled_when_asked_for(place: Callable[..., Any], server: Any) -> None:
    asked = time.monotonic() + 0.3
    outcome = place("long", cancelled=lambda: time.monotonic() > asked)
    assert outcome.status == GoalStatus.STATUS_CANCELED
    assert outcome.result.status.error_code == "CANCELLED"


def test_a_goal_that_takes_too_long_is_cancelled(place: Callable[..., Any], server: Any) -> None:
    error, _ = failing(lambda: place("long", Deadlines(LONG_S, LONG_S, motion_s=0.3)))
    assert error.code is ErrorCode.TIMEOUT
    server.expect("goal long")
    server.expect("cancelled long")


def test_a_goal_that_is_accepted_too_late_is_cancelled(place: Callable[..., Any], server: Any) -> None:
    place("ok")
    error, _ = failing(lambda: place("late", Deadlines(LONG_S, response_s=0.2)))
    assert error.code is ErrorCode.TIMEOUT
    for line in ("goal ok", "goal late", "cancelled late"):
        server.expect(line)


def test_a_goal_whose_answer_is_lost_is_cancelled_by_its_id(node: Node, server: Any) -> None:
    class Deaf(ActionClient):
        def send_goal_async(self, *arguments: Any, **options: Any) -> Any:
            super().send_goal_async(*arguments, **options)
            return Future()

    client = Deaf(node, Place, "place", callback_group=ReentrantCallbackGroup())
    error, _ = failing(lambda: run_goal(client, Place.Goal(plan_id="long"), "place", Deadlines(LONG_S, 1.0)))
    assert error.code is ErrorCode.TIMEOUT
    server.expect("goal long")
    server.expect("cancelled long")


def test_an_answer_that_comes_before_its_question_is_noted_waits_for_the_note() -> None:
    class SendsFirst:
        """As the client of rclpy 7.1.3."""

        def __init__(self) -> None:
            self.sent, self.noted, self.found = threading.Event(), False, False

        def send_goal_async(self, goal: Any) -> None:
            self.sent.set()
            time.sleep(0.1)
            self.noted = True

        async def execute(self, taken_data: Any) -> None:
            self.found = self.noted

    class Client(NotedFirst, SendsFirst):
        pass

    client = Client()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(client.send_goal_async, "goal")
        client.sent.wait()
        asyncio.run(client.execute("answer"))
        sending.result()
    assert client.found


def test_a_motion_whose_server_is_killed_is_noticed(place: Callable[..., Any], server: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(failing, lambda: place("long"))
        server.expect("goal long")
        time.sleep(0.3)
        server.process.kill()
        error, took_s = waiting.result()
    assert error.code is ErrorCode.UNAVAILABLE
    assert took_s < LONG_S / 2


def test_a_remote_manipulator_counts_the_time_of_motions(node: Node, server: Any) -> None:
    frame = Frame(np.zeros((4, 4, 3), np.uint8), np.ones((4, 4), np.float32), np.eye(3), np.eye(4), 0.5)
    manipulator = RemoteManipulator(node, PATIENT)
    manipulator.place(np.zeros(3), frame)
    manipulator.place(np.zeros(3), frame)
    assert manipulator.motion_time_s == 3.0
    error, _ = failing(lambda: RemoteManipulator(node, Deadlines(availability_s=0.2)).grasp(np.eye(4), frame))
    assert error.code is ErrorCode.UNAVAILABLE


def test_a_network_that_fails_is_unavailable_and_a_request_of_another_class_is_a_mistake() -> None:
    class Client:
        srv_name = "/capture_image"

        def __init__(self, error: Exception) -> None:
            self.error = error

        def wait_for_service(self, timeout_sec: float) -> bool:
            return True

        def wait_for_server(self, timeout_sec: float) -> bool:
            return True

        def call_async(self, request: Any) -> Any:
            raise self.error

        def send_goal_async(self, goal: Any, feedback_callback: Any, goal_uuid: Any) -> Any:
            raise self.error

    broken: Any = Client(RuntimeError("the network is gone"))
    with refused(ErrorCode.UNAVAILABLE, r"/capture_image cannot be called: the network is gone"):
        call(broken, CaptureImage.Request(), LONG_S, LONG_S)
    with refused(ErrorCode.UNAVAILABLE, r"place cannot be called: the network is gone"):
        run_goal(broken, Place.Goal(), "place", PATIENT)
    mistaken: Any = Client(TypeError("another class"))
    with pytest.raises(TypeError, match="another class"):
        call(mistaken, CaptureImage.Request(), LONG_S, LONG_S)
