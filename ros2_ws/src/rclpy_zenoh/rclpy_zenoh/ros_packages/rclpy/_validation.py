"""Turns the wire's errors about names into rclpy's exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.exceptions import (
    InvalidNamespaceException,
    InvalidNodeNameException,
    InvalidServiceNameException,
    InvalidTopicNameException,
    NameValidationException,
)
from rclpy_zenoh.wire import InvalidNameError

_EXCEPTIONS = {
    "topic": InvalidTopicNameException,
    "service": InvalidServiceNameException,
    "node": InvalidNodeNameException,
    "namespace": InvalidNamespaceException,
}


def name_exception(error: InvalidNameError) -> NameValidationException:
    """The exception of rclpy for a name that is not allowed."""
    return _EXCEPTIONS[error.kind](error.name, error.message, error.index)


@contextmanager
def translated() -> Iterator[None]:
    """Raise rclpy's exception for a name that is not allowed."""
    try:
        yield
    except InvalidNameError as error:
        raise name_exception(error) from None
