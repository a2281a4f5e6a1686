"""Quality of service from the command line, and from the publishers that are there."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

from rclpy.qos import (
    QoSDurabilityPolicy,
    QoSHistoryPolicy,
    QoSPresetProfiles,
    QoSProfile,
    QoSReliabilityPolicy,
)

from rclpy_zenoh.cli.grammar import Arguments


def chosen_qos(arguments: Arguments) -> QoSProfile:
    """The profile that the --qos options name, with the verb's default for the rest."""
    preset = arguments.qos_profile or arguments.qos_default_profile
    profile = copy.deepcopy(_preset(preset))
    for name, policy in (
        ("reliability", QoSReliabilityPolicy),
        ("durability", QoSDurabilityPolicy),
        ("history", QoSHistoryPolicy),
    ):
        if (choice := getattr(arguments, f"qos_{name}")) is not None:
            setattr(profile, name, policy.get_from_short_key(choice))
    if arguments.qos_depth is not None:
        profile.depth = arguments.qos_depth
    elif profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL and profile.depth == 0:
        profile.depth = 1
    return profile


def _preset(name: str) -> Any:
    return QoSPresetProfiles.get_from_short_key(name)


def qos_for_publishers(arguments: Arguments, publishers: Sequence[Any]) -> QoSProfile:
    """The chosen profile; where no policy was chosen, the strongest one that suits all publishers.

    Args:
        arguments: With the --qos options.
        publishers: The topic's publishers as `get_publishers_info_by_topic` gives them.
    """
    profile = chosen_qos(arguments)
    options = ("reliability", "durability", "history", "depth")
    if not publishers or any(getattr(arguments, f"qos_{name}") is not None for name in options):
        return profile
    for name, strong, weak in (
        ("reliability", QoSReliabilityPolicy.RELIABLE, QoSReliabilityPolicy.BEST_EFFORT),
        ("durability", QoSDurabilityPolicy.TRANSIENT_LOCAL, QoSDurabilityPolicy.VOLATILE),
    ):
        offering = sum(getattr(info.qos_profile, name) == strong for info in publishers)
        if 0 < offering < len(publishers):
            policy = f"QoS{name.capitalize()}Policy"
            print(
                f"Some, but not all, publishers are offering {policy}.{strong.name}. Falling back to "
                f"{policy}.{weak.name} as it will connect to all publishers",
                file=sys.stderr,
            )
        setattr(profile, name, strong if offering == len(publishers) else weak)
    return profile
