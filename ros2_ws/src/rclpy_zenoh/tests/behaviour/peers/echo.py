"""Publishes on `echoed` what it hears on `said`."""

from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from std_msgs.msg import String


def main() -> None:
    rclpy.init()
    node = rclpy.create_node("echo")
    publisher = node.create_publisher(String, "echoed", 100)
    node.create_subscription(String, "said", publisher.publish, 100)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
