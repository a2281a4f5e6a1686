"""Publishing transforms of frames that move."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from tf2_msgs.msg import TFMessage


class TransformBroadcaster:
    """Publishes to /tf.

    Args:
        node: The node that publishes.
        qos: Quality of service or depth; by default a depth of 100.
    """

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        self.pub_tf = node.create_publisher(TFMessage, "/tf", QoSProfile(depth=100) if qos is None else qos)

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish one transform or several."""
        self.pub_tf.publish(TFMessage(transforms=as_list(transform)))


def as_list(transform: TransformStamped | Iterable[TransformStamped]) -> list[TransformStamped]:
    """One transform or several as a list."""
    return list(transform) if hasattr(transform, "__iter__") else [transform]
