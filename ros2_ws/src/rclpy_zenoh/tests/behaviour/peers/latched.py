"""Publishes one latched text, made of its arguments, before it says that it is ready."""

import sys
from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String


def main() -> None:
    rclpy.init()
    node = rclpy.create_node(f"latched_{sys.argv[1]}")
    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(String, "latched", profile)
    publisher.publish(String(data=" ".join(sys.argv[1:3])))
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
