"""Settings of a console, checked before anything is started."""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path

from toolhand.agent_node.runs.bench_results import FOLDER as BENCHES
from toolhand.agent_node.runs.index import RUNS, TRAININGS
from toolhand.tool_nodes.records import record_of
from toolhand.tool_nodes.results import invalid

NEEDED = ("nicegui", "viser", "yourdfpy", "uvicorn")
"""Packages of the extra `console`."""

LOOPBACK_NAMES = ("localhost",)
"""Names that mean this machine, beside its loopback addresses."""

SECRET_BYTES = 32
"""Length of the secret of the two processes, that of the hash that it keys [bytes]."""

MIN_LOGIN = 16
"""Shortest login token [characters]; as long as the token of approvals must be at least."""

_PLAIN_PORTS = {"http": 80, "https": 443}
"""Ports that browsers leave out of an address."""


@dataclass(frozen=True)
class ConsoleSettings:
    """Where a console is served and what it shows.

    Attributes:
        host: Address or name that both servers bind to.
        port: Port of the pages, 1 to 65535.
        stop_port: Port of the stop server, another one.
        names: Names and addresses, beside `host`, by which browsers reach it; no other is answered.
        runs_dir: Folder of runs.
        keep_runs: How many of the newest stay there when one is run again; 0 keeps all.
        bench_dir: Folder of benchmark results.
        training_dir: Folder of training runs.
        approval_token: The operator's token of the motion node; empty where motions need no approval here. It is kept
            in the process of the pages and never sent to a browser.
        login: Token that a browser has to give once; empty on loopback only.
        certificate: Certificate file of TLS; None without TLS, on loopback only.
        key: Key file of TLS.
        secret: Secret of the two processes of a console, in hexadecimal; made by chance.
        anew: The pages before have ended by themselves, and these take their place.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    stop_port: int = 8081
    names: tuple[str, ...] = ()
    runs_dir: Path = RUNS
    keep_runs: int = 0
    bench_dir: Path = BENCHES
    training_dir: Path = TRAININGS
    approval_token: str = field(default="", repr=False)
    login: str = field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None
    secret: str = field(default_factory=lambda: os.urandom(SECRET_BYTES).hex(), repr=False)
    anew: bool = False

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
        if self.login and len(self.login) < MIN_LOGIN:
            raise invalid(f"The login token must have at least {MIN_LOGIN} characters.")
        for name in (self.host, *self.names):
            if not name or not all(sign.isascii() and (sign.isalnum() or sign in "-._:") for sign in name):
                raise invalid(f"{name!r} is neither an address nor the name of a machine.")
        if self._on_every_address and not self.names:
            raise invalid(
                f"On {self.host} --names must say by which names browsers reach the console.",
                "For example --names robot.lab 192.0.2.7.",
            )

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOOPBACK_NAMES

    @property
    def _on_every_address(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        """How browsers reach it: http or https."""
        return "http" if self.certificate is None else "https"

    def hosts(self, port: int) -> frozenset[str]:
        """Values of the header Host under which a server on a port is reached, in lower case."""
        own = ("127.0.0.1", "localhost", "::1") if self.on_loopback else ()
        names = {name for name in (*own, self.host, *self.names) if not (name == self.host and self._on_every_address)}
        shown = {f"[{name}]" if ":" in name else name.lower() for name in names}
        return frozenset(f"{name}:{port}" for name in shown) | (
            frozenset(shown) if port == _PLAIN_PORTS[self.scheme] else frozenset()
        )

    def origins(self, port: int) -> frozenset[str]:
        """Values of the header Origin of pages that a server on a port has served."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts(port))

    def address(self, port: int) -> str:
        """The address to type for a server on a port, without a path."""
        name = self.names[0] if self._on_every_address else self.host
        return f"{self.scheme}://{f'[{name}]' if ':' in name else name}:{port}"

    def to_line(self) -> str:
        """One line of JSON, as a process of the console reads its settings from its input: no other process sees it."""
        return json.dumps({each.name: getattr(self, each.name) for each in fields(self)}, default=str)

    @classmethod
    def from_line(cls, line: str) -> ConsoleSettings:
        """Settings from a line of JSON; what it does not name has its default.

        Raises:
            ToolError: INVALID_ARGUMENT where it is none, holds unknown names, or the settings are not allowed.
        """
        try:
            document = json.loads(line)
        except ValueError as error:
            raise invalid(f"The settings of the console are no JSON: {error}.", "Type: toolhand console") from error
        return record_of(cls, document, at="settings")


def main() -> None:
    """Say where a console is served by default, if it is installed."""
    if all(importlib.util.find_spec(name) for name in NEEDED):
        settings = ConsoleSettings()
        print(f"This run in a browser: `toolhand console`, then {settings.address(settings.port)}/runs")


if __name__ == "__main__":
    main()
