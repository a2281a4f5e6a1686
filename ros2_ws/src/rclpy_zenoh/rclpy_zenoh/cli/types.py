"""Interface types by name: their classes, their names and the text of their definitions.

Classes come from `import`, so they are those of ROS 2 where there is one. Names and texts come from the ament index
there, and from the definitions of `rclpy_zenoh` elsewhere.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from rclpy_zenoh import overlay
from rclpy_zenoh.cli.errors import UsageError
from rclpy_zenoh.cli.names import instead_of
from rclpy_zenoh.interfaces import registry

WORDS = {"msg": "message", "srv": "service", "action": "action"}
"""Kinds of interfaces, in the order in which they are listed."""


def find_class(name: str, kind: str) -> type[Any]:
    """The class of an interface.

    Args:
        name: "std_msgs/msg/String", or "std_msgs/String" for short.
        kind: "msg", "srv" or "action", which it must be.

    Raises:
        UsageError: There is none of that name and kind.
    """
    parts = name.split("/")
    if len(parts) == 2:
        parts.insert(1, kind)
    if len(parts) != 3 or not all(part.isidentifier() for part in parts):
        raise UsageError(f"'{name}' is no {WORDS[kind]} type: write it as package/{kind}/Name.")
    package, found_kind, short = parts
    if found_kind != kind:
        what = WORDS.get(found_kind, found_kind)
        raise UsageError(f"'{name}' is a type of {what} and not of {WORDS[kind]}: write package/{kind}/Name.")
    try:
        cls = getattr(import_module(f"{package}.{kind}"), short)
    except (ImportError, AttributeError):
        cls = None
    if not isinstance(cls, type):
        raise UsageError(_unknown("/".join(parts), kind))
    return cls


def type_name(cls: type[Any]) -> str:
    """Name of an interface class, such as "std_msgs/msg/String"."""
    package, kind, *_ = cls.__module__.split(".")
    return f"{package}/{kind}/{cls.__name__}"


def interface_names(kind: str) -> list[str]:
    """Names of all interfaces of a kind, sorted."""
    if overlay.install():
        return [name for name in registry().names() if name.split("/")[1] == kind]
    source = getattr(import_module("rosidl_runtime_py"), f"get_{WORDS[kind]}_interfaces")
    return sorted(f"{package}/{name}" for package, names in source().items() for name in names)


def definition_text(name: str) -> str:
    """The text of the file that defines "package/msg/Name". Raises UsageError."""
    kind = name.split("/")[1] if name.count("/") == 2 else ""
    if kind not in WORDS:
        raise UsageError(
            f"'{name}' is no interface type: write it as package/msg/Name, package/srv/Name or package/action/Name."
        )
    if overlay.install():
        if not registry().has(name):
            raise UsageError(_unknown(name, kind))
        file = registry().path(name)
    else:
        if name not in interface_names(kind):
            raise UsageError(_unknown(name, kind))
        file = Path(import_module("rosidl_runtime_py").get_interface_path(name))
    return file.read_text(encoding="utf-8")


def _unknown(name: str, kind: str) -> str:
    similar = instead_of(name, interface_names(kind), f"{WORDS[kind]} types")
    return f"There is no {WORDS[kind]} type '{name}'; {similar}."
