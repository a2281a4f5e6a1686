"""The errors that rclpy's C extension defines, under the name of the extension that nodes import them from."""


class RCLError(RuntimeError):
    """An operation that the client library below rclpy refuses."""


class RCLInvalidROSArgsError(RCLError):
    """A ROS argument, such as a remap rule, that cannot be read."""


class UnknownROSArgsError(RuntimeError):
    """An argument after `--ros-args` that is none of ROS."""


class NodeNameNonExistentError(RCLError):
    """A question about a node that is not in the graph."""


class UnsupportedEventTypeError(RCLError):
    """A middleware event that this middleware never reports."""


class InvalidHandle(RuntimeError):
    """A use of something that has been destroyed."""
