"""The operator's side of approval over ROS: requests that bear the token's proof, and answers that do."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage
from toolhand_interfaces.srv import ApproveMotion

from tool_nodes.motion.approval import Approver, Decision, MotionRequest
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.bad_message import BadMessage
from tool_nodes.ros.link import RosLink
from tool_nodes.ros.motion_requests import request_of
from tool_nodes.ros.proofs import Proofs, same

TOPIC = "motion_request"
SERVICE = "approve_motion"

_QUEUE = 10
"""Requests that are kept for a late subscriber [-]."""
_LOOK_S = 0.2
"""Longest wait in which Ctrl-C is not noticed [s]."""


@dataclass(frozen=True)
class Waiting:
    """A motion that waits for an answer.

    Attributes:
        request: Its hash is that of its own steps.
        deadline_s: Time that the question waits, counted by the motion node from when it was put [s].
    """

    request: MotionRequest
    deadline_s: float


class Requests:
    """Listens to motion requests.

    Those without a valid proof are reported once and not shown; neither are those whose hash is not that of their legs.

    Args:
        link: Takes part in the graph.
        proofs: Proofs of the operator's token.
        notify: Gets a sentence for the operator.
    """

    def __init__(self, link: RosLink, proofs: Proofs, notify: Callable[[str], None]) -> None:
        self._proofs = proofs
        self._notify = notify
        self._waiting: Waiting | None = None
        self._answered = ""
        self._warned = False
        self._arrived = threading.Condition()
        latched = QoSProfile(depth=_QUEUE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        group = MutuallyExclusiveCallbackGroup()
        link.node.create_subscription(MotionRequestMessage, TOPIC, self._on_message, latched, callback_group=group)

    def _on_message(self, message: Any) -> None:
        if not same(message.proof, self._proofs.of_request(message)):
            if not self._warned:
                self._warned = True
                self._notify(
                    f"A request on /{TOPIC} was ignored: it does not come from a motion node that knows this token. "
                    "Either the token is another one, or somebody pretends to be the motion node."
                )
            return
        try:
            waiting = Waiting(request_of(message), message.deadline) if message.hash else None
        except BadMessage as error:
            self._notify(f"A request on /{TOPIC} is not shown, and nothing is approved: {error}.")
            waiting = None
        with self._arrived:
            self._waiting = waiting
            self._arrived.notify_all()

    def next(self) -> Waiting:
        """The request that waits, once there is one that was not answered yet."""
        with self._arrived:
            while self._waiting is None or self._waiting.request.hash == self._answered:
                self._arrived.wait(_LOOK_S)  # in pieces, so that a Ctrl-C gets through
            return self._waiting

    def over(self, request_hash: str) -> bool:
        """True once this request does not wait any more."""
        waiting = self._waiting
        return waiting is None or waiting.request.hash != request_hash

    def answered(self, request_hash: str) -> None:
        """Do not show it again."""
        self._answered = request_hash


def approve_motions(
    link: RosLink,
    token: str,
    approver: Callable[[float, Callable[[], bool]], Approver],
    notify: Callable[[str], None],
    once: bool = False,
) -> bool:
    """Show each request of the motion node and send it the answer, until Ctrl-C.

    Args:
        link: Takes part in the graph.
        token: The operator's.
        approver: Makes who decides of how long there is [s] and of what is polled: True withdraws the question.
        notify: Gets sentences for the operator.
        once: End with the first answer.

    Returns:
        True if the last answer was taken.

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where the motion node has gone away.
    """
    proofs = Proofs(token)
    requests = Requests(link, proofs, notify)
    notify(f"Waiting for motions on /{TOPIC}; Ctrl-C ends this, and then nothing is approved.")
    while True:
        waiting = requests.next()
        request = waiting.request
        requests.answered(request.hash)
        asked = approver(waiting.deadline_s, functools.partial(requests.over, request.hash))
        try:
            decision = asked.decide(request)
        except ToolError as error:
            if error.code is not ErrorCode.STOPPED:
                raise
            notify("\nThe motion does not wait any more.")
            continue
        taken = _send(link, proofs, decision, notify)
        if once:
            return taken


def _send(link: RosLink, proofs: Proofs, decision: Decision, notify: Callable[[str], None]) -> bool:
    """Send an answer; True if the motion node itself says that it was taken."""
    proof = proofs.of_answer(decision.hash, decision.approved, decision.reason)
    request = ApproveMotion.Request(hash=decision.hash, approve=decision.approved, reason=decision.reason, proof=proof)
    answer = link.call(ApproveMotion, SERVICE, request)
    if not same(answer.proof, proofs.of_receipt(proof, answer.status.success)):
        notify(
            f"Whoever answered on /{SERVICE} is not the motion node: nobody knows whether the answer has reached it. "
            "Look who serves it (toolhand ros service info), and at the arm."
        )
        return False
    verdict = "approved" if decision.approved else "refused"
    notify(f"  {verdict}" if answer.status.success else answer.status.message)
    return bool(answer.status.success)
