"""Points in time."""

from __future__ import annotations

from typing import Any

import builtin_interfaces.msg

from rclpy.clock_type import ClockType
from rclpy.constants import S_TO_NS
from rclpy.duration import Duration


class Time:
    """A point in time on one kind of clock; times of different kinds of clocks cannot be compared.

    Args:
        seconds: Seconds since the clock's epoch; a fraction counts.
        nanoseconds: Nanoseconds to add.
        clock_type: The kind of clock.
    """

    __slots__ = ("_clock_type", "_nanoseconds")

    def __init__(
        self, *, seconds: float = 0, nanoseconds: int = 0, clock_type: ClockType = ClockType.SYSTEM_TIME
    ) -> None:
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        if seconds < 0:
            raise ValueError("Seconds value must not be negative")
        if nanoseconds < 0:
            raise ValueError("Nanoseconds value must not be negative")
        total = int(seconds * S_TO_NS) + int(nanoseconds)
        if total >= 2**63:
            raise OverflowError("Total nanoseconds value is too large to store in C time point.")
        self._nanoseconds = total
        self._clock_type = clock_type

    @property
    def nanoseconds(self) -> int:
        """Nanoseconds since the clock's epoch."""
        return self._nanoseconds

    def seconds_nanoseconds(self) -> tuple[int, int]:
        """Whole seconds since the epoch, and the nanoseconds that are left."""
        return divmod(self._nanoseconds, S_TO_NS)

    @property
    def clock_type(self) -> ClockType:
        """The kind of clock it was read from."""
        return self._clock_type

    def __repr__(self) -> str:
        return f"Time(nanoseconds={self._nanoseconds}, clock_type={self._clock_type.name})"

    def __add__(self, other: Duration) -> Time:
        if not isinstance(other, Duration):
            return NotImplemented
        try:
            return Time(nanoseconds=self._nanoseconds + other.nanoseconds, clock_type=self._clock_type)
        except OverflowError as error:
            raise OverflowError("Addition leads to overflow in C storage.") from error

    __radd__ = __add__

    def __sub__(self, other: Time | Duration) -> Any:
        if isinstance(other, Time):
            if self._clock_type != other._clock_type:
                raise TypeError("Can't subtract times with different clock types")
            return Duration(nanoseconds=self._nanoseconds - other._nanoseconds)
        if not isinstance(other, Duration):
            return NotImplemented
        try:
            return Time(nanoseconds=self._nanoseconds - other.nanoseconds, clock_type=self._clock_type)
        except ValueError as error:
            raise ValueError("Subtraction leads to negative time.") from error

    def _comparable(self, other: object) -> int | None:
        if not isinstance(other, Time):
            return None
        if self._clock_type != other._clock_type:
            raise TypeError("Can't compare times with different clock types")
        return other._nanoseconds

    def __hash__(self) -> int:
        return hash((self._nanoseconds, self._clock_type))

    def __eq__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self._nanoseconds == value

    def __lt__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self._nanoseconds < value

    def __le__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self._nanoseconds <= value

    def __gt__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self._nanoseconds > value

    def __ge__(self, other: object) -> bool:
        value = self._comparable(other)
        return NotImplemented if value is None else self._nanoseconds >= value

    def to_msg(self) -> Any:
        """The point in time as builtin_interfaces/msg/Time."""
        seconds, nanoseconds = self.seconds_nanoseconds()
        return builtin_interfaces.msg.Time(sec=seconds, nanosec=nanoseconds)

    @classmethod
    def from_msg(cls, msg: Any, clock_type: ClockType = ClockType.ROS_TIME) -> Time:
        """The point in time that a builtin_interfaces/msg/Time holds."""
        if not isinstance(msg, builtin_interfaces.msg.Time):
            raise TypeError("Must pass a builtin_interfaces.msg.Time object")
        return cls(seconds=msg.sec, nanoseconds=msg.nanosec, clock_type=clock_type)
