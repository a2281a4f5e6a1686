"""Facts of other nodes for the record of a run: their parameters, and every attempt to move."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from simulation_interfaces.srv import GetCurrentWorld
from std_srvs.srv import Trigger

from toolhand.agent_node.policies.registry import protocol_of, suites_of
from toolhand.agent_node.protocol import OWN
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.attempts import SERVICE, Attempts, read_attempts
from toolhand.tool_nodes.ros.calling import call

_PARAMETERS = {"pointing": ("perception", "seed"), "motion": ("approval", "lockstep")}
"""Node to its parameters that shape a run; launch files give all nodes the same seed and perception."""
_ANSWER_S = 2.0
"""Longest wait for the answer of a node about its parameters [s]."""
_THERE_S = 0.2
"""A node that is not there at once is not asked: a record may lack an entry, but must not delay a command [s]."""


_OPTIONS: dict[str, tuple[str, Any]] = {
    "scene": ("scene", "example"),
    "perception": ("perception", "sim"),
    "seed": ("seed", 0),
    "approval": ("approval", "auto"),
    "policy": ("policy", "scripted"),
    "protocol": ("protocol", OWN),
    "role": ("role", "operator"),
    "suite": ("suite", OWN),
    "turn_budget": ("turns", 24),
}
"""Entry of the result to the option of `toolhand run` and its default, which is left out."""


class GraphRecord:
    """Asks the other nodes of a graph. Its methods block: call them from a thread of your own.

    Args:
        node: Gets the clients; lives as long as the graph, so that it knows who is there.
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        group = ReentrantCallbackGroup()
        self._parameters = {
            name: node.create_client(GetParameters, f"{name}/get_parameters", callback_group=group)
            for name in _PARAMETERS
        }
        self._world = node.create_client(GetCurrentWorld, "get_current_world", callback_group=group)
        self._attempts = node.create_client(Trigger, SERVICE, callback_group=group)

    def settings(self) -> dict[str, Any]:
        """Entries of `result.json`: scene, perception, seed, approval, lockstep, as far as a node publishes them."""
        entries: dict[str, Any] = {}
        with self._told():
            world = _ask(self._world, GetCurrentWorld.Request()).world
            entries["scene"] = world.world_resource.uri or world.name
        for name, wanted in _PARAMETERS.items():
            with self._told():
                values = _ask(self._parameters[name], GetParameters.Request(names=list(wanted))).values
                found = zip(wanted, map(parameter_value_to_python, values), strict=True)
                entries |= {key: value for key, value in found if value is not None}
        return entries

    def attempts(self) -> Attempts | None:
        """What the motion node has recorded so far; None where it does not answer."""
        with self._told():
            return read_attempts(_ask(self._attempts, Trigger.Request()).message)
        return None

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """A node that is not there, or does not answer, leaves a gap in the record and nothing else."""
        try:
            yield
        except (ToolError, ValueError) as error:
            self._logger.debug(f"The record of the run has a gap: {error}")


def _ask(client: Client, request: Any) -> Any:
    return call(client, request, _ANSWER_S, _THERE_S)


def safety_lines(before: Attempts | None, after: Attempts | None) -> list[dict[str, Any]]:
    """What was attempted between two answers of the motion node; as much as is known of it."""
    if after is None:
        return []
    return after.since(before.count if before is not None else 0)


def as_text(attempts: list[dict[str, Any]]) -> str:
    """One line of JSON an attempt."""
    return "".join(json.dumps(attempt) + "\n" for attempt in attempts)


def again_command(task: str, settings: Mapping[str, Any]) -> str:
    """The one command line, for a shell, that carries a sentence out again: in a simulated scene as that of the graph
    was at the beginning, or with the graph of a real arm.

    Args:
        settings: Settings of the agent and of the graph, as in `result.json`.
    """
    words = ["toolhand", "run", task]
    if "scene" not in settings:  # a real arm's drivers are started on their own
        return shlex.join([*words, "--transport", "ros"])
    policy = str(settings.get("policy", "scripted"))
    written = protocol_of(policy, str(settings.get("protocol", OWN)))
    own = {"protocol": protocol_of(policy).name, "suite": suites_of(policy, written)}
    for name, (option, default) in _OPTIONS.items():
        if name in settings and settings[name] not in (default, own.get(name)):
            words += [f"--{option}", str(settings[name])]
    return shlex.join(words)
