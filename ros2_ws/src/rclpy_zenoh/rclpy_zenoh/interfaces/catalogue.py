"""Interface classes by name, of the distribution that the process has chosen."""

from __future__ import annotations

import threading
from typing import Any

from rclpy_zenoh.interfaces.definitions import dds_type_name
from rclpy_zenoh.interfaces.errors import InterfaceError
from rclpy_zenoh.interfaces.message import (
    Interface,
    Message,
    action_class,
    message_class,
    service_class,
)
from rclpy_zenoh.interfaces.registry import Registry

DEFAULT_DISTRO = "jazzy"


class Catalogue:
    """Makes each class once."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._classes: dict[str, type[Any]] = {}
        self._begun: list[str] = []

    def get(self, name: str) -> type[Any]:
        """The class of an interface, or of a part of one. Raises InterfaceError."""
        if name not in self._classes:
            if name in self._begun:
                raise InterfaceError(f"{name} contains itself: {' -> '.join((*self._begun, name))}.")
            definition = self.registry.definition(name)
            self._begun.append(name)
            try:
                self._classes[name] = self._make(name, definition)
            finally:
                self._begun.pop()
        return self._classes[name]

    def _make(self, name: str, definition: Any) -> type[Any]:
        kind = name.split("/")[1]
        is_file = self.registry.has(name)
        if kind == "action" and is_file:
            return action_class(name, self.registry, self.get)
        if (kind == "srv" and is_file) or name.endswith(("_SendGoal", "_GetResult")):
            return service_class(name, self.registry, self.get)
        return message_class(definition, self.registry, self.get)


_lock = threading.RLock()
_catalogues: dict[str, Catalogue] = {}
_distro = DEFAULT_DISTRO


def _current() -> Catalogue:
    if _distro not in _catalogues:
        _catalogues[_distro] = Catalogue(Registry(_distro))
    return _catalogues[_distro]


def registry() -> Registry:
    """The definitions of the chosen distribution."""
    with _lock:
        return _current().registry


def use_distro(name: str) -> None:
    """Choose the standard interfaces of "jazzy", "kilted" or "lyrical"; without a call they are jazzy's.

    Call it before the first interface is imported: classes of two distributions do not mix.

    Raises:
        InterfaceError: There is no such distribution.
    """
    global _distro
    with _lock:
        if name not in _catalogues:
            _catalogues[name] = Catalogue(Registry(name))
        _distro = name


def get_class(name: str) -> type[Any]:
    """The class of "pkg/msg/Name", "pkg/srv/Name" or "pkg/action/Name", or of a part such as "pkg/srv/Name_Request".

    Raises:
        InterfaceError: There is no such interface, or its definition is wrong.
    """
    with _lock:
        return _current().get(name)


def _interface(cls: Any) -> type[Interface]:
    if not (isinstance(cls, type) and issubclass(cls, Interface) and hasattr(cls, "_type_name_")):
        raise InterfaceError(f"{cls!r} is no message, service or action class.")
    return cls


def type_name(cls: type[Any]) -> str:
    """Full name of an interface class, such as "std_srvs/srv/Trigger". Raises InterfaceError."""
    return _interface(cls)._type_name_


def type_hash(cls: type[Any]) -> str:
    """RIHS01 hash of an interface class; of a service it is the hash that its key carries. Raises InterfaceError."""
    known = _interface(cls)
    with _lock:
        return known._registry_.type_hash(known._type_name_)


def dds_name(cls: type[Any]) -> str:
    """Name of an interface class in keys and tokens, such as "std_msgs::msg::dds_::String_". Raises InterfaceError."""
    return dds_type_name(_interface(cls)._type_name_)


def is_message(cls: Any) -> bool:
    """True for a message class."""
    return isinstance(cls, type) and issubclass(cls, Message)
