"""Sends one static transform: parent, child, x."""

import sys
from contextlib import suppress

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import ExternalShutdownException
from tf2_ros import StaticTransformBroadcaster


def main() -> None:
    parent, child, x = sys.argv[1:4]
    rclpy.init()
    node = rclpy.create_node(f"static_{child}")
    transform = TransformStamped(child_frame_id=child)
    transform.header.frame_id = parent
    transform.header.stamp = node.get_clock().now().to_msg()
    transform.transform.translation.x = float(x)
    transform.transform.rotation.w = 1.0
    broadcaster = StaticTransformBroadcaster(node)
    broadcaster.sendTransform(transform)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
