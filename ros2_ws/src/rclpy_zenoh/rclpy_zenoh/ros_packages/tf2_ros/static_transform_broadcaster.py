"""Publishing transforms of frames that do not move."""

from __future__ import annotations

from collections.abc import Iterable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from tf2_ros.transform_broadcaster import as_list


class StaticTransformBroadcaster:
    """Publishes to /tf_static, for listeners that are there and those that come later.

    Args:
        node: The node that publishes.
        qos: Quality of service or depth; by default transient local with a depth of 1.
    """

    def __init__(self, node: Node, qos: QoSProfile | int | None = None) -> None:
        if qos is None:
            qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST)
        self.pub_tf = node.create_publisher(TFMessage, "/tf_static", qos)
        self._transforms: dict[str, TransformStamped] = {}

    def sendTransform(self, transform: TransformStamped | Iterable[TransformStamped]) -> None:
        """Publish all transforms that were sent so far; a new one of a child frame replaces the old one."""
        self._transforms.update({stamped.child_frame_id: stamped for stamped in as_list(transform)})
        self.pub_tf.publish(TFMessage(transforms=list(self._transforms.values())))
