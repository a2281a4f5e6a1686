"""Quality of service: the profile of an endpoint, and its text in liveliness tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from rclpy_zenoh.wire.errors import QoSError

INFINITE_NS = 2**63 - 1
"""The duration that rmw calls infinite; a profile may write 0 instead."""

_NS = 10**9
_MAX_DIGITS = 20
_FORM = "<reliability>:<durability>:<history>,<depth>:<deadline s>,<ns>:<lifespan s>,<ns>:<liveliness>,<lease s>,<ns>"


class Reliability(IntEnum):
    """rmw_qos_reliability_policy_e."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class Durability(IntEnum):
    """rmw_qos_durability_policy_e."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4


class History(IntEnum):
    """rmw_qos_history_policy_e."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3


class Liveliness(IntEnum):
    """rmw_qos_liveliness_policy_e."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4
    BEST_AVAILABLE = 5


@dataclass(frozen=True)
class Qos:
    """A profile in rmw's numbers; 0 means "the system's default", and for durations "infinite"."""

    reliability: int
    durability: int
    history: int
    depth: int
    deadline_ns: int = 0
    lifespan_ns: int = 0
    liveliness: int = 0
    lease_ns: int = 0


DEFAULT = Qos(Reliability.RELIABLE, Durability.VOLATILE, History.KEEP_LAST, 42, liveliness=Liveliness.AUTOMATIC)
"""What rmw_zenoh takes for each default."""


def resolve_qos(qos: Qos) -> Qos:
    """The profile with rmw_zenoh's values in place of defaults; infinite durations are 0.

    Raises:
        QoSError: A policy is unknown or a number is negative.
    """
    for value, enum in (
        (qos.reliability, Reliability),
        (qos.durability, Durability),
        (qos.history, History),
        (qos.liveliness, Liveliness),
    ):
        _policy(value, enum)
    for name in ("depth", "deadline_ns", "lifespan_ns", "lease_ns"):
        value = getattr(qos, name)
        if not 0 <= value <= INFINITE_NS:
            raise QoSError(f"QoS: {name} must be between 0 and 2^63 - 1, not {value}.")
    return replace(
        qos,
        reliability=qos.reliability or DEFAULT.reliability,
        durability=qos.durability or DEFAULT.durability,
        history=qos.history or DEFAULT.history,
        depth=qos.depth or DEFAULT.depth,
        deadline_ns=qos.deadline_ns % INFINITE_NS,
        lifespan_ns=qos.lifespan_ns % INFINITE_NS,
        liveliness=qos.liveliness or DEFAULT.liveliness,
        lease_ns=qos.lease_ns % INFINITE_NS,
    )


def encode_qos(qos: Qos) -> str:
    """The text of a profile in a token, such as "::,10:,:,:,,"; empty parts are defaults. Raises QoSError."""
    qos = resolve_qos(qos)
    return (
        f"{_number(qos.reliability, DEFAULT.reliability)}:{_number(qos.durability, DEFAULT.durability)}:"
        f"{_number(qos.history, DEFAULT.history)},{_number(qos.depth, DEFAULT.depth)}:"
        f"{_duration(qos.deadline_ns)}:{_duration(qos.lifespan_ns)}:"
        f"{_number(qos.liveliness, DEFAULT.liveliness)},{_duration(qos.lease_ns)}"
    )


def decode_qos(text: str) -> Qos:
    """The profile in a token, with rmw_zenoh's values for empty parts. Raises QoSError."""
    parts = [part.split(",") for part in text.split(":", 7)]
    if len(parts) < 6 or any(len(part) < size for part, size in zip(parts, (1, 1, 2, 2, 2, 3), strict=False)):
        raise QoSError(
            f"QoS '{text[:80]}' is not <reliability>:<durability>:<history>,<depth>:s,ns:s,ns:<liveliness>,s,ns."
        )
    return Qos(
        reliability=_policy(_parse(parts[0][0], DEFAULT.reliability), Reliability),
        durability=_policy(_parse(parts[1][0], DEFAULT.durability), Durability),
        history=_policy(_parse(parts[2][0], DEFAULT.history), History),
        depth=_parse(parts[2][1], DEFAULT.depth),
        deadline_ns=_parse_duration(parts[3][0], parts[3][1]),
        lifespan_ns=_parse_duration(parts[4][0], parts[4][1]),
        liveliness=_policy(_parse(parts[5][0], DEFAULT.liveliness), Liveliness),
        lease_ns=_parse_duration(parts[5][1], parts[5][2]),
    )


def _policy(value: int, enum: type[IntEnum]) -> int:
    if value not in enum._value2member_map_ or value == enum["UNKNOWN"]:
        allowed = ", ".join(f"{member.value} ({member.name})" for member in enum if member.name != "UNKNOWN")
        raise QoSError(f"QoS: {enum.__name__.lower()} {value} is not one of {allowed}.")
    return int(value)


def _number(value: int, default: int) -> str:
    return "" if value == default else str(int(value))


def _duration(nanoseconds: int) -> str:
    whole, rest = divmod(nanoseconds or INFINITE_NS, _NS)
    return f"{_number(whole, INFINITE_NS // _NS)},{_number(rest, INFINITE_NS % _NS)}"


def _parse(text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise QoSError(f"QoS: '{text[:40]}' is no number of at most {_MAX_DIGITS} digits.")
    return int(text)


def _parse_duration(whole: str, rest: str) -> int:
    nanoseconds = _parse(whole, INFINITE_NS // _NS) * _NS + _parse(rest, INFINITE_NS % _NS)
    return 0 if nanoseconds >= INFINITE_NS else nanoseconds
