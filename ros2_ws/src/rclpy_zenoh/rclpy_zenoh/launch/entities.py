"""A launch file as a tree of entities that know where they stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from rclpy_zenoh import plain_yaml
from rclpy_zenoh.launch.errors import LaunchError

_STRING = "tag:yaml.org,2002:str"


class Entity:
    """One entry of a launch file, such as a node, an argument or one of a node's parameters.

    Values are read by name; `finish` then refuses what was not read, so that a misspelt key is an error.

    Attributes:
        kind: The element's name, e.g. "node".
        place: File and line, for errors.
    """

    def __init__(self, kind: str, node: yaml.Node, file: Path) -> None:
        self.kind = kind
        self.place = f"{file.name}, line {node.start_mark.line + 1}"
        self._file = file
        self._node = node
        self._read: set[str] = set()
        self._values: dict[str, yaml.Node] = {}
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._values[key.value] = value

    def error(self, problem: str) -> LaunchError:
        """An error that says where."""
        return LaunchError(f"{self.place}: {self.kind}: {problem}.")

    def has(self, name: str) -> bool:
        """True where the key is given."""
        return name in self._values

    def value(self, name: str) -> Any:
        """The value as YAML types it, None where it is not given."""
        self._read.add(name)
        if name not in self._values:
            return None
        try:
            return plain_yaml.value(self._values[name])
        except plain_yaml.PlainYamlError as error:
            raise self.error(f"'{name}': {error.problem}") from None

    def text(self, name: str) -> str:
        """A string that must be given."""
        found = self.optional_text(name)
        if found is None:
            raise self.error(f"'{name}' is missing")
        return found

    def optional_text(self, name: str) -> str | None:
        """A string, None where it is not given. Numbers are no strings here, as in ROS 2."""
        self._read.add(name)
        node = self._values.get(name)
        if node is not None and node.tag != _STRING:
            raise self.error(f"'{name}' must be a string, so put it in quotes")
        return None if node is None else str(node.value)

    def number(self, name: str, default: float) -> float:
        """A number of 0 or more."""
        found = self.value(name)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not found >= 0:
            raise self.error(f"'{name}' must be a number of 0 or more")
        return float(found)

    def entries(self, name: str) -> list[Entity]:
        """The mappings of a list, empty where it is not given."""
        self._read.add(name)
        node = self._values.get(name)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not all(isinstance(n, yaml.MappingNode) for n in node.value):
            raise self.error(f"'{name}' must be a list of mappings")
        return [Entity(f"{self.kind}, {name}", entry, self._file) for entry in node.value]

    def children(self) -> list[Entity]:
        """The entities inside: of a list, or of the list `children`."""
        self._read.add("children")
        node = self._values.get("children") if isinstance(self._node, yaml.MappingNode) else self._node
        if not isinstance(node, yaml.SequenceNode):
            raise self.error("a list of entities is expected")
        found = []
        for child in node.value:
            if not isinstance(child, yaml.MappingNode) or len(child.value) != 1:
                raise LaunchError(
                    f"{self._file.name}, line {child.start_mark.line + 1}: "
                    "an entity is a mapping with one key, which says what it is."
                )
            kind, value = child.value[0]
            if not isinstance(value, (yaml.MappingNode, yaml.SequenceNode)):
                raise LaunchError(
                    f"{self._file.name}, line {child.start_mark.line + 1}: {kind.value}: a mapping or list is expected."
                )
            found.append(Entity(str(kind.value), value, self._file))
        return found

    def finish(self) -> None:
        """Raise LaunchError where a key is given that has not been read."""
        unknown = [name for name in self._values if name not in self._read]
        if unknown:
            allowed = ", ".join(sorted(self._read))
            raise self.error(f"unknown key '{unknown[0]}'; allowed: {allowed}")


def load(file: Path) -> Entity:
    """The root entity `launch` of a file.

    Raises:
        LaunchError: There is no such file, it is no YAML, or it has another root.
    """
    try:
        root = plain_yaml.compose(file.read_bytes())
    except OSError as error:
        raise LaunchError(f"The launch file {file} cannot be read: {error.strerror}.") from None
    except plain_yaml.PlainYamlError as error:
        line = "" if error.line is None else f", line {error.line}"
        raise LaunchError(f"{file.name}{line}: this is no YAML: {error.problem}.") from None
    if not isinstance(root, yaml.MappingNode) or [key.value for key, _ in root.value] != ["launch"]:
        raise LaunchError(f"{file.name}: a launch file has one root, 'launch:'.")
    return Entity("launch", root.value[0][1], file)
