"""`toolhand serve`: backends of the ports as processes of their own, which any number of conversations call."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import Connection, leave
from toolhand.tool_nodes.serve.cluster import (
    DOWN_S,
    READY_S,
    START_S,
    ServiceSupervisor,
    require_ray,
    take_down,
    until_signal,
)
from toolhand.tool_nodes.serve.config import read_config
from toolhand.tool_nodes.serve.service_file import ServiceNote

_POLL_S = 0.2
"""How often it is asked whether a service has started [s]."""


def serve_up(
    file: Annotated[Path, tyro.conf.Positional],
    address: str = "",
    detach: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    as_json: AsJson = False,
) -> int:
    """Serve the backends that a YAML file names, until Ctrl-C; `--perception served` asks them.

    Args:
        file: YAML file that names the backends.
        address: HOST:PORT of a Ray cluster; without it one is started on this machine.
        detach: Return once all is ready, and leave it running until `toolhand serve down`.
    """
    config = read_config(file)
    if detach:
        _say_served(_start_detached(file, address), as_json)
        return 0
    keeper = ServiceSupervisor(config, address, say)
    try:
        _say_served(keeper.start(), as_json)
        until_signal(keeper)
    except KeyboardInterrupt:
        say("Being taken down.")
        return 0
    finally:
        keeper.close()
    return 0


def serve_join(
    address: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="HOST:PORT")],
    token_file: Path | None = None,
    as_json: AsJson = False,
) -> int:
    """Ask the service of another machine from here, until `toolhand serve down`.

    This machine must be a node of the same Ray cluster: `ray start --address=HOST:PORT`, with `--num-cpus=0` where
    nothing is to run on it.

    Args:
        address: Head of the cluster.
        token_file: File with the token that the cluster asks for; where it is not given, Ray's own variables say.
    """
    require_ray()
    here = service_file.private(service_file.folder())
    before = service_file.noted()
    if before is not None and not before.elsewhere:
        raise unavailable(f"Something is served here already, at {before.address}.", "End it: toolhand serve down")
    service = replace(service_file.of_another_machine(address, token_file), folder=str(here))
    try:
        connection = Connection(service)
        connection.leave()
    finally:
        leave()
    service_file.note(service)
    _say_joined(service, tuple(connection.entries), as_json)
    return 0


def _say_joined(service: ServiceNote, names: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        emit({"address": service.address, "served": list(names)})
    else:
        say(f"Asked from here: {', '.join(names)} at {service.address}. Leave it with: toolhand serve down")


def serve_status(
    prometheus: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    as_json: AsJson = False,
) -> int:
    """Show what is served: replicas, waiting calls, times and errors.

    Args:
        prometheus: In the text format of Prometheus.
    """
    from toolhand.tool_nodes.serve import status

    rows = status.rows()
    if as_json:
        emit(rows)
    else:
        print(status.prometheus(rows) if prometheus else status.table(rows), end="" if prometheus else "\n")
    return 0


def serve_down(as_json: AsJson = False) -> int:
    """End what is served on this machine, or from it; no process is left, also after a crash."""
    service = take_down()
    if as_json:
        emit({"ended": None if service is None else service.address})
    else:
        ended = "" if service is None else "is asked no more from here" if service.elsewhere else "has ended"
        say(f"What was served at {service.address} {ended}." if service else "Nothing is served here.")
    return 0


def _say_served(service: ServiceNote, as_json: bool) -> None:
    if as_json:
        emit({"address": service.address, "process": service.keeper, "folder": service.folder})
        sys.stdout.flush()
    else:
        say(f"Served at {service.address}. End it with: toolhand serve down")


def _start_detached(file: Path, address: str) -> ServiceNote:
    """A keeper in a session of its own. Raises ToolError with what it complains of."""
    require_ray()
    here = service_file.private(service_file.folder())
    log = here / "up.log"
    before = service_file.noted()
    command = [sys.executable, "-P", "-m", "toolhand", "serve", "up", str(file.resolve())]
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [*command, f"--address={address}"] if address else command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    until = time.monotonic() + START_S + READY_S
    try:
        while time.monotonic() < until:
            service = service_file.noted()
            if service is not None and service.ready and (before is None or service.id != before.id):
                return service
            if keeper.poll() is not None:
                raise _complaint(log.read_text(encoding="utf-8", errors="replace"))
            time.sleep(_POLL_S)
        raise unavailable("It does not become ready.", f"See {log}.")
    except BaseException:
        processes.end(keeper.pid, processes.began(keeper.pid), DOWN_S)
        raise


def _complaint(text: str) -> ToolError:
    """The last sentence of a keeper that has ended, `CODE: sentence`."""
    code, _, sentence = (text.strip().splitlines() or [""])[-1].partition(": ")
    if code in ErrorCode.__members__:
        return ToolError(ErrorCode(code), sentence)
    return ToolError(ErrorCode.INTERNAL, f"It has ended: {text.strip()[-200:]}")
