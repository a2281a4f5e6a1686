"""`toolhand mcp`: the toolbox for any client of the Model Context Protocol."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from agent_node.console.options import Perception, PortOptions
from agent_node.console.terminal import INTERRUPTED, say
from tool_nodes.extras import install_extra
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from tool_nodes.results import ErrorCode, ToolError
from toolhand.options import SceneName, Seed, Suite, ToolboxRole, named_scene
from toolhand.tools import StationChoice

if TYPE_CHECKING:
    from agent_node.mcp.sessions import SharedRobot

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
    suite: Suite = "spacetools",
    scene: SceneName = "example",
    perception: Perception = DEFAULT_PRESET,
    ports: PortOptions = AS_PRESET,
    seed: Seed = 0,
    robot: StationChoice = "sim",
    data: Path | None = None,
    frame: int = 0,
    transport: McpTransport = "stdio",
    role: ToolboxRole = "operator",
    approval: McpApproval = "auto",
    port: int = 0,
    token: str = "",
    host: tuple[str, ...] = (),
    origin: tuple[str, ...] = (),
    idle: float = 1800.0,
) -> int:
    """Offer the tools to clients of the Model Context Protocol, until stdin ends or Ctrl-C, which stops the arm.

    Over stdio there is one client. Over HTTP each session has its own variables and pictures, and the address and a
    token that clients must send are printed; only programs on this machine can connect. With --approval ask-motion
    every motion is asked about at this terminal; over stdio there is none, and nothing moves.

    Args:
        data: Data set of the mock robot; the shipped one where it is left out.
        frame: Which frame of the data set.
        port: Where http listens; 0 takes a free port.
        token: The bearer token of http, 16 or more characters; made and printed where it is left out. Other users of
            this machine can see it in the list of processes.
        host: More values of the Host header that http allows, e.g. localhost:8000 behind a tunnel.
        origin: More values of the Origin header that http allows: web pages that may use the robot.
        idle: A session of http that was not used for so long is forgotten [s].
    """
    if transport == "stdio" and (port or token or host or origin):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "port, token, host and origin are for --transport http only.")
    if not 0 <= port <= 65535:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The port must be between 0 and 65535, got {port}.")
    if not 1.0 <= idle <= 1e6:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"idle must be between 1 and 1000000 s, got {idle:g}.")
    try:
        from agent_node.mcp.http import HttpSettings, serve_http
        from agent_node.mcp.server import serve_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("agent_node", "tool_nodes")):
            raise
        raise ToolError(ErrorCode.UNAVAILABLE, EXTRA, f"Install it with: {install_extra('mcp')}") from error
    shared = _robot(suite, scene, perception, seed, robot, data, frame, approval, role, ports)
    if transport == "stdio":
        ended_by = serve_stdio(shared)
    else:
        ended_by = serve_http(shared, HttpSettings(port, token, host, origin, idle_s=idle), _announce)
    return INTERRUPTED if ended_by == signal.SIGINT else 0


def _announce(address: str, token: str) -> None:
    say(f"Serving MCP at {address}; Ctrl-C ends it.")
    if token:
        say(f"Clients must send the header  Authorization: Bearer {token}")


def _robot(
    suite: str,
    scene: str,
    perception: str,
    seed: int,
    robot: str,
    data: Path | None,
    frame: int,
    approval: str,
    role: str = "operator",
    ports: PortNames = AS_PRESET,
) -> SharedRobot:
    """The robot that the command line describes, for any number of conversations."""
    from agent_node.console.approve import TerminalApprover
    from agent_node.mcp.sessions import SharedRobot
    from sim.mock.data import SHIPPED, read_dataset
    from sim.mock.station import MockStation
    from sim.station import Station, StationConfig
    from tool_nodes.motion.guard import MotionGuard, parse_mode
    from tool_nodes.toolbox.toolbox import Toolbox, ToolSpec
    from tool_nodes.tools.spacetools.robot import CameraTools
    from tool_nodes.tools.suites import parse_suites

    suites = parse_suites(suite)
    config = StationConfig(perception=perception, ports=ports, seed=seed, suites=suites, role=role)
    if robot == "sim":
        approver = TerminalApprover(interrupted=lambda: shared.interrupted)
        guard = MotionGuard(parse_mode(approval), approver)
        station = Station(named_scene(scene), config, guard=guard, on_stage=lambda stage: shared.enter(stage))
        brake, camera, toolbox = station.arm, station.camera, station.toolbox
    elif approval == "auto":
        mock = MockStation(read_dataset(data or SHIPPED).frame(frame), config)
        brake, camera, toolbox = None, mock.camera, mock.toolbox
    else:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "The mock robot moves nothing that could be approved.")

    class Theirs:
        """The tools of the other suites, which look at pictures and take none."""

        def tool_specs(self) -> list[ToolSpec]:
            return list(toolbox.specs.values())

    looking = "spacetools" in suites
    shared = SharedRobot(toolbox if looking else Toolbox([CameraTools(camera), Theirs()]), brake)
    return shared
