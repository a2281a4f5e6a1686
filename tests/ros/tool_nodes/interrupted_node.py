"""A node that is told to end while it is still being made; the argument names the signal."""

import os
import signal
import sys

from rclpy.node import Node
from std_srvs.srv import Trigger

from toolhand.tool_nodes.ros.spinning import run_node

NUMBER = getattr(signal, sys.argv.pop(1))


class Interrupted(Node):
    def __init__(self) -> None:
        super().__init__("interrupted")
        os.kill(os.getpid(), NUMBER)
        self.create_service(Trigger, "never", lambda request, response: response)


run_node(Interrupted)
