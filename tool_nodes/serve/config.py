"""What is served, and how: one YAML, read and checked before anything starts.

ports:
  pointer: {backend: pixels, run: serve, replicas: {min: 1, max: 4}, batch: 16}
  segmenter: {backend: pixels+drawings}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from annotated_types import Interval, Len

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.records import Before, read_yaml, record_of
from toolhand.tool_nodes.results import ToolError, invalid, unavailable

METHODS: Mapping[str, str] = {
    "pointer": "point",
    "detector": "detect",
    "segmenter": "segment",
    "depth": "estimate",
    "reader": "read",
    "grasps": "generate",
}
"""The ports that can be served, and the one method of each."""

ACTOR: Final = "actor"
SERVE: Final = "serve"
"""One Ray actor, for what is light; a deployment of Ray Serve, for models."""

ABREAST = 2
"""Messages of a process on their way to each replica at once: one is worked at, the next is there when it is done."""

_SHOWN = 60
"""Characters of a wrong word that a message repeats."""


@dataclass(frozen=True)
class ServedEntry:
    """One backend that is served.

    Attributes:
        name: Name that clients ask for: `served` means the entry that has the name of the port, `served:NAME` another
            one.
        port: A key of `METHODS`.
        backend: Backend in the form that `--pointer` and the like take: NAME, NAME:MODEL or NAME+OTHER.
        run: `ACTOR` or `SERVE`.
        replicas_min: Processes that are always there, 0 or more; 0 starts one when it is asked for.
        replicas_max: Largest number of replicas under load [-].
        batch: Most requests that the backend is given at once.
        batch_wait_ms: How long a first request waits for others [ms].
        queue: Requests of one client process that may wait; further ones are refused at once.
        deadline_s: Longest time from the call to its answer, retries and all [s].
        retries: How often a request is given to another replica after the first has died, run out of memory or refused.
        cpus: Share of processors that Ray reserves for each replica; it is no limit.
        gpus: Share of GPUs for each replica; 0.25 puts four on one.
        memory_gb: Memory that Ray reserves [GB], and without a GPU the most that the backend may take beyond what its
            process begins with; 0 says nothing.
        env: Packages of its own, as pip takes them: the replica runs in a virtual environment with them.
    """

    name: str
    port: str
    backend: str
    run: str = ACTOR
    replicas_min: int = 1
    replicas_max: int = 1
    batch: int = 1
    batch_wait_ms: float = 5.0
    queue: int = 1000
    deadline_s: float = 60.0
    retries: int = 2
    cpus: float = 0.25
    gpus: float = 0.0
    memory_gb: float = 0.0
    env: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The port's one method."""
        return METHODS[self.port]


@dataclass(frozen=True)
class Local:
    """The cluster that is started where no address is given.

    Attributes:
        cpus: Processors that the cluster lends out; None takes all of the machine.
        gpus: Likewise; None is what Ray finds.
        store_gb: Shared memory for images [GB].
        port: Port of the cluster's head on this machine; 0 takes a free one.
    """

    cpus: Annotated[float, Interval(ge=0.0)] | None = None
    gpus: Annotated[float, Interval(ge=0.0)] | None = None
    store_gb: Annotated[float, Interval(ge=0.08)] = 0.5
    port: Annotated[int, Interval(ge=0, le=65535)] = 0


@dataclass(frozen=True)
class ServeConfig:
    """All that is served.

    Attributes:
        entries: By name.
        local: See `Local`.
    """

    entries: Mapping[str, ServedEntry]
    local: Local = field(default_factory=Local)


def read_config(path: Path) -> ServeConfig:
    """The file's, checked. Raises ToolError INVALID_ARGUMENT with the key that is wrong and what is allowed."""
    return _config(read_yaml(_File, path))


def parse_config(document: Any) -> ServeConfig:
    """A document of the form above, checked. Raises ToolError INVALID_ARGUMENT."""
    return _config(record_of(_File, document))


def check_resources(config: ServeConfig, cluster: Mapping[str, float]) -> None:
    """Refuse what a cluster can never hold.

    Args:
        config: The service to check.
        cluster: `CPU`, `GPU` and `memory` [bytes] of all its nodes.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    for resource, unit, factor in (("CPU", "cpus", 1.0), ("GPU", "gpus", 1.0), ("memory", "memory_gb", 1e9)):
        needed = sum(getattr(entry, unit) * entry.replicas_min for entry in config.entries.values())
        there = cluster.get(resource, 0.0) / factor
        if needed > there + 1e-6:
            raise invalid(
                f"The replicas need {unit} {needed:g} together, and the cluster has {there:.4g}.",
                f"Lower {unit} or replicas" + ("." if resource == "memory" else f", or set {unit} of cluster."),
            )


_Number = Annotated[float, Interval(ge=0.0)]


@dataclass(frozen=True)
class _Replicas:
    min: Annotated[int, Interval(ge=0)] = 1
    max: Annotated[int, Interval(ge=1)] | None = None


def _number_of_replicas(value: Any) -> Any:
    return {"min": value, "max": value} if type(value) is int else value


def _backend_alone(value: Any) -> Any:
    return {"backend": value} if isinstance(value, str) else value


@dataclass(frozen=True)
class _Entry:
    """An entry of the file; see `ServedEntry`."""

    backend: str
    port: str = ""
    run: Literal["actor", "serve"] = ACTOR
    replicas: Annotated[_Replicas, Before(_number_of_replicas)] = _Replicas()
    batch: Annotated[int, Interval(ge=1)] = ServedEntry.batch
    batch_wait_ms: _Number = ServedEntry.batch_wait_ms
    queue: Annotated[int, Interval(ge=1)] = ServedEntry.queue
    deadline_s: Annotated[float, Interval(ge=1e-3)] = ServedEntry.deadline_s
    retries: Annotated[int, Interval(ge=0)] = ServedEntry.retries
    cpus: _Number = ServedEntry.cpus
    gpus: _Number = ServedEntry.gpus
    memory_gb: _Number = ServedEntry.memory_gb
    env: tuple[str, ...] = ()

    def served(self, name: str) -> ServedEntry:
        """The entry of a name. Raises ToolError INVALID_ARGUMENT."""
        port = self.port or name
        if port not in METHODS:
            raise invalid(
                f"{port[:_SHOWN]!r} is no port that can be served: {', '.join(METHODS)}.",
                "" if self.port else "An entry of another name says which with port: NAME.",
            )
        for part in PortNames(**{port: self.backend}).parts(port):
            if registry.find(port, part).name == "served":
                raise invalid(f"{name}: a service cannot serve itself; name what is to run.")
        low = self.replicas.min
        high = self.replicas.max or max(low, 1)
        if low > high:
            raise invalid(f"{name}: replicas must be a number, or min and max with 0 <= min <= max and max 1 or more.")
        if self.run == ACTOR and (high != 1 or low != 1):
            raise invalid(f"{name}: an actor is one process; run: {SERVE} has replicas.")
        same = {key: value for key, value in vars(self).items() if key not in ("port", "replicas")}
        return ServedEntry(**same, name=name, port=port, replicas_min=low, replicas_max=high)


@dataclass(frozen=True)
class _File:
    ports: Annotated[dict[str, Annotated[_Entry, Before(_backend_alone)]], Len(1)]
    cluster: Local | None = None


def _config(file: _File) -> ServeConfig:
    return ServeConfig({name: entry.served(name) for name, entry in file.ports.items()}, file.cluster or Local())


def without_ray(error: Exception) -> ToolError:
    """What to say where Ray is not installed."""
    return unavailable(f"Serving needs Ray: {error}.", f"Install it with: {install_extra('serve')}")
