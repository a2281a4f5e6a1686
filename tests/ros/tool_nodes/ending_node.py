"""A node whose timer's callbacks raise; the argument names what. It prints "again" when it is called once more."""

import sys

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node

from toolhand.tool_nodes.ros.spinning import Unrecoverable, run_node

WHAT = sys.argv.pop(1)


class Ending(Node):
    def __init__(self) -> None:
        super().__init__("ending")
        self._calls = 0
        self.create_timer(0.01, self._tick)

    def _tick(self) -> None:
        self._calls += 1
        if WHAT == "Unrecoverable":
            raise Unrecoverable("It cannot go on.")
        if self._calls == 1:
            raise InvalidHandle("destruction was requested")
        print("again", flush=True)


run_node(Ending)
