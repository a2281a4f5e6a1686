"""`service list` and `service call`."""

from __future__ import annotations

import time
from typing import Any

from rclpy_zenoh.cli.connection import Connection, connect
from rclpy_zenoh.cli.errors import CliError
from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.names import instead_of, is_hidden
from rclpy_zenoh.cli.types import find_class, type_name
from rclpy_zenoh.cli.values import fill, parse_yaml


def list_services(arguments: Arguments) -> int:
    """Names of all services, one a line."""
    with connect(arguments, looks=True) as connection:
        services = [
            (name, types)
            for name, types in sorted(connection.node.get_service_names_and_types())
            if arguments.include_hidden_services or not is_hidden(name)
        ]
    if arguments.count_services:
        print(len(services))
        return 0
    for name, types in services:
        print(f"{name} [{', '.join(types)}]" if arguments.show_types else name)
    return 0


def call(arguments: Arguments) -> int:
    """Call a service and print request and response."""
    cls = find_class(arguments.type, "srv")
    request = cls.Request()
    fill(request, parse_yaml(arguments.values, "request"), name=type_name(cls))
    with connect(arguments) as connection:
        name = connection.expand(arguments.service)
        client = _client(connection, name, cls, arguments.timeout)
        while True:
            began = time.monotonic()
            print(f"requester: making request: {request!r}\n")
            response = connection.wait_for(
                client.call_async(request),
                client.service_is_ready,
                f"The server of '{name}' went away without a reply.",
            )
            print(f"response:\n{response!r}\n")
            if arguments.rate is None:
                return 0
            connection.spin_for(began + 1 / arguments.rate - time.monotonic())


def _client(connection: Connection, name: str, cls: type[Any], timeout: float) -> Any:
    """A client whose server is there. Raises CliError where none of that name and type appears in time."""
    known = dict(connection.node.get_service_names_and_types())
    types = known.get(name, [])
    if types and type_name(cls) not in types:
        raise CliError(f"Service '{name}' has the type {', '.join(types)} and not {type_name(cls)}.")
    client = connection.node.create_client(cls, name)
    if not client.service_is_ready():
        print("waiting for service to become available...")
        if not connection.spin_until(client.service_is_ready, timeout):
            visible = [other for other in known if not is_hidden(other)]
            raise CliError(
                f"There is no service '{name}' after {timeout:g} s; {instead_of(name, visible, 'services')}."
            )
    return client
