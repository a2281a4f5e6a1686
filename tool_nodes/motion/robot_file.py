"""Reads the values of a robot.yaml strictly: every mistake is one sentence that names the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.plain_yaml import PlainYamlError, load
from toolhand.tool_nodes.results import ToolError, invalid, unavailable


def robot_error(file: Path, what: str) -> ToolError:
    """The error about a file of a robot."""
    return invalid(f"{file}: {what}.", "Correct the robot's file.")


MAX_FILE_BYTES = 8_000_000
"""Largest file of a robot that is read, meshes aside [bytes]; the URDF of a whole mobile robot has 200 kB."""


def read_file(file: Path) -> bytes:
    """Raises ToolError UNAVAILABLE where it cannot be read, INVALID_ARGUMENT for no regular file or a large one."""
    try:
        if file.exists() and not file.is_file():
            raise robot_error(file, "it must be a regular file")
        if file.stat().st_size > MAX_FILE_BYTES:
            raise robot_error(file, f"a robot's file may have {MAX_FILE_BYTES} bytes, got {file.stat().st_size}")
        return file.read_bytes()
    except OSError as error:
        raise unavailable(f"The robot model {file} is missing.", "Install `urdf` beside it.") from error


def read_document(file: Path) -> Section:
    """The mapping in a YAML file. Raises ToolError UNAVAILABLE, or INVALID_ARGUMENT where it holds something else."""
    try:
        document = load(read_file(file))
    except PlainYamlError as error:
        raise robot_error(file, f"it is no plain YAML: {str(error).rstrip('.')}") from error
    return Section(file, "", document)


class Section:
    """A mapping of the file. A key that was not asked for when it is left by `done` is an error too.

    Args:
        file: Named in errors.
        key: Where in the file it stands, with dots; empty at the top.
        values: The mapping that was read.
    """

    def __init__(self, file: Path, key: str, values: Any) -> None:
        self.file, self.key = file, key
        if not isinstance(values, Mapping):
            raise robot_error(file, f"{key or 'the document'} must be a mapping, got {_shown(values)}")
        self._values = values
        self._asked: set[str] = set()

    def error(self, key: str, what: str) -> ToolError:
        """The error about a key: `what` follows its name."""
        return robot_error(self.file, f"{self._full(key)} {what}")

    def _full(self, key: str) -> str:
        return f"{self.key}.{key}" if self.key else key

    def _get(self, key: str) -> Any:
        self._asked.add(key)
        if key not in self._values:
            raise self.error(key, "is missing")
        return self._values[key]

    def has(self, key: str) -> bool:
        """True if the key is there."""
        return key in self._values

    def done(self) -> None:
        """Raises ToolError for a key that nothing has asked for."""
        unknown = sorted(set(self._values) - self._asked)
        if unknown:
            raise self.error(unknown[0], f"is no key of this file; known here are {', '.join(sorted(self._asked))}")

    def section(self, key: str) -> Section:
        """A mapping within this one."""
        return Section(self.file, self._full(key), self._get(key))

    def sections(self, key: str) -> list[Section]:
        """The mappings of a list, one or more."""
        values = self._get(key)
        if not isinstance(values, list) or not values:
            raise self.error(key, f"must be a list with one mapping or more, got {_shown(values)}")
        return [Section(self.file, f"{self._full(key)}[{index}]", value) for index, value in enumerate(values)]

    def names(self) -> list[str]:
        """All keys, in the file's order; all of them count as asked for."""
        self._asked |= set(self._values)
        return list(self._values)

    def text(self, key: str, empty: bool = False) -> str:
        """A text; an empty one only where that is allowed."""
        value = self._get(key)
        if not isinstance(value, str) or not (value or empty):
            raise self.error(key, f"must be a text, got {_shown(value)}")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, got {_shown(value)}")
        return value

    def number(self, key: str, above: float = -np.inf) -> float:
        """A finite number greater than `above`."""
        value = self._get(key)
        if not _is_number(value):
            raise self.error(key, f"must be a finite number, got {_shown(value)}")
        if not value > above:
            raise self.error(key, f"must be greater than {above:g}, got {_shown(value)}")
        return float(value)

    def numbers(self, key: str, count: int, above: float = -np.inf) -> tuple[float, ...]:
        """A list of `count` finite numbers, each greater than `above`."""
        values = self._get(key)
        if not isinstance(values, list) or len(values) != count or not all(map(_is_number, values)):
            raise self.error(key, f"must be a list of {count} finite numbers, got {_shown(values)}")
        if not all(value > above for value in values):
            raise self.error(key, f"must hold numbers greater than {above:g}, got {_shown(values)}")
        return tuple(map(float, values))

    def pair(self, key: str, above: float = -np.inf) -> tuple[float, float]:
        """Two finite numbers."""
        first, second = self.numbers(key, 2, above)
        return first, second

    def interval(self, key: str) -> tuple[float, float]:
        """Two finite numbers, the first not above the second."""
        low, high = self.pair(key)
        if low > high:
            raise self.error(key, f"must be ordered, lower end first, got [{low:g}, {high:g}]")
        return low, high


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
