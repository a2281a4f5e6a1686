"""A graph that runs: `launch(file, arguments)` starts it, `LaunchedGraph` is the handle to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from rclpy_zenoh.launch import guard
from rclpy_zenoh.launch.errors import LaunchError
from rclpy_zenoh.launch.forking import LABEL, ForkServers
from rclpy_zenoh.launch.packages import CLIENT_ROOT
from rclpy_zenoh.launch.parameters import ParameterNames, without_effect
from rclpy_zenoh.launch.plan import Plan, ProcessPlan, read_plan
from rclpy_zenoh.launch.process import Supervised, Usage, ended_how, environment_of, usage_of
from rclpy_zenoh.wire import SessionError, SessionOptions, WireSession, open_session
from rclpy_zenoh.wire.router_process import READY
from rclpy_zenoh.wire.shared_memory import lacking_room

ROUTER = "router"
ROUTER_RESPAWN_S = 0.5
_ROUTER_START_S = 20.0
_TRIES = 3
_DISCOVERY_S = 0.5
_SWEEP_PATIENCE_S = 1.0
_POLL_S = 0.01

Sink = Callable[[str], None]
"""Takes one line to show; called from several threads, one at a time."""


@dataclass(frozen=True)
class End:
    """Why a graph ended by itself; `status` 0 where nothing failed."""

    status: int
    reason: str


def launch(
    path: Path | str,
    arguments: Mapping[str, str] | None = None,
    *,
    domain: int | None = None,
    router_port: int | None = None,
    sink: Sink = lambda line: None,
    forked: bool = True,
) -> LaunchedGraph:
    """Start the processes of a launch file, a router first; they end with this process, however it ends.

    Args:
        path: A launch file in ROS 2's YAML frontend.
        arguments: Values of the arguments that it declares.
        domain: ROS domain; None for that of the environment.
        router_port: Port of the router on 127.0.0.1, 0 for a router of its own on a free port, None for the router
            that the environment names. A router that answers there already is used, otherwise one is started.
        sink: Hears what the processes write, each line with the name of its process in front.
        forked: Fork nodes that share an environment from one process that imports their modules once, where that is
            safe; False starts every node as a program of its own.

    Raises:
        LaunchError: The file, the arguments, the domain or the router are wrong, or this is Windows; nothing is left
            running.
    """
    if sys.platform == "win32":
        raise LaunchError("A graph is started on Linux or macOS; on Windows use WSL 2, which is Linux.")
    plan = read_plan(Path(path), arguments or {})
    try:
        options = SessionOptions.from_environment()
        options = replace(options, domain=options.domain if domain is None else domain, client=True)
    except SessionError as error:
        raise LaunchError(str(error)) from None
    if router_port is not None:
        if not 0 <= router_port <= 65535:
            raise LaunchError(f"The port of the router must be between 0 and 65535, not {router_port}.")
        options = replace(options, router=f"tcp/127.0.0.1:{router_port}")
    graph = LaunchedGraph(plan, options, sink, forked)
    try:
        graph.start()
    except BaseException:
        graph.close()
        raise
    return graph


class LaunchedGraph:
    """Processes that belong together. Also a context manager, which closes it.

    Attributes:
        environment: Variables with which another process takes part in this graph.
        closing: True from the beginning of `close`.
    """

    def __init__(self, plan: Plan, options: SessionOptions, sink: Sink, forked: bool = True) -> None:
        self._plan, self._options, self._sink, self._forked = plan, options, sink, forked
        self._screen = {process.label for process in plan.processes if process.screen}
        self._id = uuid.uuid4().hex
        self._output = threading.Lock()
        self._ended = threading.Event()
        self._end: End | None = None
        self._hurry = threading.Event()
        self.closing = False
        self._guard: subprocess.Popen[bytes] | None = None
        self._router: Supervised | None = None
        self._fork_servers = ForkServers(())
        self._processes: list[Supervised] = []
        self._first_failure: str | None = None
        self._parameters: dict[str, frozenset[str]] = {}
        self.environment: dict[str, str] = {}

    @property
    def domain(self) -> int:
        """The ROS domain."""
        return self._options.domain

    @property
    def endpoint(self) -> str:
        """Where the router listens."""
        return str(self._options.router)

    def start(self) -> None:
        """Start everything; `launch` has done it. Raises LaunchError where there is no router to be had."""
        command = [sys.executable, "-I", "-S", str(Path(guard.__file__)), self._id]
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        for message in self._plan.messages:
            self._show(message)
        if self._options.router is not None and not router_answers(self._options.router):
            self._start_router()
        else:
            self._refuse_a_second_graph()
        self.environment = {"ROS_DOMAIN_ID": str(self.domain), "RCLPY_ZENOH_ROUTER": self.endpoint}
        if self._options.shared_memory and (lacking := lacking_room()):  # said once, not by every node
            self._show(lacking)
            self.environment["RCLPY_ZENOH_SHM"] = "0"
        extra = self.environment | {guard.VARIABLE: self._id}
        plans = self._plan.processes
        if self._forked:
            self._fork_servers = ForkServers((plan, environment_of(plan, extra)) for plan in plans)
        spawn = self._fork_servers.spawn
        self._processes = [Supervised(plan, extra, self._heard, self._on_end, spawn) for plan in plans]
        for process in self._processes:
            process.start()

    def _refuse_a_second_graph(self) -> None:
        """Raises LaunchError where nodes of the same names run already: they would answer each other's requests."""
        wanted = self._named_nodes()
        with contextlib.closing(_session(self._options)) as session:
            deadline = time.monotonic() + _DISCOVERY_S
            while not (running := wanted & _nodes(session)) and time.monotonic() < deadline:
                time.sleep(_POLL_S)
        if running:
            raise LaunchError(
                f"The node {min(running)} runs already in domain {self.domain} at {self.endpoint}; "
                "end that graph, or choose another --domain."
            )

    def _named_nodes(self) -> set[str]:
        return {plan.node for plan in self._plan.processes if plan.node is not None}

    def _start_router(self) -> None:
        """Raises LaunchError where it does not listen soon."""
        host, _, port = self.endpoint.removeprefix("tcp/").rpartition(":")
        if host != "127.0.0.1":
            raise LaunchError(f"No router answers at {self.endpoint}, and only one on 127.0.0.1 can be started.")
        ready = threading.Event()
        said: list[str] = []

        def listen(label: str, line: str) -> None:
            said.append(line)
            if line.startswith(READY):
                ready.set()

        def router(port: str) -> ProcessPlan:
            command = (sys.executable, "-P", "-m", "rclpy_zenoh.router", "--port", port)
            path = (str(CLIENT_ROOT),)
            return ProcessPlan(ROUTER, command, os.environ, python_path=path, respawn_delay_s=ROUTER_RESPAWN_S)

        self._router = Supervised(router(port), {guard.VARIABLE: self._id}, listen, self._on_router_end)
        self._router.start()
        deadline = time.monotonic() + _ROUTER_START_S
        while not ready.wait(_POLL_S):
            if self._router.starts > 1 or time.monotonic() > deadline:
                raise LaunchError(f"The router did not start: {(said or ['it said nothing'])[-1].rstrip('.')}.")
        endpoint = next(line for line in said if line.startswith(READY)).removeprefix(READY).strip()
        self._options = replace(self._options, router=endpoint)
        self._router.plan = router(endpoint.rpartition(":")[2])

    def _on_router_end(self, router: Supervised, status: int) -> None:
        if not self.closing:
            self._show(f"[{ROUTER}] {ended_how(status)}; it is started again")

    # -- output and ends -----------------------------------------------------------------------------

    def _heard(self, label: str, line: str) -> None:
        if label in self._screen:
            self._show(f"[{label}] {line}")

    def _show(self, line: str) -> None:
        with self._output:
            self._sink(line)

    def _on_end(self, process: Supervised, status: int) -> None:
        if self.closing:
            return
        plan = process.plan
        how = f"{plan.label} {ended_how(status)}"
        if status and plan.label not in self._screen:
            for line in process.tail:  # what was kept back is wanted now
                self._show(f"[{plan.label}] {line}")
        again = "; it is started again" if plan.respawn_delay_s is not None else ""
        if not again and (status or plan.node is not None):  # what has done its work and ended well is not missed
            self._first_failure = self._first_failure or _with_last_line(how, process)
        self._show(f"[{plan.label}] {ended_how(status)}{again}")
        if plan.shutdown_on_exit:
            self._finish(End(int(status != 0), f"{how}, and the graph with it"))
        elif plan.respawn_delay_s is None and all(p is process or p.finished for p in self._processes):
            self._finish(End(int(status != 0), f"all processes have ended; the last was {how}"))

    def _finish(self, end: End) -> None:
        self._end = self._end or end
        self._ended.set()

    def wait(self, timeout_s: float | None = None) -> End | None:
        """Wait until the graph has ended by itself and wants to be closed; None where it has not in that time."""
        return self._end if self._ended.wait(timeout_s) else None

    # -- looking at it -------------------------------------------------------------------------------

    def wait_ready(
        self,
        timeout_s: float = 60.0,
        services: Collection[str] = (),
        on_missing: Callable[[list[str]], None] = lambda missing: None,
    ) -> float:
        """Wait until every node that the file names is in the graph and answers: it has read its parameters then.

        Args:
            timeout_s: Longest time to wait [s].
            services: Full names of services that must be there as well.
            on_missing: Hears what is not there yet, each time that this changes.

        Returns:
            How long that took [s].

        Raises:
            LaunchError: A process ended before, which is the graph's end (see `wait`), or the time is over; the
                sentence names what is missing.
        """
        began = time.monotonic()
        wanted = self._named_nodes()
        while not router_answers(self.endpoint):  # it may be being started again
            if time.monotonic() - began > timeout_s:
                raise LaunchError(f"After {timeout_s:.0f} s no router answers at {self.endpoint}.")
            time.sleep(_POLL_S)
        reported: list[str] = []
        with contextlib.closing(_session(self._options)) as session:
            parameters = ParameterNames(session)
            while True:
                missing = _missing(session, wanted, services, parameters)
                if failure := self._first_failure or self._hopeless(wanted, session):
                    self._finish(End(1, f"the graph did not start: {failure}"))
                    raise LaunchError(f"The graph did not start: {failure}.")
                if not missing:
                    break
                if missing != reported:
                    reported = missing
                    on_missing(missing)
                if self.closing:
                    raise LaunchError("The graph was closed before it was ready.")
                if time.monotonic() - began > timeout_s:
                    router = "" if session.has_router() else f"; no router answers at {self.endpoint}"
                    silent = ", ".join(sorted(wanted & _nodes(session) & {what.split()[-1] for what in missing}))
                    silence = f"; {silent} is there and does not answer" if silent else ""
                    raise LaunchError(f"After {timeout_s:.0f} s the graph lacks {', '.join(missing)}{silence}{router}.")
                time.sleep(_POLL_S)
        self._parameters = dict(parameters.known)
        return time.monotonic() - began

    def without_effect(self) -> list[str]:
        """A sentence for each parameter that no node has, and for each file that holds none; after `wait_ready`."""
        return without_effect(self._plan.processes, self._parameters)

    def _hopeless(self, wanted: Collection[str], session: WireSession) -> str | None:
        """What a process said that is started again and again, but whose node is never seen."""
        seen = _nodes(session)
        for process in self._processes:
            if process.plan.node in wanted and process.plan.node not in seen and process.starts >= _TRIES:
                return _with_last_line(f"{process.plan.label} has ended {process.starts - 1} times", process)
        return None

    def process(self, label: str) -> Supervised:
        """The process of a label, which is the name of its node. Raises LaunchError."""
        every = {process.plan.label: process for process in self._all()}
        if label not in every:
            raise LaunchError(f"There is no process '{label}'; there are: {', '.join(every)}.")
        return every[label]

    @property
    def labels(self) -> list[str]:
        """Names of its processes, the router first where this graph has started it."""
        return [process.plan.label for process in self._all()]

    def pids(self) -> dict[str, int]:
        """Label to process id, of those that run; with the router, where this graph started it."""
        return {process.plan.label: process.pid for process in self._all() if process.pid is not None}

    def usage(self) -> list[Usage]:
        """Memory and processor time of each process that runs, that which forks the nodes too."""
        forking = [usage_of(LABEL, pid) for pid in self._fork_servers.pids()]
        return [usage for usage in (*forking, *(process.usage() for process in self._all())) if usage is not None]

    def _all(self) -> list[Supervised]:
        return ([self._router] if self._router is not None else []) + self._processes

    # -- the end -------------------------------------------------------------------------------------

    def hurry(self) -> None:
        """Let a `close` that is waiting send the next stronger signal now."""
        self._hurry.set()

    def close(self) -> None:
        """End every process and wait for it: SIGINT, later SIGTERM, later SIGKILL; then the router. May be repeated."""
        self.closing = True
        for process in self._processes:
            process.leave()
        self._fork_servers.abandon()
        self._end_all(self._processes)
        self._fork_servers.close()
        self._end_all([self._router] if self._router is not None else [])
        if self._guard is not None:
            guard.sweep(self._id, _SWEEP_PATIENCE_S)  # children of nodes that have outlived them
            if self._guard.stdin is not None and not self._guard.stdin.closed:
                with contextlib.suppress(BrokenPipeError), self._guard.stdin as stream:
                    stream.write(guard.FAREWELL)
            self._guard.wait()
        self._finish(End(0, "it was closed"))

    def _end_all(self, processes: list[Supervised]) -> None:
        began = {process: time.monotonic() for process in processes}
        steps = {process: [signal.SIGTERM, signal.SIGKILL] for process in processes}
        for process in processes:
            process.stop()
        while left := [process for process in processes if not process.finished]:
            hurry = self._hurry.is_set()
            self._hurry.clear()
            for process in left:
                plan = process.plan
                patience = plan.sigterm_timeout_s if len(steps[process]) == 2 else plan.sigkill_timeout_s
                if steps[process] and (hurry or time.monotonic() - began[process] > patience):
                    began[process] = time.monotonic()
                    number = steps[process].pop(0)
                    self._show(f"[{plan.label}] has not ended yet, {number.name} is sent")
                    process.stop(number)
            time.sleep(_POLL_S)

    def __enter__(self) -> LaunchedGraph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def router_answers(endpoint: str) -> bool:
    """True where a process listens."""
    host, _, port = endpoint.partition("/")[2].rpartition(":")
    if port == "0":
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), 2.0).close()
    except (OSError, ValueError):
        return False
    return True


def _session(options: SessionOptions) -> WireSession:
    try:
        return open_session(replace(options, shared_memory=False))
    except SessionError as error:
        raise LaunchError(str(error)) from None


def _nodes(session: WireSession) -> set[str]:
    return {f"{namespace.rstrip('/')}/{name}" for name, namespace, _ in session.graph.get_nodes()}


def _missing(
    session: WireSession, nodes: Collection[str], services: Collection[str], parameters: ParameterNames
) -> list[str]:
    """The nodes that are not seen or have not answered yet, and the services that no node offers."""
    seen = _nodes(session)
    silent = parameters.lacking(seen.intersection(nodes))
    offered = {name for name, _ in session.graph.get_service_names_and_types()} if services else set()
    lacking = [f"the node {node}" for node in sorted(nodes) if node not in seen or node in silent]
    return lacking + [f"the service {service}" for service in sorted(services) if service not in offered]


def _with_last_line(how: str, process: Supervised) -> str:
    return f"{how}: {process.last_line.strip().rstrip('.')}" if process.last_line else how
