"""Interfaces: definitions, hashes, message classes and their bytes, without a ROS 2 install."""

from rclpy_zenoh.interfaces.catalogue import (
    dds_name,
    get_class,
    is_message,
    registry,
    type_hash,
    type_name,
    use_distro,
)
from rclpy_zenoh.interfaces.cdr import deserialize, serialize
from rclpy_zenoh.interfaces.errors import FieldError, InterfaceError
from rclpy_zenoh.interfaces.import_hook import install_import_hook, remove_import_hook

__all__ = [
    "FieldError",
    "InterfaceError",
    "dds_name",
    "deserialize",
    "get_class",
    "install_import_hook",
    "is_message",
    "registry",
    "remove_import_hook",
    "serialize",
    "type_hash",
    "type_name",
    "use_distro",
]
