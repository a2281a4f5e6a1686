"""Calls of services and actions that end in time, whatever becomes of the other side.

They block: call them from a thread of your own while an executor spins the node, never in a callback.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

from annotated_types import Interval
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.ros.action_client import ActionClient, new_goal_id, server_is_there
from toolhand.tool_nodes.ros.messages import BadMessage
from toolhand.tool_nodes.ros.status import raise_failure

_POLL_S = 0.1
"""How often a waiting call looks whether its server is still there [s]."""

_CANCEL_S = 10.0
"""How long a goal may take to end after it was cancelled [s]."""


@dataclass(frozen=True)
class Deadlines:
    """How long to wait for other nodes, in wall-clock seconds greater than 0.

    Attributes:
        availability_s: For a server to be there.
        response_s: For the answer of a service, or for a goal to be accepted.
        motion_s: For the result of a motion.
    """

    availability_s: Annotated[float, Interval(gt=0.0)] = 5.0
    response_s: Annotated[float, Interval(gt=0.0)] = 20.0
    motion_s: Annotated[float, Interval(gt=0.0)] = 600.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            require_positive(entry.name, getattr(self, entry.name))


@dataclass(frozen=True)
class ActionOutcome:
    """How a goal ended: a number of action_msgs/msg/GoalStatus, and the action's result."""

    status: int
    result: Any


class Service:
    """A tool's service: called like a function, it returns the response or raises a ToolError.

    Args:
        node: Gets the client; spun by an executor in another thread.
        srv_type: Class of the service; its response has a `status`.
        name: Name of the service.
        deadlines: How long to wait.
    """

    def __init__(self, node: Node, srv_type: Any, name: str, deadlines: Deadlines) -> None:
        self._client = node.create_client(srv_type, name, callback_group=ReentrantCallbackGroup())
        self._deadlines = deadlines

    def __call__(self, request: Any, read: Callable[[Any], Any] = lambda response: response) -> Any:
        """Call it.

        Args:
            request: The request.
            read: Turns the response of a call that succeeded into what is returned.

        Raises:
            ToolError: What the tool ended with; UNAVAILABLE, TIMEOUT as in `call`; INTERNAL for a response that
                `read` cannot read.
        """
        response = call(self._client, request, self._deadlines.response_s, self._deadlines.availability_s)
        raise_failure(response.status)
        try:
            return read(response)
        except BadMessage as error:
            message = f"The answer of {self._client.srv_name} cannot be read: {error}"
            raise ToolError(ErrorCode.INTERNAL, message) from error


def call(
    client: Client,
    request: Any,
    response_deadline_s: float,
    availability_deadline_s: float,
    given_up: Callable[[], bool] = lambda: False,
) -> Any:
    """Call a service and wait for the response. A late one is dropped; it never reaches the next call.

    Args:
        client: Its node is spun by an executor in another thread.
        request: The request.
        response_deadline_s: Wall-clock seconds for the answer.
        availability_deadline_s: Wall-clock seconds for the server to be there.
        given_up: Polled; True ends the waiting, and there is no response (None).

    Raises:
        ToolError: UNAVAILABLE without a server, where the network fails, or when it goes away meanwhile; TIMEOUT
            without an answer;
            INVALID_ARGUMENT for a deadline that is not positive.
    """
    require_positive("response_deadline_s", response_deadline_s)
    require_positive("availability_deadline_s", availability_deadline_s)
    name = client.srv_name
    end = time.monotonic() + availability_deadline_s
    while not client.wait_for_service(timeout_sec=max(0.0, min(_POLL_S, end - time.monotonic()))):
        if given_up():
            return None
        if time.monotonic() >= end:
            raise server_absent(name, availability_deadline_s)
    future = _sent(name, client.call_async, request)
    answered = False
    try:
        answered = _wait(future, client.service_is_ready, name, response_deadline_s, given_up)
    finally:
        if not answered:
            client.remove_pending_request(future)
    return future.result() if answered else None


def run_goal(
    client: ActionClient,
    goal: Any,
    name: str,
    deadlines: Deadlines,
    *,
    on_feedback: Callable[[Any], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> ActionOutcome:
    """Send a goal and wait for its result. Whatever ends the waiting early cancels the goal.

    Args:
        client: Its node is spun by an executor in another thread.
        goal: The goal.
        name: Name of the action, for sentences.
        deadlines: How long to wait.
        on_feedback: Gets each feedback of the goal, in a thread of the executor.
        cancelled: Polled; True cancels the goal, whose result is still waited for.

    Raises:
        ToolError: UNAVAILABLE without a server, where the network fails, when it refuses the goal or goes away;
            TIMEOUT.
    """
    if not client.wait_for_server(timeout_sec=deadlines.availability_s):
        raise server_absent(name, deadlines.availability_s)
    listener = None if on_feedback is None else lambda message: on_feedback(message.feedback)
    goal_id = new_goal_id()
    sent = _sent(name, partial(client.send_goal_async, feedback_callback=listener, goal_uuid=goal_id), goal)
    try:
        _wait(sent, client.server_is_ready, name, deadlines.response_s)
    except ToolError:
        client.give_up(sent, goal_id)
        raise
    handle = sent.result()
    if not handle.accepted:
        raise unavailable(f"{name} refused the goal.")
    ended = handle.get_result_async()
    try:
        if not _wait(ended, client.server_is_ready, name, deadlines.motion_s, cancelled):
            handle.cancel_goal_async()
            _wait(ended, client.server_is_ready, name, _CANCEL_S)
    except ToolError:
        handle.cancel_goal_async()
        raise
    response = ended.result()
    return ActionOutcome(response.status, response.result)


def require_positive(name: str, seconds: float) -> None:
    """Raises ToolError INVALID_ARGUMENT for a deadline that is not a positive number of seconds."""
    if not seconds > 0.0:
        raise invalid(f"{name} must be greater than 0 seconds, got {seconds}.")


def _sent(name: str, send: Callable[[Any], Future], message: Any) -> Future:
    """The future of what was sent. Raises ToolError UNAVAILABLE where the network fails; its errors differ between
    clients, and only those for a message of another class are ours."""
    try:
        return send(message)
    except (TypeError, AssertionError):
        raise
    except Exception as error:
        raise unavailable(f"{name} cannot be called: {error}") from error


def _wait(
    future: Future,
    is_there: Callable[[], bool],
    name: str,
    deadline_s: float,
    given_up: Callable[[], bool] = lambda: False,
) -> bool:
    """Wait until the future is done; False if it is given up before. Raises ToolError TIMEOUT or UNAVAILABLE."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    end = time.monotonic() + deadline_s
    missed = 0
    while not done.wait(max(0.0, min(_POLL_S, end - time.monotonic()))):
        if given_up():
            return False
        missed = 0 if server_is_there(is_there) else missed + 1
        if missed == 2:  # once may be a passing state of discovery
            raise server_gone(name)
        if time.monotonic() >= end:
            raise ToolError(ErrorCode.TIMEOUT, f"{name} did not answer within {deadline_s:g} s.")
    return True


def server_absent(name: str, waited_s: float) -> ToolError:
    """UNAVAILABLE, because a service or an action has no server."""
    return unavailable(f"No node serves {name}; waited {waited_s:g} s for one.", "Start it, or look at its log.")


def server_gone(name: str) -> ToolError:
    """UNAVAILABLE, because the server of a service or an action went away meanwhile."""
    return unavailable(
        f"The node that serves {name} went away while it was working.",
        "Look whether it is being restarted, then try again.",
    )
