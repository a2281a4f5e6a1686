"""How the MCP server listens over HTTP; apart from the server, so that help needs none of its packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from toolhand.tool_nodes.results import invalid


@dataclass(frozen=True)
class HttpOptions:
    """How the server listens, as an operator says it.

    Attributes:
        port: Where http listens; 0 takes a free port.
        token: The bearer token of http, 16 or more characters; made and printed where it is left out. Other users of
            this machine can see it in the list of processes.
        hosts: More values of the Host header that http allows, e.g. localhost:8000 behind a tunnel.
        origins: More values of the Origin header that http allows: web pages that may use the robot.
        idle_s: A session of http that was not used for so long is forgotten [s].

    Raises:
        ToolError: INVALID_ARGUMENT for a port or a time out of bounds.
    """

    port: int = 0
    token: str = ""
    hosts: Annotated[tuple[str, ...], tyro.conf.arg(name="host")] = ()
    origins: Annotated[tuple[str, ...], tyro.conf.arg(name="origin")] = ()
    idle_s: Annotated[float, tyro.conf.arg(name="idle")] = 1800.0

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise invalid(f"The port must be between 0 and 65535, got {self.port}.")
        if not 1.0 <= self.idle_s <= 1e6:
            raise invalid(f"idle must be between 1 and 1000000 s, got {self.idle_s:g}.")


DEFAULT_HTTP = HttpOptions()
