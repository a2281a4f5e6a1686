"""Publishes pictures of 640 x 480, each of one grey that its frame_id names, again and again."""

import array
import sys
from contextlib import suppress

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Image


def main() -> None:
    greys = int(sys.argv[1])
    rclpy.init()
    node = rclpy.create_node("pictures")
    publisher = node.create_publisher(Image, "image", 10)
    count = 0

    def publish() -> None:
        nonlocal count
        grey = count % greys + 1
        count += 1
        image = Image(height=480, width=640, encoding="rgb8", step=1920)
        image.data = array.array("B", bytes([grey]) * (640 * 480 * 3))
        image.header.frame_id = str(grey)
        publisher.publish(image)

    node.create_timer(0.05, publish)
    print("ready", flush=True)
    with suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
