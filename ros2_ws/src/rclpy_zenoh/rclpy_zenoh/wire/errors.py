"""The errors of the wire layer."""

from __future__ import annotations

import zenoh


class WireError(Exception):
    """Something that was asked of the network cannot be done, or got no answer."""


class SessionError(WireError):
    """A session cannot be opened, or is closed."""


class QoSError(WireError, ValueError):
    """A quality-of-service profile, or its text in a token, that is not allowed."""


class InvalidNameError(WireError, ValueError):
    """A name that ROS 2 does not allow.

    Attributes:
        kind: "topic", "service", "node" or "namespace".
        name: The whole name.
        message: Description of the error, worded as in rcl and rmw.
        index: Position in `name` of the first character that is wrong.
    """

    def __init__(self, kind: str, name: str, message: str, index: int) -> None:
        super().__init__(f"Invalid {kind} name '{name}' at character {index}: {message}.")
        self.kind, self.name, self.message, self.index = kind, name, message, index


def reason_of(error: BaseException) -> str | None:
    """Why zenoh cannot do something, None for what it has not raised.

    A panic of its Rust is no Exception: uncaught, it would end a thread without a word.
    """
    if isinstance(error, zenoh.ZError):
        return str(error)
    if type(error).__name__ == "PanicException":
        return (
            "zenoh has broken down in this process, as where shared memory is full (RCLPY_ZENOH_SHM=0 does without "
            "it); start the process again"
        )
    return None
