"""What is known of a publisher or subscription somewhere in the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from rclpy.qos import HistoryPolicy, QoSPresetProfiles, QoSProfile
from rclpy.type_hash import TypeHash


class TopicEndpointTypeEnum(IntEnum):
    """Which end of a topic it is."""

    INVALID = 0
    PUBLISHER = 1
    SUBSCRIPTION = 2


@dataclass
class TopicEndpointInfo:
    """A publisher or subscription.

    Attributes:
        node_name: The node it belongs to.
        node_namespace: The namespace of that.
        topic_type: Such as "std_msgs/msg/String".
        topic_type_hash: The hash of the type.
        endpoint_type: Publisher or subscription.
        endpoint_gid: 16 numbers that stand for it.
        qos_profile: Its quality of service.
    """

    node_name: str = ""
    node_namespace: str = ""
    topic_type: str = ""
    topic_type_hash: TypeHash = field(default_factory=TypeHash)
    endpoint_type: TopicEndpointTypeEnum = TopicEndpointTypeEnum.INVALID
    endpoint_gid: list[int] = field(default_factory=list)
    qos_profile: QoSProfile = field(default_factory=lambda: QoSPresetProfiles.UNKNOWN.value)

    def __str__(self) -> str:
        qos = self.qos_profile
        history = qos.history.name + (f" ({qos.depth})" if qos.history == HistoryPolicy.KEEP_LAST else "")
        return "\n".join(
            (
                f"Node name: {self.node_name}",
                f"Node namespace: {self.node_namespace}",
                f"Topic type: {self.topic_type}",
                f"Topic type hash: {self.topic_type_hash}",
                f"Endpoint type: {self.endpoint_type.name}",
                f"GID: {'.'.join(f'{byte:02x}' for byte in self.endpoint_gid)}",
                "QoS profile:",
                f"  Reliability: {qos.reliability.name}",
                f"  History (Depth): {history}",
                f"  Durability: {qos.durability.name}",
                f"  Lifespan: {qos.lifespan}",
                f"  Deadline: {qos.deadline}",
                f"  Liveliness: {qos.liveliness.name}",
                f"  Liveliness lease duration: {qos.liveliness_lease_duration}",
            )
        )
