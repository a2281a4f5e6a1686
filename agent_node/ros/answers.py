"""Answers of the operator over ROS: the service run_command/answer of the agent's node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from toolhand_interfaces.msg import ToolStatus
from toolhand_interfaces.srv import AnswerQuestion

from toolhand.agent_node.events import OperatorAnswer
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.ros.status import failure

SERVICE = "run_command/answer"
_LOOK_S = 0.1
"""How often a wait looks whether the command should end [s]."""


class AnswerDesk:
    """Waits for the answer to the question of one step at a time.

    Args:
        node: Serves the answers.
        deadline_s: How long a question waits [s].
    """

    def __init__(self, node: Node, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self._changed = threading.Condition()
        self._step, self._session = 0, ""
        self._given: list[OperatorAnswer | None] = []
        node.create_service(AnswerQuestion, SERVICE, self._on_answer, callback_group=ReentrantCallbackGroup())

    def expect(self, step: int, session: str) -> None:
        """Take the answer to the question of a step from now on. Comes before the step is published: the operator's
        client may answer before whoever published it goes on.

        Args:
            step: Number of the step, above 0.
            session: Session of the goal that asks.
        """
        with self._changed:
            self._step, self._session, self._given = step, session, []

    def wait(self, stopped: Callable[[], bool]) -> tuple[OperatorAnswer | None, bool]:
        """The answer that is expected, None where the operator gives none; and whether it was waited for in vain
        until the deadline.

        Args:
            stopped: Polled while waiting.

        Raises:
            ToolError: STOPPED where the command should end.
        """
        until_s = time.monotonic() + self.deadline_s
        with self._changed:
            try:
                while not self._given and time.monotonic() < until_s:
                    if stopped():
                        raise ToolError(ErrorCode.STOPPED, "The command was ended while its question waited.")
                    self._changed.wait(_LOOK_S)
                return (self._given[0], False) if self._given else (None, True)
            finally:
                self._step = 0

    def _on_answer(self, request: Any, response: Any) -> Any:
        try:
            self._take(request)
            response.status = ToolStatus(success=True)
        except ToolError as error:
            response.status = failure(error)
        return response

    def _take(self, request: Any) -> None:
        """Raises ToolError INVALID_ARGUMENT for what is no answer, and where its question does not wait."""
        if len(request.points) > 1:
            raise invalid(f"An answer may have one point, got {len(request.points)}.")
        point = next(((point.x, point.y) for point in request.points), None)
        answer = OperatorAnswer(request.text, point) if request.text.strip() or point is not None else None
        with self._changed:
            if not self._step or request.step != self._step or self._given or request.session != self._session:
                raise invalid(f"No question of step {request.step} waits for an answer of this session.")
            self._given.append(answer)
            self._changed.notify_all()
