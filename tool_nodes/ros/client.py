"""Which rclpy there is, and whether a graph runs on this domain. Nothing here imports rclpy or zenoh at its top."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from importlib import import_module

from toolhand.tool_nodes.extras import pip_install
from toolhand.tool_nodes.results import invalid, unavailable

RUN_COMMAND = "/run_command/_action/send_goal"
"""The service that every graph with an agent offers."""


def use_client(graph: bool = True) -> bool:
    """Make rclpy importable. True for the client that needs no ROS 2.

    Args:
        graph: False where no node of a graph is spoken to, only messages of others are read.

    Raises:
        ToolError: UNAVAILABLE where rclpy, or for a graph the interfaces of this project, cannot be imported.
    """
    try:
        from rclpy_zenoh.overlay import install

        pip_client = install()
        import_module("zenoh" if pip_client else "rclpy")
    except ImportError as error:
        raise unavailable(
            f"The ROS 2 client cannot be loaded: {error}.", f"Install it with: {pip_install('eclipse-zenoh xxhash')}"
        ) from error
    if graph and not pip_client:
        _require_interfaces()
    return pip_client


def _require_interfaces() -> None:
    try:
        import_module("toolhand_interfaces.msg").ToolStatus  # noqa: B018  # built ones have it, a folder of sources has not
    except (ImportError, AttributeError) as error:
        raise unavailable(
            "ROS 2 is sourced here, but not the interfaces of this project.",
            "In ros2_ws: colcon build --packages-select toolhand_interfaces toolhand_bringup, then source "
            "install/setup.bash; or work in a terminal without ROS 2.",
        ) from error


@contextlib.contextmanager
def environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Within it these environment variables are set; what was there before comes back afterwards."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def router(pip_client: bool) -> str | None:
    """Endpoint of the router that answers, None where there is none; "" where a middleware of ROS 2 needs no router.

    Raises:
        ToolError: INVALID_ARGUMENT for a bad environment.
    """
    if not pip_client:
        return ""
    from rclpy_zenoh.launch import router_answers
    from rclpy_zenoh.wire import SessionError, SessionOptions

    try:
        endpoint = SessionOptions.from_environment().router
    except SessionError as error:
        raise invalid(str(error)) from error
    return endpoint if endpoint is not None and router_answers(endpoint) else None


def graph_runs(pip_client: bool) -> bool:
    """True if a graph on this domain serves run_command. Raises ToolError INVALID_ARGUMENT for a bad environment."""
    from toolhand.tool_nodes.ros.link import RosLink

    if router(pip_client) is None:
        return False
    with RosLink({"RCLPY_ZENOH_CLIENT": "1"}) as link:  # who only looks is no peer of the nodes
        return link.offers(RUN_COMMAND)
