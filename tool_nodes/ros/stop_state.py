"""The stop of the motion node as other processes know it: a topic, and a latch that follows it."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from toolhand_interfaces.msg import StopState

from toolhand.tool_nodes.stop_latch import HOW_TO_RESET, StopLatch

TOPIC = "stop_state"
QOS = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

FIRST_STATE_S = 1.0
"""How long the first state is waited for, by the wall clock; without a motion node there is none [s]."""


class StopListener:
    """Follows the stop of the motion node; what it cannot hear of is left to that node, which refuses it.

    Args:
        node: Gets the subscription; spun by an executor in another thread.

    Attributes:
        latch: Set and counted as that of the motion node. One that was started anew counts as another stop.
    """

    def __init__(self, node: Node) -> None:
        self.latch = StopLatch(HOW_TO_RESET)
        self._stops: int | None = None
        self._heard = threading.Event()
        self._wait_until_s = time.monotonic() + FIRST_STATE_S
        # One state after the other, or an old one might win.
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(StopState, TOPIC, self._on_state, QOS, callback_group=group)

    def wait(self) -> None:
        """Until a state was heard of, at most so long after it could have been for the first time."""
        self._heard.wait(max(0.0, self._wait_until_s - time.monotonic()))

    def _on_state(self, state: Any) -> None:
        if state.latched != self.latch.is_set or self._stops not in (None, state.stops):
            self.latch.set()
        if not state.latched:
            self.latch.clear()
        self._stops = state.stops
        self._heard.set()
