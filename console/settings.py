"""Settings of a console, checked before anything is started."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from tool_nodes.results import invalid

LOOPBACK_NAMES = ("localhost",)
"""Names that mean this machine, beside its loopback addresses."""


@dataclass(frozen=True)
class ConsoleSettings:
    """Where a console is served and what it shows.

    Attributes:
        host: Address or name that both servers bind to.
        port: Port of the pages, 1 to 65535.
        stop_port: Port of the stop server, another one.
        runs_dir: Folder of runs.
        bench_dir: Folder of benchmark results.
        training_dir: Folder of training runs.
        approval_token: The operator's token of the motion node; empty where motions need no approval here. It is kept
            in the process of the pages and never sent to a browser.
        login: Token that a browser has to give once; empty on loopback only.
        certificate: Certificate file of TLS; None without TLS, on loopback only.
        key: Key file of TLS.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    stop_port: int = 8081
    runs_dir: Path = Path("runs")
    bench_dir: Path = Path("runs/bench")
    training_dir: Path = Path("runs/training")
    approval_token: str = field(default="", repr=False)
    login: str = field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        for name, port in (("--port", self.port), ("--stop-port", self.stop_port)):
            if not 1 <= port <= 65535:
                raise invalid(f"{name} must be from 1 to 65535, got {port}.")
        if self.port == self.stop_port:
            raise invalid("--port and --stop-port must differ: the stop server is a process of its own.")
        if (self.certificate is None) != (self.key is None):
            raise invalid("--certificate and --key belong together.")
        if not self.on_loopback and not (self.login and self.certificate):
            raise invalid(
                f"On {self.host} the console needs --login-file, --certificate and --key.",
                "Without them it is served on loopback only, e.g. --host 127.0.0.1 behind an SSH tunnel.",
            )

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOOPBACK_NAMES

    @property
    def scheme(self) -> str:
        """How browsers reach it: http or https."""
        return "http" if self.certificate is None else "https"
