"""A node with the parameter `number`."""

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("parameters")
    node.declare_parameter("number", 1)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
