"""The errors of the interface layer."""

from __future__ import annotations


class InterfaceError(ValueError):
    """A name, a definition, a field's value or a packet that is not what an interface allows."""


class FieldError(InterfaceError, AssertionError):
    """A value that a field cannot hold.

    It is an AssertionError too, because that is what the setters that rosidl generates raise.
    """
