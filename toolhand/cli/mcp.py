"""`toolhand mcp`: the toolbox for any client of the Model Context Protocol."""

from __future__ import annotations

import signal
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from toolhand.agent_node.console.options import PolicySpec, ProtocolName, Unprefixed
from toolhand.agent_node.console.terminal import INTERRUPTED, say
from toolhand.agent_node.mcp.settings import DEFAULT_HTTP, HttpOptions
from toolhand.agent_node.policies.options import ModelSettings, PolicyOptions
from toolhand.agent_node.protocol import OWN
from toolhand.cli.options import DEFAULT_STATION, StationOptions, ToolboxRole
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import invalid, unavailable

if TYPE_CHECKING:
    from toolhand.agent_node.mcp.sessions import SharedRobot

DEFAULT_POLICY = "scripted"
_DEFAULT_MODEL = ModelSettings()
EXTRA = "The MCP server needs the extra mcp."

McpApproval = Annotated[
    Literal["auto", "ask-motion", "dry-run"],
    tyro.conf.arg(
        help='"auto" runs motions at once, "dry-run" only plans them; with "ask-motion" none runs that nobody approved.'
    ),
]
McpTransport = Annotated[
    Literal["stdio", "http"],
    tyro.conf.arg(help='"stdio" serves the program that starts this one, "http" any client on this machine.'),
]


def mcp(
    options: Unprefixed[StationOptions] = DEFAULT_STATION,
    transport: McpTransport = "stdio",
    role: ToolboxRole = "operator",
    approval: McpApproval = "auto",
    http: Unprefixed[HttpOptions] = DEFAULT_HTTP,
    policy: PolicySpec = DEFAULT_POLICY,
    protocol: ProtocolName = OWN,
    model: ModelSettings = _DEFAULT_MODEL,
) -> int:
    """Offer the tools to clients of the Model Context Protocol, until stdin ends or Ctrl-C, which stops the arm.

    Over stdio there is one client. Over HTTP each session has its own variables and images, and the address and a
    token that clients must send are printed; only programs on this machine can connect. With the tool `say` a client
    speaks as an operator does to the --policy that works the robot, and whose --protocol is its own unless you name
    another. With --approval ask-motion every motion is asked about at this terminal;
    over stdio there is none, and nothing moves.
    """
    if transport == "stdio" and replace(http, idle_s=DEFAULT_HTTP.idle_s) != DEFAULT_HTTP:
        raise invalid("port, token, host and origin are for --transport http only.")
    try:
        from toolhand.agent_node.mcp.http import HttpSettings, serve_http
        from toolhand.agent_node.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("toolhand.agent_node", "toolhand.tool_nodes")):
            raise
        raise unavailable(EXTRA, f"Install it with: {install_extra('mcp')}") from error
    shared = _shared_robot(options, role, approval, policy, protocol, model)
    if transport == "stdio":
        ended_by = serve_stdio(shared)
    else:
        ended_by = serve_http(shared, HttpSettings(**vars(http)), _announce)
    return INTERRUPTED if ended_by == signal.SIGINT else 0


def _announce(address: str, token: str) -> None:
    say(f"Serving MCP at {address}; Ctrl-C ends it.")
    if token:
        say(f"Clients must send the header  Authorization: Bearer {token}")


def _shared_robot(
    options: StationOptions,
    role: Literal["operator", "observer"],
    approval: str,
    policy: str = DEFAULT_POLICY,
    protocol: str = OWN,
    model: ModelSettings = _DEFAULT_MODEL,
) -> SharedRobot:
    """The robot that the command line describes, for any number of conversations."""
    from toolhand.agent_node.console.approve import TerminalApprover
    from toolhand.agent_node.conversation_settings import TURN_BUDGET
    from toolhand.agent_node.mcp.saying import hearing
    from toolhand.agent_node.mcp.sessions import SharedRobot
    from toolhand.agent_node.session_tools import TheirTools
    from toolhand.sim.station import Station
    from toolhand.tool_nodes.motion.guard import MotionGuard, parse_mode
    from toolhand.tool_nodes.toolbox.toolbox import Toolbox
    from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
    from toolhand.tool_nodes.tools.suites import parse_suites

    if options.station == "mock" and approval != "auto":
        raise invalid("The mock robot moves nothing that could be approved.")
    guard = MotionGuard(parse_mode(approval), TerminalApprover(interrupted=lambda: shared.interrupted))
    station = options.make(role, guard, lambda stage: shared.enter(stage))
    toolbox = station.toolbox
    looking = "spacetools" in parse_suites(options.suite)
    speaks = role == "operator" and (looking or policy != DEFAULT_POLICY)
    more = PolicyOptions(**asdict(model), seed=options.seed, turns=TURN_BUDGET, stopped=lambda: shared.interrupted)
    shared = SharedRobot(
        toolbox if looking else Toolbox([CameraTools(station.camera), TheirTools(toolbox)]),
        getattr(station, "arm", None),  # the mock robot has none
        hearing(policy, protocol, toolbox, station.new_toolbox, more, station.robot)
        if speaks and isinstance(station, Station)
        else None,
    )
    return shared
