"""Kinds of clocks."""

from enum import IntEnum


class ClockType(IntEnum):
    """What a clock measures; the numbers are rcl's."""

    UNINITIALIZED = 0
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3
