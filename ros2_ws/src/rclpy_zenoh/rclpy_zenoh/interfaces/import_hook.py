"""Makes `from sensor_msgs.msg import Image` work where no ROS 2 is installed."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from rclpy_zenoh.interfaces import catalogue
from rclpy_zenoh.interfaces.errors import InterfaceError

_MARKER = "builtin_interfaces"
"""A package that every ROS 2 has: where it can be imported, interfaces are left to ROS 2."""


class _Module(ModuleType):
    """A module such as `sensor_msgs.msg`; it makes its classes when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        package, kind = self.__name__.split(".")
        names = catalogue.registry().packages.get(package, {}).get(kind, ())
        if name == "__all__":
            return list(names)
        full = f"{package}/{kind}/{name}"
        if name.startswith("__") or not (name in names or name.split("_")[0] in names):
            raise AttributeError(f"module '{self.__name__}' has no interface '{name}'; it has {', '.join(names)}")
        try:
            return catalogue.get_class(full)
        except InterfaceError as error:
            raise AttributeError(str(error)) from error

    def __dir__(self) -> list[str]:
        package, kind = self.__name__.split(".")
        return sorted({*super().__dir__(), *catalogue.registry().packages.get(package, {}).get(kind, ())})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds interface packages that no other finder knows, and remembers the modules it made."""

    def __init__(self) -> None:
        self.made: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Spec of an interface package, or of its msg, srv or action module."""
        package, _, kind = fullname.partition(".")
        kinds = catalogue.registry().packages.get(package)
        if kinds is None or (kind and kind not in kinds):
            return None
        if kind:
            return importlib.machinery.ModuleSpec(fullname, self) if package in self.made else None
        return None if _provided(package) else importlib.machinery.ModuleSpec(package, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """A module that makes its classes on demand; the package itself is an ordinary one."""
        return _Module(spec.name, f"Interfaces of {spec.name}.") if "." in spec.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Remember the module; there is nothing to run."""
        self.made.add(module.__name__)


def _provided(package: str) -> bool:
    """True where another finder has the package; a bare folder of that name, such as its sources, is none."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder) or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(package, None)
        if spec is not None and spec.loader is not None and spec.origin is not None:
            return True
    return False


def install_import_hook() -> bool:
    """Let interface packages be imported; does nothing where ROS 2 provides them.

    Returns:
        True where the hook is in place.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return True
    if _provided(_MARKER):
        return False
    sys.meta_path.insert(0, _Finder())
    return True


def remove_import_hook() -> None:
    """Take the hook away, and the modules that it made."""
    for finder in [finder for finder in sys.meta_path if isinstance(finder, _Finder)]:
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
        finder.made.clear()
