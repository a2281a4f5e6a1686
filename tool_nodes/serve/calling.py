"""The caller's side: a connection to what is served, and calls that end by their deadline, whatever becomes of it.

A call that is too late is cancelled where it waits; a computation that has begun is ended by the replica's own process
(`toolhand.tool_nodes.serve.runner`). What went wrong on the way is UNAVAILABLE with a `Cause`, and is tried again as
the entry says; what the backend itself answers, an error too, is the answer.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import sys
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.serve import service_file
from toolhand.tool_nodes.serve.coalescing import Coalescer, QueueFull
from toolhand.tool_nodes.serve.config import ABREAST, ACTOR, Local, ServedEntry, without_ray
from toolhand.tool_nodes.serve.metrics_actor import OK, ReplicaStats
from toolhand.tool_nodes.serve.requests import PortRequest, SharedArrays
from toolhand.tool_nodes.serve.runner import LAST_WORDS_S
from toolhand.tool_nodes.serve.service_file import ServiceNote, running_service
from toolhand.tool_nodes.serve.transport import GONE, RayTransport, first_line, not_served
from toolhand.tool_nodes.serve.trust import require_trusted

REPORT_S = 1.0
"""How often a client reports to the metrics actor [s]."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
"""The wait before a request is tried again, doubled each time [s]: a process starts in seconds."""

AFTER_LAST_WORDS_S = 2 * LAST_WORDS_S
"""The wait after a process has run out of memory [s]: by then it has ended itself."""

ACTOR_PARCEL = 16
"""Most calls that go together to an actor [-]: a call of a millisecond is then mostly the backend's."""

ANSWER_S = 30.0
"""Longest wait for what is asked about the service itself [s]; a round figure."""


class Connection:
    """This process on a cluster; made by `connect`.

    Args:
        service: Where it is.
    """

    def __init__(self, service: ServiceNote) -> None:
        ray = joined(service)
        from toolhand.tool_nodes.serve.replicas import METRICS, NAMESPACE

        self.service = service
        self.shared = SharedArrays(ray.put)
        self._ray = ray
        self._unreported = _Unreported()
        self._left = threading.Event()
        try:
            self._metrics = ray.get_actor(METRICS, namespace=NAMESPACE)
            self.entries: Mapping[str, ServedEntry] = ray.get(self._metrics.entries.remote(), timeout=ANSWER_S)
        except (ValueError, TimeoutError, ray.exceptions.RayError) as error:
            raise not_served(f"Nothing of Toolhand is served at {service.address}.") from error
        self._routes = {name: _Route(ray, entry) for name, entry in self.entries.items()}
        threading.Thread(target=self._report, name="serve reports", daemon=True).start()

    def entry(self, name: str) -> ServedEntry:
        """What is served by a name. Raises ToolError UNAVAILABLE."""
        entry = self.entries.get(name)
        if entry is None:
            raise not_served(f"{name[:60]!r} is not served: {', '.join(self.entries)}.")
        return entry

    def describe(self, name: str) -> Mapping[str, Any]:
        """What a backend says of itself, see `Runner.describe`. Raises ToolError UNAVAILABLE."""
        entry = self.entry(name)
        transport, until = self._routes[name].transport, time.time() + entry.deadline_s
        description: Mapping[str, Any] = self._until(
            entry, until, lambda: transport.receive(transport.start("describe"), until)
        )
        return description

    def call(self, name: str, *arguments: Any, seed: int = 0) -> Any:
        """What a served backend answers.

        Args:
            name: Name of the entry.
            arguments: Arguments of its port's method.
            seed: For a backend that is `ports.Seeded`.

        Raises:
            ToolError: What the backend raises; UNAVAILABLE with a cause.
        """
        entry = self.entry(name)
        started = time.monotonic()
        end = ErrorCode.INTERNAL.lower()
        with self._unreported.waiting(name):
            try:
                answer = self._answer(entry, arguments, seed)
                end = OK
                return answer
            except ToolError as error:
                end = (error.cause or error.code).lower()
                raise
            finally:
                self._unreported.end(name, end, time.monotonic() - started)

    def rows(self) -> list[dict[str, Any]]:
        """See `MetricsActor.rows`. Raises ToolError UNAVAILABLE."""
        try:
            rows: list[dict[str, Any]] = self._ray.get(self._metrics.rows.remote(), timeout=ANSWER_S)
        except (TimeoutError, self._ray.exceptions.RayError) as error:
            raise not_served(f"The service at {self.service.address} does not answer.", GONE) from error
        return rows

    def report(self) -> None:
        """Report to the metrics actor what was met since the report before."""
        stats = self._unreported.take()
        if stats:
            self._metrics.report.remote(self._unreported.client, stats)

    def leave(self) -> None:
        """End what waits, send the last metrics, and send no more."""
        self._close()
        self._left.set()
        with contextlib.suppress(Exception):
            self.report()

    def _answer(self, entry: ServedEntry, arguments: tuple[Any, ...], seed: int) -> Any:
        try:
            packed = tuple(map(self.shared.pack, arguments))
        except self._ray.exceptions.RayError as error:
            raise unavailable(
                f"The picture cannot be put into shared memory: {first_line(error)}.", cause=Cause.OUT_OF_MEMORY
            ) from error
        # `request` keeps what it refers to until there is an answer.
        request = PortRequest(packed, time.time() + entry.deadline_s, seed)
        coalescer = self._routes[entry.name].coalescer
        return self._until(entry, request.until, lambda: coalescer.ask(request))

    def _until(self, entry: ServedEntry, until: float, ask: Callable[[], Any]) -> Any:
        """What is asked, as often as the entry says, until it is too late. Raises ToolError."""
        tries, pause, route = 0, FIRST_PAUSE_S, self._routes[entry.name]
        ran_out: ToolError | None = None
        while True:
            asked = time.monotonic()
            try:
                answer = ask()
                if not isinstance(answer, ToolError):
                    return answer
                problem = answer
            except QueueFull:
                problem = route.transport.full()
            except Exception as error:
                problem = route.transport.explained(error)
                problem.__cause__ = error
            tries += 1
            if problem.cause is Cause.OUT_OF_MEMORY:
                ran_out, pause = problem, AFTER_LAST_WORDS_S  # its process still takes what comes at once
            left = until - time.time()
            if problem.cause in (None, Cause.TIMEOUT, Cause.NOT_SERVED) or tries > entry.retries or left <= pause:
                raise problem if ran_out is None or problem.cause is not Cause.DIED else ran_out
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
            if entry.run == ACTOR:
                self._await_actor(route, asked, until)

    def _await_actor(self, route: _Route, since: float, until: float) -> None:
        """Until an actor that died is back: until then every call fails at once. Serve's handles wait by themselves.

        Args:
            route: To it.
            since: Time after which an answer to any thread of this process is enough [s, monotonic].
            until: The end of the wait [s since 1970].
        """
        if not route.looking.acquire(timeout=max(0.0, until - time.time())):
            return
        try:
            while route.seen < since and (left := until - time.time()) > 0.0:
                try:
                    route.transport.receive(route.transport.start("describe"), until)
                    route.seen = time.monotonic()
                except (TimeoutError, self._ray.exceptions.RayError):
                    time.sleep(min(FIRST_PAUSE_S, left))
        finally:
            route.looking.release()

    def _report(self) -> None:
        while not self._left.wait(REPORT_S):
            if self._is_over():
                self._close()
                return
            with contextlib.suppress(Exception):  # a metrics actor that is being started again misses a second
                self.report()

    def _is_over(self) -> bool:
        """Whether this service was taken down, or another one started in its place."""
        if self.service.elsewhere:
            return False
        try:
            noted = service_file.noted(Path(self.service.folder))
        except ToolError:
            return False
        return noted is None or noted.id != self.service.id

    def _close(self) -> None:
        for route in self._routes.values():
            route.coalescer.close()


class _Route:
    """What this process has of an entry: the way to it, the calls on it, and when it was last seen alive."""

    def __init__(self, ray: Any, entry: ServedEntry) -> None:
        self.transport = RayTransport(ray, entry)
        size = max(ACTOR_PARCEL, entry.batch) if entry.run == ACTOR else entry.batch
        self.coalescer = Coalescer(self.transport, ABREAST * entry.replicas_max, size, entry.queue)
        self.looking = threading.Lock()
        self.seen = 0.0


class _Unreported:
    """What this process has met since its report before."""

    def __init__(self) -> None:
        self.client = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._waiting: dict[str, int] = defaultdict(int)
        self._ends: dict[str, list[tuple[str, float]]] = defaultdict(list)

    @contextlib.contextmanager
    def waiting(self, name: str) -> Iterator[None]:
        with self._lock:
            self._waiting[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[name] -= 1

    def end(self, name: str, end: str, seconds: float) -> None:
        with self._lock:
            self._ends[name].append((end, seconds))

    def take(self) -> dict[str, ReplicaStats]:
        """What there is to report; nothing where nothing has happened."""
        with self._lock:
            names = {name for name, count in self._waiting.items() if count} | set(self._ends)
            return {name: ReplicaStats(self._waiting[name], tuple(self._ends.pop(name, ()))) for name in names}


_connections: dict[str, Connection] = {}
_connecting = threading.Lock()


def connect() -> Connection:
    """This process's connection to the service that runs now, see `toolhand.tool_nodes.serve.service_file`.

    Raises:
        ToolError: UNAVAILABLE where none runs, where it does not answer, and without Ray.
    """
    service = running_service()
    with _connecting:
        known = _connections.get(service.id)
        if known is None:
            if _connections:  # a service that was started anew: what belongs to the old one is gone
                disconnect()
            known = _connections[service.id] = Connection(service)
        return known


def disconnect() -> None:
    """Leave the cluster; connections are made anew when something is called."""
    if not _connections:
        return
    for connection in _connections.values():
        connection.leave()
    _connections.clear()
    leave()


def joined(service: ServiceNote) -> Any:
    """Ray, with this process on the service's cluster. Raises ToolError UNAVAILABLE, see `require_trusted` also."""
    _enter(service)
    try:
        import ray
        import ray.serve
    except ImportError as error:
        raise without_ray(error) from error
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    if not ray.is_initialized():
        require_trusted(service)
        _read_environment(service)
        try:
            here = _address_towards(service.address)
            ray.init(service.address, log_to_driver=False, logging_level="ERROR", _node_ip_address=here)
        except Exception as error:
            if _asks_for_token(error):
                raise unavailable(
                    f"The cluster at {service.address} asks for its token.",
                    "Set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH to the file that it was started with.",
                    cause=Cause.NOT_SERVED,
                ) from error
            raise not_served(f"No cluster answers at {service.address}: {first_line(error)}.", GONE) from error
    return ray


def _address_towards(address: str) -> str | None:
    """This machine's own address on the network of a cluster: Ray guesses it from a route to the internet, which a
    laboratory may not have, and others then wait for ever for what this process owns. None leaves it to Ray."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))  # nothing is sent
        own: str = probe.getsockname()[0]
        return own
    return None


def _asks_for_token(error: BaseException | None) -> bool:
    """Whether Ray was turned away, by the texts of an error and of what led to it: it has no type of its own there."""
    while error is not None:
        if "InvalidAuthToken" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def start_cluster(service: ServiceNote, local: Local) -> str:
    """Start a cluster on this machine that ends with this process; its address. Raises what Ray raises."""
    _enter(service)
    import ray
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    _read_environment(service)
    logging.getLogger("ray").setLevel(logging.ERROR)
    # As `ray.init` does it, but without the two processes that scale clusters of a cloud and forward logs: Ray gives
    # the parts of a node 15 s to start, in which these would take their share of the processors.
    node = Node(
        RayParams(
            num_cpus=local.cpus,
            num_gpus=local.gpus,
            object_store_memory=int(local.store_gb * 1e9),
            include_dashboard=False,
            include_log_monitor=False,
            no_monitor=True,
            dashboard_agent_listen_port=0,
            gcs_server_port=local.port,
            temp_dir=str(service_file.ray_folder(service)),
            node_ip_address=service_file.HOST,  # all of its ports are there too, that of its metrics among them
        ),
        head=True,
        shutdown_at_exit=False,
        spawn_reaper=True,
    )
    _nodes.append(node)
    address: str = node.gcs_address
    ray.init(address, log_to_driver=False, logging_level="ERROR")
    return address


_nodes: list[Any] = []
"""What `start_cluster` has started."""


_before: dict[str, str | None] = {}
"""What this process's environment said before it joined a cluster, of what that changes."""


def _enter(service: ServiceNote) -> None:
    """What Ray reads when it is first used; `leave` puts back what was there."""
    for name, value in service.environment().items():
        _before.setdefault(name, os.environ.get(name))
        os.environ[name] = value


def _read_environment(service: ServiceNote) -> None:
    """Have Ray read its environment once more: it may have been imported before, and it reads it then."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    # Else Ray asks at the machine's address for what listens at the loopback address.
    if service.own or service.address.startswith(("127.", "localhost:", "[::1]:")):
        constants.ENABLE_RAY_CLUSTER = False
    raylet: Any = importlib.import_module("ray._raylet")
    raylet.AuthenticationTokenLoader.instance().reset_cache()
    raylet.Config.initialize("")


def lives() -> bool:
    """Whether the cluster that this process is on still answers."""
    import ray

    try:
        return any(node["Alive"] for node in ray.nodes())
    except Exception:  # whatever it raises, it does not answer
        return False


def leave() -> None:
    """Leave the cluster, or end the one that this process has started."""
    ray = sys.modules.get("ray")
    context: Any = sys.modules.get("ray.serve.context")
    client = getattr(context, "_global_client", None)
    if client is not None:
        with contextlib.suppress(Exception):  # else their threads complain that Ray has ended
            client.shutdown_cached_handles()
    if ray is not None and ray.is_initialized():
        ray.shutdown()
    if context is not None:  # Serve knows a cluster by the number of a job on it, and the next one begins with the same
        context._set_global_client(None)
    while _nodes:
        _nodes.pop().kill_all_processes(check_alive=False, allow_graceful=False)
    while _before:
        name, value = _before.popitem()
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})
