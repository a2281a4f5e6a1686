"""`param list`, `get`, `set`, `describe` and `dump`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from rcl_interfaces.msg import Parameter, ParameterType
from rclpy.parameter import get_parameter_value, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient

from rclpy_zenoh.cli.connection import Connection, connect
from rclpy_zenoh.cli.errors import CliError, UsageError
from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.names import full_name, instead_of
from rclpy_zenoh.cli.nodes import node_names, unknown_node
from rclpy_zenoh.cli.render import dump_yaml

# type: (its name, label of one value or of several)
TYPES = {
    ParameterType.PARAMETER_NOT_SET: ("not set", "Parameter not set."),
    ParameterType.PARAMETER_BOOL: ("boolean", "Boolean value is:"),
    ParameterType.PARAMETER_INTEGER: ("integer", "Integer value is:"),
    ParameterType.PARAMETER_DOUBLE: ("double", "Double value is:"),
    ParameterType.PARAMETER_STRING: ("string", "String value is:"),
    ParameterType.PARAMETER_BYTE_ARRAY: ("byte array", "Byte values are:"),
    ParameterType.PARAMETER_BOOL_ARRAY: ("boolean array", "Boolean values are:"),
    ParameterType.PARAMETER_INTEGER_ARRAY: ("integer array", "Integer values are:"),
    ParameterType.PARAMETER_DOUBLE_ARRAY: ("double array", "Double values are:"),
    ParameterType.PARAMETER_STRING_ARRAY: ("string array", "String values are:"),
}


class _Remote:
    """The parameter services of one node.

    Raises CliError, on construction and on every call, where the node does not answer.
    """

    def __init__(self, connection: Connection, name: str, timeout: float) -> None:
        self.name = name
        self._connection = connection
        self._client = AsyncParameterClient(connection.node, name)
        if not connection.spin_until(self._client.services_are_ready, timeout):
            raise CliError(f"Node '{name}' has no parameter services.")

    def names(self, prefixes: Sequence[str] = ()) -> list[str]:
        """Names of its parameters, sorted."""
        return sorted(self._wait(self._client.list_parameters(prefixes=list(prefixes))).result.names)

    def value(self, name: str) -> Any:
        """Value as rcl_interfaces/msg/ParameterValue; CliError where the parameter is not declared or has none."""
        return (self._values([name]) or self._complain([name]))[0]

    def all_values(self, names: list[str]) -> dict[str, Any]:
        """Values of the parameters that have one."""
        values = self._values(names)
        if len(values) == len(names):
            return dict(zip(names, values, strict=True))
        # One parameter without a value makes a node answer with none at all.
        singly = {name: self._values([name]) for name in names}
        return {name: found[0] for name, found in singly.items() if found}

    def descriptors(self, names: list[str]) -> list[Any]:
        """Descriptors of parameters; CliError where one is not declared."""
        found = list(self._wait(self._client.describe_parameters(names)).descriptors) if names else []
        return found if len(found) == len(names) else self._complain(names)

    def set(self, parameter: Any) -> Any:
        """The node's verdict about a new value."""
        return self._wait(self._client.set_parameters([parameter])).results[0]

    def _values(self, names: list[str]) -> list[Any]:
        return list(self._wait(self._client.get_parameters(names)).values)

    def _complain(self, wanted: Sequence[str]) -> list[Any]:
        known = self.names()
        for name in wanted:
            if name not in known:
                raise CliError(f"Parameter not set: '{name}' of {self.name}; {instead_of(name, known, 'parameters')}.")
        raise CliError(f"Parameter not set: '{wanted[0]}' of {self.name} is declared and has no value yet.")

    def _wait(self, future: Any) -> Any:
        return self._connection.wait_for(
            future, self._client.services_are_ready, f"Node '{self.name}' went away without a reply."
        )


def _wait_for_nodes(connection: Connection, arguments: Arguments) -> list[str]:
    """The node that was named, or all nodes. Raises CliError where the named one does not appear."""

    def names() -> list[str]:
        return node_names(connection.node, arguments.include_hidden_nodes)

    if arguments.node_name is None:
        return sorted(set(names()))
    wanted = full_name(arguments.node_name)
    if not connection.spin_until(lambda: wanted in names(), arguments.timeout):
        raise unknown_node(wanted, names())
    return [wanted]


@contextlib.contextmanager
def _remote(arguments: Arguments) -> Iterator[_Remote]:
    with connect(arguments) as connection:
        (name,) = _wait_for_nodes(connection, arguments)
        yield _Remote(connection, name, arguments.timeout)


def list_params(arguments: Arguments) -> int:
    """Names of the parameters of one node, or of all nodes."""
    with connect(arguments) as connection:
        for name in _wait_for_nodes(connection, arguments):
            try:
                remote = _Remote(connection, name, arguments.timeout)
            except CliError:
                if arguments.node_name is not None:
                    raise
                continue  # a node may do without these services
            names = [n for n in remote.names(arguments.param_prefixes) if _wanted(n, arguments.filter)]
            if arguments.node_name is None and names:
                print(f"{name}:")
            types = remote.descriptors(names) if arguments.param_type else []
            kinds = {descriptor.name: f" (type: {TYPES[descriptor.type][0]})" for descriptor in types}
            for parameter in names:
                print(f"  {parameter}{kinds.get(parameter, '')}")
    return 0


def _wanted(name: str, expression: Any) -> bool:
    return expression is None or expression.match(name) is not None


def get_param(arguments: Arguments) -> int:
    """Print the value of a parameter."""
    with _remote(arguments) as remote:
        value = remote.value(arguments.param)
    label, plain = TYPES[value.type][1], _plain(value)
    if arguments.hide_type:
        print(plain)
    elif plain is None:
        print(label)
    else:
        print(label, plain)
    return 0


def _plain(value: Any) -> Any:
    """A ParameterValue as bool, number, text or list."""
    plain = parameter_value_to_python(value)
    if value.type == ParameterType.PARAMETER_BYTE_ARRAY:
        return list(plain)
    return plain.tolist() if hasattr(plain, "tolist") else plain


def set_param(arguments: Arguments) -> int:
    """Set a parameter to a value in YAML."""
    try:
        value = get_parameter_value(string_value=arguments.value)
    except Exception as error:
        raise UsageError(f"'{arguments.value}' is no value of a parameter: {str(error).splitlines()[0]}.") from error
    with _remote(arguments) as remote:
        result = remote.set(Parameter(name=arguments.param, value=value))
    reason = f": {result.reason}" if result.reason else ""
    if not result.successful:
        raise CliError(f"Setting parameter failed{reason}")
    print(f"Set parameter successful{reason}")
    return 0


def describe(arguments: Arguments) -> int:
    """Print type, description and limits of parameters."""
    with _remote(arguments) as remote:
        descriptors = remote.descriptors(arguments.param)
    for descriptor in descriptors:
        print("Parameter name:", descriptor.name)
        print("  Type:", TYPES[descriptor.type][0])
        if descriptor.description:
            print("  Description:", descriptor.description)
        print("  Constraints:")
        if descriptor.read_only:
            print("    Read only: true")
        for limits in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
            print("    Min value:", limits.from_value)
            print("    Max value:", limits.to_value)
            if limits.step:
                print("    Step:", limits.step)
        if descriptor.additional_constraints:
            print("    Additional constraints:", descriptor.additional_constraints)
    return 0


def dump(arguments: Arguments) -> int:
    """Print all parameters of a node as a parameter file."""
    with _remote(arguments) as remote:
        values = remote.all_values(remote.names())
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = _plain(value)
    print(dump_yaml({remote.name: {"ros__parameters": tree}}, sort_keys=True))
    return 0
