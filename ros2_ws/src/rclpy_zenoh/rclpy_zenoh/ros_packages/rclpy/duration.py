"""Spans of time."""

from __future__ import annotations

from typing import Any

import builtin_interfaces.msg

from rclpy.constants import S_TO_NS


class Duration:
    """A span between two points in time, in nanoseconds; it may be negative.

    Args:
        seconds: Seconds; a fraction counts.
        nanoseconds: Nanoseconds to add; a fraction does not count.
    """

    __slots__ = ("_nanoseconds",)

    def __init__(self, *, seconds: float = 0, nanoseconds: int = 0) -> None:
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if not -(2**63) <= total < 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C duration.")
        self._nanoseconds = total

    @property
    def nanoseconds(self) -> int:
        """The whole span in nanoseconds."""
        return self._nanoseconds

    def __repr__(self) -> str:
        return f"Duration(nanoseconds={self._nanoseconds})"

    def __str__(self) -> str:
        return "Infinite" if self == Infinite else f"{self._nanoseconds} nanoseconds"

    def __hash__(self) -> int:
        return hash(self._nanoseconds)

    def __eq__(self, other: object) -> bool:
        return self._nanoseconds == other._nanoseconds if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._nanoseconds < other._nanoseconds if isinstance(other, Duration) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._nanoseconds <= other._nanoseconds if isinstance(other, Duration) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._nanoseconds > other._nanoseconds if isinstance(other, Duration) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._nanoseconds >= other._nanoseconds if isinstance(other, Duration) else NotImplemented

    def to_msg(self) -> Any:
        """The span as builtin_interfaces/msg/Duration."""
        seconds, nanoseconds = divmod(self._nanoseconds, S_TO_NS)
        return builtin_interfaces.msg.Duration(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any) -> Duration:
        """The span that a builtin_interfaces/msg/Duration holds."""
        if not isinstance(msg, builtin_interfaces.msg.Duration):
            raise TypeError("Must pass a builtin_interfaces.msg.Duration object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec)


Infinite = Duration(nanoseconds=2**63 - 1)
"""Never; what rmw calls RMW_DURATION_INFINITE."""
