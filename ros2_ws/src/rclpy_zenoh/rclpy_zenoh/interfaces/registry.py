"""Finds interface definitions by name, for one ROS 2 distribution at a time."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from rclpy_zenoh.interfaces.definitions import MessageDefinition
from rclpy_zenoh.interfaces.errors import InterfaceError
from rclpy_zenoh.interfaces.parser import parse_interface
from rclpy_zenoh.interfaces.type_hash import rihs01
from rclpy_zenoh.packages import package_folders

DISTROS = ("jazzy", "kilted", "lyrical")
KINDS = ("msg", "srv", "action")

STANDARD = Path(__file__).parent / "data"
"""One folder per set of distributions that share its definitions: `common`, or their names joined by dashes."""

_NAME = re.compile(r"(?P<package>[a-z][a-z0-9_]*)/(?P<kind>msg|srv|action)/(?P<file>[A-Z][A-Za-z0-9]*)(?P<part>_\w+)?$")


class Registry:
    """The definitions of one distribution.

    Args:
        distro: "jazzy", "kilted" or "lyrical".
        folders: More package folders, each named like its package and holding msg, srv or action.
    """

    def __init__(self, distro: str, folders: tuple[Path, ...] = ()) -> None:
        if distro not in DISTROS:
            raise InterfaceError(f"There are no definitions of '{distro}'; allowed are {', '.join(DISTROS)}.")
        self.distro = distro
        self._folders = folders
        self._messages: dict[str, MessageDefinition] = {}
        self._hashes: dict[str, str] = {}

    @cached_property
    def _files(self) -> dict[str, Path]:
        """Interface files by full name; packages of `package_folders` and added folders override the standard ones."""
        packages = [
            package
            for group in sorted(STANDARD.iterdir())
            if group.name == "common" or self.distro in group.name.split("-")
            for package in sorted(group.iterdir())
        ]
        packages += package_folders().values()
        return {
            f"{package.name}/{kind}/{file.stem}": file
            for package in (*packages, *self._folders)
            for kind in KINDS
            for file in sorted((package / kind).glob(f"*.{kind}"))
        }

    @cached_property
    def packages(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Package -> "msg", "srv" or "action" -> short names."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for name in sorted(self._files):
            package, kind, short = name.split("/")
            kinds = found.setdefault(package, {})
            kinds[kind] = (*kinds.get(kind, ()), short)
        return found

    def names(self) -> list[str]:
        """Full names of all interfaces that have a file of their own, sorted."""
        return sorted(self._files)

    def path(self, name: str) -> Path:
        """The file that defines an interface, such as "std_srvs/srv/Trigger". Raises InterfaceError."""
        if name not in self._files:
            raise InterfaceError(f"There is no interface {name}.")
        return self._files[name]

    def has(self, name: str) -> bool:
        """True where the interface `name` has a file of its own."""
        return name in self._files

    def definition(self, name: str) -> MessageDefinition:
        """The message `name`, or the message that stands for the service or action `name`.

        Raises:
            InterfaceError: There is no such interface, with what is similar.
        """
        if name not in self._messages:
            found = _NAME.match(name)
            if found is None:
                raise InterfaceError(
                    f"'{name}' is no interface name; write package/msg/Name, package/srv/Name or package/action/Name."
                )
            file = f"{found['package']}/{found['kind']}/{found['file']}"
            if file not in self._files:
                raise InterfaceError(
                    f"There is no interface '{name}' in {self.distro}. {self._known(found['package'])}"
                )
            self._messages.update(parse_interface(file, self._files[file].read_text(encoding="utf-8")))
            if name not in self._messages:
                parts = ", ".join(sorted(part for part in self._messages if part.startswith(f"{file}_")))
                raise InterfaceError(f"There is no '{name}'; {file} has {parts or 'no parts'}.")
        return self._messages[name]

    def type_hash(self, name: str) -> str:
        """RIHS01 hash of a message, service or action, or of a part of one."""
        if name not in self._hashes:
            self._hashes[name] = rihs01(name, self.definition)
        return self._hashes[name]

    def _known(self, package: str) -> str:
        if package not in self.packages:
            return f"Packages: {', '.join(self.packages)}."
        kinds = self.packages[package]
        return f"{package} has {', '.join(f'{kind}/{short}' for kind in kinds for short in kinds[kind])}."
