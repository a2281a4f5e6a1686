"""The handle of a goal in an action server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from action_msgs.msg import GoalInfo, GoalStatus

from rclpy.action._goals import GoalEvent, is_active, transition

if TYPE_CHECKING:
    from rclpy.action.server import ActionServer


class ServerGoalHandle:
    """A goal that a server has accepted; made by the server and given to its callbacks."""

    def __init__(self, action_server: ActionServer, goal_info: GoalInfo, goal_request: Any) -> None:
        self._action_server = action_server
        self._goal_info = goal_info
        self._goal_request = goal_request
        self._status: int = GoalStatus.STATUS_ACCEPTED
        self._destroyed = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerGoalHandle) and self.goal_id == other.goal_id

    __hash__ = None  # type: ignore[assignment]  # as in rclpy

    @property
    def request(self) -> Any:
        """The goal, of the action's class `Goal`."""
        return self._goal_request

    @property
    def goal_id(self) -> Any:
        """The goal's unique_identifier_msgs/msg/UUID."""
        return self._goal_info.goal_id

    @property
    def is_active(self) -> bool:
        """True until the goal has ended or the handle was destroyed."""
        return is_active(self.status)

    @property
    def is_cancel_requested(self) -> bool:
        """True after a cancel request was accepted, until the goal ends."""
        return self.status == GoalStatus.STATUS_CANCELING

    @property
    def status(self) -> int:
        """A number of action_msgs/msg/GoalStatus; unknown after the handle was destroyed."""
        return GoalStatus.STATUS_UNKNOWN if self._destroyed else self._status

    def execute(self, execute_callback: Callable[[ServerGoalHandle], Any] | None = None) -> None:
        """Run the execute callback in the node's executor; by default the one of the server.

        Raises:
            RCLError: If the goal is executed already or has ended.
        """
        if not self.is_cancel_requested:  # canceled before it began: the callback still has to end the goal
            self._update_state(GoalEvent.EXECUTE)
        self._action_server.notify_execute(self, execute_callback)

    def publish_feedback(self, feedback: Any) -> None:
        """Send feedback, of the action's class `Feedback`, to the client.

        Raises:
            TypeError: If it has another class.
        """
        action_type = self._action_server.action_type
        if not isinstance(feedback, action_type.Feedback):
            raise TypeError(f"Feedback must be a {action_type.__name__}.Feedback, not {type(feedback).__name__}.")
        message = action_type.Impl.FeedbackMessage(goal_id=self.goal_id, feedback=feedback)
        with self._action_server._lock:
            if not self._destroyed:
                self._action_server._feedback_publisher.publish(message)

    def succeed(self) -> None:
        """End the goal as succeeded; RCLError where it is not executing or canceling."""
        self._update_state(GoalEvent.SUCCEED)

    def abort(self) -> None:
        """End the goal as aborted; RCLError where it is not executing or canceling."""
        self._update_state(GoalEvent.ABORT)

    def canceled(self) -> None:
        """End the goal as canceled; RCLError where no cancel request was accepted."""
        self._update_state(GoalEvent.CANCELED)

    def destroy(self) -> None:
        """Give the goal up: its status becomes unknown, and later changes and feedback are ignored."""
        self._destroyed = True

    def _update_state(self, event: GoalEvent) -> None:
        server = self._action_server
        with server._lock:
            if self._destroyed:
                return
            self._status = transition(self._status, event)
            server._publish_status()
            if not is_active(self._status):
                server.notify_goal_done(self)
