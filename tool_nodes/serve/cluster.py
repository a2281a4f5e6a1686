"""A service from beginning to end: a cluster of its own or another's, what it is to serve, and nothing left of it.

    keeper = Keeper(read_config(Path("serve.yaml")))
    try:
        keeper.start()
        keeper.wait()
    finally:
        keeper.close()

A cluster of its own ends with the keeper's process, however that ends; `take_down` ends what is left.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.results import Cause, ToolError, invalid, unavailable, words_of
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import connect, disconnect, joined, leave, lives, start_cluster
from toolhand.tool_nodes.serve.config import Local, ServeConfig, check_resources, without_ray
from toolhand.tool_nodes.serve.service_file import ServiceNote

START_S = 600.0
"""How long it is tried to start a cluster [s]: it takes five on an idle machine, but Ray gives one of its parts 15 s,
which is too short while all processors are busy."""

READY_S = 900.0
"""How long all backends together may take to load [s]; the first start of a replica with packages of its own installs
them."""

DOWN_S = 30.0
"""How long a keeper may take to take everything down [s]."""

_LONGEST_FOLDER = 49
"""Characters: Ray makes sockets below its folder, whose paths have at most 107."""

_POLL_S = 0.2
"""How often it is asked whether something is ready [s]."""


class ServiceSupervisor:
    """Starts a service, watches it and takes it down.

    Args:
        config: The service to start.
        address: HOST:PORT of a cluster; empty starts one on this machine.
        say: Told what happens, in sentences.
    """

    def __init__(self, config: ServeConfig, address: str = "", say: Callable[[str], None] = lambda text: None) -> None:
        self._config = config
        self._say = say
        self._begun = False
        self._proof: int | None = None
        here = service_file.private(service_file.folder())
        self.service = ServiceNote(
            uuid.uuid4().hex, address, os.getpid(), str(here), own=not address, began=processes.began(os.getpid())
        )

    def start(self) -> ServiceNote:
        """Start the cluster where it is to be this one's, and serve.

        Raises:
            ToolError: UNAVAILABLE where a service runs already, without Ray, where a cluster does not start or answer,
                or a backend cannot be loaded; INVALID_ARGUMENT for a port in use and for more than the cluster has.
        """
        require_ray()
        running = service_file.noted()
        if running is not None and running.elsewhere:
            raise unavailable(
                f"The service at {running.address} is asked from here.", "Leave it with toolhand serve down."
            )
        if running is not None and processes.keeps(running):
            raise unavailable(
                f"Something is served already, by process {running.keeper}.",
                f"End it with toolhand serve down, or set {service_file.VARIABLE} to another folder.",
            )
        if running is not None:
            take_down()
        self._begun = True
        self._proof = os.open(service_file.keeper_file(self.service), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        service_file.note(self.service)  # from here on `take_down` finds what there is
        if self.service.own:
            self._start_head(self._config.local)
        check_resources(self._config, joined(self.service).cluster_resources())
        self._serve()
        self.service = replace(self.service, ready=True)
        service_file.note(self.service)
        return self.service

    def wait(self) -> None:
        """Until the cluster ends by itself, or nothing could find it any more. Raises ToolError UNAVAILABLE then."""
        while lives():
            if service_file.noted(Path(self.service.folder)) != self.service:
                raise unavailable(f"What was noted in {self.service.folder} is gone: the service ends with it.")
            time.sleep(_POLL_S)
        raise unavailable("The cluster has ended.", cause=Cause.DIED)

    def close(self) -> None:
        """Take everything down that was started; nothing is left of a cluster of its own."""
        if not self._begun:
            return
        if not self.service.own:
            _withdraw(self._config.entries.values())
        disconnect()
        leave()
        if self.service.own:
            processes.end_all(self.service)
            os.environ.pop(service_file.MARK, None)
        _remove_leftovers(self.service)
        if self._proof is not None:
            os.close(self._proof)
        self._begun = False

    def _start_head(self, local: Local) -> None:
        folder = service_file.private(service_file.ray_folder(self.service))
        if len(str(folder)) > _LONGEST_FOLDER:
            raise invalid(
                f"{folder} has more than {_LONGEST_FOLDER} characters.",
                f"Set {service_file.VARIABLE} to a shorter folder.",
            )
        if local.port:
            _require_free(local.port)
        service_file.write_token(Path(self.service.folder), secrets.token_hex(32))
        os.environ.update({service_file.MARK: self.service.id, **_LEAN})
        until = time.monotonic() + START_S
        while True:
            self._say("A cluster is being started.")
            try:
                address = start_cluster(self.service, local)
            except Exception as error:  # Ray raises no more than Exception here
                leave()
                processes.end_all(self.service)
                if time.monotonic() > until:
                    raise unavailable(f"Ray does not start on this machine: {words_of(error)}.") from error
                self._say("It did not start; it is tried again.")
            else:
                self.service = replace(self.service, address=address)
                return

    def _serve(self) -> None:
        from toolhand.tool_nodes.serve import replicas

        entries = self._config.entries
        self._say(f"Being started: {', '.join(entries)}.")
        replicas.begin()
        replicas.start_metrics_actor(entries)
        for entry in entries.values():
            replicas.start(entry)
        until = time.monotonic() + READY_S
        for entry in entries.values():
            replicas.wait_ready(entry, until - time.monotonic())


def take_down() -> ServiceNote | None:
    """End the service of this machine, also where its keeper is gone; None where there was none.

    Only processes are ended that are proven to be the service's, see `processes.keeps` and `processes.of_service`; only
    what lies in this user's own folder is removed.

    Raises:
        ToolError: UNAVAILABLE where the folder is not this user's alone, and where processes are left.
    """
    service = service_file.noted()
    if service is None:
        return None
    if processes.keeps(service):
        processes.end(service.keeper, service.began, DOWN_S)
    if service.own:
        left = processes.end_all(service)
        if left:
            raise unavailable(f"{left} processes of the service do not end.", "Call it again.")
    elif not service.elsewhere and service_file.noted() is not None:  # its keeper was killed before it could
        with contextlib.suppress(ToolError):  # a cluster that is gone serves nothing
            _withdraw(connect().entries.values())
        disconnect()
    _remove_leftovers(service)
    return service


def _remove_leftovers(service: ServiceNote) -> None:
    """Remove what is left of a service that has ended."""
    if service.own:
        shutil.rmtree(service_file.ray_folder(service), ignore_errors=True)  # never follows a link
    service_file.keeper_file(service).unlink(missing_ok=True)
    service_file.forget(Path(service.folder))


def require_ray() -> None:
    """Raises ToolError UNAVAILABLE where it is not installed; nothing is imported: Ray reads its environment then."""
    if importlib.util.find_spec("ray") is None:
        raise without_ray(ModuleNotFoundError("No module named 'ray'"))


_LEAN = {
    # Processes are started when they are needed: Ray would begin with one for each processor.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    # Ray's own is 15, with which what is served would stand still wherever anything else has work to do.
    "RAY_worker_niceness": "0",
}


def _withdraw(entries: Any) -> None:
    """Serve nothing of this any more on a cluster that goes on."""
    with contextlib.suppress(Exception):  # it may have ended first
        from toolhand.tool_nodes.serve import replicas

        for entry in entries:
            with contextlib.suppress(Exception):
                replicas.stop(entry)
        replicas.stop_actor(replicas.METRICS)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((service_file.HOST, port))
        except OSError as error:
            raise invalid(f"The port {port} is in use.", "Name another one as port of cluster, or none.") from error


def until_signal(keeper: ServiceSupervisor) -> None:
    """Keep a service until Ctrl-C or SIGTERM, which end as KeyboardInterrupt."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    keeper.wait()
