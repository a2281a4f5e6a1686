"""Why a publisher and a subscription would not be matched by DDS."""

from __future__ import annotations

from rclpy.duration import Duration, Infinite
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy


def reasons(publisher: QoSProfile, subscription: QoSProfile) -> tuple[list[str], list[str]]:
    """What does not fit, and what cannot be decided because a policy is the system's default or unknown."""
    errors: list[str] = []
    doubts: list[str] = []
    weaker_first = (
        (publisher.reliability, ReliabilityPolicy.BEST_EFFORT, subscription.reliability, ReliabilityPolicy.RELIABLE),
        (publisher.durability, DurabilityPolicy.VOLATILE, subscription.durability, DurabilityPolicy.TRANSIENT_LOCAL),
        (publisher.liveliness, LivelinessPolicy.AUTOMATIC, subscription.liveliness, LivelinessPolicy.MANUAL_BY_TOPIC),
    )
    for offered, weak, requested, strong in weaker_first:
        offers_weak, requests_strong = offered == weak, requested == strong
        if offers_weak and requests_strong:
            errors.append(f"{_words(offered)} publisher and {_words(requested).lower()} subscription")
        elif (offers_weak and _open(requested)) or (_open(offered) and (requests_strong or _open(requested))):
            what = type(offered).__name__.removesuffix("Policy").lower()
            doubts.append(f"publisher's {what} is {offered.name} and subscription's is {requested.name}")
    spans = (
        ("deadline", publisher.deadline, subscription.deadline),
        ("liveliness lease duration", publisher.liveliness_lease_duration, subscription.liveliness_lease_duration),
    )
    for what, offered_span, requested_span in spans:
        if not _limited(requested_span):
            continue
        if not _limited(offered_span):
            errors.append(f"Subscription has a {what}, but publisher does not")
        elif requested_span < offered_span:
            errors.append(f"Subscription {what} is less than publisher {what}")
    return errors, doubts


def _words(policy: ReliabilityPolicy | DurabilityPolicy | LivelinessPolicy) -> str:
    return policy.name.replace("_", " ").capitalize()


def _open(policy: ReliabilityPolicy | DurabilityPolicy | LivelinessPolicy) -> bool:
    return policy.name in ("SYSTEM_DEFAULT", "UNKNOWN")


def _limited(span: Duration) -> bool:
    return 0 < span.nanoseconds < Infinite.nanoseconds - 1
