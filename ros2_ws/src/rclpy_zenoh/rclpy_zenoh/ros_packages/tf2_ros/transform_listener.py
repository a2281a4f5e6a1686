"""Filling a buffer with the transforms that others publish."""

from __future__ import annotations

import contextlib
from threading import Thread

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from tf2_ros.buffer import Buffer

_AUTHORITY = "default_authority"


class TransformListener:
    """Puts what comes on /tf and /tf_static into a buffer, for as long as it exists.

    Args:
        buffer: The buffer.
        node: The node that listens.
        spin_thread: Spin the node in a thread of the listener; then nothing else may spin it.
        qos: Quality of service or depth for /tf; by default a depth of 100.
        static_qos: The same for /tf_static; by default transient local with a depth of 100.
    """

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = False,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
    ) -> None:
        if qos is None:
            qos = QoSProfile(depth=100, durability=DurabilityPolicy.VOLATILE, history=HistoryPolicy.KEEP_LAST)
        if static_qos is None:
            static_qos = QoSProfile(
                depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, history=HistoryPolicy.KEEP_LAST
            )
        self.buffer = buffer
        self.node = node
        # Callbacks that wait for a transform must not keep it from coming.
        self.group = ReentrantCallbackGroup()
        self.tf_sub = node.create_subscription(TFMessage, "/tf", self.callback, qos, callback_group=self.group)
        self.tf_static_sub = node.create_subscription(
            TFMessage, "/tf_static", self.static_callback, static_qos, callback_group=self.group
        )
        self.executor: SingleThreadedExecutor | None = None
        if spin_thread:
            self.executor = SingleThreadedExecutor(context=node.context)
            self.executor.add_node(node)
            self.dedicated_listener_thread = Thread(target=_spin, args=(self.executor,), daemon=True)
            self.dedicated_listener_thread.start()

    def __del__(self) -> None:
        if getattr(self, "tf_static_sub", None) is not None:
            self.unregister()

    def unregister(self) -> None:
        """End the subscriptions, and the thread if there is one."""
        if self.executor is not None:
            self.executor.shutdown()
            self.executor.remove_node(self.node)
            self.executor = None
            self.dedicated_listener_thread.join()
        self.node.destroy_subscription(self.tf_sub)
        self.node.destroy_subscription(self.tf_static_sub)

    def callback(self, data: TFMessage) -> None:
        """Add the transforms of a message."""
        for transform in data.transforms:
            self.buffer.set_transform(transform, _AUTHORITY)

    def static_callback(self, data: TFMessage) -> None:
        """Add the static transforms of a message."""
        for transform in data.transforms:
            self.buffer.set_transform_static(transform, _AUTHORITY)


def _spin(executor: SingleThreadedExecutor) -> None:
    with contextlib.suppress(ExternalShutdownException):
        executor.spin()
