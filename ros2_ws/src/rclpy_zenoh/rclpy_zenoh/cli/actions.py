"""`action list`, `info` and `send_goal`."""

from __future__ import annotations

import contextlib
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import (
    ActionClient,
    get_action_client_names_and_types_by_node,
    get_action_names_and_types,
    get_action_server_names_and_types_by_node,
)

from rclpy_zenoh.cli.connection import Connection, connect
from rclpy_zenoh.cli.errors import CliError
from rclpy_zenoh.cli.grammar import Arguments
from rclpy_zenoh.cli.names import full_name, instead_of
from rclpy_zenoh.cli.render import to_yaml
from rclpy_zenoh.cli.types import find_class, type_name
from rclpy_zenoh.cli.values import fill, parse_yaml

CANCEL_TIMEOUT_S = 10.0
STATUSES = {
    GoalStatus.STATUS_ACCEPTED: "ACCEPTED",
    GoalStatus.STATUS_EXECUTING: "EXECUTING",
    GoalStatus.STATUS_CANCELING: "CANCELING",
    GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED",
    GoalStatus.STATUS_CANCELED: "CANCELED",
    GoalStatus.STATUS_ABORTED: "ABORTED",
}


def list_actions(arguments: Arguments) -> int:
    """Names of all actions, one a line."""
    with connect(arguments, looks=True) as connection:
        actions = sorted(get_action_names_and_types(connection.node))
    if arguments.count_actions:
        print(len(actions))
        return 0
    for name, types in actions:
        print(f"{name} [{', '.join(types)}]" if arguments.show_types else name)
    return 0


def info(arguments: Arguments) -> int:
    """Nodes that serve an action and nodes that send goals to it."""
    with connect(arguments, looks=True) as connection:
        node, action = connection.node, connection.expand(arguments.action)
        known = [name for name, _ in get_action_names_and_types(node)]
        sides: dict[str, list[str]] = {"clients": [], "servers": []}
        for side, query in (
            ("clients", get_action_client_names_and_types_by_node),
            ("servers", get_action_server_names_and_types_by_node),
        ):
            for base, namespace in sorted(node.get_node_names_and_namespaces()):
                types = dict(query(node, base, namespace)).get(action)
                if types is not None:
                    shown = f" [{', '.join(types)}]" if arguments.show_types else ""
                    sides[side].append(f"    {full_name(base, namespace)}{shown}")
    if not any(sides.values()):
        raise CliError(f"Unknown action '{action}'; {instead_of(action, known, 'actions')}.")
    print(f"Action: {arguments.action}")
    for side, lines in sides.items():
        print(f"Action {side}: {len(lines)}", *([] if arguments.count else lines), sep="\n")
    return 0


def send_goal(arguments: Arguments) -> int:
    """Send a goal and print what becomes of it; Ctrl-C cancels it."""
    cls = find_class(arguments.type, "action")
    goal = cls.Goal()
    fill(goal, parse_yaml(arguments.values, "goal"), name=type_name(cls))
    with connect(arguments) as connection:
        name = connection.expand(arguments.action)
        known = dict(get_action_names_and_types(connection.node))
        types = known.pop(name, [])
        if types and type_name(cls) not in types:
            raise CliError(f"Action '{name}' has the type {', '.join(types)} and not {type_name(cls)}.")
        client = ActionClient(connection.node, cls, name)
        try:
            print("Waiting for an action server to become available...")
            if not connection.spin_until(client.server_is_ready, arguments.timeout):
                others = instead_of(name, known, "actions")
                raise CliError(f"There is no action '{name}' after {arguments.timeout:g} s; {others}.")
            return _follow(connection, client, goal, arguments.feedback, name)
        finally:
            client.destroy()


def _follow(connection: Connection, client: Any, goal: Any, feedback: bool, name: str) -> int:
    watched = True

    def show_feedback(message: Any) -> None:
        if watched:
            print(f"Feedback:\n    {to_yaml(message.feedback)}")

    gone = f"The server of '{name}' went away; nothing is known about the goal."
    print(f"Sending goal:\n     {to_yaml(goal)}")
    sent = client.send_goal_async(goal, show_feedback if feedback else None)
    try:
        handle = connection.wait_for(sent, client.server_is_ready, gone)
        if not handle.accepted:
            print("Goal was rejected.")
            return 1
        print(f"Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}\n")
        result = connection.wait_for(handle.get_result_async(), client.server_is_ready, gone)
    except (KeyboardInterrupt, BrokenPipeError):
        watched = False
        # The answer that accepts the goal may still be on its way.
        if connection.spin_until(sent.done, CANCEL_TIMEOUT_S) and sent.result().accepted:
            _cancel(connection, sent.result())
        raise
    print(f"Result:\n    {to_yaml(result.result)}")
    print(f"Goal finished with status: {STATUSES.get(result.status, 'UNKNOWN')}")
    return 0 if result.status == GoalStatus.STATUS_SUCCEEDED else 1


def _cancel(connection: Connection, handle: Any) -> None:
    _tell("Canceling goal...")
    cancelled = handle.cancel_goal_async()
    if not connection.spin_until(cancelled.done, CANCEL_TIMEOUT_S):
        raise CliError(f"The server did not confirm within {CANCEL_TIMEOUT_S:g} s that it cancels the goal.")
    if not any(goal.goal_id == handle.goal_id for goal in cancelled.result().goals_canceling):
        raise CliError("The server refused to cancel the goal.")
    _tell("Goal canceled.")


def _tell(text: str) -> None:
    """Print, also where the reader has gone away: the goal is to be cancelled then too."""
    with contextlib.suppress(BrokenPipeError):
        print(text)
