"""The operator's side of approval over ROS: requests that bear the token's proof, and answers that do."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile
from toolhand_interfaces.msg import MotionRequest as MotionRequestMessage
from toolhand_interfaces.srv import ApproveMotion

from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.motion.approval import Approver, Decision, MotionRequest
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.motion_requests import request_of
from toolhand.tool_nodes.ros.proofs import Proofs, same

TOPIC = "motion_request"
SERVICE = "approve_motion"

_QUEUE = 10
"""Requests that are kept for a late subscriber [-]."""
REMEMBERED = 1000
"""Requests that were answered or withdrawn and are known again [-]: a day of motions."""
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

    Those without a valid proof are reported once and not shown. Neither are those whose hash is not that of their legs,
    and those that were answered or withdrawn before: anybody can publish an old one again.

    Args:
        link: Takes part in the graph.
        proofs: Proofs of the operator's token.
        notify: Gets a sentence for the operator.
        changed: Called with what waits now, None for nothing, in a callback of the node.
        gone: Hashes of requests that were answered or withdrawn before this listener; it adds to them.

    Attributes:
        believed: The newest message bore a valid proof, or none has come yet.
    """

    def __init__(
        self,
        link: RosLink,
        proofs: Proofs,
        notify: Callable[[str], None],
        changed: Callable[[Waiting | None], None] = lambda waiting: None,
        gone: deque[str] | None = None,
    ) -> None:
        self._node = link.node
        self._proofs = proofs
        self._notify = notify
        self._changed = changed
        self._waiting: Waiting | None = None
        self._gone = deque[str](maxlen=REMEMBERED) if gone is None else gone
        self._warned = False
        self.believed = True
        self._arrived = threading.Condition()
        latched = QoSProfile(depth=_QUEUE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        group = MutuallyExclusiveCallbackGroup()
        self._subscription = self._node.create_subscription(
            MotionRequestMessage, TOPIC, self._on_message, latched, callback_group=group
        )

    def close(self) -> None:
        """Listen no more."""
        self._node.destroy_subscription(self._subscription)

    def _on_message(self, message: Any) -> None:
        self.believed = same(message.proof, self._proofs.of_request(message))
        if not self.believed:
            if not self._warned:
                self._warned = True
                self._notify(
                    f"A request on /{TOPIC} was ignored: it does not come from a motion node that knows this token. "
                    "Either the token is another one, or somebody pretends to be the motion node."
                )
            return
        if message.hash in self._gone:
            return
        try:
            waiting = Waiting(request_of(message), message.deadline) if message.hash else None
        except BadMessage as error:
            self._notify(f"A request on /{TOPIC} is not shown, and nothing is approved: {error}.")
            waiting = None
        with self._arrived:
            if waiting is None and self._waiting is not None:
                self._gone.append(self._waiting.request.hash)
            self._waiting = waiting
            self._arrived.notify_all()
        self._changed(waiting)

    def next(self) -> Waiting:
        """The request that waits, once there is one that was not answered yet."""
        with self._arrived:
            while self._waiting is None or self._waiting.request.hash in self._gone:
                self._arrived.wait(_LOOK_S)  # in pieces, so that a Ctrl-C gets through
            return self._waiting

    def over(self, request_hash: str) -> bool:
        """True once this request does not wait any more."""
        waiting = self._waiting
        return waiting is None or waiting.request.hash != request_hash

    def answered(self, request_hash: str) -> None:
        """Do not show it again."""
        self._gone.append(request_hash)


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
        refusal = send_answer(link, proofs, decision)
        notify(refusal or f"  {'approved' if decision.approved else 'refused'}")
        if once:
            return not refusal


def send_answer(link: RosLink, proofs: Proofs, decision: Decision) -> str:
    """Send an answer.

    Returns:
        Empty if the motion node itself says that it was taken, else one sentence that says why not.

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where the motion node has gone away.
    """
    proof = proofs.of_answer(decision.hash, decision.approved, decision.reason)
    request = ApproveMotion.Request(hash=decision.hash, approve=decision.approved, reason=decision.reason, proof=proof)
    answer = link.call(ApproveMotion, SERVICE, request)
    if not same(answer.proof, proofs.of_receipt(proof, answer.status.success)):
        return (
            f"Whoever answered on /{SERVICE} is not the motion node: nobody knows whether the answer has reached it. "
            "Look who serves it (toolhand ros service info), and at the arm."
        )
    return "" if answer.status.success else str(answer.status.message)
