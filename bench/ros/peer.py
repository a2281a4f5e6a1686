"""The other process of `toolhand bench ros`: a node that serves what is measured.

It runs as `python -m rclpy_zenoh.run bench/ros/peer.py` and ends with its parent.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from example_interfaces.action import Fibonacci
from example_interfaces.srv import AddTwoInts
from rclpy.action import ActionServer
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger
from toolhand_interfaces.srv import CaptureImage, GetDepth

WIDTH, HEIGHT = 1280, 720
STREAM_HZ = 30.0


def picture(encoding: str, channels: int, dtype: str) -> Image:
    """A 720p picture of noise, rgb8 or 32FC1."""
    values = np.random.default_rng(0).integers(0, 255, WIDTH * HEIGHT * channels).astype(dtype)
    image = Image(height=HEIGHT, width=WIDTH, encoding=encoding, step=WIDTH * channels * values.itemsize)
    image.data = values.tobytes()
    return image


def stamp() -> Time:
    """The wall time, which both processes share."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return Time(sec=seconds, nanosec=nanoseconds)


class Peer(Node):
    """Serves an empty call, a picture, a picture with depth, a stream of pictures and an action."""

    def __init__(self) -> None:
        super().__init__("bench_ros_peer")
        self._rgb = picture("rgb8", 3, "uint8")
        self._depth = picture("32FC1", 1, "float32")
        self._sent = self._wanted = 0
        self.create_service(Trigger, "tiny", self._tiny)
        self.create_service(CaptureImage, "rgb", self._capture)
        self.create_service(GetDepth, "rgbd", self._get_depth)
        self.create_service(AddTwoInts, "stream", self._stream)
        self._publisher = self.create_publisher(Image, "image", 10)
        self._timer = self.create_timer(1 / STREAM_HZ, self._publish)
        self._timer.cancel()
        self._action = ActionServer(self, Fibonacci, "fibonacci", self._execute)

    def _tiny(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = True
        return response

    def _capture(self, request: CaptureImage.Request, response: CaptureImage.Response) -> CaptureImage.Response:
        response.status.success = True
        response.image = self._rgb
        return response

    def _get_depth(self, request: GetDepth.Request, response: GetDepth.Response) -> GetDepth.Response:
        response.status.success = True
        response.image, response.depth = self._rgb, self._depth
        return response

    def _stream(self, request: AddTwoInts.Request, response: AddTwoInts.Response) -> AddTwoInts.Response:
        """Answer how many pictures were sent, and begin to send `a` others, numbered in their frame_id."""
        response.sum = self._sent
        self._sent, self._wanted = 0, request.a
        self._timer.reset()
        return response

    def _publish(self) -> None:
        if self._sent >= self._wanted:
            self._timer.cancel()
            return
        self._rgb.header.frame_id = str(self._sent)
        self._rgb.header.stamp = stamp()
        self._publisher.publish(self._rgb)
        self._sent += 1

    def _execute(self, goal: Any) -> Fibonacci.Result:
        goal.succeed()
        return Fibonacci.Result(sequence=[0, 1])


def main() -> None:
    """Serve until SIGINT, SIGTERM or the end of the parent."""
    parent = os.getppid()
    rclpy.init()
    node = Peer()
    node.create_timer(1.0, lambda: None if os.getppid() == parent else sys.exit(0))
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
