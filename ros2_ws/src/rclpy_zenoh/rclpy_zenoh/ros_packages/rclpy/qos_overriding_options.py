"""Quality of service that parameters may override."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rclpy.duration import Duration
from rclpy.exceptions import ParameterAlreadyDeclaredException
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSPolicyEnum,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)

if TYPE_CHECKING:
    from rclpy.node import Node

_ENUMS: dict[QoSPolicyKind, type[QoSPolicyEnum]] = {
    QoSPolicyKind.DURABILITY: DurabilityPolicy,
    QoSPolicyKind.HISTORY: HistoryPolicy,
    QoSPolicyKind.LIVELINESS: LivelinessPolicy,
    QoSPolicyKind.RELIABILITY: ReliabilityPolicy,
}
_DURATIONS = (QoSPolicyKind.DEADLINE, QoSPolicyKind.LIFESPAN, QoSPolicyKind.LIVELINESS_LEASE_DURATION)


class InvalidQosOverridesError(Exception):
    """Overrides that are not allowed."""


class QoSOverridingOptions:
    """Which policies of a publisher or subscription parameters may override.

    The parameters are `qos_overrides.<topic>.<publisher|subscription>[_<id>].<policy>`, read-only.

    Args:
        policy_kinds: The policies.
        callback: Looks at the resulting profile; its result has `successful` and `reason`.
        entity_id: Name that distinguishes several ends of one topic in one node.
    """

    def __init__(
        self,
        policy_kinds: Iterable[QoSPolicyKind],
        *,
        callback: Callable[[QoSProfile], Any] | None = None,
        entity_id: str | None = None,
    ) -> None:
        self.policy_kinds = tuple(policy_kinds)
        self.callback = callback
        self.entity_id = entity_id

    @classmethod
    def with_default_policies(
        cls, *, callback: Callable[[QoSProfile], Any] | None = None, entity_id: str | None = None
    ) -> QoSOverridingOptions:
        """History, depth and reliability."""
        kinds = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
        return cls(kinds, callback=callback, entity_id=entity_id)

    def _apply(self, node: Node, end: str, full_topic_name: str, qos: QoSProfile) -> QoSProfile:
        """The profile with what the parameters override."""
        from rcl_interfaces.msg import ParameterDescriptor

        values: dict[str, Any] = {slot[1:]: getattr(qos, slot) for slot in QoSProfile.__slots__}
        suffix = f"_{self.entity_id}" if self.entity_id else ""
        for kind in self.policy_kinds:
            policy = kind.name.lower()
            name = f"qos_overrides.{full_topic_name}.{end}{suffix}.{policy}"
            try:
                parameter = node.declare_parameter(
                    name, _to_parameter(values[policy]), ParameterDescriptor(read_only=True)
                )
            except ParameterAlreadyDeclaredException:
                parameter = node.get_parameter(name)
            values[policy] = _from_parameter(kind, parameter.value)
        result = QoSProfile(**values)
        if self.callback is not None:
            verdict = self.callback(result)
            if not verdict.successful:
                raise InvalidQosOverridesError(f"The callback refuses the QoS overrides: {verdict.reason}")
        return result


def _to_parameter(value: Any) -> Any:
    if isinstance(value, Duration):
        return value.nanoseconds
    return value.short_key if isinstance(value, QoSPolicyEnum) else value


def _from_parameter(kind: QoSPolicyKind, value: Any) -> Any:
    if kind in _DURATIONS:
        return Duration(nanoseconds=value)
    if kind not in _ENUMS:
        return value
    try:
        return _ENUMS[kind][value.upper()]
    except KeyError:
        allowed = ", ".join(_ENUMS[kind].short_keys())
        raise InvalidQosOverridesError(f"{kind.name.lower()} '{value}' is none of {allowed}.") from None
