"""Motions that wait for approval, over the graph. The operator's token stays here, and answers bear its proof."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from toolhand.agent_node.ros.approve import REMEMBERED, Requests, Waiting, send_answer
from toolhand.console.robot import Close, WaitingMotion
from toolhand.tool_nodes.motion.approval import Decision
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.proofs import Proofs

OTHER_TOKEN = (
    "This robot asks for approval before it moves, and this console has not its token: no motion can be shown or "
    "approved here. The terminal of the robot's graph has named the token's file when it started, as approval token. "
    "End this console and type: toolhand console --token-file FILE"
)
"""What pages say where the newest message of the motion node bears the proof of another token."""


class MotionDesk:
    """Listens to motions that wait while somebody wants to hear of them, and sends answers.

    Args:
        link: Takes part in the graph.
        token: The operator's; empty where there is none, so that no motion is believed.
        notify: Gets sentences for the operator.
    """

    def __init__(self, link: RosLink, token: str, notify: Callable[[str], None]) -> None:
        self._link = link
        self._proofs = Proofs(token or secrets.token_hex())
        self._notify = notify
        self._lock = threading.Lock()
        self._gone = deque[str](maxlen=REMEMBERED)
        self._requests: Requests | None = None
        self._hear: list[Callable[[WaitingMotion | None], None]] = []
        self._waiting: WaitingMotion | None = None

    def motions(self, hear: Callable[[WaitingMotion | None], None]) -> Close:
        """See `toolhand.console.robot.Robot`; the first who listens subscribes, and the last who closes ends it."""
        with self._lock:
            self._hear.append(hear)
            if self._requests is None:
                self._requests = Requests(self._link, self._proofs, self._notify, self._changed, self._gone)
        if self._waiting is not None:
            hear(self._waiting)

        def close() -> None:
            with self._lock:
                if hear in self._hear:
                    self._hear.remove(hear)
                if self._hear or self._requests is None:
                    return
                requests, self._requests, self._waiting = self._requests, None, None
            requests.close()

        return close

    @property
    def refusal(self) -> str:
        """Why motions of this graph cannot be approved here; empty where they can, or nothing is known of it."""
        requests = self._requests
        return "" if requests is None or requests.believed else OTHER_TOKEN

    def decide(self, decision: Decision) -> str:
        """See `toolhand.console.robot.Robot`. Raises ToolError UNAVAILABLE or TIMEOUT."""
        refusal = send_answer(self._link, self._proofs, decision)
        if not refusal:
            self._gone.append(decision.hash)
        return refusal

    def _changed(self, waiting: Waiting | None) -> None:
        motion = None if waiting is None else WaitingMotion(waiting.request, time.monotonic() + waiting.deadline_s)
        with self._lock:
            self._waiting, hear = motion, tuple(self._hear)
        for each in hear:
            each(motion)
