"""Command line arguments of ROS: what follows `--ros-args`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rclpy._rclpy_pybind11 import RCLInvalidROSArgsError, UnknownROSArgsError
from rclpy.logging import get_logging_severity_from_string, set_logger_level

_NODE_PREFIX = re.compile(r"(?P<node>[A-Za-z_]\w*):(?!=|//)(?P<rest>.*)", re.DOTALL)
_KINDS = {"rostopic://": "topic", "rosservice://": "service"}


@dataclass(frozen=True)
class Remap:
    """One rule `[node:]from:=to`.

    Attributes:
        node: Name of the only node it is for, or None.
        kind: "name" (the node's), "namespace", "topic", "service" or "any" (topics and services).
        source: Name to replace; "" in rules for node names and namespaces.
        target: The replacement.
    """

    node: str | None
    kind: str
    source: str
    target: str


@dataclass
class Arguments:
    """What a command line says to ROS.

    Attributes:
        remaps: Rules, the first that fits counts.
        param_overrides: ("file", path) or ("value", node pattern or "", name, YAML text), later ones override.
        log_levels: (logger, level); the logger "" is for all.
        remaining: The arguments that are not ROS's.
        rosout: False after --disable-rosout-logs.
        enclave: The security enclave, or None.
    """

    remaps: list[Remap] = field(default_factory=list)
    param_overrides: list[tuple[str, ...]] = field(default_factory=list)
    log_levels: list[tuple[str, str]] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    rosout: bool = True
    enclave: str | None = None

    @classmethod
    def parse(cls, args: list[str]) -> Arguments:
        """Read a command line.

        Raises:
            RCLInvalidROSArgsError: A ROS argument cannot be read.
            UnknownROSArgsError: An argument after --ros-args is none of ROS.
        """
        self = cls()
        unknown: list[str] = []
        in_ros = False
        rest = iter(args)
        for arg in rest:
            if arg == "--ros-args":
                in_ros = True
            elif not in_ros:
                self.remaining.append(arg)
            elif arg == "--":
                in_ros = False
            elif not self._parse_one(arg, rest):
                unknown.append(arg)
        if unknown:
            raise UnknownROSArgsError(f"Found unknown ROS arguments: {', '.join(repr(arg) for arg in unknown)}")
        return self

    def _parse_one(self, arg: str, rest: Iterator[str]) -> bool:
        if arg in ("-r", "--remap"):
            self.remaps.append(_remap(_value(arg, rest)))
        elif arg in ("-p", "--param"):
            self.param_overrides.append(("value", *_param(_value(arg, rest))))
        elif arg == "--params-file":
            self.param_overrides.append(("file", _value(arg, rest)))
        elif arg == "--log-level":
            logger, _, level = _value(arg, rest).rpartition(":=")
            self.log_levels.append((logger, level))
        elif arg in ("-e", "--enclave"):
            self.enclave = _value(arg, rest)
        elif arg == "--log-config-file":
            _value(arg, rest)
        elif arg in ("--enable-rosout-logs", "--disable-rosout-logs"):
            self.rosout = arg == "--enable-rosout-logs"
        else:
            return re.fullmatch("--(enable|disable)-(stdout|external-lib)-logs", arg) is not None
        return True

    def check_files(self) -> None:
        """Refuse parameter files that cannot be read, before any node asks for them."""
        from rclpy._yaml_params import merge_sources

        merge_sources(self.param_overrides)

    def apply_log_levels(self) -> None:
        """Set the levels of the loggers."""
        for logger, level in self.log_levels:
            try:
                set_logger_level(logger, get_logging_severity_from_string(level))
            except RuntimeError as error:
                raise RCLInvalidROSArgsError(f"--log-level: {error}") from None

    def params_for(self, full_node_name: str) -> dict[str, Any]:
        """The parameter overrides of a node."""
        from rclpy._yaml_params import params_for_node

        return params_for_node(self.param_overrides, full_node_name)


def _value(flag: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None or value in ("--", "--ros-args"):
        raise RCLInvalidROSArgsError(f"The ROS argument {flag} needs a value after it.")
    return value


def _remap(rule: str) -> Remap:
    from rclpy_zenoh.wire import InvalidNameError, check_namespace, check_node_name, check_topic_name

    source, assigned, target = rule.partition(":=")
    if not assigned or not source or not target:
        raise RCLInvalidROSArgsError(f"The remap rule '{rule}' is not of the form [node:]from:=to.")
    node: str | None = None
    if found := _NODE_PREFIX.fullmatch(source):
        node, source = found["node"], found["rest"]
    try:
        if source in ("__node", "__name"):
            check_node_name(target)
            return Remap(node, "name", "", target)
        if source == "__ns":
            check_namespace(target)
            return Remap(node, "namespace", "", target)
        kind = "any"
        for scheme, only in _KINDS.items():
            if source.startswith(scheme):
                kind, source = only, source.removeprefix(scheme)
        target = target.removeprefix("rostopic://").removeprefix("rosservice://")
        check_topic_name(source)
        check_topic_name(target)
    except InvalidNameError as error:
        raise RCLInvalidROSArgsError(f"The remap rule '{rule}' is not allowed: {error}") from None
    return Remap(node, kind, source, target)


def _param(rule: str) -> tuple[str, str, str]:
    name, assigned, value = rule.partition(":=")
    if not assigned or not name:
        raise RCLInvalidROSArgsError(f"The parameter override '{rule}' is not of the form [node:]name:=value.")
    node, colon, only_name = name.rpartition(":")
    return (node, only_name, value) if colon else ("", name, value)
