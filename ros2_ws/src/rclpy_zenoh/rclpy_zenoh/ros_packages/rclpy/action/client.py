"""Action clients."""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from unique_identifier_msgs.msg import UUID

from rclpy.action._goals import is_active
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import await_or_execute
from rclpy.qos import QoSProfile, qos_profile_action_status_default, qos_profile_services_default
from rclpy.task import Future
from rclpy.type_support import check_for_type_support

if TYPE_CHECKING:
    from rclpy.node import Node

_POLL_SEC = 0.02
_MAX_ENDED = 64
"""Ended goals whose feedback callback is kept until the result is seen: feedback may still be in its queue."""


class ClientGoalHandle:
    """A goal that a client has sent, with the answer of the server; made by `ActionClient.send_goal_async`."""

    def __init__(self, action_client: ActionClient, goal_id: UUID, goal_response: Any) -> None:
        self._action_client = action_client
        self._goal_id = goal_id
        self._goal_response = goal_response
        self._status: int = GoalStatus.STATUS_UNKNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientGoalHandle) and self._goal_id == other.goal_id

    __hash__ = None  # type: ignore[assignment]  # as in rclpy

    def __repr__(self) -> str:
        return f"ClientGoalHandle <id={self.goal_id.uuid}, accepted={self.accepted}, status={self.status}>"

    @property
    def goal_id(self) -> UUID:
        """The goal's unique_identifier_msgs/msg/UUID."""
        return self._goal_id

    @property
    def stamp(self) -> Any:
        """When the server accepted the goal, a builtin_interfaces/msg/Time."""
        return self._goal_response.stamp

    @property
    def accepted(self) -> bool:
        """True where the server accepted the goal."""
        accepted: bool = self._goal_response.accepted
        return accepted

    @property
    def status(self) -> int:
        """The last known status, a number of action_msgs/msg/GoalStatus."""
        return self._status

    def cancel_goal(self) -> Any:
        """Ask to cancel the goal and block until the answer; see `rclpy.client.Client.call` for where this is allowed.

        Returns:
            An action_msgs/srv/CancelGoal_Response.
        """
        return self._action_client._cancel_client.call(self._cancel_request())

    def cancel_goal_async(self) -> Future:
        """Ask to cancel the goal; the future's result is an action_msgs/srv/CancelGoal_Response."""
        return self._action_client._cancel_client.call_async(self._cancel_request())

    def get_result(self) -> Any:
        """Block until the goal has ended; see `rclpy.client.Client.call` for where this is allowed.

        Returns:
            A response with `status` and `result`.
        """
        return self._action_client._get_result(self)

    def get_result_async(self) -> Future:
        """Ask for the result; the future's result is a response with `status` and `result`."""
        return self._action_client._get_result_async(self)

    def _cancel_request(self) -> Any:
        request = CancelGoal.Request()
        request.goal_info.goal_id = self._goal_id
        return request


class ActionClient:
    """Uses an action.

    Args:
        node: The node that uses it.
        action_type: Class of the action.
        action_name: Name of the action.
        callback_group: Group of the responses and of feedback callbacks.
        goal_service_qos_profile: Quality of service of the service that takes goals.
        result_service_qos_profile: Quality of service of the service that gives results.
        cancel_service_qos_profile: Quality of service of the service that takes cancel requests.
        feedback_sub_qos_profile: Quality of service of the feedback.
        status_sub_qos_profile: Quality of service of the status.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        action_name: str,
        *,
        callback_group: CallbackGroup | None = None,
        goal_service_qos_profile: QoSProfile = qos_profile_services_default,
        result_service_qos_profile: QoSProfile = qos_profile_services_default,
        cancel_service_qos_profile: QoSProfile = qos_profile_services_default,
        feedback_sub_qos_profile: QoSProfile = QoSProfile(depth=10),  # noqa: B008  # it does not change
        status_sub_qos_profile: QoSProfile = qos_profile_action_status_default,
    ) -> None:
        check_for_type_support(action_type)
        self._node = node
        self._action_type = action_type
        self._lock = threading.Lock()
        self._goal_handles: weakref.WeakValueDictionary[bytes, ClientGoalHandle] = weakref.WeakValueDictionary()
        self._statuses: dict[bytes, int] = {}  # of the server's last message
        self._feedback_callbacks: dict[bytes, Callable[[Any], Any]] = {}
        self._ended: deque[bytes] = deque()

        group = callback_group or node.default_callback_group
        impl = action_type.Impl
        prefix = f"{action_name}/_action"
        self._goal_client = node.create_client(
            impl.SendGoalService, f"{prefix}/send_goal", qos_profile=goal_service_qos_profile, callback_group=group
        )
        self._cancel_client = node.create_client(
            impl.CancelGoalService,
            f"{prefix}/cancel_goal",
            qos_profile=cancel_service_qos_profile,
            callback_group=group,
        )
        self._result_client = node.create_client(
            impl.GetResultService, f"{prefix}/get_result", qos_profile=result_service_qos_profile, callback_group=group
        )
        self._feedback_subscription = node.create_subscription(
            impl.FeedbackMessage,
            f"{prefix}/feedback",
            self._on_feedback,
            feedback_sub_qos_profile,
            callback_group=group,
        )
        self._status_subscription = node.create_subscription(
            GoalStatusArray, f"{prefix}/status", self._on_status, status_sub_qos_profile, callback_group=group
        )

    def server_is_ready(self) -> bool:
        """True where a server offers all services and topics of the action."""
        clients = (self._goal_client, self._cancel_client, self._result_client)
        topics = (self._feedback_subscription.topic_name, self._status_subscription.topic_name)
        return all(client.service_is_ready() for client in clients) and all(
            self._node.count_publishers(topic) for topic in topics
        )

    def wait_for_server(self, timeout_sec: float | None = None) -> bool:
        """Wait until there is a server, for ever by default; returns whether there is one."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        while not (ready := self.server_is_ready()) and self._node.context.ok():
            if deadline is not None and time.monotonic() >= deadline:
                break
            time.sleep(_POLL_SEC)
        return ready

    def send_goal(
        self, goal: Any, feedback_callback: Callable[[Any], Any] | None = None, goal_uuid: UUID | None = None
    ) -> Any:
        """Send a goal and block until it has ended; see `rclpy.client.Client.call` for where this is allowed.

        Returns:
            A response with `status` and `result`; the status of a goal that was rejected is unknown.

        Raises:
            TypeError: If the goal is not of the action's class `Goal`.
        """
        request = self._goal_request(goal, feedback_callback, goal_uuid)
        try:
            goal_handle = self._goal_handle(request.goal_id, self._goal_client.call(request))
        except BaseException:
            self._forget_feedback(request.goal_id)
            raise
        return self._get_result(goal_handle)

    def send_goal_async(
        self, goal: Any, feedback_callback: Callable[[Any], Any] | None = None, goal_uuid: UUID | None = None
    ) -> Future:
        """Send a goal; the future's result is a `ClientGoalHandle`, as soon as the server accepts or rejects the goal.

        Args:
            goal: The goal, of the action's class `Goal`.
            feedback_callback: Gets each message of feedback of this goal, with `goal_id` and `feedback`.
            goal_uuid: Id of the goal; by default a random one.

        Raises:
            TypeError: If the goal has another class.
        """
        request = self._goal_request(goal, feedback_callback, goal_uuid)
        try:
            response_future = self._goal_client.call_async(request)
        except BaseException:
            self._forget_feedback(request.goal_id)
            raise
        goal_future = Future()
        goal_future._callback_group = response_future._callback_group

        def on_response() -> None:
            if goal_future.cancelled() or not response_future.done():
                return
            goal_future._set_executor(self._node.executor)
            try:
                goal_handle = self._goal_handle(request.goal_id, response_future.result())
            except Exception as error:
                goal_future.set_exception(error)
            else:
                goal_future.set_result(goal_handle)

        def on_cancel() -> None:
            if goal_future.cancelled():
                self._goal_client.remove_pending_request(response_future)
                self._forget_feedback(request.goal_id)

        goal_future._add_waker(on_cancel)
        response_future._add_waker(on_response)
        return goal_future

    def destroy(self) -> None:
        """End the use of the action; pending futures never complete."""
        for client in (self._goal_client, self._cancel_client, self._result_client):
            self._node.destroy_client(client)
        self._node.destroy_subscription(self._feedback_subscription)
        self._node.destroy_subscription(self._status_subscription)
        self._feedback_callbacks.clear()

    def _goal_request(self, goal: Any, feedback_callback: Callable[[Any], Any] | None, goal_uuid: UUID | None) -> Any:
        if not isinstance(goal, self._action_type.Goal):
            raise TypeError(f"A goal must be a {self._action_type.__name__}.Goal, not {type(goal).__name__}.")
        goal_id = UUID(uuid=list(uuid.uuid4().bytes)) if goal_uuid is None else goal_uuid
        if feedback_callback is not None:
            self._feedback_callbacks[bytes(goal_id.uuid)] = feedback_callback
        return self._action_type.Impl.SendGoalService.Request(goal_id=goal_id, goal=goal)

    def _goal_handle(self, goal_id: UUID, response: Any) -> ClientGoalHandle:
        """The handle of a goal that was answered."""
        goal_handle = ClientGoalHandle(self, goal_id, response)
        if not goal_handle.accepted:
            self._forget_feedback(goal_id)
            return goal_handle
        key = bytes(goal_id.uuid)
        with self._lock:
            if key in self._goal_handles:
                raise RuntimeError(f"Two goals were accepted with the same ID ({goal_handle})")
            self._goal_handles[key] = goal_handle
            goal_handle._status = self._statuses.get(key, GoalStatus.STATUS_UNKNOWN)
        return goal_handle

    def _result_request(self, goal_handle: ClientGoalHandle) -> Any:
        return self._action_type.Impl.GetResultService.Request(goal_id=goal_handle.goal_id)

    def _get_result(self, goal_handle: ClientGoalHandle) -> Any:
        response = self._result_client.call(self._result_request(goal_handle))
        self._note_result(goal_handle, response)
        return response

    def _get_result_async(self, goal_handle: ClientGoalHandle) -> Future:
        future = self._result_client.call_async(self._result_request(goal_handle))

        def on_response() -> None:
            if future.done():
                self._note_result(goal_handle, future.result())

        future._add_waker(on_response)
        return future

    def _note_result(self, goal_handle: ClientGoalHandle, response: Any) -> None:
        if response.status != GoalStatus.STATUS_UNKNOWN:  # of a server that does not know the goal any more
            goal_handle._status = int(response.status)
        self._forget_feedback(goal_handle.goal_id)

    def _forget_feedback(self, goal_id: UUID) -> None:
        self._feedback_callbacks.pop(bytes(goal_id.uuid), None)

    async def _on_feedback(self, message: Any) -> None:
        callback = self._feedback_callbacks.get(bytes(message.goal_id.uuid))
        if callback is not None:
            await await_or_execute(callback, message)

    def _on_status(self, message: GoalStatusArray) -> None:
        statuses = {bytes(entry.goal_info.goal_id.uuid): int(entry.status) for entry in message.status_list}
        with self._lock:
            self._statuses = statuses
            for key, goal_handle in list(self._goal_handles.items()):
                goal_handle._status = statuses.get(key, goal_handle._status)
            ended = [key for key, status in statuses.items() if not is_active(status)]
            self._ended += [key for key in ended if key in self._feedback_callbacks and key not in self._ended]
            while len(self._ended) > _MAX_ENDED:
                self._feedback_callbacks.pop(self._ended.popleft(), None)
