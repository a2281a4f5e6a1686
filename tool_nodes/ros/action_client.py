"""The client of an action: rclpy's, whose goals are never lost from sight."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any

import rclpy.action
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID


class NotedFirst:
    """Answers wait until what they answer is noted.

    rclpy sends first and notes afterwards. An answer that another thread of the executor takes in between is thrown
    away ("Ignoring unexpected goal response"), and the goal runs while its sender waits for ever: ros2/rclpy issue
    1123, seen once in 20 goals on a busy machine, mended upstream in October 2025.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._noting = threading.Lock()
        super().__init__(*arguments, **options)

    def send_goal_async(self, *arguments: Any, **options: Any) -> Future:
        """See rclpy."""
        with self._noting:
            return super().send_goal_async(*arguments, **options)  # type: ignore[misc]

    def _get_result_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._noting:
            return super()._get_result_async(goal_handle)  # type: ignore[misc]

    async def execute(self, taken_data: Any) -> None:
        """See rclpy; `rclpy_zenoh` notes first and never comes here."""
        with self._noting:
            pass
        await super().execute(taken_data)  # type: ignore[misc]


class ActionClient(NotedFirst, rclpy.action.ActionClient):
    """See rclpy."""

    def give_up(self, sent: Future, goal_id: UUID) -> None:
        """For a goal that was not answered: it must not move the arm, whether it was accepted, or will be.

        Args:
            sent: Future of `send_goal_async`.
            goal_id: The goal's id, as it was given to it.
        """
        sent.add_done_callback(_cancel_if_accepted)
        if server_is_there(self.server_is_ready):
            taken = self._action_type.Impl.SendGoalService.Response(accepted=True)
            ClientGoalHandle(self, goal_id, taken).cancel_goal_async()


def new_goal_id() -> UUID:
    """A random id of a goal."""
    return UUID(uuid=list(uuid.uuid4().bytes))


def server_is_there(is_there: Callable[[], bool]) -> bool:
    """What `service_is_ready` or `server_is_ready` says; False where the client has been destroyed."""
    try:
        return is_there()
    except Exception:  # the client was destroyed, or this node's context shut down; its classes differ between clients
        return False


def _cancel_if_accepted(sent: Future) -> None:
    if sent.exception() is None and sent.result().accepted:
        sent.result().cancel_goal_async()
