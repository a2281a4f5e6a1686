"""Action servers."""

from __future__ import annotations

import enum
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal

from rclpy._rclpy_pybind11 import RCLError
from rclpy.action._goal_store import GoalStore
from rclpy.action._goals import GoalEvent, select_goals_to_cancel
from rclpy.action._server_goal_handle import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.executors import await_or_execute
from rclpy.qos import QoSProfile, qos_profile_action_status_default, qos_profile_services_default
from rclpy.type_support import check_for_type_support

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.node import Node


class GoalResponse(enum.Enum):
    """What a goal callback answers."""

    REJECT = 1
    ACCEPT = 2


class CancelResponse(enum.Enum):
    """What a cancel callback answers."""

    REJECT = 1
    ACCEPT = 2


def default_handle_accepted_callback(goal_handle: ServerGoalHandle) -> None:
    """Execute the goal."""
    goal_handle.execute()


def default_goal_callback(goal_request: Any) -> GoalResponse:
    """Accept all goals."""
    return GoalResponse.ACCEPT


def default_cancel_callback(cancel_request: ServerGoalHandle) -> CancelResponse:
    """Cancel no goal."""
    return CancelResponse.REJECT


class ActionServer:
    """Offers an action.

    Callbacks may be functions or coroutine functions. A blocking execute callback occupies a thread of the executor:
    with a single-threaded one no cancel request is seen meanwhile.

    Args:
        node: The node that offers it.
        action_type: Class of the action.
        action_name: Name of the action.
        execute_callback: Gets a `ServerGoalHandle`, ends the goal and returns the action's `Result`. A goal that it
            does not end is aborted, and so is one whose callback raises.
        callback_group: Group of the goal, accepted and cancel callbacks; execute callbacks are in no group.
        goal_callback: Gets a `Goal` and returns a `GoalResponse`; by default all are accepted.
        handle_accepted_callback: Gets the handle of an accepted goal; by default executes it.
        cancel_callback: Gets the handle of a goal that is to be canceled and returns a `CancelResponse`; by default
            none is canceled.
        goal_service_qos_profile: Quality of service of the service that takes goals.
        result_service_qos_profile: Quality of service of the service that gives results.
        cancel_service_qos_profile: Quality of service of the service that takes cancel requests.
        feedback_pub_qos_profile: Quality of service of the feedback.
        status_pub_qos_profile: Quality of service of the status of all goals.
        result_timeout: Seconds of the node's clock for which a result is kept after the goal has ended.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        action_name: str,
        execute_callback: Callable[[ServerGoalHandle], Any],
        *,
        callback_group: CallbackGroup | None = None,
        goal_callback: Callable[[Any], Any] = default_goal_callback,
        handle_accepted_callback: Callable[[ServerGoalHandle], Any] = default_handle_accepted_callback,
        cancel_callback: Callable[[ServerGoalHandle], Any] = default_cancel_callback,
        goal_service_qos_profile: QoSProfile = qos_profile_services_default,
        result_service_qos_profile: QoSProfile = qos_profile_services_default,
        cancel_service_qos_profile: QoSProfile = qos_profile_services_default,
        feedback_pub_qos_profile: QoSProfile = QoSProfile(depth=10),  # noqa: B008  # it does not change
        status_pub_qos_profile: QoSProfile = qos_profile_action_status_default,
        result_timeout: float = 900,
    ) -> None:
        self.register_handle_accepted_callback(handle_accepted_callback)
        self.register_goal_callback(goal_callback)
        self.register_cancel_callback(cancel_callback)
        self.register_execute_callback(execute_callback)
        check_for_type_support(action_type)
        self._node = node
        self._action_type = action_type
        self._logger = node.get_logger().get_child("action_server")
        self._lock = threading.RLock()  # a goal's state and the published status change together
        self._destroyed = False
        self._goal_handles = GoalStore(result_timeout_ns=max(0, int(result_timeout * 1e9)))
        self._last_executor: weakref.ReferenceType[Executor] | None = None
        self._undecided: set[bytes] = set()  # ids of goals whose goal callback has not answered yet
        self._accepted: deque[ServerGoalHandle] = deque()

        group = callback_group or node.default_callback_group
        own_group = ReentrantCallbackGroup()  # what waits for results must not keep the user's callbacks waiting
        impl = action_type.Impl
        prefix = f"{action_name}/_action"
        self._status_publisher = node.create_publisher(GoalStatusArray, f"{prefix}/status", status_pub_qos_profile)
        self._feedback_publisher = node.create_publisher(
            impl.FeedbackMessage, f"{prefix}/feedback", feedback_pub_qos_profile
        )
        self._expiry_timer = node.create_timer(0, self._expire_results, own_group, autostart=False)
        result_service = node.create_service(
            impl.GetResultService,
            f"{prefix}/get_result",
            self._on_result_request,
            qos_profile=result_service_qos_profile,
            callback_group=own_group,
        )
        cancel_service = node.create_service(
            impl.CancelGoalService,
            f"{prefix}/cancel_goal",
            self._on_cancel_request,
            qos_profile=cancel_service_qos_profile,
            callback_group=group,
        )
        goal_service = node.create_service(
            impl.SendGoalService,
            f"{prefix}/send_goal",
            self._on_goal_request,
            qos_profile=goal_service_qos_profile,
            callback_group=group,
        )
        goal_service._after_response = self._handle_accepted_goal
        self._services = (goal_service, cancel_service, result_service)

    @property
    def action_type(self) -> Any:
        """Class of the action."""
        return self._action_type

    def register_handle_accepted_callback(
        self, handle_accepted_callback: Callable[[ServerGoalHandle], Any] | None
    ) -> None:
        """Replace the callback for accepted goals; None for the default, which executes them."""
        self._handle_accepted_callback = handle_accepted_callback or default_handle_accepted_callback

    def register_goal_callback(self, goal_callback: Callable[[Any], Any] | None) -> None:
        """Replace the callback for new goals; None for the default, which accepts them."""
        self._goal_callback = goal_callback or default_goal_callback

    def register_cancel_callback(self, cancel_callback: Callable[[ServerGoalHandle], Any] | None) -> None:
        """Replace the callback for cancel requests; None for the default, which rejects them."""
        self._cancel_callback = cancel_callback or default_cancel_callback

    def register_execute_callback(self, execute_callback: Callable[[ServerGoalHandle], Any]) -> None:
        """Replace the execute callback; TypeError where it cannot be called."""
        if not callable(execute_callback):
            raise TypeError("Failed to register goal execution callback: not callable")
        self._execute_callback = execute_callback

    def notify_execute(
        self, goal_handle: ServerGoalHandle, execute_callback: Callable[[ServerGoalHandle], Any] | None
    ) -> None:
        """Run an execute callback in the node's executor; called by the handle."""
        executor = self._current_executor()
        if executor is None:
            raise RuntimeError("A goal is executed by the executor of its node, but the node has been added to none.")
        executor.create_task(self._execute_goal, execute_callback or self._execute_callback, goal_handle)

    def notify_goal_done(self, goal_handle: ServerGoalHandle) -> None:
        """Keep the result for some time from now on; called by the handle when the goal has ended."""
        with self._lock:
            self._goal_handles.end(bytes(goal_handle.goal_id.uuid), self._now_ns())
            if self._expiry_timer.is_canceled():
                self._expire_results()

    def destroy(self) -> None:
        """End the action: its goals become unknown, and clients that wait for a result get none."""
        with self._lock:
            if self._destroyed:
                return
            self._destroyed = True
        for service in self._services:  # before its goals are gone, or a client would hear that they are unknown
            self._node.destroy_service(service)
        with self._lock:
            self._goal_handles.clear()
            self._accepted.clear()
        self._node.destroy_timer(self._expiry_timer)
        self._node.destroy_publisher(self._feedback_publisher)
        self._node.destroy_publisher(self._status_publisher)

    async def _on_goal_request(self, request: Any, response: Any) -> Any:
        goal_id = bytes(request.goal_id.uuid)
        with self._lock:
            if goal_id in self._goal_handles or goal_id in self._undecided:
                self._logger.debug(f"Rejecting a goal whose ID is in use: {goal_id.hex()}")
                return response
            self._undecided.add(goal_id)
        try:
            decision = await await_or_execute(self._goal_callback, request.goal)
            if not isinstance(decision, GoalResponse):
                self._logger.warning("Goal request callback did not return a GoalResponse type. Rejecting goal.")
            if decision is GoalResponse.ACCEPT:
                self._accept(request, response)
        finally:
            self._undecided.discard(goal_id)
        self._logger.debug(f"New goal {'accepted' if response.accepted else 'rejected'}: {goal_id.hex()}")
        return response

    def _accept(self, request: Any, response: Any) -> None:
        """Take on the goal, unless the server was destroyed while the goal callback was asked."""
        now = self._node.get_clock().now
        answered = now().to_msg()  # as in rclpy, the goal's own stamp is the later one
        goal_info = GoalInfo(goal_id=request.goal_id, stamp=now().to_msg())
        with self._lock:
            if self._destroyed:
                return
            goal_handle = ServerGoalHandle(self, goal_info, request.goal)
            self._goal_handles.add(bytes(request.goal_id.uuid), goal_handle)
            self._accepted.append(goal_handle)
        response.accepted = True
        response.stamp = answered

    async def _handle_accepted_goal(self) -> None:
        """Hand an accepted goal on, after the response has been sent."""
        self._current_executor()  # noted for goals that are executed later
        with self._lock:
            if not self._accepted:
                return
            goal_handle = self._accepted.popleft()
        await await_or_execute(self._handle_accepted_callback, goal_handle)
        with self._lock:
            if goal_handle.status == GoalStatus.STATUS_ACCEPTED:  # it waits; otherwise its new status was published
                self._publish_status()

    async def _execute_goal(
        self, execute_callback: Callable[[ServerGoalHandle], Any], goal_handle: ServerGoalHandle
    ) -> None:
        goal_id = bytes(goal_handle.goal_id.uuid)
        result_future = self._goal_handles.result(goal_id)
        result_type = self._action_type.Result
        self._logger.debug(f"Executing goal with ID {goal_id.hex()}")
        try:
            result = await await_or_execute(execute_callback, goal_handle)
        except Exception as error:
            self._logger.error(f"Error raised in execute callback: {error}")
            traceback.print_exc()
            result = result_type()
        if goal_handle.is_active:
            self._logger.warning(f"Goal state not set, assuming aborted. Goal ID: {goal_id.hex()}")
            self._abort(goal_handle)
        if not isinstance(result, result_type):
            expected = f"{self._action_type.__name__}.Result"
            self._logger.error(f"The execute callback must return a {expected}, not {type(result).__name__}.")
            result = result_type()
        if result_future is not None and not result_future.done() and not self._destroyed:
            response = self._action_type.Impl.GetResultService.Response(status=goal_handle._status, result=result)
            result_future.set_result(response)

    @staticmethod
    def _abort(goal_handle: ServerGoalHandle) -> None:
        """Abort a goal, unless another thread ends it at this moment."""
        try:
            goal_handle.abort()
        except RCLError:
            if goal_handle.is_active:
                raise

    async def _on_cancel_request(self, request: Any, response: Any) -> Any:
        with self._lock:
            goals = [(handle._goal_info, handle.status) for handle in self._goal_handles.handles()]
            response.return_code, selected = select_goals_to_cancel(request, goals)
            handles = [self._goal_handles.handle(goal_id) for goal_id in selected]
        canceling = []
        for goal_handle in handles:
            if await await_or_execute(self._cancel_callback, goal_handle) is not CancelResponse.ACCEPT:
                response.return_code = CancelGoal.Response.ERROR_REJECTED
                continue
            try:
                goal_handle._update_state(GoalEvent.CANCEL_GOAL)
            except RCLError as error:  # it ended while the callback was asked
                self._logger.debug(f"Failed to cancel goal in cancel callback: {error}")
                response.return_code = CancelGoal.Response.ERROR_GOAL_TERMINATED
                continue
            canceling.append(goal_handle._goal_info)
        if canceling:
            response.return_code = CancelGoal.Response.ERROR_NONE
        response.goals_canceling = canceling
        return response

    async def _on_result_request(self, request: Any, response: Any) -> Any:
        result_future = self._goal_handles.result(bytes(request.goal_id.uuid))
        return response if result_future is None else await result_future  # an empty response says "unknown"

    def _publish_status(self) -> None:
        statuses = [
            GoalStatus(goal_info=goal_handle._goal_info, status=goal_handle.status)
            for goal_handle in self._goal_handles.reported()
        ]
        self._status_publisher.publish(GoalStatusArray(status_list=statuses))

    def _current_executor(self) -> Executor | None:
        """The node's executor; the last one where it has none, as between two calls of `rclpy.spin_once`."""
        executor = self._node.executor
        if executor is not None:
            self._last_executor = weakref.ref(executor)
        return executor or (None if self._last_executor is None else self._last_executor())

    def _now_ns(self) -> int:
        now: int = self._node.get_clock().now().nanoseconds
        return now

    def _expire_results(self) -> None:
        with self._lock:
            if self._destroyed:
                return
            remaining = self._goal_handles.expire(self._now_ns())
            if remaining is None:
                self._expiry_timer.cancel()
            else:
                self._expiry_timer.timer_period_ns = max(0, remaining)
                self._expiry_timer.reset()
